"""Renders a stored report as HTML pages that open from disk, without network and without a model.

A report is one page, and one more for each of its sections that asks for a page of its own. A standalone report is a
single file, in which these sections follow one another.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from alice.files import atomic_write
from alice.outputs import check_file, folder_kind
from alice.reports import page, plotly_script
from alice.reports.archive import ARRAYS, RESULT, Report
from alice.reports.blocks import Block, blocks_of, metric_cards, paragraphs, words
from alice.reports.encoding import SUFFIX
from alice.reports.explorer import beside
from alice.reports.figures import theme
from alice.reports.parts import KINDS, Section
from alice.reports.result import Result
from alice.reports.verify.embedded import Embedded

REPORT = "report.html"
INDEX = "index.html"
MARK = b'<meta name="generator" content="alice-interp">'
BYTES_OF_HEAD = 4000
"""The mark and the policy of a page are in its first lines."""
CONTENTS_FROM = 4
"""Entries from which a list of contents helps."""
NUMBERED = ("figures", "texts", "tables")
"""Kinds that are numbered, each on its own, through all pages."""


def write_report(report: Report, *, out: Path | None = None, standalone: bool = False, force: bool = False) -> Path:
    """Write the pages of a report, `report.html` in its folder or elsewhere, and return the path of the main page.

    A standalone page contains the drawing script and all sections; otherwise the script is written once for all reports
    of a gallery, and the other pages lie beside the main one. An existing file that is not such a page, or that is the
    page of another report, is replaced only with `force`, and a file of the report itself never.
    """
    path = report.stored_in / REPORT if out is None else out
    library = report.stored_in.absolute().parent
    if not standalone:
        plotly_script.check_place(library)
    address = None if standalone else _relative(library, path)
    explorers = beside.pages_in(library) if report.result.trials else {}
    linked = (library / INDEX).is_file()
    pages = render_pages(report, address=address, linked=linked, main=path.name, explorers=explorers)
    paths = {path.with_name(name): text for name, text in pages.items()}
    if out is not None:
        own = [report.stored_in / name for name in (RESULT, ARRAYS, *(f"{name}{SUFFIX}" for name in report.artefacts))]
        checked = [check_file(one, read=own, is_ours=partial(_is_page_of, report), force=force) for one in paths]
        paths = dict(zip(checked, paths.values(), strict=True))
    for one in reversed(paths):  # the main page last, when all that it links to is there
        with atomic_write(one) as file:
            file.write(paths[one])
    if not standalone:
        plotly_script.place(library)
    return next(iter(paths))


def _is_page_of(report: Report, path: Path) -> bool:
    """Return whether a file is a page in the folder of a report, or one outside of any report."""
    elsewhere = folder_kind(path.parent) == "report" and not path.parent.samefile(report.stored_in)
    return not elsewhere and MARK in head(path)


def head(path: Path) -> bytes:
    """Return the beginning of a page."""
    with path.open("rb") as file:
        return file.read(BYTES_OF_HEAD)


def render_report(report: Report, *, address: str | None = "..", linked: bool = True) -> str:
    """Return the main page of a report; see `render_pages`."""
    return render_pages(report, address=address, linked=linked)[REPORT]


def page_name(section: Section, main: str = REPORT) -> str:
    """Return the file name of a section's own page: `report-layer-3.html`."""
    return f"{Path(main).stem}-{section.name}.html"


def link(path: str) -> str:
    """Return a relative path as an address in a page: a `#`, `?` or `%` in a name is part of it."""
    return quote(os.fsencode(path))


def render_pages(
    report: Report,
    *,
    address: str | None = "..",
    linked: bool = True,
    main: str = REPORT,
    explorers: Mapping[str, str] | None = None,
    embedded: Embedded | None = None,
) -> dict[str, str]:
    """Return all pages of a report by file name, the main page first, by default for its own folder.

    Args:
        report: the report.
        address: relative path to the folder of the gallery; None makes a single standalone page.
        linked: whether the pages link to the gallery.
        main: file name of the main page.
        explorers: file names of the explorer pages in that folder, by model.
        embedded: what the main page carries of the data, if the report was itself read from a page.

    """
    result = report.result
    embedded = embedded or Embedded.of(report)
    blocks = blocks_of(result)
    own_pages = [section for section in result.sections if section.page and address is not None]
    _number(result, blocks)
    shared = _shared(report, address=address, linked=linked)
    shared["trials"] = [] if address is None else beside.links(result.trials, explorers or {}, link(address))
    steps = [(link(main), result.title), *((link(page_name(one, main)), one.title) for one in own_pages)]
    pages = {main: _main_page(report, blocks, own_pages, main, shared | _stored(embedded))}
    for number, section in enumerate(own_pages, 1):
        around = {
            "previous": steps[number - 1] if number > 1 else None,
            "next": steps[number + 1] if number + 1 < len(steps) else None,
        }
        pages[page_name(section, main)] = _own_page(result, section, blocks, {"main": link(main), **around}, shared)
    return pages


def scripts() -> list[str]:
    """Return the policy sources of the scripts inside a report."""
    return [page.script_hash(page.resource(name)) for name in ("theme.js", "page.js")]


