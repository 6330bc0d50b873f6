"""What every layer takes a text for, as probes and the model's own head read it, on texts the probes have not seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformer_lens import ActivationCache

from alice.plugins.builtin.early_exit.measure import EXITS, exit_answers
from alice.plugins.context import RunContext
from alice.probes.layers import Kind, LayerProbes
from alice.probes.tasks import tasks
from alice.probes.tokens import Texts, TokenPairs, chosen, split_texts, stacked
from alice.text.alphabet import Alphabet
from alice.text.batches import Batch

Small = NDArray[np.uint8]
READERS = {"linear": "linear probe", "mlp": "MLP probe", "exit": "early exit"}
"""Ways to read a layer, with their titles."""
PROBES: tuple[Kind, ...] = ("linear", "mlp")
HELD_OUT = 0.4
"""Share of the texts whose n-grams are counted; the probes are trained on the others."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Answers of every reader at every layer: a byte for each character, since all of them are held."""

    model: str
    """Name of the checkpoint."""
    variant: str
    """Kind of model."""
    alphabet: Alphabet
    """Symbols of the ids."""
    trained_on: int
    """Texts that the probes were trained on."""
    texts: int
    """Texts that were read, none of them among those."""
    owner: NDArray[np.int64]
    """Number of the text that each character belongs to, from 0, (character,)."""
    plain: Small
    """The plaintexts, one after another, (character,)."""
    answers: dict[str, Small]
    """By reader, (layer, character); layer 0 is the embedding."""

    def letters_only(self) -> "Readings":
        """Return the readings without the places where the plaintext has no letter; what is left moves together."""
        kept = np.isin(self.plain, self.alphabet.letter_ids)
        answers = {reader: ids[:, kept] for reader, ids in self.answers.items()}
        return Readings(
            **vars(self) | {"owner": self.owner[kept], "plain": self.plain[kept], "answers": answers},
        )


def read(ctx: RunContext, *, epochs: int, hidden: int) -> Readings:
    """Train probes on some of the texts of a context, and read the others with them and with the model's head."""
    stored = ctx.store(*EXITS)
    names, task = stored.source.names, tasks(ctx.alphabet)["letter"]
    train, held = split_texts(sum(len(batch) for batch in ctx.batches), ctx.rng, held_out=HELD_OUT)
    probes = {}
    for kind in ctx.progress(PROBES, f"Training probes on {ctx.checkpoint}"):
        probe = LayerProbes(kind, epochs=epochs, hidden=hidden, seed=ctx.seed)
        probes[kind] = probe.fit(TokenPairs(stored, names, [task], train), [task.classes])
    numbers = ctx.progress(range(len(stored)), f"Reading with {ctx.checkpoint}")
    parts = [_read_batch(ctx, *stored[number], held, probes) for number in numbers]
    lengths = np.concatenate([part["lengths"] for part in parts])
    return Readings(
        model=ctx.checkpoint,
        variant=ctx.model.config.variant,
        alphabet=ctx.alphabet,
        trained_on=int(train.sum()),
        texts=len(lengths),
        owner=np.repeat(np.arange(len(lengths)), lengths),
        plain=np.concatenate([part["plain"] for part in parts]),
        answers={reader: np.concatenate([part[reader] for part in parts], axis=1) for reader in READERS},
    )


def _read_batch(
    ctx: RunContext, batch: Batch, cache: ActivationCache, held: Texts, probes: dict[Kind, LayerProbes]
) -> dict[str, NDArray[Any]]:
    """Return what is kept of a batch: lengths of the texts held out, their plaintexts, and the answers by reader."""
    names, tokens = ctx.model.match_hooks(*EXITS), chosen(batch, held)
    x = stacked(cache, names, tokens)
    rows = batch.mask[torch.from_numpy(held).to(batch.index.device)[batch.index]]
    return {
        "lengths": rows.sum(1).cpu().numpy(),
        "plain": _small(batch.plain_ids.flatten()[tokens]),
        **{kind: _small(probe.predict(x)[0]) for kind, probe in probes.items()},
        "exit": _small(_exits(ctx, batch, names)[:, tokens]),
    }


def _exits(ctx: RunContext, batch: Batch, names: list[str]) -> Tensor:
    """Return what the model's own head answers at each exit, (exit, token), in a batch laid flat."""
    answers = exit_answers(ctx.model, batch, names)
    return answers.gather(2, batch.cipher_ids.expand(len(answers), -1, -1)).flatten(1)


def _small(ids: Tensor) -> Small:
    small: Small = ids.to(torch.uint8).cpu().numpy()
    return small
