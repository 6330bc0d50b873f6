"""Solvers that are no models on the texts of a run: how long each takes, and how much it gets wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from alice.errors import AliceError
from alice.plugins.context import RunContext
from alice.plugins.solvers import TRIES, Solver, SolverSetup, open_solver, solvers_of
from alice.statistics import Floats
from alice.text.alphabet import LETTERS
from alice.timing import Stopwatch

Pair = tuple[str, str]
"""A ciphertext and its plaintext."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What one solver made of the texts it was given, which are the first ones."""

    solver: str
    kind: Literal["model", "classical"]
    seconds: Floats
    """For each text, (texts,)."""
    errors: Floats
    """Symbol error rate, (texts,)."""
    letters: Floats
    """Letters A-Z, (texts,)."""
    learned: int = 0
    """Training texts that it learned from in this run."""

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
    """Say why a model cannot have the texts of a context; None if it can."""
    if one.alphabet == ctx.alphabet:
        return None
    return f"{one.checkpoint} has another alphabet than {ctx.checkpoint}, so it cannot have these texts."


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
    """Give texts to the solvers of a run; return what they made of them, and a sentence about each that failed.

    Args:
        ctx: the run.
        texts: the texts, in order.
        names: solvers to ask.
        source: the context whose training side they learn from, if it is another.
        tries: how often a solver that draws lots may start anew for a text.
        training: how many training texts a solver may have at most; as many as it asks for if None.
        seconds: after so long a solver gets no further text.

    """
    solved, failed = [], []
    for name in names:
        learned = [0]

        def learn(count: int, learned: list[int] = learned) -> list[str]:
            found = (source or ctx).training_texts(count if training is None else min(count, training))
            learned[0] = max(learned[0], len(found))
            return found

        try:
            solver = open_solver(name, solvers_of(ctx), SolverSetup(learn, ctx.seed, tries))
            given = ctx.progress(texts, f"Solving by {name}")
            solved.append(solve_all(solver, given, name=name, seconds=seconds, learned=learned[0]))
        except AliceError as error:
            failed.append(f"{name} is not here: {error}.")
    return solved, failed


def solve_all(
    solver: Solver,
    texts: Iterable[Pair],
    *,
    name: str,
    kind: Literal["model", "classical"] = "classical",
    seconds: float = np.inf,
    learned: int = 0,
) -> Solved:
    """Give texts to a solver, the next one only if it has not yet used up its seconds."""
    times: list[float] = []
    errors, letters = [], []
    for cipher, plain in texts:
        if sum(times) > seconds:
            break
        watch = Stopwatch()
        with watch:
            answer = solver(cipher)
        times.append(watch.seconds)
        errors.append(sum(said != meant for said, meant in zip(answer, plain, strict=True)) / len(plain))
        letters.append(sum(character in LETTERS for character in cipher))
    return Solved(name, kind, np.array(times), np.array(errors), np.array(letters, dtype=float), learned)
