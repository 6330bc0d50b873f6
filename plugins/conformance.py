"""The rules for an analysis, as checks: what `check_analysis` of the pytest plugin does."""

import gc
import json
import os
import random
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from alice.fields import from_plain, to_plain
from alice.model import Alice
from alice.model.config import ModelConfig
from alice.plugins.analysis import Analysis, check_class, checkpoints_of
from alice.plugins.context import RunContext
from alice.plugins.models import hooks_on
from alice.plugins.runner import compute
from alice.plugins.sample import SampleBatches
from alice.plugins.store_room import FOLDER_VARIABLE
from alice.reports import Result
from alice.reports.archive import fingerprint, read_report, write_result
from alice.reports.html import render_report
from alice.text.batches import Batch

WORDS = (
    *("THE", "OF", "AND", "TO", "IN", "IS", "YOU", "THAT", "IT", "HE", "WAS", "FOR", "ON", "ARE", "AS", "WITH", "HIS"),
    *("THEY", "AT", "BE", "THIS", "HAVE", "FROM", "OR", "ONE", "HAD", "BY", "WORD", "BUT", "NOT", "WHAT", "ALL", "WE"),
    *("WHEN", "YOUR", "CAN", "SAID", "THERE", "USE", "EACH", "WHICH", "SHE", "HOW", "WILL", "UP", "OTHER", "QUIZ"),
)
LONG_TEXT = 100
FEW, MANY = 120, 480
"""Numbers of texts between which memory is compared: three full batches, and twelve."""
BYTES_PER_TEXT = 1024
"""What an analysis may keep of a text: some numbers, but neither its activations nor its logits."""


def tiny_model(variant: str) -> Alice:
    """Return a small model with random weights large enough that nothing it says is a tie."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return Alice(
            ModelConfig(
                variant=variant,  # type: ignore[arg-type]  # the config checks it
                d_model=16,
                n_layers=2,
                n_heads=2,
                d_mlp=24,
                hyper_layers=1,
                hyper_heads=2,
                n_ctx=320,
                init_std=0.3,
                cross_skip=True,
            )
        ).eval()


def tiny_texts(count: int, *, one_length: bool = False) -> list[str]:
    """Return common words in random order, 20 to 100 characters a text, or 100 always."""
    rng = np.random.default_rng(0)
    lengths = np.full(count, LONG_TEXT) if one_length else rng.integers(20, LONG_TEXT + 1, count)
    return [" ".join(rng.choice(WORDS, LONG_TEXT // 2))[: length - 1] + "." for length in lengths]


def tiny_context(*models: Alice, texts: int) -> RunContext:
    """Return a context over models and made-up texts."""
    return RunContext.open(*models, data=tiny_texts(texts), split="all")


def check(cls: type, variants: tuple[str, ...], options: dict[str, Any]) -> None:
    """Hold an analysis to every rule, with a cache of its own, so that nothing is left in the user's."""
    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, {FOLDER_VARIABLE: cache}):
        _check(cls, variants, options)


def _check(cls: type, variants: tuple[str, ...], options: dict[str, Any]) -> None:
    check_class(cls)
    analysis = cls(**options)
    check_round_trip(analysis)
    for ctx in _contexts(analysis, variants):
        check_leaves_models(analysis, ctx)
        check_serialises(check_repeats(analysis, ctx))
    if checkpoints_of(cls) != "none":
        check_streams(lambda count: _with_samples(cls, options, count), tiny_model(variants[0]))


def check_round_trip(analysis: Analysis) -> None:
    """See that the options come back from JSON as they were."""
    written = json.dumps(to_plain(analysis))
    again = from_plain(type(analysis), json.loads(written))
    _demand(again == analysis, f"{analysis.name}: the options {written} come back as {again}")


def check_repeats(analysis: Analysis, ctx: RunContext) -> Result:
    """See that the result depends on the seed of the context alone."""
    first, second = (compute(analysis, _disturb(ctx, state)) for state in (1, 2))
    _demand(
        fingerprint(first) == fingerprint(second),
        f"{analysis.name}: two runs with the same seed differ; take randomness from ctx.rng alone",
    )
    return first


def check_serialises(result: Result) -> None:
    """See that the result can be stored, read back as it was, and shown."""
    with tempfile.TemporaryDirectory() as folder:
        write_result(folder, result, {})
        again = read_report(Path(folder))
    _demand(fingerprint(again.result) == fingerprint(result), f"{result.title}: the stored result is another")
    _demand("<html" in render_report(again), f"{result.title}: the report is no page")


