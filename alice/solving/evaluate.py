"""Error rates of a model over many texts: `Scores` are fractions, as computed, an `ErrorTable` percent, as reported."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alice.metrics import SHORT, bin_names, error_rates, length_bin
from alice.model import Alice
from alice.statistics import Estimate, Floats, Ints, RatioBootstrap, Spread, bayesian_bootstrap, spread
from alice.text import Batch


@dataclass(frozen=True)
class Scores:
    """Length and error rate of each text, in the order of the texts' numbers."""

    lengths: NDArray[np.int64]
    """Characters, (texts,)."""
    errors: Floats
    """Symbol error rate as a fraction, (texts,)."""

    def parts(self) -> dict[str, NDArray[np.bool_]]:
        """Return which texts belong to each part: the paper's bins of length, short and long texts, all."""
        bins = length_bin(self.lengths)
        parts = {name: bins == number for number, name in enumerate(bin_names())}
        return parts | {f"<{SHORT}": self.lengths < SHORT, f">={SHORT}": self.lengths >= SHORT, "all": self.lengths > 0}

    def only(self, which: NDArray[np.bool_]) -> "Scores":
        """Return the scores of some of the texts."""
        return Scores(self.lengths[which], self.errors[which])

    def means(self) -> dict[str, float]:
        """Return the mean symbol error rate, a fraction, of each part that has texts."""
        return {name: float(self.errors[part].mean()) for name, part in self.parts().items() if part.any()}

    def table(self, rng: np.random.Generator) -> "ErrorTable":
        """Return means over texts, medians and rates per character in percent for every part."""
        percent = {name: 100 * self.errors[part] for name, part in self.parts().items()}
        means = {name: bayesian_bootstrap(values, rng) for name, values in percent.items()}
        medians = {name: spread(values) for name, values in percent.items()}
        return ErrorTable(len(self.errors), means, medians, self._per_character(rng))

    def _per_character(self, rng: np.random.Generator) -> dict[str, Estimate]:
        """Return the share of wrong characters among all characters of each part, in percent."""
        parts = self.parts()
        member = np.stack(list(parts.values()), axis=1)  # (texts, parts)
        wrong = np.rint(self.errors * self.lengths).astype(np.int64)
        rates = RatioBootstrap(rng, len(parts))
        rates.add(wrong[:, None] * member, self.lengths[:, None] * member)
        values = zip(parts, rates.ratio, rates.error, rates.texts, strict=True)
        return {name: Estimate(100 * float(rate), 100 * float(error), int(n)) for name, rate, error, n in values}


@dataclass(frozen=True)
class ErrorTable:
    """Symbol error rates in percent by part: `[0,32)` to `[256,)`, `<128`, `>=128`, `all`."""

    texts: int
    """Number of texts."""
    mean: dict[str, Estimate]
    """Mean over texts in percent, with its standard error."""
    median: dict[str, Spread]
    """Median over texts in percent, with the 16th and 84th percentile."""
    per_character: dict[str, Estimate]
    """Wrong characters of all texts over all characters, in percent, with its standard error; long texts count more."""
    apart: "ErrorTable | None" = None
    """The same for the texts that share no passage with a text of another split, if these were looked for."""


def score(model: Alice, batches: Iterable[Batch]) -> Scores:
    """Decode every batch on the model's device and compare with the plaintext, one batch in memory at a time."""
    return join_scores(score_batch(model, batch) for batch in batches)


@torch.inference_mode()
def score_batch(model: Alice, batch: Batch) -> tuple[Ints, Scores]:
    """Decode one batch and compare it with the plaintext; return the numbers of its texts as well, (texts,)."""
    output = model(batch.cipher_ids.to(model.cfg.device), soft=False)
    errors = error_rates(output.argmax(-1).cpu().numpy(), batch.plain_ids.cpu().numpy())
    return batch.index.cpu().numpy(), Scores(batch.mask.sum(1).cpu().numpy(), errors)


def join_scores(parts: Iterable[tuple[Ints, Scores]]) -> Scores:
    """Join the scores of batches, in the order of the texts' numbers."""
    numbers, found = zip(*parts, strict=True)
    order = np.argsort(np.concatenate(numbers))
    lengths, errors = (np.concatenate([getattr(one, name) for one in found]) for name in ("lengths", "errors"))
    return Scores(lengths[order], errors[order])
