"""Times models over the same texts, in several settings that take turns; then all solvers one text at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product

import numpy as np
import torch
from torch import Tensor

from alice import timing
from alice.metrics import error_rates
from alice.model import Alice, BijectiveHead
from alice.plugins.builtin.baseline_solvers import BASELINES
from alice.plugins.builtin.solver_scores import Solved, ciphertexts, run_solvers, solve_all, solver_names, why_not
from alice.plugins.context import RunContext
from alice.plugins.solvers import solvers_of
from alice.solving import NO_SYMBOL
from alice.statistics import Floats
from alice.text import Batch
from alice.timing import Stopwatch, using_threads


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass of a model over the texts."""

    seconds: float
    """Time in the model, from ids to answers."""
    assignment: float
    """Time in the assignment of the bijective head."""
    processor: float
    """CPU time, summed over cores."""
    calls: int
    """Number of batches."""
    letters: int
    """Number of letters A-Z."""
    characters: int
    """Number of characters, including spaces and punctuation."""
    errors: Floats
    """Symbol error rate as a fraction, (texts,), in the order of the batches."""


@dataclass(eq=False)
class Timing:
    """One model in one setting, and how long each round took."""

    ctx: RunContext
    single: bool
    """Whether the model reads one text at a time."""
    threads: int
    """Number of threads."""
    seconds: list[float] = field(default_factory=list)
    """Time in the model, (rounds,)."""
    assignment: list[float] = field(default_factory=list)
    """Time in the assignment, (rounds,)."""
    processor: list[float] = field(default_factory=list)
    """CPU time, (rounds,)."""
    last: Pass | None = None
    """The latest round."""

    def run_once(self, calls: int | None = None) -> Pass:
        """Read all texts, or those of the first `calls` batches."""
        with using_threads(self.threads):
            return read_once(self.ctx, single=self.single, calls=calls)

    def take_turn(self) -> None:
        """Read all texts and record the time."""
        self.last = self.run_once()
        self.seconds.append(self.last.seconds)
        self.assignment.append(self.last.assignment)
        self.processor.append(self.last.processor)


def time_models(ctx: RunContext, *, rounds: int, seconds: float) -> list[Timing]:
    """Time every model in every setting; settings take turns, so that other load on the machine affects all alike.

    A round is skipped if it would exceed the time limit; the first is shortened instead.
    """
    settings = product(ctx.each, (True, False), sorted({1, timing.cores()}))
    timings = [Timing(one, single, threads) for one, single, threads in settings]
    timings = _within(timings, seconds)
    turns = [(number, each) for number in range(rounds) for each in timings]
    begun = timing.now()
    for number, each in ctx.progress(turns, "Timing the models"):
        if number and each is timings[0] and (timing.now() - begun) * (number + 1) / number > seconds:
            break
        each.take_turn()
    return timings


def _within(timings: list[Timing], seconds: float) -> list[Timing]:
    """Warm up every setting, time one call of each, and keep as many texts as fit a round of `seconds`."""
    for each in timings:
        each.run_once(calls=1)
    trials = [each.run_once(calls=1) for each in timings]
    whole = [sum(int(batch.mask.sum()) for batch in each.ctx.batches) for each in timings]
    expected = sum(tried.seconds * all_of / tried.characters for tried, all_of in zip(trials, whole, strict=True))
    if expected <= seconds:
        return timings
    texts = sum(len(batch) for batch in timings[0].ctx.batches)
    fewer = max(1, int(texts * seconds / expected))
    return [Timing(each.ctx.sample(fewer), each.single, each.threads) for each in timings]


@torch.inference_mode()
def read_once(ctx: RunContext, *, single: bool, calls: int | None = None) -> Pass:
    """Run a model over encrypted texts; only the model is timed, not encryption or counting errors."""
    whole, assignment = Stopwatch(), Stopwatch()
    letter_ids = torch.from_numpy(ctx.alphabet.letter_ids).to(ctx.device)
    letters = characters = 0
    errors = []
    with _watched_assignment(ctx.model, assignment):
        for cipher, plain in islice(_parts(ctx, single=single), calls):
            with whole:
                answer = ctx.model(cipher, soft=False).argmax(-1).cpu()
            errors.append(error_rates(answer.numpy(), plain.cpu().numpy()))
            letters += int(torch.isin(cipher, letter_ids).sum())
            characters += int((cipher != 0).sum())
    times = (whole.seconds, assignment.seconds, whole.processor)
    return Pass(*times, len(errors), letters, characters, np.concatenate(errors))


@contextmanager
def _watched_assignment(model: Alice, watch: Stopwatch) -> Iterator[None]:
    """Time the assignment of a bijective head; another head has none."""
    head = model.head
    if not isinstance(head, BijectiveHead):
        yield
        return
    assign = head.assign
    head.assign = watch.watching(assign)
    try:
        yield
    finally:
        head.assign = assign


def _parts(ctx: RunContext, *, single: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield ciphertexts and plaintexts as the model reads them, (batch, pos) each."""
    for batch in ctx.batches:
        yield from _rows(batch) if single else [(batch.cipher_ids, batch.plain_ids)]


def _rows(batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the texts of a batch one by one, without padding."""
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        yield batch.cipher_ids[row : row + 1, :length], batch.plain_ids[row : row + 1, :length]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models and other solvers on the same texts, one text at a time on one core."""

    offered: int
    """Number of texts; a solver whose time was up has read fewer."""
    climbs: int
    """Maximum number of restarts per text of a classical solver."""
    solved: tuple[Solved, ...]
    """Models first, then other solvers."""
    missing: tuple[str, ...]
    """Why models or solvers were left out, a sentence each."""


def compare(ctx: RunContext, source: RunContext, *, training: int | None, climbs: int, seconds: float) -> Comparison:
    """Run all models and solvers over the texts of a context; solvers learn from the training split of `source`."""
    texts, missing, models = ciphertexts(ctx), [], []
    with using_threads(1):
        for one in ctx.each:
            if reason := why_not(one, ctx):
                missing.append(reason)
                continue
            answer = partial(answer_of, one.model)
            answer(texts[0][0])  # to warm up
            models.append(solve_all(answer, texts, name=one.checkpoint, kind="model"))
        names = [name for name in solvers_of(ctx) if name not in BASELINES]  # errors-by-length times those
        others, failed = run_solvers(ctx, texts, names, source=source, tries=climbs, training=training, seconds=seconds)
    shown = solver_names([one.solver for one in others], [one.solver for one in models])
    others = [replace(one, solver=shown[one.solver]) for one in others]
    return Comparison(len(texts), climbs, (*models, *others), (*missing, *failed))


@torch.inference_mode()
def answer_of(model: Alice, ciphertext: str) -> str:
    """Return a model's answer to one ciphertext."""
    ids = torch.from_numpy(model.alphabet.encode(ciphertext).astype("int64")).to(model.cfg.device)
    symbols = NO_SYMBOL + model.alphabet.symbols
    return "".join(symbols[answer] for answer in model(ids[None], soft=False).argmax(-1)[0].tolist())