def _shared(report: Report, *, address: str | None, linked: bool) -> dict[str, Any]:
    """Return what all pages of a report have in common."""
    nonce = secrets.token_hex(16)  # the author of a result cannot predict it
    inlined = "" if address is not None else plotly_script.source()
    models = ", ".join(report.models)
    folder = link(address) if address is not None else None
    return {
        "models": models,
        "where": [part for part in (report.analysis, models, report.date) if part],
        "themes": page.script_json({"light": theme.template("light"), "dark": theme.template("dark")}),
        "style": page.resource("style.css"),
        "theme_script": page.resource("theme.js"),
        "page_script": page.resource("page.js"),
        "plotly_inlined": inlined,
        "plotly_address": f"{folder}/{plotly_script.FILE}",
        "gallery_address": f"{folder}/{INDEX}" if linked and folder is not None else None,
        "nonce": nonce,
        "policy": page.policy([*scripts(), page.script_hash(inlined) if inlined else f"'nonce-{nonce}'"]),
    }


def _stored(embedded: Embedded) -> dict[str, Any]:
    """Return what the main page says of arrays and artefacts, and the data that it carries."""
    return {
        "arrays": [{"name": name, "kind": kind} for name, kind in embedded.arrays.items()],
        "artefacts": [f"{name}{SUFFIX}" for name in embedded.artefacts],
        "embedded": page.script_json(embedded.packed()),
    }


def _main_page(
    report: Report, blocks: Mapping[str, Mapping[str, Block]], own_pages: list[Section], main: str, shared: Any
) -> str:
    result = report.result
    front = {kind: [blocks[kind][name] for name in result.unlisted(kind)] for kind in KINDS}
    sections = [
        _link_block(section, main) if section in own_pages else _section_block(section, blocks)
        for section in result.sections
    ]
    return page.render(
        "template.html",
        title=result.title,
        parent=None,
        summary=paragraphs(result.summary),
        caveats=[" ".join(paragraphs(caveat)) for caveat in result.caveats],
        metrics=metric_cards(result),
        front=front,
        sections=sections,
        contents=_contents(front, sections),
        provenance=_tree(report.provenance),
        around=None,
        **shared,
    )


def _own_page(
    result: Result,
    section: Section,
    blocks: Mapping[str, Mapping[str, Block]],
    around: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> str:
    """Return the page of one section, whose inner sections become its sections."""
    front = {kind: [blocks[kind][name] for name in getattr(section, kind)] for kind in KINDS}
    sections = [_section_block(inner, blocks) for inner in section.sections]
    return page.render(
        "template.html",
        title=section.title,
        parent=result.title,
        summary=paragraphs(section.text),
        caveats=[],
        metrics=[],
        front=front,
        sections=sections,
        arrays=[],
        artefacts=[],
        embedded="",
        contents=_contents(front, sections),
        provenance=[],
        around=around,
        **shared,
    )


def _number(result: Result, blocks: Mapping[str, Mapping[str, Block]]) -> None:
    """Number figures, texts and tables in the order in which a reader meets them, through all pages."""
    for kind in NUMBERED:
        listed = chain.from_iterable(getattr(section, kind) for section in result.all_sections)
        for number, name in enumerate(chain(result.unlisted(kind), listed), 1):
            blocks[kind][name]["number"] = number


def _section_block(section: Section, blocks: Mapping[str, Mapping[str, Block]]) -> Block:
    return {
        "id": f"section-{section.name}",
        "title": section.title,
        "href": "",
        "text": paragraphs(section.text),
        "parts": {kind: [blocks[kind][name] for name in getattr(section, kind)] for kind in KINDS},
        "sections": [_section_block(inner, blocks) for inner in section.sections],
    }


def _link_block(section: Section, main: str) -> Block:
    """Return a section with a page of its own as the main page shows it: a link and its first paragraph."""
    return {
        "id": f"section-{section.name}",
        "title": section.title,
        "href": link(page_name(section, main)),
        "text": paragraphs(section.text)[:1],
        "parts": {kind: [] for kind in KINDS},
        "sections": [],
    }


def _relative(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(folder, path.absolute().parent)).as_posix()


def _contents(front: Mapping[str, list[Block]], sections: list[Block]) -> list[Block]:
    """Return links to the parts and sections of a long page; figures of several models share an entry."""
    entries = [*_figure_entries(front["figures"])]
    entries += [_entry(f"#{part['id']}", part["name"]) for part in front["texts"]]
    entries += [_entry(f"#{part['id']}", f"{part['name']} (table)") for part in front["tables"]]
    for section in sections:
        below = [_entry(f"#{inner['id']}", inner["title"]) for inner in section["sections"]]
        entries.append(_entry(section["href"] or f"#{section['id']}", section["title"], below=below))
    return entries if len(entries) >= CONTENTS_FROM else []


def _figure_entries(figures: list[Block]) -> Iterator[Block]:
    groups: dict[str, list[Block]] = {}
    for part in figures:
        groups.setdefault(part["file"].partition("@")[0], []).append(part)
    for name, parts in groups.items():
        if len(parts) == 1:
            yield _entry(f"#{parts[0]['id']}", parts[0]["name"])
        else:
            links = [_entry(f"#{part['id']}", part["file"].partition("@")[2] or "all") for part in parts]
            yield _entry("", words(name), links=links)


def _entry(href: str, label: str, *, below: Iterable[Block] = (), links: Iterable[Block] = ()) -> Block:
    return {"href": href, "label": label, "below": below, "links": links}


def _tree(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return provenance as names with either a text or names below them; a list of objects repeats its name."""
    found: list[dict[str, Any]] = []
    for name, entry in value.items():
        entries = entry if isinstance(entry, list) and entry else [entry]
        if all(isinstance(one, Mapping) and one for one in entries):
            found += [{"name": name, "children": _tree(one), "shown": ""} for one in entries]
        else:
            found.append({"name": name, "children": None, "shown": _plain(entry)})
    return found


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None or (isinstance(value, Mapping) and not value) else str(value)
