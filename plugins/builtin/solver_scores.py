"""Runs solvers that are not models on the texts of a context: how long each takes and how many errors it makes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from alice.errors import AliceError
from alice.plugins.context import RunContext
from alice.plugins.solvers import TRIES, Solver, SolverSetup, open_solver, solvers_of
from alice.reports.names import distinct_names, model_slug
from alice.solving import Languages
from alice.statistics import Floats
from alice.text import LETTERS
from alice.timing import Stopwatch

Pair = tuple[str, str]
"""A ciphertext and its plaintext."""
Kind = Literal["model", "solver"]


@dataclass(frozen=True, eq=False)
class Solved:
    """The answers of one solver to the first texts of a context."""

    solver: str
    """Name of the solver, or of the model."""
    kind: Kind
    """Whether it is a model or another solver."""
    seconds: Floats
    """Time for each text, (texts,)."""
    errors: Floats
    """Symbol error rate as a fraction, (texts,)."""
    letters: Floats
    """Letters A-Z in each text, (texts,)."""
    learned: int = 0
    """Number of training texts that it learned from."""
    answers: tuple[str, ...] = ()
    """The plaintexts that it found."""

    @property
    def speed(self) -> float:
        """Letters per second."""
        return float(self.letters.sum() / self.seconds.sum())


def ciphertexts(ctx: RunContext) -> list[Pair]:
    """Return the ciphertexts of a context with their plaintexts, in the order of the source."""
    found: dict[int, Pair] = {}
    for batch in ctx.batches:
        rows = zip(batch.cipher_ids.cpu().numpy(), batch.plain_ids.cpu().numpy(), strict=True)
        pairs = [(ctx.alphabet.decode(cipher), ctx.alphabet.decode(plain)) for cipher, plain in rows]
        found |= zip(batch.index.tolist(), pairs, strict=True)
    return [found[number] for number in sorted(found)]


def why_not(one: RunContext, ctx: RunContext) -> str | None:
    """Say why a model cannot read the texts of another context; None if it can."""
    if one.alphabet == ctx.alphabet:
        return None
    return f"{one.checkpoint} is left out of the comparison: its alphabet differs from that of {ctx.checkpoint}."


def solver_names(solvers: Iterable[str], models: Iterable[str]) -> dict[str, str]:
    """Return the name to show for each solver: its own, or `NAME (solver)` if a model has the same name."""
    taken = list(models)
    slugs = set(map(model_slug, taken))
    named = {name: f"{name} (solver)" if model_slug(name) in slugs else name for name in solvers}
    return dict(zip(named, distinct_names(named.values(), taken=taken), strict=True))


def run_solvers(
    ctx: RunContext,
    texts: Sequence[Pair],
    names: Iterable[str],
    *,
    source: RunContext | None = None,
    tries: int = TRIES,
    training: int | None = None,
    seconds: float = np.inf,
) -> tuple[list[Solved], list[str]]:
    """Run solvers over texts; return the answers, and one sentence about each solver that failed.

    Args:
        ctx: the context whose solvers to use.
        texts: the texts, in order.
        names: names of the solvers.
        source: the context whose training split they learn from, if not `ctx`.
        tries: how often a randomized solver may restart for one text.
        training: maximum number of training texts for a solver; no limit if None.
        seconds: time limit; no further text is started after it.

    """
    solved, failed, learned = [], [], [0]

    def read(count: int) -> list[str]:
        found = (source or ctx).training_texts(count if training is None else min(count, training))
        learned[0] = max(learned[0], len(found))
        return found

    @cache
    def languages() -> Languages:
        return SolverSetup(read).languages()

    def known() -> Languages:
        before, found = learned[0], languages()
        learned[0] = max(before, found.texts)  # not what was read for them, of which a part is held out
        return found

    setup = SolverSetup(read, ctx.seed, tries, lambda: ctx.model, known)
    for name in names:
        learned[0] = 0
        try:
            solver = open_solver(name, solvers_of(ctx), setup)
            given = ctx.progress(texts, f"Solving with {name}")
            solved.append(solve_all(solver, given, name=name, seconds=seconds, learned=learned[0]))
        except AliceError as error:
            failed.append(f"{name} is left out: {error}.")
    return solved, failed


def solve_all(
    solver: Solver,
    texts: Iterable[Pair],
    *,
    name: str,
    kind: Kind = "solver",
    seconds: float = np.inf,
    learned: int = 0,
) -> Solved:
    """Run one solver over texts; no further text is started once `seconds` have passed."""
    times: list[float] = []
    errors, letters, answers = [], [], []
    for cipher, plain in texts:
        if sum(times) > seconds:
            break
        watch = Stopwatch()
        with watch:
            answer = solver(cipher)
        times.append(watch.seconds)
        wrong = sum(answered != expected for answered, expected in zip(answer, plain, strict=True))
        errors.append(wrong / len(plain))
        letters.append(sum(character in LETTERS for character in cipher))
        answers.append(answer)
    found = (np.array(times), np.array(errors), np.array(letters, dtype=float))
    return Solved(name, kind, *found, learned, tuple(answers))
