"""What the pages take from a provenance, which is a plain dict that the runner fills.

The pages need three of its entries: `analysis` (a name), `checkpoint` (a name, or a dict with `name`) and `time`
(ISO 8601). All others are shown at the foot of the report as they are; any may be missing.
"""

from collections.abc import Mapping
from typing import Any

VOLATILE = ("time", "machine", "duration")
"""Entries that differ between two runs of the same analysis with the same inputs."""


def analysis_of(provenance: Mapping[str, Any]) -> str:
    """Return the name of the analysis, or nothing."""
    return _name(provenance.get("analysis"))


def model_of(provenance: Mapping[str, Any]) -> str:
    """Return the name of the checkpoint, or nothing."""
    return _name(provenance.get("checkpoint"))


def models_of(provenance: Mapping[str, Any]) -> list[str]:
    """Return the names of all checkpoints."""
    checkpoint = provenance.get("checkpoint")
    hashes = checkpoint.get("sha256") if isinstance(checkpoint, Mapping) else None
    if isinstance(hashes, Mapping):
        return [str(name) for name in hashes]
    return [name] if (name := model_of(provenance)) else []


def date_of(provenance: Mapping[str, Any]) -> str:
    """Return when the run took place, to the minute, or nothing."""
    return _name(provenance.get("time"))[:16].replace("T", " ")


def _name(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("name")
    return value if isinstance(value, str) else ""
