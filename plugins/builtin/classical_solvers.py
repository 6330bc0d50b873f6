"""The solvers `beam`, `hill-climbing` and `subbreaker`: baselines without a neural network."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.solvers import Solver, SolverOpener, SolverSetup
    from alice.solving import CharNgrams

BEAM_TEXTS = 50_000
"""Training texts in which the beam search counts n-grams."""
CLIMBER_TEXTS = 10_000
"""Training texts in which the hill climber counts its shorter n-grams."""


def open_beam(setup: "SolverSetup") -> "Solver":
    """Return the beam search over 6-grams of the training split."""
    from alice.solving import BeamSearch
    from alice.solving.beam import ORDER

    return BeamSearch(_count(setup, BEAM_TEXTS, ORDER)).solve


def open_hill_climbing(setup: "SolverSetup") -> "Solver":
    """Return the hill climber over quadgrams of the training split."""
    import numpy as np

    from alice.solving import HillClimber
    from alice.solving.hill_climbing import ORDER

    climber = HillClimber(_count(setup, CLIMBER_TEXTS, ORDER), climbs=setup.tries)
    return lambda ciphertext: climber.solve(ciphertext, np.random.default_rng(setup.seed))


def open_installed(setup: "SolverSetup") -> "Solver":
    """Return subbreaker, if it is installed."""
    from alice.solving import SUBBREAKER, has_subbreaker, open_subbreaker

    if not has_subbreaker():
        raise AliceError(f"{SUBBREAKER} is not installed; pip install 'alice-interp[solvers]' adds it")
    return open_subbreaker(climbs=setup.tries, seed=setup.seed)


def _count(setup: "SolverSetup", texts: int, order: int) -> "CharNgrams":
    from alice.solving import CharNgrams

    if not (training := setup.training_texts(texts)):
        raise AliceError("no text of the training split is left to count n-grams in; give data with more texts")
    return CharNgrams.count(training, order)


@hookimpl
def register_solvers() -> "Mapping[str, SolverOpener]":
    """Add the solvers."""
    return {"beam": open_beam, "hill-climbing": open_hill_climbing, "subbreaker": open_installed}
