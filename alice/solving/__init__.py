"""Solving cryptograms: with a model, or by search with a language model; and scoring the answers."""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.solving.evaluate import Scores as Scores
    from alice.solving.evaluate import score as score
    from alice.solving.solution import Solution as Solution
    from alice.solving.solve import solve as solve

__getattr__ = lazy_exports(
    __name__,
    {
        "Solution": "solution",
        "solve": "solve",
        "score": "evaluate",
        "Scores": "evaluate",
    },
)
