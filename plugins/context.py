"""What an analysis is given: a model, texts, and ways to read one with the other. A notebook opens one in a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from alice.errors import AliceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy as np
    import torch

    from alice.model import Alice
    from alice.model.activations import Activations
    from alice.plugins.hookspecs import CorpusOpener
    from alice.plugins.models import NamedModel
    from alice.plugins.sample import Sample, SampleBatches, Split
    from alice.plugins.solvers import SolverOpener
    from alice.plugins.store import StoredActivations
    from alice.text.alphabet import Alphabet

T = TypeVar("T")


class Tracker(Protocol):
    """Shows how far a loop has come."""

    def __call__(self, items: Iterable[T], label: str, *, total: int | None = None) -> Iterator[T]:
        """Yield the items."""


def silent(items: Iterable[T], label: str, *, total: int | None = None) -> Iterator[T]:
    """Yield the items and show nothing."""
    return iter(items)


@dataclass(frozen=True, eq=False)
class RunContext:
    """One model with the texts to read, and the same for each further model of the run.

    What follows from the seed is the same in every run. Texts are those of the source's test side, in its order, each
    with a key of its own; they are read only when they are asked for.
    """

    seed: int = 0
    """Seed of the keys and of `rng`."""
    named_model: NamedModel | None = None
    """The model with its name and hash; None for an analysis that reads no model."""
    texts: Sample | None = None
    """The texts as they come from their source."""
    others: tuple[RunContext, ...] = ()
    """Contexts of the other models, over the same texts where the alphabets agree."""
    tracker: Tracker = silent
    """Shows progress."""
    solvers: Mapping[str, SolverOpener] | None = None
    """Solvers that are no models, by name; the built-in ones if None."""

    @classmethod
    def open(
        cls,
        *checkpoints: str | Path | Alice,
        data: str | Iterable[str] = "quotes",
        split: Split = "test",
        samples: int | None = None,
        seed: int = 0,
        device: torch.device | str | None = None,
        tracker: Tracker = silent,
        corpora: Mapping[str, CorpusOpener] | None = None,
        solvers: Mapping[str, SolverOpener] | None = None,
    ) -> RunContext:
        """Load models and prepare texts: `RunContext.open("base", samples=500)`.

        Args:
            checkpoints: names of bundled models, folders, hub ids, or models; the first is `ctx.model`.
            data: a corpus by its name or file, or a list of cleaned texts.
            split: side of the data to read.
            samples: how many texts at most; all if None.
            seed: seed of the keys and of `rng`.
            device: where to compute; the accelerator if there is one.
            tracker: shows progress.
            corpora: corpora of plugins, by name.
            solvers: solvers of plugins, by name; the built-in ones if None.

        """
        from alice.plugins.opening import open_contexts

        texts = data if isinstance(data, str) else list(data)
        first, *others = open_contexts(
            checkpoints,
            texts,
            split=split,
            samples=samples,
            seed=seed,
            device=device,
            tracker=tracker,
            corpora=corpora or {},
        )
        return replace(first, others=tuple(others), solvers=solvers)

    @property
    def model(self) -> Alice:
        """The model, ready for inference."""
        return self._named.model

    @property
    def checkpoint(self) -> str:
        """Name of the model."""
        return self._named.name

    @property
    def alphabet(self) -> Alphabet:
        """Symbols and ids of the model."""
        return self.model.alphabet

    @property
    def device(self) -> torch.device:
        """Where the model is, and every batch of this context."""
        return self.model.cfg.device

    @property
    def each(self) -> tuple[RunContext, ...]:
        """A context for each model of the run, this one first."""
        return (self, *self.others)

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator from the seed; every use of `ctx.rng` starts anew, so keep it in a variable."""
        import numpy as np

        return np.random.default_rng(self.seed)

    def sample(self, count: int) -> RunContext:
        """Return the context over the first `count` texts only, for this model and the others."""
        return replace(self, texts=self._texts.first(count), others=tuple(other.sample(count) for other in self.others))

    def joined(self, length: int) -> RunContext:
        """Return the context over its texts joined and cut into pieces of one length, for this model and the others."""
        others = tuple(other.joined(length) for other in self.others)
        return replace(self, texts=self._texts.joined(length), others=others)

    def training_texts(self, count: int) -> list[str]:
        """Return the first `count` texts of the training side of the same source, as they are, to learn from.

        None of them is among the texts of this context, so there may be fewer, or none, where those are of that side,
        and a context of joined texts has none.
        """
        return self._texts.training_texts(count)

    @cached_property
    def batches(self) -> SampleBatches:
        """All batches of the texts, on the model's device; the same each time they are gone through."""
        return self._texts.batches(self.device)

    def activations(self, *patterns: str) -> Activations:
        """Return pairs `(batch, cache)` for hooks by name or pattern, such as `blocks.*.hook_resid_post`.

        The model reads one batch at a time as you go; nothing is kept. Hooks come off after each batch.
        """
        from alice.model.activations import Activations

        return Activations(self.model, self.batches, *patterns)

    def store(self, *patterns: str) -> StoredActivations:
        """Return the same pairs as `activations`, kept on disk: to be read many times, or by several analyses."""
        from alice.plugins.store import StoredActivations

        source = self.activations(*patterns)
        return StoredActivations.open(self._named, self._texts, source=source, batches=self.batches)

    def progress(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Go through the items, showing on a terminal how far it is; `total` is their number if that is not known."""
        return self.tracker(items, label, total=total if total is not None else _length(items))

    @property
    def _named(self) -> NamedModel:
        if self.named_model is None:
            raise AliceError("this analysis says that it reads no checkpoint, so it has no model; check `checkpoints`")
        return self.named_model

    @property
    def _texts(self) -> Sample:
        if self.texts is None:
            raise AliceError("this context has no texts; open it with RunContext.open")
        return self.texts


def _length(items: Any) -> int | None:
    try:
        return len(items)
    except TypeError:
        return None
