"""Texts of a Hugging Face dataset, from the hub or from a folder on disk; streamed, never downloaded as a whole."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.text.readers import as_text, choose_column, first_line

DEFAULT_SPLIT = "train"


def parse_hub_name(name: str) -> tuple[str, str]:
    """Take `<dataset id or folder>[:split]` apart into the dataset and its split."""
    dataset, colon, split = name.rpartition(":")
    if not colon or "/" in split or Path(name).is_dir():
        dataset, split = name, DEFAULT_SPLIT
    if not dataset or not split:
        raise AliceError(f"'hf:{name}' names no dataset; write hf:<dataset id or folder>, then :<split> if you like")
    if dataset.startswith((".", "/", "~")) and not Path(dataset).expanduser().is_dir():
        raise AliceError(f"there is no dataset folder {dataset}; check the path")
    return dataset, split


def read_hub(dataset: str, split: str, column: str | None = None) -> Iterator[str]:
    """Yield one column of one split of a dataset."""
    where = f"dataset {dataset!r}, split {split!r}"
    rows = iter(_open_rows(dataset, split, where))
    name = None
    while (row := _next_row(rows, where)) is not None:
        name = name or choose_column(list(row), column, where)
        yield as_text(row[name], f"{where}, column {name!r}")


def _open_rows(dataset: str, split: str, where: str) -> Iterable[Mapping[str, Any]]:
    import datasets  # slow to import, and wanted for these sources only

    folder = Path(dataset).expanduser()
    try:
        if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():  # made by save_to_disk
            splits = datasets.load_from_disk(str(folder))
            splits = splits if isinstance(splits, Mapping) else {str(splits.split or DEFAULT_SPLIT): splits}
        else:
            splits = datasets.load_dataset(str(folder) if folder.is_dir() else dataset, streaming=True)
    except Exception as error:  # the library raises dozens of kinds, from its own and from the network's
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
            f"cannot read on in {where} ({first_line(error)}); check the data and the connection"
        ) from error
