"""Editorial marks: what a transcriber supplied, expanded, corrected, doubted or remarked.

A bracket that touches a symbol and has no space inside belongs to a word; any other is a remark.
"""

import re
from collections import Counter

Marks = Counter[str]
"""How often each kind of mark occurs."""
KINDS = {
    "supplied": ("[t]ortam", "letters that the transcriber supplied: kept"),
    "expanded": ("d(omi)nus", "letters of an abbreviation: kept"),
    "added": ("ce<o>mmuni", "letters that the scribe added: kept"),
    "corrected": ("d<=l>e", "a correction: replaces as many letters before it"),
    "uncertain": ("t?ortam", "an uncertain letter: kept, without the question mark"),
    "illegible": ("[...]tam", "illegible letters: left out, the rest of the word stays"),
    "remark": ("<CLEARTEXT-LA text>", "cleartext or a remark: left out"),
    "comment": ("# text", "a line that is a comment: left out"),
    "ignored": ("--ignore R", "a symbol that is not part of the cipher: left out"),
}
"""Every kind of mark, with an example and what becomes of it."""
DROPPED = ("illegible", "remark", "comment", "ignored")
"""Kinds of mark that leave something out."""
_INSIDE_WORD = {"[": "supplied", "(": "expanded", "<": "added"}
_BRACKETS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)", re.DOTALL)
_PUNCTUATION = "\\s.,;:!?'\"="
_DOUBT = re.compile(rf"(?<=[^{_PUNCTUATION}])\?(?=[^{_PUNCTUATION}])")
_LAST_WORD = re.compile(rf"[^{_PUNCTUATION}-]*\Z")


def interpret(text: str) -> tuple[str, Marks]:
    """Return a text as its transcriber means it, without marks, and how many there were of each kind."""
    found: Marks = Counter()
    read, end = "", 0
    for bracket in _BRACKETS.finditer(text):
        read += text[end : bracket.start()]
        end = bracket.end()
        kind, inside = _kind(text, bracket), bracket[0][1:-1].strip()
        found[kind] += 1
        if kind == "corrected":
            word = _LAST_WORD.search(read)
            written = len(word[0]) if word else 0
            read = read[: len(read) - min(written, len(inside) - 1)] + inside[1:]
        elif kind == "remark":
            read += " "
        elif kind not in ("illegible", "uncertain"):
            read += inside
    read, doubts = _DOUBT.subn("", read + text[end:])
    found["uncertain"] += doubts
    return read, +found


def without_remarks(text: str) -> tuple[str, Marks]:
    """Return a text of tokens without what is in angle brackets, and how often there was something."""
    read, remarks = re.subn(r"<[^<>]*>", " ", text, flags=re.DOTALL)
    return read, +Counter(remark=remarks)


def _kind(text: str, bracket: re.Match[str]) -> str:
    """Return what a bracket marks."""
    inside = bracket[0][1:-1].strip()
    before, after = text[: bracket.start()][-1:], text[bracket.end() :][:1]
    touches = re.compile(rf"[^{_PUNCTUATION}]").match
    if re.search(r"\s", inside) or not (touches(before) or touches(after)):
        return "remark"
    if inside.startswith("=") and touches(before):
        return "corrected"
    if inside == "?":
        return "uncertain"
    return _INSIDE_WORD[bracket[0][0]] if any(map(str.isalnum, inside)) else "illegible"
