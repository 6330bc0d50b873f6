"""Solving cryptograms and scoring the answers.

Here are solutions (`solution`), found by a model (`decoding`) or another solver, error rates over many texts
(`evaluate`), the classical solvers: beam search and hill climbing over the n-grams of `language_model`, and the guided
solver, in which a model and the `language` models work together; `bayes` has the posteriors over keys. What compares
several models is an analysis and belongs in `alice.plugins`.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.solving.bayes import GeneralSolver as GeneralSolver
    from alice.solving.bayes import KeyPosterior as KeyPosterior
    from alice.solving.bayes import PoolSolver as PoolSolver
    from alice.solving.bayes import general_posterior as general_posterior
    from alice.solving.bayes import pool_posterior as pool_posterior
    from alice.solving.beam import BeamSearch as BeamSearch
    from alice.solving.decoding import solve as solve
    from alice.solving.evaluate import ErrorTable as ErrorTable
    from alice.solving.evaluate import Scores as Scores
    from alice.solving.evaluate import join_scores as join_scores
    from alice.solving.evaluate import score as score
    from alice.solving.evaluate import score_batch as score_batch
    from alice.solving.guided import GuidedSearch as GuidedSearch
    from alice.solving.guided_solver import GuidedSolver as GuidedSolver
    from alice.solving.hill_climbing import SUBBREAKER as SUBBREAKER
    from alice.solving.hill_climbing import HillClimber as HillClimber
    from alice.solving.hill_climbing import has_subbreaker as has_subbreaker
    from alice.solving.hill_climbing import open_subbreaker as open_subbreaker
    from alice.solving.language import Language as Language
    from alice.solving.language import Languages as Languages
    from alice.solving.language import learn as learn
    from alice.solving.language_files import open_languages as open_languages
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
            "bayes": (
                "GeneralSolver",
                "KeyPosterior",
                "PoolSolver",
                "general_posterior",
                "pool_posterior",
            ),
            "beam": ("BeamSearch",),
            "decoding": ("solve",),
            "evaluate": (
                "ErrorTable",
                "Scores",
                "join_scores",
                "score",
                "score_batch",
            ),
            "guided": ("GuidedSearch",),
            "guided_solver": ("GuidedSolver",),
            "hill_climbing": (
                "HillClimber",
                "SUBBREAKER",
                "has_subbreaker",
                "open_subbreaker",
            ),
            "language": (
                "Language",
                "Languages",
                "learn",
            ),
            "language_files": ("open_languages",),
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
