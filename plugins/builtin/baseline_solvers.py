"""The paper's baselines as solvers, with networks of one size that were trained alike; see docs/baselines.md."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.solvers import Solver, SolverOpener, SolverSetup

WRITERS = ("seq2seq-freq", "causal-freq", "causal-recurrence")
"""Solvers that write the plaintext, by the name of their network."""
REFERENCE = "alice-same-compute"
"""The ALICE model that was trained beside them."""
BASELINES = ("beam-nlm", "beam-nlm-freq", *WRITERS, REFERENCE)


def open_search(frequency: bool, setup: "SolverSetup") -> "Solver":
    """Return the beam search over keys that the neural language model scores."""
    from alice.baselines import FREQUENCY_WEIGHT, NeuralBeamSearch, load_network

    weight = FREQUENCY_WEIGHT if frequency else 0.0
    return NeuralBeamSearch(load_network("language-model"), frequency_weight=weight).solve


def open_writer(name: str, setup: "SolverSetup") -> "Solver":
    """Return a network that writes the plaintext."""
    from alice.baselines import load_network, write_plaintext

    return partial(write_plaintext, load_network(name))


def open_reference(setup: "SolverSetup") -> "Solver":
    """Return the ALICE model."""
    from alice.baselines import load_reference
    from alice.solving import solve

    model = load_reference()

    def solve_one(ciphertext: str) -> str:
        solution = next(solve(model, [ciphertext]))
        if not solution.key:  # what cannot be solved comes back as it is, which must not pass for an answer
            raise AliceError(solution.note)
        return solution.plaintext

    return solve_one


@hookimpl
def register_solvers() -> "Mapping[str, SolverOpener]":
    """Add the solvers."""
    searches = {"beam-nlm": partial(open_search, False), "beam-nlm-freq": partial(open_search, True)}
    return {**searches, **{name: partial(open_writer, name) for name in WRITERS}, REFERENCE: open_reference}
