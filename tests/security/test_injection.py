"""Texts, names, options and plugins cannot inject markup into pages: tested from the command line to the page.

tests/reports/test_browser_safety.py checks in a real browser that no injected code runs.
"""

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins.reproduce.page import Check, Claim, Item, Link, Reproduction, Row, render_reproduction

EVIL = (
    "</title></script></style><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    '\'" onload=window.pwned=1 x="{{ 7*7 }}<!--'
)
PLUGIN = '''
from dataclasses import dataclass

import plotly.graph_objects as go

from alice.plugins import Metric, Result, hookimpl
from alice.reports import Figure, Table

EVIL = {evil!r}
LINK = "<a href='javascript:window.pwned=1'>x</a>"


@dataclass(frozen=True)
class Evil:
    """Write <script>window.pwned=1</script>."""

    name = "evil"
    word: str = ""

    def run(self, ctx):
        evil, link = (text if self.word else "harmless".ljust(len(text), "-") for text in (EVIL, LINK))
        bars = go.Figure(go.Bar(x=[evil, link], y=[1, 2], name=evil), {{"title": {{"text": link}}}})
        return Result(
            evil, evil, [evil], [Metric("m", evil, unit=evil, model=evil, label=evil)],
            tables={{"t": Table(["c"], [[evil], [link]], evil, {{"c": evil}})}}, figures={{"f": Figure(bars, evil)}},
        )


@hookimpl
def register_analyses():
    return [Evil]
'''


class Page(HTMLParser):
    """The elements of a page, and its JSON."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.json: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and self.tags[-1][1].get("type") == "application/json":
            self.json.append(data)

    def check_against(self, harmless: "Page") -> None:
        """Check that this page has exactly the elements and attributes of another one."""
        assert [tag for tag, _ in self.tags] == [tag for tag, _ in harmless.tags]
        assert [sorted(attrs) for _, attrs in self.tags] == [sorted(attrs) for _, attrs in harmless.tags]
        for _, attrs in self.tags:
            assert not (attrs.get("href") or "").lower().strip().startswith(("javascript:", "data:text"))
            assert not [name for name in attrs if name.startswith("on")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("injection")
    (place / "evil.py").write_text(PLUGIN.format(evil=EVIL))
    found = {}
    for word in ("", EVIL):
        name = "x' onload=window.pwned=1 <img src=x onerror=window.pwned=1>" if word else "harmless"
        ckpt, texts = save_checkpoint(place / name), save_texts(place / f"{name}.txt")
        out = place / f"runs of {name}"
        options = ["--plugin", place / "evil.py", "--ckpt", ckpt, "--data", texts, "--word", word, "--out", out]
        done = CliRunner().invoke(main, ["run", "evil", *map(str, options)])
        assert done.exit_code == 0, done.output
        found[word] = next(out.glob("*/report.html"))
    return found


@pytest.mark.parametrize("where", ["report.html", "../index.html"])
def test_a_hostile_plugin_with_hostile_options_and_names_injects_no_markup(pages, where):
    evil, harmless = (Page((pages[word].parent / where).read_text()) for word in (EVIL, ""))
    evil.check_against(harmless)
    shown = "report.html" if where == "report.html" else "../entries.js"
    assert "pwned" in (pages[EVIL].parent / shown).read_text()  # it is shown, as text


def test_the_list_of_the_gallery_is_json_without_a_tag(pages):
    _, line = (pages[EVIL].parent.parent / "entries.js").read_text().splitlines()
    assert not set("<>&") & set(line)
    listed = json.loads(line.removeprefix("addReport(").removesuffix(");"))
    assert listed["title"] == EVIL
    assert not set("<>&\"' :#") & set(listed["address"])


def test_the_json_of_a_report_contains_no_tag(pages):
    found = Page(pages[EVIL].read_text()).json
    assert found
    for text in found:
        assert not set("<>&") & set(text)
        assert "javascript:" not in text or "\\u003ca href" not in json.dumps(json.loads(text).get("layout", {}))
    assert any(EVIL in str(json.loads(text).get("csv")).replace('""', '"') for text in found)


def reproduction(text: str) -> Reproduction:
    """Return a page that shows one text everywhere."""
    check = Check("name", (text,), text, text, 0.5, 0.4, 0.6, 0.0, "above", "holds")
    link = Link(text, "runs/a/report.html")
    claim = Claim("key", text, text, "holds", (check,), reports=(link,))
    absent = Claim("other", text, text, "not tested", absent=f"{text} `{text}`")
    items = [
        Item(text, text, (Row(text, text, text),), "key", "holds", (link,), text),
        Item(text, text, absent=f"{text} `{text}`"),
    ]
    run = {"analysis": text, "models": [text, text], "report": "", "error": text, "seconds": 1.0}
    return Reproduction([claim, absent], items, {text: text, "data": [text], "more": {text: text}}, [run], text)


def test_no_text_of_a_reproduction_injects_markup():
    text = render_reproduction(reproduction(EVIL))
    Page(text).check_against(Page(render_reproduction(reproduction("harmless"))))
    assert "49" not in text.replace("pwned", "").split("</style>", 1)[1].split("<main", 1)[1]  # nor template code


def test_a_folder_named_like_a_script_becomes_a_relative_address():
    from alice.plugins.reproduce.claims import link

    report = SimpleNamespace(stored_in=Path("javascript:window.pwned=1#<b>"))
    address = link(SimpleNamespace(analysis="a", report=report)).address
    assert address == "runs/javascript%3Awindow.pwned%3D1%23%3Cb%3E/report.html"


@pytest.mark.parametrize("command", ["run", "plugins", "solve"])
def test_the_help_says_that_a_plugin_runs_code(command):
    text = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
    assert "Load a plugin from a Python file, which runs its code." in text


def test_the_help_says_that_the_folder_of_plugins_runs_code():
    text = " ".join(CliRunner().invoke(main, ["plugins", "--help"]).output.split())
    assert "in the folder that ALICE_INTERP_PLUGINS names; their code runs whenever plugins are loaded" in text


def test_loading_a_file_is_announced_before_its_code_runs(tmp_path):
    (tmp_path / "mine.py").write_text("import sys\nprint('I ran', file=sys.stderr)\n")
    done = CliRunner().invoke(main, ["plugins", "--plugin", str(tmp_path / "mine.py")])
    text = done.stderr
    assert text.index(f"loading plugin {tmp_path / 'mine.py'}") < text.index("I ran")
