"""The models of a run and its other solvers, one text at a time on one core."""

from dataclasses import dataclass
from functools import partial

import torch

from alice.model import Alice
from alice.plugins.builtin.solver_runs import Solved, ciphertexts, run_solvers, solve_all, why_not
from alice.plugins.context import RunContext
from alice.plugins.solvers import solvers_of
from alice.timing import using_threads


@dataclass(frozen=True, eq=False)
class Comparison:
    """All solvers on the same texts."""

    offered: int
    """How many texts there were."""
    climbs: int
    """How often a classical solver may start anew for a text."""
    solved: tuple[Solved, ...]
    missing: tuple[str, ...]
    """Why a solver is not there."""


def compare(ctx: RunContext, source: RunContext, *, training: int | None, climbs: int, seconds: float) -> Comparison:
    """Let every solver that is at hand have the texts of a context, after learning from the other side of `source`."""
    texts, missing, solved = ciphertexts(ctx), [], []
    with using_threads(1):
        for one in ctx.each:
            if reason := why_not(one, ctx):
                missing.append(reason)
                continue
            answer = partial(answer_of, one.model)
            answer(texts[0][0])  # to warm up
            solved.append(solve_all(answer, texts, name=one.checkpoint, kind="model"))
        others, failed = run_solvers(
            ctx, texts, solvers_of(ctx), source=source, tries=climbs, training=training, seconds=seconds
        )
    return Comparison(len(texts), climbs, (*solved, *others), (*missing, *failed))


@torch.inference_mode()
def answer_of(model: Alice, ciphertext: str) -> str:
    """Return what a model answers to one ciphertext; a dot stands where it answers padding."""
    ids = torch.from_numpy(model.alphabet.encode(ciphertext).astype("int64")).to(model.cfg.device)
    symbols = "\N{MIDDLE DOT}" + model.alphabet.symbols
    return "".join(symbols[answer] for answer in model(ids[None], soft=False).argmax(-1)[0].tolist())
