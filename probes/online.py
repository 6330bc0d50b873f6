"""Online code length of labels: how many bits a probe needs that learns while it receives them (Voita and Titov 2020).

The first texts are sent with a uniform code. Then a probe is trained on what has been sent, gives the next block a
shorter code, is trained on that as well, and so on. A concept that a probe reads from few texts has a short code; one
that takes all texts to memorize has a long one, even if the accuracy is the same in the end.
"""

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from alice.probes.layers import LayerProbes
from alice.probes.linear import IGNORED, Pair, each
from alice.probes.tokens import Texts

BLOCKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of the texts after which the probes are trained again."""
ROUGH = 4
"""How much larger the tolerance is for probes that only code the next block."""
PairsOf = Callable[[Texts], Sequence[Pair]]
"""Returns activations and labels of some texts."""


@dataclass(frozen=True, eq=False)
class OnlineCode:
    """Probes trained on all texts, and the code length on the way there."""

    probes: LayerProbes
    """Trained on all texts."""
    bits: Tensor
    """Bits per label, (layer, task)."""
    uniform: Tensor
    """Bits per label of a uniform code, (task,)."""


def online_code(
    probes: LayerProbes,
    pairs_of: PairsOf,
    classes: Sequence[int],
    *,
    texts: Texts,
    rng: np.random.Generator,
    blocks: Sequence[float] = BLOCKS,
) -> OnlineCode:
    """Train linear probes on growing shares of the texts in random order; each starts from the one before."""
    order = rng.permutation(np.flatnonzero(texts))
    ends = sorted({math.ceil(share * len(order)) for share in blocks})
    uniform = torch.tensor(classes, dtype=torch.float64).log2()
    trained, stage = None, probes
    sent = total = torch.zeros(len(classes), dtype=torch.float64)
    for end, following in zip(ends, [*ends[1:], None], strict=True):
        known = _mask(order[:end], len(texts))
        pairs = pairs_of(known)
        if trained is None:
            total = sum((_counts(y) for _, y in each(pairs)), total)
            sent = total * uniform
        stage = copy(probes)
        stage.tolerance *= 1 if following is None else ROUGH
        trained = stage.fit(pairs, classes, start=trained)
        if following is not None:
            nats, count = losses(trained, pairs_of(_mask(order[end:following], len(texts))))
            sent, total = sent + nats / math.log(2), total + count
    return OnlineCode(stage, torch.atleast_2d(sent / total.clamp(min=1)), uniform)


def losses(probes: LayerProbes, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Return the summed cross-entropy of all labels, (layer, task), in nats, and their number, (task,)."""
    nats: Tensor | float = 0.0
    count: Tensor | float = 0.0
    for x, y in each(pairs):
        parts = []
        for scores, labels in zip(probes.logits(x), y, strict=True):
            lost = cross_entropy(scores.flatten(0, 1), labels.repeat(len(x)), ignore_index=IGNORED, reduction="none")
            parts.append(lost.reshape(len(x), -1).double().sum(1))
        nats, count = nats + torch.stack(parts, 1).cpu(), count + _counts(y)
    return torch.as_tensor(nats), torch.as_tensor(count)


def _counts(labels: Tensor) -> Tensor:
    return (labels != IGNORED).sum(1).double().cpu()


def _mask(numbers: np.ndarray, count: int) -> Texts:
    found = np.zeros(count, dtype=bool)
    found[numbers] = True
    return found
