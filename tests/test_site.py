"""The documentation site builds without warnings and loads nothing from other servers."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import alice
import alice.plugins
from alice.model import AffineLens, Alice, PlainExit
from alice.plugins import RunContext
from alice.plugins.testing import check_analysis
from alice.probes import LayerProbes
from alice.probes.tasks import tasks
from alice.statistics import PairedBootstrap, bayesian_bootstrap
from alice.text import Batch

ROOT = Path(__file__).resolve().parent.parent
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that a browser loads by itself, and the attribute with the address."""


class Addresses(HTMLParser):
    """Collects the addresses that a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if value and FETCHED.get(tag) == name]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="the site is built with mkdocs-material; install alice-interp[dev]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_exactly_our_pages(site):
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    wanted = {page.with_name("index.html") if page.stem == "README" else page for page in pages}
    assert {page.relative_to(site) for page in site.rglob("*.html")} == wanted | {
        Path("404.html"),
        Path("explore.html"),
    }
    assert not list(site.rglob("*.py"))


@pytest.mark.parametrize(
    "thing",
    [
        *(getattr(alice.plugins, name) for name in alice.plugins.__all__ if name not in ("API_VERSION", "hookimpl")),
        *(alice.load, alice.load_artefact, alice.run, Alice.decode, Alice.decode_symbols, Alice.log_probabilities),
        *(PlainExit, AffineLens, AffineLens.read, Batch, RunContext.training, RunContext.activations, RunContext.lens),
        *(PairedBootstrap, PairedBootstrap.difference, bayesian_bootstrap, tasks, LayerProbes, check_analysis),
    ],
    ids=lambda thing: thing.__qualname__,
)
def test_the_reference_has_what_an_author_uses(site, thing):
    assert f'id="{thing.__module__}.{thing.__qualname__}"' in (site / "api.html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_another_server(site):
    for page in site.rglob("*.html"):
        addresses = Addresses()
        addresses.feed(page.read_text(encoding="utf-8"))
        assert addresses.found
        assert not [address for address in addresses.found if "//" in address], page.name
