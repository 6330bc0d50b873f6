"""The symbol error rate (SER) of answers, and the paper's bins of text length. Pure numpy."""

import numpy as np
from numpy.typing import NDArray

from alice.statistics import Floats
from alice.text import PAD

LENGTH_BINS = (0, 32, 64, 128, 256)
"""Lower bounds of the paper's bins; the last has no upper bound."""
SHORT = 128
"""Texts below this length are reported separately."""


def error_rates(predicted: NDArray[np.integer], plain: NDArray[np.integer]) -> Floats:
    """Return the fraction of wrong characters in each text, (batch, pos) twice -> (batch,); padding does not count."""
    text = plain != PAD
    return ((predicted != plain) & text).sum(1) / text.sum(1)


def length_bin(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the index of the paper's bin that each length falls into."""
    return np.digitize(lengths, LENGTH_BINS[1:]).astype(np.int64)


def bin_names() -> list[str]:
    """Return the names of the bins: `[0,32)` to `[256,)`."""
    uppers = [*LENGTH_BINS[1:], ""]
    return [f"[{low},{high})" for low, high in zip(LENGTH_BINS, uppers, strict=True)]
