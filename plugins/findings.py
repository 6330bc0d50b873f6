"""What a result claims, in terms that can be compared with a known mechanism.

An analysis that can be graded has a method `findings(result)` that returns `Findings`, or several by the name of the
method if it offers more than one. It reads the metrics, tables and arrays of its own result, so that a stored report is
enough. A larger score is a stronger claim; scores are compared with each other only, so any scale will do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from alice.planted import Verdict
from alice.reports import Result
from alice.reports.checks import Array
from alice.statistics import Floats


@dataclass(frozen=True)
class ConceptFinding:
    """What an analysis says about one concept in one layer."""

    concept: str
    """Name of the concept, such as a target of `probe`."""
    layer: int
    """The stream: 0 is the embedding, n the output of block n - 1."""
    score: float
    """How well it can be decoded, beyond a control."""
    verdict: Verdict | None = None
    """Whether the model uses it; None if the analysis does not say."""


@dataclass(frozen=True, eq=False)
class DirectionFinding:
    """A direction of a residual stream that an analysis calls meaningful, or used."""

    layer: int
    """The stream: 0 is the embedding, n the output of block n - 1."""
    vector: Floats
    """The direction, (d_model,); its length does not matter."""
    score: float = 1.0
    """How strong the claim is."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The claims of one result; what an analysis does not claim stays empty."""

    nodes: Mapping[str, float] = field(default_factory=dict)
    """How much the answer depends on each head and feed-forward layer, by label: `L0H1`, `L0 MLP`."""
    edges: Mapping[str, float] = field(default_factory=dict)
    """How much it depends on each edge, by the labels of `circuit`: `L0H1 → L1 MLP`, `embedding → L0H0 v`."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kind of attention of each head, by label."""
    answer_layer: float | None = None
    """First layer that has the final answer."""
    concepts: tuple[ConceptFinding, ...] = ()
    """What it says about concepts in layers."""
    directions: tuple[DirectionFinding, ...] = ()
    """Directions with a meaning, the strongest claims first."""
    used_directions: tuple[DirectionFinding, ...] = ()
    """Directions that the answer depends on, each with a score for how much; they may mix several meanings."""


def array_of(result: Result, name: str) -> Array:
    """Return an array of a result over one model by its name, which is stored with that of the model."""
    (found,) = (array for key, array in result.arrays.items() if key.partition("@")[0] == name)
    return found
