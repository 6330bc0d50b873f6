"""The option `--runs` of analyses that read what trainings have logged."""

from dataclasses import field
from typing import Any


def runs_field(sweep: str) -> Any:
    """Return the field; `sweep` is the command that makes such runs."""
    return field(
        default=(),
        metadata={
            "help": "Run folder, or folder of run folders; once for each.",
            "missing": f"make such runs with: {sweep} --out DIR",
        },
    )
