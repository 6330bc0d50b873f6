"""The rules for an analysis as checks, and the tiny models and texts that they run on: the kit behind `testing`."""

import gc
import json
import os
import random
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from alice.cache import FOLDER_VARIABLE
from alice.fields import from_plain, to_plain
from alice.model import Alice, ModelConfig
from alice.plugins.analysis import Analysis, can_be_divided, check_class, checkpoints_of
from alice.plugins.context import RunContext
from alice.plugins.context.models import hooks_on
from alice.plugins.context.sample import SampleBatches
from alice.plugins.grade import grade as grade_analyses
from alice.plugins.manager import build
from alice.plugins.runner import compute
from alice.reports import Result
from alice.reports.archive import fingerprint, read_report, write_result
from alice.reports.html import render_pages
from alice.text import Batch

TINY = {
    "d_model": 16,
    "n_layers": 2,
    "n_heads": 2,
    "d_mlp": 24,
    "hyper_layers": 1,
    "hyper_heads": 2,
    "n_ctx": 320,
    "init_std": 0.3,
    "cross_heads": 2,
    "cross_skip": True,
}
"""Configuration of a tiny model."""
TRAINED = Path(str(files("alice.plugins"))) / "trained_tiny"
"""Folder of the trained model."""
WORDS = (
    *("THE", "OF", "AND", "TO", "IN", "IS", "YOU", "THAT", "IT", "HE", "WAS", "FOR", "ON", "ARE", "AS", "WITH", "HIS"),
    *("THEY", "AT", "BE", "THIS", "HAVE", "FROM", "OR", "ONE", "HAD", "BY", "WORD", "BUT", "NOT", "WHAT", "ALL", "WE"),
    *("WHEN", "YOUR", "CAN", "SAID", "THERE", "USE", "EACH", "WHICH", "SHE", "HOW", "WILL", "UP", "OTHER", "QUIZ"),
)
LONG_TEXT = 100
FEW, MANY = 80, 240
"""Numbers of texts for which memory is compared: two full batches, and six."""
BYTES_PER_TEXT = 2048
"""What an analysis may keep of each text: a few numbers, but neither activations nor logits."""
TEXTS, TRAINING_TEXTS = 24, 48
"""Numbers of texts to analyse and to learn from."""