def check_leaves_models(analysis: Analysis, ctx: RunContext) -> None:
    """See that no hook is left on a model, and that its weights are unchanged."""
    models = [one.named_model for one in ctx.each if one.named_model is not None]
    _ = [named.fingerprint for named in models]
    analysis.run(ctx)  # not through the runner, which would take the hooks off
    for named in models:
        left = hooks_on(named.model)
        _demand(not left, f"{analysis.name}: it leaves a hook on {''.join(left[:1])}; use `with model.hooks(...)`")
        _demand(named.is_unchanged(), f"{analysis.name}: it changes the weights; change those of a copy.deepcopy")


def check_streams(make: Callable[[int], Analysis], model: Alice) -> None:
    """See that memory while reading many texts is that while reading few."""
    # The first run is for whatever is imported and remembered once.
    _, (few, few_read), (many, many_read) = (_peak(make(count), model, count) for count in (FEW, FEW, MANY))
    _demand(
        not few_read or many_read > few_read,
        f"{make(MANY).name}: it reads no more of {MANY} texts than of {FEW}, so nobody can see how its memory grows; "
        "name the option `samples` that limits them",
    )
    grown = (many - few) / (MANY - FEW)
    _demand(
        grown <= BYTES_PER_TEXT,
        f"{make(MANY).name}: memory grows by {grown:.0f} bytes a text; add up as you go, or use ctx.store",
    )


@dataclass(frozen=True, eq=False)
class WatchedContext(RunContext):
    """A context that measures memory whenever its last batch is taken, and counts the texts."""

    held: list[int] = field(default_factory=list)
    """Bytes held at these moments; contexts made from this one add to the same list."""
    read: list[int] = field(default_factory=list)
    """Texts of each batch that was taken, in the same way."""

    @cached_property
    def batches(self) -> SampleBatches:
        """The batches, the last of which counts what is held while it is fetched."""
        return _WatchedBatches(self._texts.batches(self.device), self.held, self.read)


class _WatchedBatches(SampleBatches):
    def __init__(self, batches: SampleBatches, held: list[int], read: list[int]) -> None:
        self._inner, self._held, self._read = batches, held, read

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, number: int) -> Batch:
        if number == len(self) - 1:  # by then everything that is kept has piled up
            self._held.append(_held_bytes())
        batch = self._inner[number]
        self._read.append(len(batch))
        return batch


def _peak(analysis: Analysis, model: Alice, count: int) -> tuple[int, int]:
    """Return the most bytes held at a last batch (tensors, and what Python and numpy allocated) and the texts taken."""
    plain = RunContext.open(model, data=tiny_texts(count, one_length=True), split="all")
    ctx = WatchedContext(plain.seed, plain.named_model, plain.texts)
    with _tracing():
        analysis.run(ctx)
    return max(ctx.held, default=0), sum(ctx.read)


@contextmanager
def _tracing() -> Iterator[None]:
    running = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        yield
    finally:
        if not running:
            tracemalloc.stop()


def _held_bytes() -> int:
    # A sparse tensor has no storage to ask for; others may have left one in this process.
    found = (thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor))
    tensors = (tensor for tensor in found if tensor.layout is torch.strided)
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values()) + tracemalloc.get_traced_memory()[0]


def _demand(kept: bool, otherwise: str) -> None:
    """Fail with a sentence unless a rule is kept; not an `assert`, which python -O would leave out."""
    if not kept:
        raise AssertionError(otherwise)


def _contexts(analysis: Analysis, variants: tuple[str, ...]) -> Iterator[RunContext]:
    wanted = checkpoints_of(type(analysis))
    if wanted == "none":
        yield RunContext()
        return
    models = [tiny_model(variant) for variant in variants]
    yield from (tiny_context(model, texts=24) for model in models)
    if wanted == "several":
        yield tiny_context(*models, texts=24)


def _with_samples(cls: type, options: dict[str, Any], count: int) -> Any:
    """Return the analysis over so many texts, if it has an option to limit them."""
    limited = {"samples": count} if any(option.name == "samples" for option in fields(cls)) else {}
    return cls(**options | limited)


def _disturb(ctx: RunContext, state: int) -> RunContext:
    """Set the global generators to some state, which must make no difference."""
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002  (the global one is what is meant)
    torch.manual_seed(state)
    return ctx
