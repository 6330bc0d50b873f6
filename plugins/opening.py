"""Loads the models of a run and gives each its texts."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from alice.errors import AliceError
from alice.model import Alice
from alice.model.device import default_device
from alice.plugins.context import RunContext, Tracker
from alice.plugins.models import NamedModel, name_of
from alice.plugins.sample import Sample, Split, TextPool, open_pool
from alice.text.alphabet import Alphabet

if TYPE_CHECKING:
    from alice.plugins.hookspecs import CorpusOpener


def open_contexts(
    checkpoints: Iterable[str | Path | Alice],
    data: str | list[str],
    *,
    split: Split,
    samples: int | None,
    seed: int,
    device: torch.device | str | None,
    tracker: Tracker,
    corpora: "Mapping[str, CorpusOpener]",
) -> list[RunContext]:
    """Return a context for each checkpoint; models of one alphabet share their texts."""
    device = device or default_device()
    models = [_load(checkpoint, device) for checkpoint in checkpoints]
    if not models:
        raise AliceError("there is no model to run on; name at least one checkpoint")
    # Texts must suit every model, or the figures of two models would be over different texts.
    longest = min(named.model.config.n_ctx for named in models)
    pools: dict[Alphabet, TextPool] = {}
    contexts = []
    for named in _distinct(models):
        alphabet = named.model.alphabet
        if alphabet not in pools:
            pools[alphabet] = open_pool(data, alphabet=alphabet, longest=longest, split=split, corpora=corpora)
        texts = Sample(pools[alphabet], alphabet, split, seed)
        contexts.append(RunContext(seed, named, texts if samples is None else texts.first(samples), tracker=tracker))
    return contexts


def _load(checkpoint: str | Path | Alice, device: torch.device | str) -> NamedModel:
    model = checkpoint if isinstance(checkpoint, Alice) else Alice.from_pretrained(checkpoint, device=device)
    return NamedModel(name_of(checkpoint), model.eval())


def _distinct(models: list[NamedModel]) -> list[NamedModel]:
    """Number the models that have the same name, so that a figure can tell them apart."""
    names = [named.name for named in models]
    return [
        NamedModel(f"{named.name} ({names[: place + 1].count(named.name)})", named.model)
        if names.count(named.name) > 1
        else named
        for place, named in enumerate(models)
    ]
