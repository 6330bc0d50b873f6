"""What an analysis is given: a model, texts, and ways to read one with the other. A notebook opens one in a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from alice.errors import AliceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy as np
    import torch
    from distributed import Client
    from numpy.typing import NDArray

    from alice.model import Activations, Alice, Lens
    from alice.plugins.context.models import NamedModel
    from alice.plugins.context.pairs import Pairs
    from alice.plugins.context.resumable import Pieces, Plain
    from alice.plugins.context.sample import Sample, SampleBatches
    from alice.plugins.context.store import StoredActivations
    from alice.plugins.context.workers import Items
    from alice.plugins.hookspecs import CorpusOpener
    from alice.plugins.solvers import SolverOpener
    from alice.text import Alphabet, Split

T = TypeVar("T")
Item = TypeVar("Item")


class Tracker(Protocol):
    """Shows the progress of a loop."""

    def __call__(self, items: Iterable[T], label: str, *, total: int | None = None) -> Iterator[T]:
        """Yield the items."""


def silent(items: Iterable[T], label: str, *, total: int | None = None) -> Iterator[T]:
    """Yield the items and show nothing."""
    return iter(items)


@dataclass(frozen=True, eq=False)
class RunContext:
    """One model with the texts to read, and the same for each further model.

    The same seed gives the same keys and the same `rng`. Texts come from the test split of a corpus unless another is
    chosen, or are given as a list. They keep their order, each has its own key, and they are read on first use.
    """

    seed: int = 0
    """Seed of the keys and of `rng`."""
    named_model: NamedModel | None = None
    """The model with its name and hash; None for an analysis without a model."""
    texts: Sample | None = None
    """The texts in the order of their source."""
    others: tuple[RunContext, ...] = ()
    """Contexts of the other models, over the same texts where the alphabets agree."""
    tracker: Tracker = silent
    """Shows progress."""
    solvers: Mapping[str, SolverOpener] | None = None
    """Classical solvers by name; the built-in ones if None."""
    workers: int | None = None
    """Processes of one thread among which `map` divides its items; None for this process with all its threads."""
    cluster: Client | None = None
    """The Dask cluster whose workers these are; None for processes of this machine."""

    @classmethod
    def open(
        cls,
        *checkpoints: str | Path | Alice,
        data: str | Path | Iterable[str] = "quotes",
        split: Split | None = None,
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
            split: split of the data to read; if None, the test split of a corpus, and all texts of a list.
            samples: how many texts at most; all if None.
            seed: seed of the keys and of `rng`.
            device: where checkpoints are loaded, such as "cpu" or "cuda:1"; if None, the accelerator if there is one.
                A model given as an object stays where it is.
            tracker: shows progress.
            corpora: corpora of plugins, by name.
            solvers: solvers of plugins, by name; the built-in ones if None.

        """
        from alice.plugins.context.models import load_models
        from alice.plugins.context.sample import open_samples

        models = load_models(checkpoints, device)
        if not models:
            raise AliceError("there is no model to run on; name at least one checkpoint")
        alphabets = [named.model.alphabet for named in models]
        # Texts must fit every model, or the models would be compared on different texts.
        longest = min(named.model.config.n_ctx for named in models)
        texts = open_samples(
            data, alphabets, longest=longest, split=split, count=samples, seed=seed, corpora=corpora or {}
        )
        first, *others = (
            cls(seed, named, sample, tracker=tracker) for named, sample in zip(models, texts, strict=True)
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
        """The device of the model and of every batch of this context."""
        return self.model.cfg.device

    @property
    def each(self) -> tuple[RunContext, ...]:
        """A context for each model, this one first."""
        return (self, *self.others)

    @property
    def rng(self) -> np.random.Generator:
        """A new generator from the seed; every access to `ctx.rng` starts again, so keep it in a variable."""
        import numpy as np

        return np.random.default_rng(self.seed)

    def sample(self, count: int) -> RunContext:
        """Return the context over the first `count` texts only, for this model and the others."""
        return replace(self, texts=self._texts.first(count), others=tuple(other.sample(count) for other in self.others))

    def after(self, count: int) -> RunContext:
        """Return the context over the texts after the first `count`, for this model and the others."""
        return replace(self, texts=self._texts.after(count), others=tuple(other.after(count) for other in self.others))

    def divided(self, workers: int | None, *, cluster: Client | None = None) -> RunContext:
        """Return the context with `workers` of one thread for `map`, for this model and the others.

        They are processes of this machine, or those of a Dask cluster.
        """
        others = tuple(other.divided(workers, cluster=cluster) for other in self.others)
        divided = replace(self, workers=workers, cluster=cluster, others=others)
        if divided.is_divided:
            from alice.plugins.context.workers import check_can_fork, check_device

            check_device(self.device)
            if cluster is None:
                check_can_fork()
        return divided

    @property
    def is_divided(self) -> bool:
        """Whether `map` gives its items to workers."""
        return self.cluster is not None or (self.workers or 1) > 1

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker on another machine needs: models and texts."""
        return vars(self) | {"tracker": silent, "solvers": None, "workers": None, "cluster": None}

    def joined(self, length: int) -> RunContext:
        """Return the context over its texts joined and cut into pieces of one length, for this model and the others."""
        others = tuple(other.joined(length) for other in self.others)
        return replace(self, texts=self._texts.joined(length), others=others)

    def training(self, count: int) -> RunContext:
        """Return a context over the first `count` texts of the training split of the same source, to learn from.

        It has batches, activations and a store like any other, and its texts have keys of their own. Texts of this
        context are left out, as by `training_texts`; what is read appears in the provenance. There may be fewer than
        `count` texts; none at all is an error when they are read.
        """
        others = tuple(other.training(count) for other in self.others)
        return replace(self, texts=self._texts.training(count), others=others)

    def training_texts(self, count: int) -> list[str]:
        """Return the first `count` plaintexts of the training split of the same source, to learn from.

        Texts of this context are left out. There may be fewer than `count`, or none, if the context itself reads the
        training split; a context of joined texts has none.
        """
        return self._texts.training_texts(count)

    def overlapping(self) -> NDArray[np.bool_]:
        """Return which texts share a passage with a text of another split of the source, (texts,)."""
        return self._texts.overlapping()

    @cached_property
    def batches(self) -> SampleBatches:
        """All batches of the texts, on the model's device; every iteration gives the same ones."""
        return self._texts.batches(self.device)

    @property
    def plaintexts(self) -> list[str]:
        """The texts themselves, cleaned and not encrypted."""
        return self._texts.texts

    def pairs(self, kind: str) -> Pairs:
        """Return each batch with its counterfactual of a kind, such as `other-text`; see `alice.text.counterfactuals`.

        Iterate as often as you like: every iteration gives the same pairs. Words that replace others come from the
        training split, or from the texts themselves where there is none.
        """
        from alice.plugins.context.pairs import Pairs

        return Pairs(self, kind)

    def activations(self, *patterns: str, grad: bool = False) -> Activations:
        """Return pairs `(batch, cache)` for hooks by name or pattern, such as `blocks.*.hook_resid_post`.

        The model reads one batch at a time as you iterate; nothing is kept. Hooks are removed after each batch.

        Args:
            patterns: names of hooks; `*` matches anything.
            grad: whether the tensors stay in the graph of the forward pass, so that `torch.autograd.grad` can
                differentiate with respect to them. Otherwise they are ordinary tensors without gradients.

        """
        from alice.model import Activations

        return Activations(self.model, self.batches, *patterns, grad=grad)

    def store(self, *patterns: str) -> StoredActivations:
        """Return the same pairs as `activations`, stored on disk for repeated use, also by other analyses.

        Stored tensors have no gradients; they may be used in training.
        """
        from alice.plugins.context.store import StoredActivations

        source = self.activations(*patterns)
        return StoredActivations(self._named, self._texts, source=source, batches=self.batches)

    def resumable(self, name: str, options: Mapping[str, Plain]) -> Pieces:
        """Return where a long computation keeps its pieces, so that the next run continues after an interruption.

        The pieces belong to this model, these texts, the name and the options, which must be all that they depend on:
        `ctx.resumable("my-analysis", {"steps": 5}).array("batch-3", compute)`.
        """
        from alice.plugins.context.resumable import Pieces

        return Pieces(self._named, self._texts, name, options)

    def lens(self, path: Path | str | None = None) -> Lens:
        """Return a lens to read any layer with: the plain exit, or the one stored in a report folder or an artefact."""
        from alice.plugins.context.models import open_lens

        return open_lens(self._named, path)

    def map(self, read: Callable[[Item], T], items: Items[Item], label: str) -> Iterator[T]:
        """Yield what `read` returns for each item, in their order, with a progress bar; workers share the items.

        Args:
            read: called with one item; what it returns must depend on nothing else that changes, and be small: it
                comes from another process if there are workers.
            items: batches, activations or pairs of this context, or anything else with a length and numbers from 0.
            label: what the progress bar says.

        """
        count = len(items)
        if not self.is_divided or count < 2:
            found: Iterator[T] = (read(items[number]) for number in range(count))
        elif self.cluster is not None:
            from alice.plugins.context.cluster import read_on_cluster

            found = read_on_cluster(read, items, self.cluster)
        else:
            from alice.plugins.context.workers import read_in_workers

            found = read_in_workers(read, items, self.workers or 1)
        return self.tracker(found, label, total=count)

    def progress(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Iterate over the items with a progress bar on a terminal; give `total` if the items have no length."""
        return self.tracker(items, label, total=total if total is not None else _length(items))

    @property
    def _named(self) -> NamedModel:
        if self.named_model is None:
            raise AliceError(
                "this analysis declares that it reads no checkpoint, so there is no model; see `checkpoints`"
            )
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
