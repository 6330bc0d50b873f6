"""Times models over the same texts: one at a time and in batches, on one core and on all, in turns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from alice import timing
from alice.metrics import error_rates
from alice.model import heads
from alice.plugins.context import RunContext
from alice.statistics import Floats
from alice.text.batches import Batch
from alice.timing import Stopwatch, using_threads


@dataclass(frozen=True, eq=False)
class Pass:
    """One model once over the texts."""

    seconds: float
    """Time in the model, from ids to answers."""
    assignment: float
    """Part of it in the assignment of the bijective head."""
    processor: float
    """Seconds that the machine's cores worked for it meanwhile."""
    calls: int
    """Batches."""
    letters: int
    """Letters A-Z that were solved."""
    characters: int
    """All characters that were read, spaces and punctuation too."""
    errors: Floats
    """Symbol error rate, (texts,), in the order of the batches."""


@dataclass(eq=False)
class Timing:
    """One way to run one model, and how long it took in each round."""

    ctx: RunContext
    single: bool
    """Whether it gets one text at a time."""
    threads: int
    seconds: list[float] = field(default_factory=list)
    """Of each round."""
    assignment: list[float] = field(default_factory=list)
    """Of each round."""
    processor: list[float] = field(default_factory=list)
    """Of each round."""
    last: Pass | None = None
    """The latest round."""

    def run_once(self, calls: int | None = None) -> Pass:
        """Read all texts, or only what some calls of the model take."""
        with using_threads(self.threads):
            return read_once(self.ctx, single=self.single, calls=calls)

    def take_turn(self) -> None:
        """Read all texts and note the time."""
        self.last = self.run_once()
        self.seconds.append(self.last.seconds)
        self.assignment.append(self.last.assignment)
        self.processor.append(self.last.processor)


def time_models(ctx: RunContext, *, rounds: int, seconds: float) -> list[Timing]:
    """Time every model in every way; all take turns, so that what else the machine does hits all alike.

    No round begins that would not be over in so many seconds; if even the first would not, it has fewer texts.
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
    """Call every model once, which warms it up, and again to see how many texts a round of so many seconds can have."""
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
    """Run a model over texts that lie ready; only the model is timed, neither encryption nor counting errors."""
    whole, assignment = Stopwatch(), Stopwatch()
    letter_ids = torch.from_numpy(ctx.alphabet.letter_ids.astype("int64")).to(ctx.device)
    letters = characters = 0
    errors = []
    assign = heads.assign  # type: ignore[attr-defined]  # what the head calls, by the name that it calls it by
    with patch.object(heads, "assign", assignment.watching(assign)):
        for cipher, plain in islice(_parts(ctx, single=single), calls):
            with whole:
                answer = ctx.model(cipher, soft=False).argmax(-1).cpu()
            errors.append(error_rates(answer.numpy(), plain.cpu().numpy()))
            letters += int(torch.isin(cipher, letter_ids).sum())
            characters += int((cipher != 0).sum())
    times = (whole.seconds, assignment.seconds, whole.processor)
    return Pass(*times, len(errors), letters, characters, np.concatenate(errors))


def _parts(ctx: RunContext, *, single: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield ciphertexts and plaintexts as the model gets them, (batch, pos) each."""
    for batch in ctx.batches:
        yield from _rows(batch) if single else [(batch.cipher_ids, batch.plain_ids)]


def _rows(batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the texts of a batch one by one, without padding."""
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        yield batch.cipher_ids[row : row + 1, :length], batch.plain_ids[row : row + 1, :length]
