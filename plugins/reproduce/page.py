"""The page of a reproduction: which claims of the paper hold, and each of its tables and figures next to ours.

`reproduce.json` holds the same for programs. This module only shows plain data and computes nothing.
"""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from alice.errors import AliceError
from alice.files import atomic_write, regular_file
from alice.outputs import REPRODUCTION, check_folder
from alice.reports import Figure, Result, blocks, encoding, page, plotly_script
from alice.reports.figures import theme
from alice.reports.html import INDEX, head, scripts
from alice.reports.number_text import shown

PACKAGE = "alice.plugins.reproduce"
DOCUMENT = "reproduce.json"
REPORTS = "runs"
"""Folder of the reports, next to the page."""
VERSION = 3
GENERATOR = "reproduction by alice-interp"
"""Recognises our page; a gallery has another one, so neither overwrites the other."""
OUR_MARK = f'<meta name="generator" content="{GENERATOR}">'
Outcome = Literal["holds", "does not hold", "undecided", "not tested"]
MARKS: dict[str, str] = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not tested": "·"}
"""A sign for each outcome, for readers who do not see its colour."""


@dataclass(frozen=True)
class Check:
    """One test of a claim."""

    name: str
    """Machine name of the statistic, such as `smallest-drop`."""
    models: tuple[str, ...]
    """The models that it is about; empty for trainings."""
    subject: str
    """What it is about, in words: a model, a reader, some trainings."""
    measure: str
    """The statistic in words."""
    value: float
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end."""
    threshold: float
    side: str
    """`above` or `below`: the side of the threshold on which the claim holds."""
    outcome: Outcome
    reader: str = ""
    """How the layers were read, such as `linear`; empty if that does not apply."""

    @property
    def interval(self) -> str:
        """The statistic with its interval, as shown."""
        if math.isnan(self.value):
            return "no data"
        if math.isnan(self.low):
            return f"{shown(self.value)} (no interval)"
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"

    @property
    def wanted(self) -> str:
        """The condition of the claim, as shown."""
        return f"{'>' if self.side == 'above' else '<'} {shown(self.threshold)}"


@dataclass(frozen=True)
class Link:
    """A link to a report."""

    text: str
    address: str
    """Relative to the page."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with its tests."""

    key: str
    """Machine name of the claim."""
    sentence: str
    """The claim in our words."""
    paper: str
    """The paper's words, and where they are."""
    outcome: Outcome
    checks: tuple[Check, ...] = ()
    absent: str = ""
    """Why it could not be tested, and which command helps."""
    reports: tuple[Link, ...] = ()
    """The reports that it was tested on."""
    note: str = ""
    """What a verdict can and cannot say."""
    evidence: tuple[str, ...] = ()
    """Names of the evidence beside it."""


