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
    from alice.solving.hill_climbing import SUBBREAKER as SUBBREAKER
    from alice.solving.hill_climbing import HillClimber as HillClimber
    from alice.solving.hill_climbing import has_subbreaker as has_subbreaker
    from alice.solving.hill_climbing import open_subbreaker as open_subbreaker
    from alice.solving.language_model import CharNgrams as CharNgrams
    from alice.solving.relabelling import Readings as Readings
    from alice.solving.relabelling import read_relabelled as read_relabelled
    from alice.solving.relabelling import relabellings as relabellings
    from alice.solving.solution import NO_SYMBOL as NO_SYMBOL
    from alice.solving.solution import Solution as Solution
    from alice.solving.solution import solve_with as solve_with
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "beam": ("BeamSearch",),
            "decoding": ("solve",),
            "evaluate": (
                "ErrorTable",
                "Scores",
                "score",
            ),
            "hill_climbing": (
                "HillClimber",
                "SUBBREAKER",
                "has_subbreaker",
                "open_subbreaker",
            ),
            "language_model": ("CharNgrams",),
            "relabelling": (
                "Readings",
                "read_relabelled",
                "relabellings",
            ),
            "solution": (
                "NO_SYMBOL",
                "Solution",
                "solve_with",
            ),
        },
    )
