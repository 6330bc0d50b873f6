"""The data that a page carries, so that `alice-interp verify` can check a page that was sent without its folder.

The main page of a report has an element `report-data`: the content of `result.json`, compressed, with its SHA-256. The
hash finds accidents and careless edits. It is no signature: whoever changes the data can compute it again.
"""

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from alice.errors import AliceError
from alice.files import LARGEST_JSON, parse_json
from alice.reports import archive, encoding
from alice.reports.archive import Report

VERSION = 1
_BEGIN, _END = '<script type="application/json" id="report-data">', "</script>"
_ARRAYS = "arrays"


class BrokenDataError(AliceError):
    """The data inside a page are missing, damaged or changed."""


@dataclass(frozen=True)
class Embedded:
    """The data of a report as its page carries them."""

    document: Mapping[str, Any]
    """The content of `result.json`, and `arrays`: type and shape of each array by name."""

    @classmethod
    def of(cls, report: Report) -> "Embedded":
        """Return what the page of a report carries."""
        kinds = {name: f"{array.dtype} {array.shape}" for name, array in sorted(report.arrays.items())}
        return cls(archive.to_document(report.result, report.provenance) | {_ARRAYS: kinds})

    @classmethod
    def read(cls, page: str, where: str) -> "Embedded":
        """Read the data from the text of a page; `where` begins the sentence of an error."""
        found = find(page)
        if found is None:
            raise BrokenDataError(
                f"{where} carries no data: it is the page of a section, or an earlier version wrote it; give its main "
                "page or the folder of the report"
            )
        try:
            packed = parse_json(page[found[0] : found[1]])
            if packed.keys() != {"version", "sha256", "data"}:
                raise ValueError("there is more or less than a version, a hash and the data")
            text = _unpacked(packed["data"])
            if packed["version"] != VERSION or hashlib.sha256(text).hexdigest() != packed["sha256"]:
                raise ValueError("they do not have their hash")
            document = parse_json(text.decode())
            embedded = cls(document)
            _check_names(embedded)
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error, MemoryError) as error:
            reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise BrokenDataError(f"the data inside {where} are damaged or were changed: {reason[0][:160]}") from error
        return embedded

    @property
    def arrays(self) -> Mapping[str, str]:
        """Type and shape of each array, by name."""
        found: Mapping[str, str] = self.document[_ARRAYS]
        return found

    @property
    def artefacts(self) -> Mapping[str, str]:
        """Hash of each artefact, by name."""
        found: Mapping[str, str] = self.document["artefacts"]
        return found

    @property
    def arrays_sha256(self) -> str:
        """Hash of the file of arrays."""
        return str(self.document["arrays_sha256"])

    @cached_property
    def text(self) -> str:
        """The data as JSON text."""
        return encoding.write_json(self.document)

    def packed(self) -> dict[str, Any]:
        """Return the content of the element."""
        content = self.text.encode()
        data = base64.b64encode(zlib.compress(content, 9)).decode("ascii")
        return {"version": VERSION, "sha256": hashlib.sha256(content).hexdigest(), "data": data}

    def report(self, where: str) -> Report:
        """Return the report without its arrays and artefacts."""
        return archive.from_document({key: value for key, value in self.document.items() if key != _ARRAYS}, where)


def find(page: str) -> tuple[int, int] | None:
    """Return where the content of the element begins and ends; None if a page has none."""
    begin = page.rfind(_BEGIN)  # the last: words of the report come before it
    end = page.find(_END, begin) if begin >= 0 else -1
    return (begin + len(_BEGIN), end) if end >= 0 else None


def replaced(page: str, content: str) -> str:
    """Return a page with another content of the element."""
    found = find(page)
    return page if found is None else page[: found[0]] + content + page[found[1] :]


def removed(page: str) -> str:
    """Return a page without the element."""
    found = find(page)
    if found is None:
        return page
    return page[: found[0] - len(_BEGIN)] + page[found[1] + len(_END) :].removeprefix("\n")


def _unpacked(data: str) -> bytes:
    """Return the data; what would fill the memory is refused."""
    try:
        packed = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    reader = zlib.decompressobj()
    content = reader.decompress(packed, LARGEST_JSON)
    if reader.unconsumed_tail or not reader.eof or reader.unused_data:
        raise ValueError("they are incomplete, too large, or followed by something else")
    return content


def _check_names(embedded: Embedded) -> None:
    """Raise if what the page lists by name is not text; the rest is checked where it is used."""
    for named in (embedded.arrays, embedded.artefacts):
        json.dumps(named)
        if not all(isinstance(text, str) for entry in named.items() for text in entry):
            raise ValueError("its arrays are not named by texts")
    if not isinstance(embedded.arrays_sha256, str):
        raise ValueError("its arrays have no hash")
