"""`metrics.jsonl`: one JSON object a line, appended while a run goes on."""

import json
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.files import atomic_write

FILE = "metrics.jsonl"


class MetricsLog:
    """The log of one run folder; every row carries its step."""

    def __init__(self, folder: Path, *, resume_at: int) -> None:
        self._path = folder / FILE
        rows = [row for row in read(folder) if row["step"] <= resume_at] if self._path.exists() else []
        with atomic_write(self._path) as file:  # what a killed run did after its last checkpoint will be done again
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def append(self, row: dict[str, Any]) -> None:
        """Add a row and hand it to the operating system at once."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise AliceError(f"cannot write {self._path} ({error.strerror}); free some space, then resume") from error


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a run folder's log; a last line cut off by a crash is left out."""
    rows = []
    lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise AliceError(f"{folder / FILE}, line {number} is no JSON; the file was changed or damaged") from error
        if not isinstance(row, dict) or not isinstance(row.get("step"), int):
            raise AliceError(f"{folder / FILE}, line {number} has no step; the file was changed or damaged")
        rows.append(row)
    return rows
