"""Writes docs/paper.md, its pictures and docs/paper.json from a reproduction: `python docs/write_paper.py [FOLDER]`.

`make paper` makes the reproduction first. Chromium and its driver draw the figures, as for docs/take_pictures.py. A
test fails when what the package ships, the claims or their thresholds differ from what docs/paper.json records.
"""

import hashlib
import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

DOCS = Path(__file__).parent
PAGE, RECORD, PICTURES = DOCS / "paper.md", DOCS / "paper.json", DOCS / "images" / "paper"
MODELS = ["base", "bijective", "dynamic"]
WIDTH, LARGEST = 820, 1_500_000
"""Width of a picture in pixels, and the largest size of all in bytes."""
SECONDS_TO_DRAW = 120
MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not tested": "·"}
ANALYSIS_OF = {"baselines": "errors-by-length"}
"""Analyses whose page in the documentation has another name."""
INTRODUCTION = """\
# The paper, reproduced

What `alice-interp reproduce` finds with its default options: each claim of the paper, tested on the bundled models and
run sets, with the evidence of further analyses beside it, and each table and figure next to ours.
[Reproducing the paper](reproduce.md) says how claims are tested and what a verdict can say. The models are far smaller
than the paper's, so a claim that does not hold here may hold there. Figures with a slider show the last layer.

Written by `make paper`, from {texts}. A test fails when the bundled models, the run sets, the claims or their
thresholds have changed since.
"""


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path("reproduction"))
def write(folder: Path) -> None:
    """Check the reproduction, draw its figures and write the page."""
    from alice.files import atomic_write

    document = json.loads((folder / "reproduce.json").read_text(encoding="utf-8"))
    if problem := why_not(document):
        raise click.ClickException(f"{folder} is no reproduction with the default options: {problem}")
    pictures = _draw(folder / "index.html", list(document["figures"]))
    if (size := sum(map(len, pictures.values()))) > LARGEST:
        raise click.ClickException(f"the pictures would have {size:,} bytes, more than {LARGEST:,}")
    record = recorded(document, pictures)
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    for name, picture in pictures.items():
        (PICTURES / name).write_bytes(picture)
    for path, text in ((RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n"), (PAGE, render(record))):
        with atomic_write(path) as file:
            file.write(text)
    click.echo(f"{PAGE}: {len(record['claims'])} claims, {len(pictures)} pictures, {size / 1000:,.0f} kB")


def why_not(document: dict[str, Any]) -> str:
    """Say why a reproduction cannot stand for the default one; nothing if it can."""
    from alice.plugins.reproduce.facts import facts

    about = document["about"]
    if list(about["checkpoints"]) != MODELS:
        return f"its models are {', '.join(about['checkpoints'])}"
    if about["samples"] is not None or about["left out"]:
        return "it was made with --samples or --skip"
    if failed := [one["analysis"] for one in document["analyses"] if "failed:" in one["error"]]:
        return f"these analyses failed: {', '.join(failed)}"
    return "" if document["facts"] == as_json(facts()) else "it was made from other models, run sets or claims"


def as_json(value: Any) -> Any:
    """Return a value as it is after writing and reading it."""
    return json.loads(json.dumps(value))


def recorded(document: dict[str, Any], pictures: dict[str, bytes]) -> dict[str, Any]:
    """Return what the page shows and what it was made from; times and machines are left out."""
    kept = ("facts", "about", "claims", "evidence", "items", "figures")
    analyses = [{"analysis": one["analysis"], "models": one["models"]} for one in document["analyses"]]
    hashes = {name: hashlib.sha256(picture).hexdigest() for name, picture in sorted(pictures.items())}
    found = {**{name: document[name] for name in kept}, "analyses": analyses, "pictures": hashes}
    return _without_reports(found)


def _without_reports(value: Any) -> Any:
    """Return data without links to reports, which are not part of the documentation."""
    if isinstance(value, dict):
        return {name: _without_reports(part) for name, part in value.items() if name != "reports"}
    return [_without_reports(part) for part in value] if isinstance(value, list) else value


def picture_name(figure: str) -> str:
    """Return the file name of a figure's picture."""
    return f"{re.sub(r'[^a-z0-9.]+', '-', figure.lower())}.svg"


def _draw(page: Path, figures: Iterable[str]) -> dict[str, bytes]:
    """Return the figures of a page as pictures on white, by file name."""
    from selenium.webdriver.support.ui import WebDriverWait
    from take_pictures import _browser

    drawn = "return document.readyState === 'complete' && !document.querySelector('.plot:not([data-drawn])')"
    export = """
        const [id, width, done] = arguments;
        const plot = document.getElementById(id).querySelector(".plot");
        const template = JSON.parse(document.getElementById("plot-themes").textContent).light;
        const layout = { ...JSON.parse(JSON.stringify(plot.layout)), template, paper_bgcolor: "#ffffff", width };
        const height = Number(plot.dataset.height);
        Plotly.toImage({ data: plot.data, layout }, { format: "svg", width, height }).then(done);
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder, _browser(Path(folder) / "profile") as browser:
        browser.set_script_timeout(SECONDS_TO_DRAW)
        browser.get(page.absolute().as_uri())
        WebDriverWait(browser, SECONDS_TO_DRAW).until(lambda shown: shown.execute_script(drawn))
        for name in figures:
            address = browser.execute_async_script(export, f"figure-{name}", WIDTH)
            found[picture_name(name)] = unquote(address.partition(",")[2]).encode()
    return found


def render(record: dict[str, Any]) -> str:
    """Return the page; everything on it is in the record."""
    parts = [
        INTRODUCTION.format(texts=f"the texts of {record['facts']['texts']}"),
        "## Claims\n\n" + _tally(record["claims"].values()),
        _table(("claim", "here", "tests that hold", "evidence"), map(_claim_row(record), record["claims"].values())),
        *(_claim(claim, record) for claim in record["claims"].values()),
        "## Evidence\n\nWhat further analyses found about these claims. It does not change a verdict.\n",
        *(_evidence(one, record) for one in record["evidence"].values()),
        "## Tables and figures of the paper\n",
        *(_item(label, item, record) for label, item in record["items"].items()),
    ]
    return "\n".join(parts)


def _tally(claims: Iterable[dict[str, Any]]) -> str:
    outcomes = [claim["outcome"] for claim in claims]
    counts = ", ".join(f"{MARKS[name]} {name}: {outcomes.count(name)}" for name in MARKS if name in outcomes)
    return f"Of {len(outcomes)} claims, {counts}.\n"


def _claim_row(record: dict[str, Any]) -> Callable[[dict[str, Any]], tuple[str, ...]]:
    def row(claim: dict[str, Any]) -> tuple[str, ...]:
        held = sum(check["outcome"] == "holds" for check in claim["checks"])
        tests = f"{held} of {len(claim['checks'])}" if claim["checks"] else claim["absent"]
        return _link(claim["sentence"]), _mark(claim["outcome"]), tests, _beside(claim["evidence"], record)

    return row


def _claim(claim: dict[str, Any], record: dict[str, Any]) -> str:
    lines = [
        f"### {claim['sentence']}\n",
        f"The paper: {claim['paper']}.\n",
        f"**Here: {claim['outcome']}.** {claim['note']}".rstrip() + "\n",
    ]
    if claim["checks"]:
        lines.append(
            _table(("on", "statistic", "value (95 % interval)", "holds if", "outcome"), map(_check, claim["checks"]))
        )
    else:
        lines.append(f"{claim['absent']}\n")
    for name in claim["evidence"]:
        one = record["evidence"][name]
        lines.append(f"Evidence, {_link(one['title'])}: {one['sentence'] or one['absent']}\n")
    return "\n".join(lines)


def _check(check: dict[str, Any]) -> tuple[str, ...]:
    wanted = f"{'>' if check['side'] == 'above' else '<'} {check['threshold']:g}"
    return check["subject"], check["measure"], _interval(check), wanted, _mark(check["outcome"])


def _interval(check: dict[str, Any]) -> str:
    if check["value"] is None:
        return "no data"
    value = f"{check['value']:.3g}"
    return f"{value} (no interval)" if check["low"] is None else f"{value} ({check['low']:.3g} to {check['high']:.3g})"


def _evidence(one: dict[str, Any], record: dict[str, Any]) -> str:
    lines = [f"### {one['title']}\n", f"{one['sentence'] or one['absent']}\n", *_pictures(one["figures"], record)]
    if one["rows"]:
        lines.append(_table(one["columns"], one["rows"]))
    beside = [
        f"{_link(claim['sentence'])} ({claim['outcome']})"
        for claim in record["claims"].values()
        if one["name"] in claim["evidence"]
    ]
    analysis = record["facts"]["evidence"][one["name"]]
    page = ANALYSIS_OF.get(analysis, analysis)
    lines += [f"{one['control']} From [`{page}`](analyses/{page}.md).\n", f"Beside: {'; '.join(beside)}.\n"]
    return "\n".join(lines)


def _item(label: str, item: dict[str, Any], record: dict[str, Any]) -> str:
    outcome = f" {_mark(item['outcome'])}" if item["outcome"] else ""
    lines = [f"### {label}: {item['title']}\n"]
    lines += [f"{text}\n" for text in (item["absent"], item["note"]) if text]
    if item["rows"]:
        lines.append(_table(("", "paper", "ours"), _grouped(item["rows"])))
    lines += _pictures(item["figures"], record)
    if item["claim"]:
        lines.append(f"Claim: {_link(record['claims'][item['claim']]['sentence'])}{outcome}.\n")
    if item["evidence"]:
        lines.append(f"Evidence: {_beside(item['evidence'], record)}.\n")
    return "\n".join(lines)


def _grouped(rows: Iterable[dict[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield rows, each group below a line with its name."""
    for group, members in groupby(rows, lambda row: row["group"]):
        if group:
            yield f"**{group}**", "", ""
        yield from ((row["what"], row["paper"], row["ours"]) for row in members)


def _pictures(figures: Iterable[str], record: dict[str, Any]) -> Iterator[str]:
    for name in figures:
        caption = record["figures"][name]
        yield f"![{caption}](images/paper/{picture_name(name)})\n\n*{caption}*\n"


def _beside(names: Iterable[str], record: dict[str, Any]) -> str:
    return "; ".join(_link(record["evidence"][name]["title"]) for name in names)


def _mark(outcome: str) -> str:
    return f"{MARKS[outcome]} {outcome}"


def _link(heading: str) -> str:
    return f"[{heading}](#{slug(heading)})"


def slug(heading: str) -> str:
    """Return the anchor that Markdown gives a heading."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [_cells(columns), _cells("---" for _ in columns), *map(_cells, rows)]
    return "\n".join(lines) + "\n"


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    write()
