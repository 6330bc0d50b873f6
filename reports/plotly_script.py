"""The script that draws the figures: taken from the installed plotly and written once per gallery."""

import re
from functools import cache
from pathlib import Path

from plotly.offline import get_plotlyjs

from alice.errors import AliceError
from alice.files import atomic_write

FILE = "plotly.min.js"
_VERSION = re.compile(rb"plotly\.js v(\d+)\.(\d+)\.(\d+)")
_HEAD = 400
"""Bytes at the beginning that hold the comment with the version."""


@cache
def source() -> str:
    """Return the script of the installed plotly."""
    text: str = get_plotlyjs()
    if "</script" in text.lower() or "<!--" in text:  # either would break the element that it is inlined in
        raise RuntimeError("the installed plotly.js cannot be inlined into a page")
    return text


@cache
def content() -> bytes:
    """Return the script as the bytes of its file."""
    return source().encode()


def check_place(folder: Path) -> None:
    """Raise if a folder has a file of this name that is no plotly script and would be lost."""
    target = folder / FILE
    if target.is_file() and target.stat().st_size and not version(_head(target)):
        raise AliceError(f"{target} is not a script of plotly and would be replaced; move it, or use another folder")


def place(folder: Path) -> None:
    """Write the script into a folder, unless it has the same or a newer one."""
    check_place(folder)
    ours, target = content(), folder / FILE
    # A newer script draws what an older one could.
    if target.is_file() and (version(_head(target)) > version(ours) or _holds(target, ours)):
        return
    with atomic_write(target, "wb") as file:
        file.write(ours)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _holds(path: Path, content: bytes) -> bool:
    return path.stat().st_size == len(content) and path.read_bytes() == content


def version(script: bytes) -> tuple[int, ...]:
    """Return the version that a script names at its beginning, or an empty tuple."""
    found = _VERSION.search(script[:_HEAD])
    return tuple(int(part) for part in found.groups()) if found else ()
