"""Measures of the checkpoints along a training, as `measures.jsonl` in its folder keeps them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.files import LARGEST_JSON, atomic_write, parse_json, read_text

MEASURES = "measures.jsonl"
VERSION = 1
"""Raise it when the same checkpoint would be measured differently."""
TEXTS = 100
"""Default number of texts to measure on."""
LAPSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
"""Shares of ignorance, a uniform answer, at which mixtures of the references are compared with the network."""
POOL_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Weights of the pool reference within the rest of a mixture; the general reference has the remaining weight."""
LARGEST = 1e12
"""No measure is larger."""
_SHARES = ("accuracy_pool", "accuracy_new", "exits_pool", "exits_new", "same_answers")
"""Measures from 0 to 1."""


@dataclass(frozen=True)
class Snapshot:
    """What is measured of one checkpoint; `pool` is under keys of the pool, `new` under other keys.

    Accuracies are over characters of all texts together; layer 0 is the embedding.
    """

    accuracy_pool: float
    """Share of correct characters, spaces and punctuation included."""
    accuracy_new: float
    exits_pool: list[float]
    """Share of correct letters if the network stopped after each layer, (layer,); the last is its own answer."""
    exits_new: list[float]
    kl_pool_pool: float
    """KL divergence from the pool reference to the network on keys of the pool, nats per letter."""
    kl_pool_new: float
    """The same on new keys."""
    kl_general_pool: float
    """KL divergence from the general reference to the network on keys of the pool."""
    kl_general_new: float
    """The same on new keys."""
    mixtures: list[list[float]]
    """KL divergence from the network to mixtures of the references, nats per letter, a mean over both kinds of key,
    (lapse, weight of the pool), at LAPSES and POOL_WEIGHTS."""
    symmetry: list[float]
    """Share of the variance of the residual stream that two namings of a text have in common, (layer,)."""
    same_answers: list[float]
    """Share of letters that are read alike under two namings, after each layer, (layer,)."""
    label_depth: float | None
    """Layer at which half of what a cipher letter's name decides has become its meaning; None if never."""
    attention: list[list[float]]
    """Statistics of each head, (head, statistic), as in the analysis of attention."""
    uniform_attention: list[float]
    """The same of uniform attention, (statistic,)."""
    weight_norm: float
    """Root of the sum of the squared weights."""

    def __str__(self) -> str:
        """Return the two accuracies as a line to print."""
        pool, new = 100 * self.accuracy_pool, 100 * self.accuracy_new
        return f"accuracy {pool:.1f} % on keys of the pool, {new:.1f} % on new keys"

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Snapshot":
        """Build from a line of JSON; raise ValueError, KeyError or TypeError if it is not one that was written."""
        values = {field.name: _numbers(row[field.name]) for field in fields(cls) if row[field.name] is not None}
        layers, heads, statistics = (len(values[name]) for name in ("exits_pool", "attention", "uniform_attention"))
        shapes: dict[str, tuple[int, ...]] = {"mixtures": (len(LAPSES), len(POOL_WEIGHTS))}
        shapes |= dict.fromkeys(("exits_pool", "exits_new", "symmetry", "same_answers"), (layers,))
        shapes |= {"attention": (heads, statistics), "uniform_attention": (statistics,)}
        for name, value in values.items():
            array = np.array(value)
            if array.shape != shapes.get(name, ()) or not array.size:
                raise ValueError(f"{name} has the shape {array.shape}")
            if name in _SHARES and (array.min() < 0 or array.max() > 1):
                raise ValueError(f"{name} is not a share")
        return cls(**{"label_depth": None} | values)

    def to_row(self) -> dict[str, Any]:
        """Return the measures with four significant digits, for a line of JSON."""
        return {name: _rounded(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Measured:
    """The measures of one checkpoint."""

    step: int
    """Steps of training before it."""
    texts: int
    """Texts that it was measured on."""
    general_error: float
    """Estimated error of the general reference on these texts, a mean total variation."""
    snapshot: Snapshot


def read_measures(folder: Path) -> list[Measured]:
    """Read the measures in a training folder by ascending step; none if there are no such measures.

    Lines of other versions are left out, so that their checkpoints are measured again.
    """
    path = folder / MEASURES
    if not path.exists():
        return []
    try:
        rows = [parse_json(line) for line in read_text(path, most=LARGEST_JSON).splitlines()]
        found = [_measured(row) for row in rows if row["version"] == VERSION]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AliceError(f"{path} cannot be read ({error!r:.100}); remove it and measure again") from error
    return sorted(found, key=lambda one: one.step)


def write_measures(folder: Path, measured: Sequence[Measured]) -> None:
    """Write measures to a training folder, at once or not at all."""
    with atomic_write(folder / MEASURES) as file:
        for one in sorted(measured, key=lambda one: one.step):
            about = {"version": VERSION, "step": one.step, "texts": one.texts}
            row = about | {"general_error": _rounded(one.general_error)} | one.snapshot.to_row()
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def _measured(row: dict[str, Any]) -> Measured:
    step, texts = row["step"], row["texts"]
    if not all(type(count) is int and 0 <= count <= LARGEST for count in (step, texts)):
        raise ValueError(f"step {step!r:.40} or texts {texts!r:.40} is not a count")
    return Measured(step, texts, _numbers(row["general_error"], 0), Snapshot.from_row(row))


def _numbers(value: Any, depth: int = 2) -> Any:
    """Return a number, or lists of numbers up to a depth, as floats; raise ValueError for anything else."""
    if isinstance(value, list) and depth:
        return [_numbers(one, depth - 1) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{value!r:.40} is not a number that is measured")
    return float(value)


def _rounded(value: Any) -> Any:
    """Return numbers with four significant digits, in lists as they are."""
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
