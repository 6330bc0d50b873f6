"""Solvers besides the ALICE models themselves: what a plugin provides, how one is opened, and what it must return."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alice.errors import AliceError, nearest, one_line

if TYPE_CHECKING:
    from alice.model import Alice
    from alice.plugins.context import RunContext
    from alice.solving import Languages, Solution

Solver = Callable[[str], str]
"""Takes a ciphertext in capitals with spaces and punctuation, and returns the plaintext of the same length."""
MODEL = "bijective"
"""The bundled model that a solver uses if none is given."""
LANGUAGE_TEXTS = 400_000
"""Maximum number of training texts for a language model."""
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
    open_model: Callable[[], Alice] | None = None
    """Returns the model that the solver works with, if it uses one."""
    open_languages: Callable[[], Languages] | None = None
    """Returns language models that are there already; they are learned from the training texts otherwise."""

    def model(self) -> Alice:
        """Return the model to work with, a bundled one if none is given."""
        if self.open_model is not None:
            return self.open_model()
        from alice.plugins.context.models import open_model

        return open_model(MODEL)

    def languages(self) -> Languages:
        """Return the language models, learning them from the training texts if there are none."""
        if self.open_languages is not None:
            return self.open_languages()
        from alice.solving import learn

        if not (texts := self.training_texts(LANGUAGE_TEXTS)):
            raise AliceError("no text of the training split is left to learn from; give data with more texts")
        return learn(texts)


SolverOpener = Callable[[SolverSetup], Solver]
"""Builds a solver; raises AliceError if it cannot."""


def solvers_of(ctx: RunContext) -> Mapping[str, SolverOpener]:
    """Return the solvers of a context by name; the built-in ones if it was opened without any."""
    if ctx.solvers is not None:
        return ctx.solvers
    from alice.plugins.manager import build

    return build(third_party=False).solvers


def check_solver(name: str, solvers: Collection[str]) -> None:
    """Refuse an unknown name, suggesting the nearest."""
    if name not in solvers:
        known = nearest(name, solvers) or f"; there are {', '.join(sorted(solvers))}"
        raise AliceError(f"there is no solver {name!r}{known}")


def open_solver(name: str, solvers: Mapping[str, SolverOpener], setup: SolverSetup) -> Solver:
    """Build a solver; any error in it, now or later, becomes one sentence."""
    return _checked(name, _opened(name, solvers, setup))


def solutions(
    name: str, solvers: Mapping[str, SolverOpener], setup: SolverSetup, texts: Sequence[str]
) -> Iterator[Solution]:
    """Solve texts as people write them with a solver; one with a method `solutions` gets all of them at once."""
    from alice.solving import solve_with

    opened = _opened(name, solvers, setup)
    if not hasattr(opened, "solutions"):
        yield from solve_with(_checked(name, opened), texts)
        return
    try:
        yield from _each_solved(name, opened.solutions(texts), texts)
    except AliceError:
        raise
    except Exception as error:
        raise AliceError(f"the solver {name!r} failed: {one_line(error)}") from error


def _each_solved(name: str, found: Iterable[Solution], texts: Sequence[str]) -> Iterator[Solution]:
    """Yield the solutions of a solver; raise if there is not one for each text."""
    from alice.solving import Solution

    count = 0
    for solution in found:
        if not isinstance(solution, Solution):
            raise AliceError(f"the solver {name!r} returned {solution!r:.40}, which is not a Solution")
        count += 1
        yield solution
    if count != len(texts):
        raise AliceError(f"the solver {name!r} returned {count} solutions for {len(texts)} texts")


def _opened(name: str, solvers: Mapping[str, SolverOpener], setup: SolverSetup) -> Solver:
    check_solver(name, solvers)
    try:
        solver = solvers[name](setup)
    except AliceError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise AliceError(f"the solver {name!r} could not be opened: {one_line(error)}") from error
    if not callable(solver):
        raise AliceError(f"the solver {name!r} is {solver!r}, which cannot be called with a ciphertext")
    return solver


def _checked(name: str, solver: Solver) -> Solver:
    """Return a solver whose errors, and answers of another length, are one sentence."""

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
