"""Whether the pages of a report show what its data say: each is rendered again and compared with what is there.

A page must be the rendering to the last character. It may differ in what does not belong to the report: where the
drawing script, the gallery and the explorer lie, the nonce of its policy, line ends, and how its data are compressed.
If another version of the program or of plotly wrote it, words, numbers and data must be the same, but not the design.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from alice.errors import AliceError
from alice.reports import plotly_script
from alice.reports.archive import Report
from alice.reports.html import render_pages
from alice.reports.verify import embedded, tokens
from alice.reports.verify.embedded import BrokenDataError, Embedded
from alice.reports.verify.subject import Subject, read_page

_NONCE = re.compile(r"(&#39;nonce-)([0-9a-f]{32})(&#39;.*?<script src=\"[^\"]*\" nonce=\")\2(?=\")", re.DOTALL)
_SCRIPT = re.compile(rf'<script src="([^"]*)/{re.escape(plotly_script.FILE)}" nonce=')
_GALLERY = re.compile(r'<a href="[^"]*/index\.html">All reports</a>')
_TRIAL = re.compile(r'<a href="[^"#]*/([^"/#]*)#[^"]*">[^\n]*?</a> <span class="model">([^<]*)</span>')
_EXPLORER = re.compile(r"explore[^/]*\.html")
_MAIN = re.compile(r'<li id="section-([^"]*)">\s*<h2><a href="([^"/]*)">')
DRAWN_BY = ("alice-interp", "plotly")
"""Packages that decide what a page looks like."""


@dataclass
class PageCheck:
    """What comparing the pages of a report with its data found."""

    pages: int = 0
    """Pages that were compared."""
    differences: list[str] = field(default_factory=list)
    """What the pages show and the data do not, one line each."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know, one line each."""
    design: bool = True
    """Whether design and scripts were compared, too; scripts can change what a reader sees."""

    @property
    def same(self) -> bool:
        """Whether the pages show what the data say."""
        return not self.differences


def check_pages(subject: Subject) -> PageCheck:
    """Render the pages of a report again and compare them with those that are there."""
    check = PageCheck()
    if subject.stored and not subject.page.exists():
        check.differences.append(f"{subject.page.name} is missing; `alice-interp report` makes it")
        return check
    main, text = _main_page(subject)
    how = _how(text, subject.report)
    try:
        pages = render_pages(subject.report, main=how.main, embedded=subject.embedded, **how.options)
    except AliceError:
        raise
    except Exception as error:  # a damaged result can be readable and yet impossible to draw
        raise AliceError(f"the data of {subject.page} cannot be shown: {str(error)[:160]}") from error
    exact = check.design = not other_versions(subject.report)
    for name, rendered in pages.items():
        path = main if name == how.main else main.with_name(name)
        if not path.is_file():
            (check.differences if subject.stored else check.notes).append(f"{name} is not beside the page")
            continue
        check.pages += 1
        shown = text if path == main else read_page(path)
        check.differences += _compare(shown, rendered, path.name, exact=exact, stored=subject.stored)
    if not exact:
        check.notes.append(
            f"made with {', '.join(other_versions(subject.report))}: words, numbers and data are compared, not design "
            "and scripts"
        )
    _check_script(main, how.options["address"], check)
    return check


@dataclass(frozen=True)
class _How:
    """How a page was rendered, apart from the report itself."""

    main: str
    options: Mapping[str, Any]


def _main_page(subject: Subject) -> tuple[Path, str]:
    """Return the main page, also if the page of a section was given, and its text."""
    for section in subject.report.sections:
        ending = f"-{section.name}.html"
        if section.page and subject.stored and subject.page.name.endswith(ending):
            main = subject.page.with_name(subject.page.name.removesuffix(ending) + ".html")
            if main.is_file():
                return main, read_page(main)
    return subject.page, subject.text


def _how(text: str, report: Report) -> _How:
    """Read from a page where it expects the script, the gallery, the explorers and the pages of sections."""
    found = _SCRIPT.search(text)
    address = None if found is None else _path(found[1])
    if address is not None and address.startswith("/"):
        address = ".."  # a script from elsewhere is no harmless difference
    begin = text.find('<nav class="trials"')
    trials = text[begin : text.find("</nav>", begin)] if begin >= 0 else ""
    explorers = {
        html.unescape(model): _path(file) for file, model in _TRIAL.findall(trials) if _EXPLORER.fullmatch(_path(file))
    }
    linked = _GALLERY.search(text) is not None
    return _How(_main_name(text, report), {"address": address, "linked": linked, "explorers": explorers})


def _path(address: str) -> str:
    """Return the path that an address in a page means; rendering writes it in one way only, so any other differs."""
    return unquote(html.unescape(address), errors="surrogateescape")


def _main_name(text: str, report: Report) -> str:
    """Return the name under which the page was written, which the links to its sections show."""
    own = {section.name for section in report.sections if section.page}
    for name, address in _MAIN.findall(text):
        link = _path(address)
        if name in own and link.endswith(f"-{name}.html") and "/" not in link:
            return f"{link.removesuffix(f'-{name}.html')}.html"
    return "report.html"


def _compare(shown: str, rendered: str, where: str, *, exact: bool, stored: bool) -> Iterator[str]:
    """Yield how a page differs from its rendering."""
    shown, rendered = _without_nonce(shown), _without_nonce(rendered)
    if embedded.find(shown) is None and stored:
        rendered = embedded.removed(rendered)  # an earlier version wrote it; the data lie in the folder
    elif embedded.find(rendered) is not None:
        try:
            same = Embedded.read(shown, where).text == Embedded.read(rendered, where).text
        except BrokenDataError as error:
            yield str(error)
            return
        if same:
            shown, rendered = embedded.replaced(shown, ""), embedded.replaced(rendered, "")
        else:
            yield f"{where}: the data inside the page are not those of the folder"
            return
    if shown == rendered:
        return
    found = list(tokens.differences(shown, rendered, content_only=not exact))
    if not found and exact:
        found = [f"its markup differs from line {_first_line(shown, rendered)} on"]
    yield from (f"{where}: {line}" for line in found)


def _without_nonce(page: str) -> str:
    """Return a page without the nonce of its policy, there and at the script."""
    return _NONCE.sub(r"\1\3", page, count=1)


def _first_line(one: str, other: str) -> int:
    pairs = zip(one.split("\n"), other.split("\n"), strict=False)
    return next((number for number, (a, b) in enumerate(pairs, 1) if a != b), min(one.count("\n"), other.count("\n")))


def other_versions(report: Report) -> list[str]:
    """Return the packages of other versions than ours that may have drawn the page."""
    versions = report.provenance.get("versions")
    recorded = versions if isinstance(versions, Mapping) else {}
    return [f"{name} {recorded[name]}" for name in DRAWN_BY if name in recorded and recorded[name] != _installed(name)]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _check_script(page: Path, address: str | None, check: PageCheck) -> None:
    """Compare the drawing script of a gallery with the one of this installation."""
    if address is None:
        return
    file = page.parent / address / plotly_script.FILE
    try:
        if not file.is_file():  # a pipe would block
            return
        with file.open("rb") as opened:
            content = opened.read(len(plotly_script.content()) + 1)
    except (OSError, ValueError):
        return
    if content == plotly_script.content():
        return
    if plotly_script.version(content) in ((), plotly_script.version(plotly_script.content())):
        check.differences.append(f"{plotly_script.FILE}, which draws the figures, is not the script of plotly")
    else:
        check.notes.append(f"{plotly_script.FILE} is of another version of plotly and was not compared")
