"""The solver `guided`, and those without a network: `beam`, `bayes`, `hill-climbing` and `subbreaker`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.solvers import Solver, SolverOpener, SolverSetup

CLIMBER_TEXTS = 10_000
"""Training texts in which the hill climber counts its shorter n-grams."""


def open_beam(setup: "SolverSetup") -> "Solver":
    """Return the beam search over the n-grams of the training split, those that guide the network in `guided`."""
    from alice.solving import BeamSearch

    languages = setup.languages()
    if len(languages.by_corpus) > 1:
        raise AliceError("the solver beam searches in one language; give --lm-data once, or use --solver guided")
    return BeamSearch(languages.main.chars).solve


def open_bayes(setup: "SolverSetup") -> "Solver":
    """Return the most probable key of a sample from the posterior over all keys, by the n-grams of `beam`."""
    from alice.solving import GeneralSolver

    return GeneralSolver(setup.languages().main.chars, setup.seed)


def open_hill_climbing(setup: "SolverSetup") -> "Solver":
    """Return the hill climber over quadgrams of the training split."""
    import numpy as np

    from alice.solving import CharNgrams, HillClimber
    from alice.solving.hill_climbing import ORDER

    if not (training := setup.training_texts(CLIMBER_TEXTS)):
        raise AliceError("no text of the training split is left to count n-grams in; give data with more texts")
    climber = HillClimber(CharNgrams.count(training, ORDER), climbs=setup.tries)
    return lambda ciphertext: climber.solve(ciphertext, np.random.default_rng(setup.seed))


def open_installed(setup: "SolverSetup") -> "Solver":
    """Return subbreaker, if it is installed."""
    from alice.solving import SUBBREAKER, has_subbreaker, open_subbreaker

    if not has_subbreaker():
        raise AliceError(f"{SUBBREAKER} is not installed; pip install 'alice-interp[solvers]' adds it")
    return open_subbreaker(climbs=setup.tries, seed=setup.seed)


def open_guided(setup: "SolverSetup") -> "Solver":
    """Return the search that a network and language models make together."""
    from alice.solving import GuidedSolver

    return GuidedSolver(setup.model(), setup.languages())


@hookimpl
def register_solvers() -> "Mapping[str, SolverOpener]":
    """Add the solvers."""
    return {
        "guided": open_guided,
        "beam": open_beam,
        "hill-climbing": open_hill_climbing,
        "subbreaker": open_installed,
        "bayes": open_bayes,
    }
