"""Gives the same few ciphertexts to the models, one at a time on one core, and to the classical solvers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch

from alice.alphabet import LETTERS
from alice.classical import HillClimber, Quadgrams
from alice.installed_solvers import SUBBREAKER, has_subbreaker, open_subbreaker
from alice.metrics import Floats
from alice.model import Alice
from alice.plugins.context import RunContext
from alice.timing import Stopwatch, using_threads

Solver = Callable[[str], str]
HILL_CLIMBING = "hill climbing"


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

    @property
    def speed(self) -> float:
        """Letters per second."""
        return float(self.letters.sum() / self.seconds.sum())


@dataclass(frozen=True, eq=False)
class Comparison:
    """All solvers on the same texts."""

    offered: int
    """How many texts there were."""
    training: int
    """Texts in which the quadgrams of the hill climber were counted."""
    climbs: int
    """Climbs that a classical solver may make for a text."""
    solved: tuple[Solved, ...]
    missing: tuple[str, ...]
    """Why a solver is not there."""


def compare(ctx: RunContext, training: Sequence[str], *, climbs: int, seconds: float) -> Comparison:
    """Let every solver that is at hand have the texts of a context."""
    texts, missing = ciphertexts(ctx), []
    solved = []
    with using_threads(1):
        for one in ctx.each:
            if one.alphabet == ctx.alphabet:
                answer = partial(answer_of, one.model)
                answer(texts[0][0])  # to warm up
                solved.append(solve_all(answer, texts, name=one.checkpoint, kind="model"))
            else:
                missing.append(
                    f"{one.checkpoint} has another alphabet than {ctx.checkpoint}, so it cannot have these texts."
                )
        solvers, absent = _classical_solvers(ctx, training, climbs)
        for name, solver in solvers.items():
            given = ctx.progress(texts, f"Solving by {name}")
            solved.append(solve_all(solver, given, name=name, kind="classical", seconds=seconds))
    return Comparison(len(texts), len(training), climbs, tuple(solved), (*missing, *absent))


def _classical_solvers(ctx: RunContext, training: Sequence[str], climbs: int) -> tuple[dict[str, Solver], list[str]]:
    """Return the classical solvers that are at hand, and why others are not."""
    solvers: dict[str, Solver] = {}
    missing = []
    if training:
        climber = HillClimber(Quadgrams.count(training), climbs=climbs)
        solvers[HILL_CLIMBING] = lambda text: climber.solve(text, ctx.rng)
    else:
        missing.append(f"No text of the training side is left to count quadgrams in, so {HILL_CLIMBING} is not here.")
    if has_subbreaker():
        solvers[SUBBREAKER] = open_subbreaker(climbs=climbs, seed=ctx.seed)
    else:
        missing.append(
            f"{SUBBREAKER} is not installed, so it is not here; pip install 'alice-interp[solvers]' adds it."
        )
    return solvers, missing


def ciphertexts(ctx: RunContext) -> list[tuple[str, str]]:
    """Return the ciphertexts of a context with their plaintexts, in the order of the source."""
    found: dict[int, tuple[str, str]] = {}
    for batch in ctx.batches:
        rows = zip(batch.cipher_ids.cpu().numpy(), batch.plain_ids.cpu().numpy(), strict=True)
        pairs = [(ctx.alphabet.decode(cipher), ctx.alphabet.decode(plain)) for cipher, plain in rows]
        found |= zip(batch.index.tolist(), pairs, strict=True)
    return [found[number] for number in sorted(found)]


@torch.inference_mode()
def answer_of(model: Alice, ciphertext: str) -> str:
    """Return what a model answers to one ciphertext; a dot stands where it answers padding."""
    ids = torch.from_numpy(model.alphabet.encode(ciphertext).astype("int64")).to(model.cfg.device)
    symbols = "\N{MIDDLE DOT}" + model.alphabet.symbols
    return "".join(symbols[answer] for answer in model(ids[None], soft=False).argmax(-1)[0].tolist())


def solve_all(
    solver: Solver,
    texts: Iterable[tuple[str, str]],
    *,
    name: str,
    kind: Literal["model", "classical"],
    seconds: float = np.inf,
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
    return Solved(name, kind, np.array(times), np.array(errors), np.array(letters, dtype=float))