@dataclass(frozen=True)
class Evidence:
    """What another analysis says about a claim; it does not change the verdict."""

    name: str
    """Machine name."""
    title: str
    sentence: str = ""
    """What was found, in one sentence."""
    control: str = ""
    """What it was compared with, and what it cannot show."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    figures: tuple[str, ...] = ()
    """Names of the figures that show it."""
    reports: tuple[Link, ...] = ()
    absent: str = ""
    """Why there is none, and which command changes that."""


@dataclass(frozen=True)
class Row:
    """A value of the paper next to ours."""

    what: str
    paper: str
    ours: str
    group: str = ""
    """The data that rows of a table were measured on, where they differ."""


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper."""

    label: str
    """Such as `Table 1`."""
    title: str
    rows: tuple[Row, ...] = ()
    claim: str = ""
    """Key of the claim that it supports."""
    outcome: Outcome | None = None
    """What the tests of this claim on this item say; None if there is no claim."""
    reports: tuple[Link, ...] = ()
    """Ours."""
    note: str = ""
    """What else a reader should know."""
    absent: str = ""
    """Why the item is missing, and which command adds it."""
    figures: tuple[str, ...] = ()
    """Names of our figures."""
    evidence: tuple[str, ...] = ()
    """Names of the evidence beside it."""

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """The rows by group, in their order."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, lambda row: row.group)]


@dataclass(frozen=True)
class Reproduction:
    """Everything that the page shows."""

    claims: Sequence[Claim]
    items: Sequence[Item]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Checkpoints, data, seed, versions."""
    analyses: Sequence[Mapping[str, Any]] = ()
    """Name, models, report or error, and seconds of each analysis."""
    time: str = ""
    """When it was written."""
    evidence: Sequence[Evidence] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """What items and evidence name."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the shipped part of the results follows from."""

    def document(self) -> dict[str, Any]:
        """Return everything as JSON data; an unknown number is null."""
        plain = {
            "claims": {claim.key: asdict(claim) for claim in self.claims},
            "evidence": {one.name: asdict(one) for one in self.evidence},
            "items": {item.label: asdict(item) for item in self.items},
            "about": dict(self.about),
            "analyses": [dict(one) for one in self.analyses],
            "time": self.time,
            "figures": {name: figure.caption for name, figure in self.figures.items()},
            "facts": dict(self.facts),
        }
        return {"format": REPRODUCTION, "version": VERSION, **_without_nan(plain)}


def check_place(folder: Path) -> Path:
    """Return a folder to write to; raise if it is something else or has an `index.html` of somebody else."""
    check_folder(folder, writes="reproduction", replace=True, besides=[REPORTS])
    path = folder / INDEX
    if path.exists() and OUR_MARK.encode() not in head(regular_file(path)):
        raise AliceError(f"{path} was not written by alice-interp reproduce and would be lost; use another folder")
    return folder


def write_reproduction(folder: Path, found: Reproduction) -> Path:
    """Write `reproduce.json` and the page into a folder, and return the path of the page."""
    check_place(folder)
    with atomic_write(folder / DOCUMENT) as file:
        file.write(encoding.write_json(found.document()))
    with atomic_write(folder / INDEX) as file:
        file.write(render_reproduction(found))
    return folder / INDEX


def render_reproduction(found: Reproduction) -> str:
    """Return the page; its figures are drawn by the script that lies beside the reports."""
    nonce = secrets.token_hex(16)
    return page.render(
        "page.html",
        PACKAGE,
        generator=GENERATOR,
        found=found,
        titles={claim.key: claim.sentence for claim in found.claims},
        evidence={one.name: one for one in found.evidence},
        figures=_figure_blocks(found),
        counts={outcome: sum(claim.outcome == outcome for claim in found.claims) for outcome in MARKS},
        marks=MARKS,
        style=page.resource("style.css") + page.resource("page.css", PACKAGE),
        theme_script=page.resource("theme.js"),
        page_script=page.resource("page.js"),
        themes=page.script_json({mode: theme.template(mode) for mode in ("light", "dark")}),
        plotly_address=f"{REPORTS}/{plotly_script.FILE}",
        nonce=nonce,
        policy=page.policy([*scripts(), f"'nonce-{nonce}'"]),
    )


def figure_names(evidence: Sequence[Evidence], items: Sequence[Item]) -> list[str]:
    """Return the names of all figures, in the order in which a reader meets them."""
    parts: list[Evidence | Item] = [*evidence, *items]
    return list(dict.fromkeys(name for part in parts for name in part.figures))


def _figure_blocks(found: Reproduction) -> dict[str, blocks.Block]:
    """Return the figures as the template shows them, by name, numbered in the order in which a reader meets them."""
    shown = blocks.blocks_of(Result("Figures", figures=found.figures))["figures"]
    for number, name in enumerate(figure_names(found.evidence, found.items), 1):
        shown[name]["number"] = number
    return shown


def _short(value: float) -> str:
    """Return a number with three significant digits; its interval shows how precise it is."""
    return shown(float(f"{value:.3g}"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
