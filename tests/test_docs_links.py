"""No link in the documentation is broken, and the navigation contains every page."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/**/*.md")])
MARKDOWN = MarkdownIt("commonmark").enable("table")


def inline_tokens(text: str):
    """Yield the tokens inside paragraphs, headings and cells."""
    for token in MARKDOWN.parse(text):
        yield from token.children or ()


def links(text: str) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    found = (token.attrs.get("href") or token.attrs.get("src") for token in inline_tokens(text))
    return [str(target) for target in found if target]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as both GitHub and the site make them."""
    tokens = MARKDOWN.parse(text)
    titles = [after.children for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {slug("".join(part.content for part in title or ())) for title in titles}


def slug(title: str) -> str:
    """Return the anchor of a title."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def fault(page: Path, link: str) -> str | None:
    """Return what is wrong with a link of a page; links to the web are not followed."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto"):
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "there is no such file"
    if page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
        return "it leads out of docs/, where the site cannot follow; write the name without a link"
    if page.is_relative_to(DOCS) and target.is_dir():
        return "it leads to a folder; name the page"
    if parts.fragment and parts.fragment not in anchors(target.read_text(encoding="utf-8")):
        return f"{target.name} has no heading for #{parts.fragment}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_broken(page):
    faults = {link: fault(page, link) for link in links(page.read_text(encoding="utf-8"))}
    assert not {link: why for link, why in faults.items() if why}


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `title()`, and more\n\n[a](#a-title-and-more) [b](#b) [c](c.md) ![d](d.png)\n\n| [e](e.md) |\n|-|\n"
    )
    found = links(page.read_text())
    assert found == ["#a-title-and-more", "#b", "c.md", "d.png", "e.md"]
    assert [link for link in found if not fault(page, link)] == ["#a-title-and-more"]


def in_navigation(entry: object) -> list[str]:
    """Return the pages below an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    children = entry if isinstance(entry, list) else entry.values()  # type: ignore[attr-defined]
    return [page for child in children for page in in_navigation(child)]


def test_the_navigation_contains_every_page_once():
    navigation = in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert sorted(navigation) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_picture_is_small_and_on_a_page():
    shown = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in links(page.read_text(encoding="utf-8"))
        if link.endswith((".png", ".svg"))
    }
    for picture in filter(Path.is_file, (DOCS / "images").rglob("*")):
        assert picture in shown, f"no page shows {picture.name}"
        assert picture.stat().st_size < 250_000, picture.name
