"""Solving cryptograms and scoring the answers.

Here are solutions (`solution`), found by a model (`decoding`) or another solver, error rates over many texts
(`evaluate`), and the classical solvers: beam search and hill climbing over the n-grams of `language_model`. What
compares several models is an analysis and belongs in `alice.plugins`.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.solving.beam import BeamSearch as BeamSearch
    from alice.solving.decoding import solve as solve
    from alice.solving.evaluate import ErrorTable as ErrorTable
    from alice.solving.evaluate import Scores as Scores
    from alice.solving.evaluate import score as score
    from alice.solving.hill_climbing import HillClimber as HillClimber
    from alice.solving.language_model import CharNgrams as CharNgrams
    from alice.solving.solution import Solution as Solution
    from alice.solving.solution import solve_with as solve_with

__getattr__ = lazy_exports(
    __name__,
    {
        "BeamSearch": "beam",
        "CharNgrams": "language_model",
        "ErrorTable": "evaluate",
        "HillClimber": "hill_climbing",
        "Scores": "evaluate",
        "Solution": "solution",
        "score": "evaluate",
        "solve": "decoding",
        "solve_with": "solution",
    },
)
