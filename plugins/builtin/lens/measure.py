"""Error, agreement, KL and bias of three lenses at every layer, from one pass over the texts."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.model import AffineLens, Alice, run_batch
from alice.plugins.builtin.lens.distributions import divergence, log_tables, occurrences
from alice.plugins.builtin.lens.training import Trained
from alice.plugins.builtin.traces import check_identity
from alice.plugins.context import RunContext
from alice.statistics import BOOTSTRAP_DRAWS, Floats
from alice.text import Batch

LENSES = ("plain", "mean-shift", "tuned")


@dataclass(frozen=True, eq=False)
class Measured:
    """What three lenses read at each layer, in the order of `LENSES`."""

    model: str
    """Name of the checkpoint."""
    errors: Floats
    """Symbol error rate of each text, a fraction, (text, lens, layer)."""
    agreement: Floats
    """Share of the characters of each text that are answered as by the model itself, (text, lens, layer)."""
    divergence: Floats
    """KL of the final distribution from the lens's, in bits, the mean over a text's characters, (text, lens, layer)."""
    earlier: Floats
    """The same of the tuned lens at half of its training, (text, layer)."""
    bias: Floats
    """KL of the final marginal from the lens's, both over all characters, in bits, (lens, layer)."""
    bias_draws: Floats
    """The same under random weightings of the texts, (draw, lens, layer)."""


def measure(ctx: RunContext, trained: Trained) -> Measured:
    """Read all layers of all texts with the three lenses."""
    model, names = ctx.model, list(trained.names)
    tuned, earlier = trained.tuned(model), trained.earlier(model)
    marginals, rng = _Marginals(), ctx.rng
    rows: dict[int, tuple[Floats, ...]] = {}
    for whole in ctx.progress(ctx.batches, f"Reading with lenses of {ctx.checkpoint}"):
        batch, output, cache = run_batch(model, whole, names)
        streams = torch.stack([cache[name] for name in names])
        with torch.no_grad():
            final = log_tables(model, streams[-1:], batch.cipher_ids)[0]
            counts = occurrences(model, batch.cipher_ids)
            read = torch.stack(
                [streams, streams + trained.shifts[:, None, None], translate(tuned, names, streams)]
            )  # (lens, layer, batch, pos, d_model)
            tables = torch.stack([log_tables(model, stream, batch.cipher_ids) for stream in read])
            answers = torch.stack([_answers(model, batch, stream) for stream in read])
            check_identity(answers[0, -1], output.argmax(-1), batch.mask)
            before = log_tables(model, translate(earlier, names, streams), batch.cipher_ids)
            columns = (
                _errors(answers, batch.plain_ids, batch.mask),
                1 - _errors(answers, answers[0, -1], batch.mask),
                divergence(final, tables, counts),
                divergence(final, before, counts),
            )
            marginals.add(final, tables, counts, rng)
        arrays = (column.double().movedim(-1, 0).cpu().numpy() for column in columns)
        rows |= zip(batch.index.tolist(), zip(*arrays, strict=True), strict=True)
    errors, agreement, found, last = (
        np.stack(column) for column in zip(*(rows[number] for number in sorted(rows)), strict=True)
    )
    return Measured(ctx.checkpoint, errors, agreement, found, last, *marginals.bias())


def translate(lens: AffineLens, names: list[str], streams: Tensor) -> Tensor:
    """Translate the streams of all layers, (layer, batch, pos, d_model)."""
    return torch.stack([lens.translate(name, stream) for name, stream in zip(names, streams, strict=True)])


def _answers(model: Alice, batch: Batch, streams: Tensor) -> Tensor:
    """Return the model's answer to every character from the stream of each layer, (layer, batch, pos)."""
    ids = batch.cipher_ids.repeat(len(streams), 1)
    answers = model.decode_symbols(streams.flatten(0, 1), ids, soft=False).argmax(-1).gather(1, ids)
    return answers.unflatten(0, (len(streams), -1))


def _errors(answers: Tensor, wanted: Tensor, mask: Tensor) -> Tensor:
    """Return the share of characters that differ, (lens, layer, batch)."""
    return ((answers != wanted) & mask).sum(-1) / mask.sum(-1)


class _Marginals:
    """Sums answers' probabilities over all characters, for all texts alike and under random weightings of them."""

    def __init__(self) -> None:
        self.sums: Floats | float = 0.0
        """(1 + draw, 1 + lens * layer, symbol); the first of the second axis is the final distribution."""

    def add(self, final: Tensor, tables: Tensor, counts: Tensor, rng: np.random.Generator) -> None:
        """Add texts: (batch, symbol, symbol), (lens, layer, batch, symbol, symbol), (batch, symbol)."""
        self.layers = tables.shape[1]
        every = torch.cat([final[None], tables.flatten(0, 1)]).exp()
        texts = torch.einsum("bs,kbsp->bkp", counts, every).double().cpu().numpy()  # (batch, 1 + lens * layer, symbol)
        weights = np.concatenate([np.ones((1, len(texts))), rng.exponential(size=(BOOTSTRAP_DRAWS, len(texts)))])
        self.sums = self.sums + np.tensordot(weights, texts, 1)

    def bias(self) -> tuple[Floats, Floats]:
        """Return the bias and its draws, (lens, layer) and (draw, lens, layer)."""
        marginals = self.sums / np.sum(self.sums, axis=-1, keepdims=True)
        logs = np.log2(np.maximum(marginals, 1e-300))  # padding has probability 0
        found = (marginals[:, :1] * (logs[:, :1] - logs[:, 1:])).sum(-1).reshape(1 + BOOTSTRAP_DRAWS, -1, self.layers)
        found = np.maximum(found, 0.0)  # rounding
        return found[0], found[1:]
