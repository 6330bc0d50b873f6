"""The page of a reproduction: which of the paper's claims hold here, and every table and figure beside ours.

`reproduce.json` has the same for programs. What is shown is plain data; how it came about is not known here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from alice.errors import AliceError
from alice.files import atomic_write
from alice.reports import encoding, page
from alice.reports.html import INDEX
from alice.reports.number_text import shown

DOCUMENT = "reproduce.json"
RUNS = "runs"
"""Folder of the run folders, beside the page."""
FORMAT = "alice-interp reproduction"
VERSION = 1
OUR_MARK = '<meta name="generator" content="alice-interp reproduce">'
BYTES_OF_HEAD = 2000
"""The mark is in the first lines of a page."""
Outcome = Literal["holds", "does not hold", "undecided", "not tested"]
MARKS: dict[str, str] = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not tested": "·"}
"""What stands before an outcome, for those who do not see its colour."""


@dataclass(frozen=True)
class Check:
    """One test of a claim."""

    subject: str
    """On what: a model, a reader, a run."""
    measure: str
    """The statistic in words."""
    value: float
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end."""
    threshold: float
    side: str
    """`above` or `below`: where the claim wants it."""
    outcome: Outcome

    @property
    def interval(self) -> str:
        """The statistic with its interval, as shown."""
        if math.isnan(self.low):
            return f"{shown(self.value)} (no interval)"
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"

    @property
    def wanted(self) -> str:
        """What the claim wants, as shown."""
        return f"{'>' if self.side == 'above' else '<'} {shown(self.threshold)}"


@dataclass(frozen=True)
class Link:
    """A report to look at."""

    text: str
    address: str
    """Where it is, seen from the page."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with its tests."""

    key: str
    """A short name."""
    sentence: str
    """The claim in our words."""
    paper: str
    """The paper's words, and where they stand."""
    outcome: Outcome
    checks: tuple[Check, ...] = ()
    absent: str = ""
    """Why it could not be tested, and which command changes that."""
    reports: tuple[Link, ...] = ()
    """What it was tested on."""
    note: str = ""
    """What a verdict can and cannot say."""


@dataclass(frozen=True)
class Row:
    """One value of the paper beside ours."""

    what: str
    paper: str
    ours: str


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper."""

    label: str
    """Such as `Table 1`."""
    title: str
    rows: tuple[Row, ...] = ()
    claim: str = ""
    """Key of the claim that it bears on."""
    outcome: Outcome | None = None
    """What the tests of this claim on this item say; None if there is no claim."""
    reports: tuple[Link, ...] = ()
    """Ours."""
    note: str = ""
    """What else a reader should know."""
    absent: str = ""
    """Why there is nothing of ours, and which command changes that."""


@dataclass(frozen=True)
class Reproduction:
    """All that the page shows."""

    claims: Sequence[Claim]
    items: Sequence[Item]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Checkpoints, data, seed, versions."""
    runs: Sequence[Mapping[str, Any]] = ()
    """The analyses: name, report or error, seconds."""
    time: str = ""
    """When it was written."""

    def document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; a number that is not known is null."""
        plain = {
            "claims": {claim.key: asdict(claim) for claim in self.claims},
            "items": {item.label: asdict(item) for item in self.items},
            "about": dict(self.about),
            "runs": [dict(run) for run in self.runs],
            "time": self.time,
        }
        return {"format": FORMAT, "version": VERSION, **_without_nan(plain)}


def check_folder(folder: Path) -> None:
    """Refuse a folder whose `index.html` is somebody else's."""
    path = folder / INDEX
    if path.exists() and OUR_MARK.encode() not in path.read_bytes()[:BYTES_OF_HEAD]:
        raise AliceError(f"{path} is no page of alice-interp reproduce and would be overwritten; use another folder")


def write_reproduction(folder: Path, found: Reproduction) -> Path:
    """Write `reproduce.json` and the page into a folder, and return where the page is."""
    check_folder(folder)
    with atomic_write(folder / DOCUMENT) as file:
        file.write(encoding.write_json(found.document()))
    with atomic_write(folder / INDEX) as file:
        file.write(render_reproduction(found))
    return folder / INDEX


def render_reproduction(found: Reproduction) -> str:
    """Return the page."""
    return page.render(
        "reproduce.html",
        found=found,
        titles={claim.key: claim.sentence for claim in found.claims},
        counts={outcome: sum(claim.outcome == outcome for claim in found.claims) for outcome in MARKS},
        marks=MARKS,
        style=page.resource("style.css") + page.resource("reproduce.css"),
        theme_script=page.resource("theme.js"),
        policy=page.policy([page.script_hash(page.resource("theme.js"))]),
    )


def _short(value: float) -> str:
    """Return a number with three significant digits: an interval says itself how far it is known."""
    return shown(float(f"{value:.3g}"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
