"""What tells the figures of several models apart by their names."""

import re
from collections.abc import Sequence

LONGEST = 40
"""Characters of a model's name, which leaves room for the rest of the name of a figure."""


def suffixes(models: Sequence[str]) -> list[str]:
    """Return what stands behind the names of each model's figures: nothing if there is but one, else the model's name.

    It has only what a name in a report may have, and no two are the same.
    """
    if len(models) == 1:
        return [""]
    found: list[str] = []
    for model in models:
        suffix = "-" + re.sub(r"[^A-Za-z0-9_.]+", "-", model)[-LONGEST:].strip("-")
        number = sum(other == suffix or other.startswith(f"{suffix}--") for other in found)
        found.append(f"{suffix}--{number + 1}" if number else suffix)
    return found
