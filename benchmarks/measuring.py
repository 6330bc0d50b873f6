"""What the benchmarks share: a ratio, timing by turns, ciphertexts and the matrix products of a model alone."""

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from alice.model import ModelConfig
from alice.solving.decoding import LIMIT
from alice.text import ENGLISH, QUOTES, Batches, BatchLimit, EncodedTexts, open_corpus
from alice.text.split import select
from alice.timing import using_threads

Times = dict[str, list[float]]
Shape = tuple[int, int, int]
"""Rows, inner dimension and columns of a matrix product."""


@dataclass(frozen=True)
class Ratio:
    """A measured ratio: the median over the rounds with its quartiles."""

    case: str
    """What it was measured on."""
    value: float
    low: float
    high: float
    note: str = ""
    """Further details, for the report."""

    @classmethod
    def exactly(cls, case: str, value: float, note: str = "") -> "Ratio":
        """Return a ratio that was measured once."""
        return cls(case, value, value, value, note)

    @classmethod
    def median(cls, case: str, values: "np.ndarray[tuple[int], np.dtype[np.float64]]", note: str = "") -> "Ratio":
        """Return the median and the quartiles of the values of all rounds, (round,)."""
        low, middle, high = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
        return cls(case, middle, low, high, note)


@contextmanager
def one_core() -> Iterator[None]:
    """Compute with one thread, and make the C library keep freed memory.

    Otherwise the allocation order would bias the timings by up to a tenth. Without glibc only the number of threads is
    set.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        trim_threshold, mmap_threshold, one_gigabyte = -1, -3, 2**30
        library.mallopt(trim_threshold, one_gigabyte)
        library.mallopt(mmap_threshold, one_gigabyte)
    with using_threads(1):
        yield


def take_turns(contestants: Mapping[str, Callable[..., object]], *, rounds: int) -> Times:
    """Return the seconds of every contestant in every round, after one round to warm up.

    The contestants take turns, so that other load on the machine affects all of them alike.
    """
    times: Times = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, work in contestants.items():
            started = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - started)
    return times


def compare(case: str, times: Times, above: str, below: str, *, factor: float = 1.0, note: str = "") -> Ratio:
    """Return one contestant's time divided by another's, times a factor."""
    return Ratio.median(case, factor * np.array(times[above]) / np.array(times[below]), note)


def first_texts(count: int) -> list[str]:
    """Return the first texts of the test split of the bundled quotations."""
    return list(islice(select(open_corpus(QUOTES), "test"), count))


def batches(count: int, limit: BatchLimit = LIMIT) -> Batches:
    """Return the first texts, encrypted, in batches of similar length; by default in those that `solve` makes."""
    return Batches(EncodedTexts(first_texts(count), ENGLISH), ENGLISH, limit=limit)


def forward_shapes(config: ModelConfig, tokens: int) -> list[Shape]:
    """Return the matrix products in the forward pass of one block, without attention."""
    d, f = config.d_model, config.d_mlp
    return [(tokens, d, 3 * d), (tokens, d, d), (tokens, d, 2 * f), (tokens, f, d)]


def training_shapes(config: ModelConfig, tokens: int) -> list[Shape]:
    """Return the matrix products in the forward and backward pass of one block, without attention."""
    return [
        shape
        for rows, inner, columns in forward_shapes(config, tokens)
        for shape in ((rows, inner, columns), (rows, columns, inner), (columns, rows, inner))
    ]


def flops(shapes: Iterable[Shape]) -> float:
    """Return the operations of matrix products, two for each multiply-add."""
    return sum(2.0 * rows * inner * columns for rows, inner, columns in shapes)


class Products:
    """Matrix products of given shapes; calling it carries them out."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self.shapes = list(shapes)
        self._matrices: dict[tuple[int, int], Tensor] = {}
        for rows, inner, columns in self.shapes:
            for size in ((rows, inner), (inner, columns)):
                if size not in self._matrices:
                    self._matrices[size] = torch.randn(size)

    def __call__(self) -> None:
        """Multiply."""
        for rows, inner, columns in self.shapes:
            self._matrices[rows, inner] @ self._matrices[inner, columns]
