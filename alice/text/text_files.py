"""Files of prepared texts, compressed if their name says so, the same bytes for the same texts."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from alice.errors import AliceError
from alice.files import atomic_write


@contextmanager
def open_lines(out: Path) -> Iterator[IO[str]]:
    """Open a file of one text per line that appears when it is complete."""
    with _open_text(out, "txt", "the texts are written one per line") as file:
        yield file


@contextmanager
def open_table(out: Path, columns: Sequence[str]) -> Iterator[Callable[[Sequence[str]], object]]:
    """Open a CSV file with a line of column names; give the function that writes a row."""
    with _open_text(out, "csv", f"the columns {' and '.join(columns)} are written") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        yield writer.writerow


@contextmanager
def _open_text(out: Path, ending: str, why: str) -> Iterator[IO[str]]:
    if not out.name.lower().endswith((f".{ending}", f".{ending}.gz")):
        raise AliceError(f"{out} ends neither in .{ending} nor in .{ending}.gz; {why}, so name it so")
    if out.suffix.lower() == f".{ending}":
        with atomic_write(out) as file:
            yield file
        return
    with (
        atomic_write(out, "wb") as packed,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as lines,  # no name or time inside: same texts, same bytes
        io.TextIOWrapper(lines, encoding="utf-8", newline="\n") as file,
    ):
        yield file
