"""The option `--trainings` of analyses that read training folders."""

from dataclasses import field
from typing import Any


def trainings_field(sweep: str) -> Any:
    """Return the field; `sweep` is the command that makes such trainings."""
    return field(
        default=(),
        metadata={
            "help": "Training folder, or a folder of them; may be repeated.",
            "missing": f"make some with: {sweep} --out DIR",
        },
    )
