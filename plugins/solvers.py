"""Solvers of cryptograms that are no models: what a plugin gives, how one is opened, and what its answers must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alice.errors import AliceError, nearest, one_line

if TYPE_CHECKING:
    from alice.plugins.context import RunContext

Solver = Callable[[str], str]
"""Takes a ciphertext in capitals, spaces and marks among them, and returns the plaintext, which is as long."""
TRIES = 100
"""How often a solver that draws lots may start anew for one text if nothing else is said."""


@dataclass(frozen=True, eq=False)
class SolverSetup:
    """What a solver is made from."""

    training_texts: Callable[[int], Sequence[str]]
    """Returns the first so many texts of the training side, to learn from; there may be fewer, or none."""
    seed: int = 0
    """Seed of whatever it draws."""
    tries: int = TRIES
    """How often it may start anew for one text, if it draws lots."""


SolverOpener = Callable[[SolverSetup], Solver]
"""Makes a solver ready; says with an AliceError why it cannot."""


def solvers_of(ctx: RunContext) -> Mapping[str, SolverOpener]:
    """Return the solvers of a run by name; a context opened without any has those that are built in."""
    if ctx.solvers is not None:
        return ctx.solvers
    from alice.plugins.builtin.classical_solvers import register_solvers

    return register_solvers()


def check_solver(name: str, solvers: Mapping[str, SolverOpener]) -> None:
    """Refuse a name that no solver has, suggesting the nearest."""
    if name not in solvers:
        known = nearest(name, solvers) or f"; there are {', '.join(sorted(solvers))}"
        raise AliceError(f"there is no solver {name!r}{known}")


def open_solver(name: str, solvers: Mapping[str, SolverOpener], setup: SolverSetup) -> Solver:
    """Return a solver that is ready; whatever goes wrong in it, then or later, is one sentence."""
    check_solver(name, solvers)
    try:
        solver = solvers[name](setup)
    except AliceError:
        raise
    except Exception as error:  # whatever a stranger's solver raises
        raise AliceError(f"the solver {name!r} could not be made ready: {one_line(error)}") from error
    if not callable(solver):
        raise AliceError(f"the solver {name!r} is {solver!r}, which cannot be called with a ciphertext")

    def solve(ciphertext: str) -> str:
        try:
            answer = solver(ciphertext)
        except Exception as error:
            raise AliceError(f"the solver {name!r} failed on {ciphertext[:40]!r}: {one_line(error)}") from error
        if not isinstance(answer, str) or len(answer) != len(ciphertext):
            said = f"{len(answer)} characters" if isinstance(answer, str) else repr(answer)[:40]
            raise AliceError(f"the solver {name!r} answered {said} to a ciphertext of {len(ciphertext)} characters")
        return answer

    return solve