def tiny_model(variant: str = "base", **changes: Any) -> Alice:
    """Return a small model with the same random weights each time, large enough that no two scores are equal."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return Alice(ModelConfig(**TINY | {"variant": variant} | changes)).eval()


def trained_model() -> Alice:
    """Return a model of four layers and width 48 that solves long English texts; see its card in `trained_tiny`."""
    return Alice.from_pretrained(TRAINED, device="cpu")


def trained_texts() -> list[str]:
    """Return eight texts of about 200 characters, which the trained model solves with 2 % of errors."""
    return (TRAINED / "texts.txt").read_text(encoding="utf-8").splitlines()


def tiny_texts(count: int, *, one_length: bool = False, seed: int = 0) -> list[str]:
    """Return common words in random order, 20 to 100 characters per text, or always 100."""
    rng = np.random.default_rng(seed)
    lengths = np.full(count, LONG_TEXT) if one_length else rng.integers(20, LONG_TEXT + 1, count)
    return [" ".join(rng.choice(WORDS, LONG_TEXT // 2))[: length - 1] + "." for length in lengths]


def tiny_context(*models: Alice, texts: int, one_length: bool = False) -> RunContext:
    """Return a context over models and random texts, with further texts to learn from."""
    data = [*tiny_texts(texts, one_length=one_length), *tiny_texts(TRAINING_TEXTS, one_length=one_length, seed=1)]
    return RunContext.open(*models, data=data, split="all", samples=texts)


def check(cls: type, variants: tuple[str, ...], options: dict[str, Any], *, grade: bool = False) -> None:
    """Check an analysis against every rule, with a temporary activation store; also grade it if asked."""
    check_class(cls)
    analysis = cls(**options)
    check_round_trip(analysis)
    with _temporary_store():
        results = [check_run(analysis, ctx) for ctx in _contexts(analysis, variants)]
        if checkpoints_of(cls) == "several":
            check_metric_names(*results)
        if checkpoints_of(cls) != "none":
            check_streams(lambda count: _with_samples(cls, options, count), tiny_model(variants[0]))
        if can_be_divided(cls) and sys.platform == "linux":
            check_divided(analysis, tiny_context(tiny_model(variants[0]), texts=TEXTS))
        if grade:
            check_grade(analysis)


def check_round_trip(analysis: Analysis) -> None:
    """Check that the options survive JSON."""
    written = json.dumps(to_plain(analysis))
    again = from_plain(type(analysis), json.loads(written))
    _demand(again == analysis, f"{analysis.name}: the options {written} come back from JSON as {again}")


def check_run(analysis: Analysis, ctx: RunContext) -> Result:
    """Check that one seed gives one result, that the models are left as they were, and that the result can be stored.

    The first run bypasses the runner, which would remove hooks left behind.
    """
    models = [one.named_model for one in ctx.each if one.named_model is not None]
    _ = [named.fingerprint for named in models]
    with torch.random.fork_rng(devices=[]):
        _set_generators(1)
        torch.manual_seed(ctx.seed)
        first = analysis.run(ctx)
    for named in models:
        left = hooks_on(named.model)
        _demand(not left, f"{analysis.name}: it leaves a hook on {''.join(left[:1])}; use `with model.hooks(...)`")
        _demand(named.is_unchanged(), f"{analysis.name}: it changes the weights; change those of a copy.deepcopy")
    _set_generators(2)
    second = compute(analysis, ctx)
    _demand(
        fingerprint(first) == fingerprint(second),
        f"{analysis.name}: the same seed gives different results; take random numbers from ctx.rng only",
    )
    check_serialises(second)
    return second


def check_serialises(result: Result) -> None:
    """Check that a result can be stored, read back unchanged, and shown."""
    with tempfile.TemporaryDirectory() as folder:
        write_result(folder, result, {})
        again = read_report(Path(folder))
    _demand(fingerprint(again.result) == fingerprint(result), f"{result.title}: the stored result differs")
    for text in render_pages(again).values():
        _demand("<html" in text, f"{result.title}: the report is not a page")


def check_divided(analysis: Analysis, ctx: RunContext) -> None:
    """Check that the result does not depend on the number of workers."""
    alone, together = (fingerprint(compute(analysis, ctx.divided(workers))) for workers in (1, 2))
    _demand(
        alone == together,
        f"{analysis.name}: two workers give another result than one; what `ctx.map` calls may depend on its item only",
    )


def check_grade(analysis: Analysis) -> None:
    """Check that an analysis finds more of the planted mechanisms than claims that know nothing."""
    found = grade_analyses([analysis], build(), trials=1).tables["league"]
    for row in found.records():
        _demand(
            row["beats_controls"] is not False,
            f"{row['method']}: its grade for {row['what']} is {row['value']:.2f}, no better than a control",
        )


def check_metric_names(alone: Result, together: Result) -> None:
    """Check that every metric over one model has the same name and model when there are several."""
    found = {(metric.name, metric.model) for metric in together.metrics}
    for metric in alone.metrics:
        _demand(
            (metric.name, metric.model) in found,
            f"{together.title}: the metric {metric.name!r} of {metric.model or 'no model'} is missing when there are "
            "several models; give it the same name and model whatever the number of models",
        )


def check_streams(make: Callable[[int], Analysis], model: Alice) -> None:
    """Check that reading many texts takes no more memory than reading few."""
    grown = 0.0
    for _ in range(2):  # a cache that other code fills once looks like growth only the first time
        (few, few_read), (many, many_read) = (_peak(make(count), model, count) for count in (FEW, MANY))
        _demand(
            not few_read or many_read > few_read,
            f"{make(MANY).name}: it reads no more of {MANY} texts than of {FEW}, so the growth of its memory is "
            "unknown; call the option that limits them `samples`",
        )
        grown = (many - few) / (MANY - FEW)
        if grown <= BYTES_PER_TEXT:
            return
    raise AssertionError(
        f"{make(MANY).name}: memory grows by {grown:.0f} bytes per text; accumulate while reading, or use ctx.store"
    )


@dataclass(frozen=True, eq=False)
class WatchedContext(RunContext):
    """A context that measures memory whenever its last batch is read, and counts the texts."""

    held: list[int] = field(default_factory=list)
    """Bytes held at these moments; contexts derived from this one add to the same list."""
    read: list[int] = field(default_factory=list)
    """Number of texts of each batch that was read; shared in the same way."""

    @cached_property
    def batches(self) -> SampleBatches:
        """The batches, with memory measured at the last one."""
        return _WatchedBatches(self._texts.batches(self.device), self.held, self.read)


class _WatchedBatches(SampleBatches):
    def __init__(self, batches: SampleBatches, held: list[int], read: list[int]) -> None:
        self._inner, self._held, self._read = batches, held, read

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, number: int) -> Batch:
        if number == len(self) - 1:  # by then everything that is kept has accumulated
            self._held.append(_held_bytes())
        batch = self._inner[number]
        self._read.append(len(batch))
        return batch


def _peak(analysis: Analysis, model: Alice, count: int) -> tuple[int, int]:
    """Return the peak of the bytes held at a last batch (tensors, Python and numpy) and the number of texts read."""
    plain = tiny_context(model, texts=count, one_length=True)
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
    gc.collect()  # garbage of other code would count as growth
    # Comparing types is much quicker than isinstance for all objects there are. Private kinds of torch, such as those
    # with which it compiles, have no memory.
    kinds = {kind for kind in _with_subclasses(torch.Tensor) if not kind.__module__.startswith("torch._")}
    storages = dict(_storage(thing) for thing in gc.get_objects() if type(thing) in kinds)
    return sum(storages.values()) + tracemalloc.get_traced_memory()[0]


def _storage(tensor: torch.Tensor) -> tuple[int, int]:
    """Return address and size of a tensor's memory; zeros if it has none.

    Other code in this process may hold such tensors, for instance sparse ones.
    """
    try:
        return tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
    except (NotImplementedError, RuntimeError):
        return 0, 0


def _with_subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(_with_subclasses, cls.__subclasses__()))


def _demand(kept: bool, otherwise: str) -> None:
    """Fail with a sentence unless a rule is kept; `assert` would not work under python -O."""
    if not kept:
        raise AssertionError(otherwise)


def _contexts(analysis: Analysis, variants: tuple[str, ...]) -> Iterator[RunContext]:
    wanted = checkpoints_of(type(analysis))
    if wanted == "none":
        yield RunContext()
        return
    models = [tiny_model(variant) for variant in variants]
    if wanted == "several":
        yield tiny_context(models[0], texts=TEXTS)
        yield tiny_context(*models, texts=TEXTS)
    else:
        yield from (tiny_context(model, texts=TEXTS) for model in models)


def _with_samples(cls: type, options: dict[str, Any], count: int) -> Any:
    """Return the analysis over `count` texts, if it has an option for that."""
    limited = {"samples": count} if any(option.name == "samples" for option in fields(cls)) else {}
    return cls(**options | limited)


def _set_generators(state: int) -> None:
    """Set the global generators to some state, which must make no difference."""
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002  (the global generator is meant)
    torch.manual_seed(state)


@contextmanager
def _temporary_store() -> Iterator[None]:
    before = os.environ.get(FOLDER_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[FOLDER_VARIABLE]
            else:
                os.environ[FOLDER_VARIABLE] = before
