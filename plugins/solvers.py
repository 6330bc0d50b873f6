"""Solvers that are not ALICE models: what a plugin provides, how one is opened, and what it must return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alice.errors import AliceError, nearest, one_line

if TYPE_CHECKING:
    from alice.plugins.context import RunContext

Solver = Callable[[str], str]
"""Takes a ciphertext in capitals with spaces and punctuation, and returns the plaintext of the same length."""
TRIES = 100
"""Default number of restarts of a randomised solver for each text."""


@dataclass(frozen=True, eq=False)
class SolverSetup:
    """What a solver is built from."""

    training_texts: Callable[[int], Sequence[str]]
    """Returns the first texts of the training split, at most as many as asked for; there may be none."""
    seed: int = 0
    """Seed of its random numbers."""
    tries: int = TRIES
    """Number of restarts for each text, if it is randomised."""


SolverOpener = Callable[[SolverSetup], Solver]
"""Builds a solver; raises AliceError if it cannot."""


def solvers_of(ctx: RunContext) -> Mapping[str, SolverOpener]:
    """Return the solvers of a context by name; the built-in ones if it was opened without any."""
    if ctx.solvers is not None:
        return ctx.solvers
    from alice.plugins.manager import build

    return build(third_party=False).solvers


def check_solver(name: str, solvers: Mapping[str, SolverOpener]) -> None:
    """Refuse an unknown name, suggesting the nearest."""
    if name not in solvers:
        known = nearest(name, solvers) or f"; there are {', '.join(sorted(solvers))}"
        raise AliceError(f"there is no solver {name!r}{known}")


def open_solver(name: str, solvers: Mapping[str, SolverOpener], setup: SolverSetup) -> Solver:
    """Build a solver; any error in it, now or later, becomes one sentence."""
    check_solver(name, solvers)
    try:
        solver = solvers[name](setup)
    except AliceError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise AliceError(f"the solver {name!r} could not be opened: {one_line(error)}") from error
    if not callable(solver):
        raise AliceError(f"the solver {name!r} is {solver!r}, which cannot be called with a ciphertext")

    def solve(ciphertext: str) -> str:
        try:
            answer = solver(ciphertext)
        except Exception as error:
            raise AliceError(f"the solver {name!r} failed on {ciphertext[:40]!r}: {one_line(error)}") from error
        if not isinstance(answer, str) or len(answer) != len(ciphertext):
            got = f"{len(answer)} characters" if isinstance(answer, str) else repr(answer)[:40]
            raise AliceError(f"the solver {name!r} returned {got} for a ciphertext of {len(ciphertext)} characters")
        return answer

    return solve
