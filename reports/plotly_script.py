"""The script that draws the figures: taken from the installed plotly and written once per gallery."""

import re
from functools import cache
from pathlib import Path

from plotly.offline import get_plotlyjs

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


def place(folder: Path) -> None:
    """Write the script into a folder, unless it has the same or a newer one."""
    ours, target = content(), folder / FILE
    if target.is_file():
        theirs = target.read_bytes()
        if theirs == ours or version(theirs) > version(ours):  # a newer script draws what an older one could
            return
    with atomic_write(target, "wb") as file:
        file.write(ours)


def version(script: bytes) -> tuple[int, ...]:
    """Return the version that a script names at its beginning, or an empty tuple."""
    found = _VERSION.search(script[:_HEAD])
    return tuple(int(part) for part in found.groups()) if found else ()
