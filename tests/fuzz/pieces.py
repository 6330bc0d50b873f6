"""Choices made from the bytes of a fuzzer: numbers, texts, odd values, and damage to documents and files."""

import atexit
import json
import math
from copy import deepcopy
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

ODD_CHARACTERS = (
    "\0", "\t", "\n", "\r", "\x1b", " ", "\u2028", "\u00a0", "\u200b", "\ufeff", "\ud800", "\udcff", "\U0010ffff", "<",
    ">", "&", '"', "'", "\\", "`", "{", "}", "%", ",", ";", "--", "—", "…", "ß", "ﬁ", "İ", "ı", "ſ", "K", "é",
    "e\u0301",
    "Ⅷ", "²", "™", "я", "中", "a", "Z", "0",
)  # fmt: skip
ODD_VALUES = (
    None, True, False, 0, -1, 1, 2, 3, 255, 2**31, -(2**63), 2**64, 10**30, 0.0, -0.0, 0.5, 1e-320, 1e308, math.nan,
    math.inf, -math.inf, "", "0", "nan", "none", "\0", "\ud800", "é", "a" * 3000, "../..", "<script>alert(1)</script>",
    [], {}, [[]], [None], {"": None}, {"$float": "nan"}, {"$float": []}, {"$dict": {"$x": 1}}, {"$code": 1},
    {"$list": [1, "a"], "dtype": "O", "shape": [2]}, {"$array": "AAAA", "dtype": "<u1", "shape": [3]},
    {"$array": "", "dtype": "f4,(", "shape": [0]}, {"$list": ["1"], "dtype": "M8[25s]", "shape": [1]},
    {"$list": [], "dtype": "<U9", "shape": [0, 7]}, {"$list": "abc", "dtype": "<U1", "shape": [3]},
    {"$array": "AAAA", "dtype": ["<u1"], "shape": [3]}, {"$array": "AAAA", "dtype": "|u1", "shape": 3},
)  # fmt: skip


class Finding(AssertionError):  # noqa: N818  (not an error of the product)
    """The product gave a wrong answer without an error."""


def new_folder() -> Path:
    """Make a folder for the files of a target, removed when the process ends."""
    folder = Path(mkdtemp(prefix="alice-fuzz-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


class Choices:
    """Makes choices from bytes; when they are used up, it always takes the first option."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def below(self, count: int) -> int:
        """Return a number from 0 to less than `count`."""
        width = max(1, (count - 1).bit_length() + 7 >> 3)
        taken = self.data[self.position : self.position + width]
        self.position += width
        return int.from_bytes(taken, "little") % count

    def pick(self, options: Any) -> Any:
        """Return one of the options."""
        return options[self.below(len(options))]

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        left, self.position = self.data[self.position :], len(self.data)
        return left

    def text(self, longest: int = 30) -> str:
        """Return a text of plain and odd characters, of any script."""
        return "".join(self._character() for _ in range(self.below(longest + 1)))

    def _character(self) -> str:
        kind = self.below(8)
        if kind < 4:
            return chr(97 + self.below(26)) if kind else " "
        return chr(self.below(0x110000)) if kind == 7 else self.pick(ODD_CHARACTERS)

    def damaged_document(self, document: Any, *, most: int = 3) -> Any:
        """Return a JSON document with up to `most` places changed."""
        changed = deepcopy(document)
        for _ in range(self.below(most + 1)):
            self._damage_place(changed)
        return changed

    def _damage_place(self, value: Any) -> None:
        while isinstance(value, dict | list) and value:
            keys = list(value) if isinstance(value, dict) else range(len(value))
            key = self.pick(keys)
            if isinstance(value[key], dict | list) and value[key] and self.below(5):
                value = value[key]
                continue
            action = self.below(4)
            if action == 0:
                del value[key]
            elif action == 1 and isinstance(value, dict):
                value[self.text(12)] = value.pop(key)
            elif action == 2:
                value[key] = self.text()
            else:
                value[key] = deepcopy(self.pick(ODD_VALUES))
            return

    def written(self, document: Any) -> bytes:
        """Return a document as JSON, sometimes damaged."""
        text = json.dumps(document, ensure_ascii=bool(self.below(2)))
        return self.damaged_bytes(text.encode(errors="surrogatepass"))

    def damaged_bytes(self, content: bytes) -> bytes:
        """Return bytes with a part cut, changed, doubled or inserted; most of the time unchanged."""
        action = self.below(12)
        place = self.below(len(content) + 1)
        end = place + self.below(40)
        if action == 1:
            return content[:place]
        if action == 2:
            return content[:place] + bytes([self.below(256)]) + content[place + 1 :]
        if action == 3:
            return content[:place] + content[place:end] * 2 + content[end:]
        if action == 4:
            return content[:place] + self.rest() + content[place:]
        if action == 5:
            return content[:place] + content[end:]
        return content
