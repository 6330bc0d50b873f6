"""The pages on file formats and architecture agree with the code."""

import json
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from test_architecture import FILES as SOURCES
from test_architecture import LINKED, ORDER, imports, name_of, room_of

from alice.cache import FOLDER_VARIABLE
from alice.checkpoint import folder as checkpoint
from alice.plugins import provenance
from alice.plugins.context import RunContext, store
from alice.plugins.manager import build
from alice.reports import Figure, Metric, Result, Table, archive, gallery, html, plotly_script
from alice.text.cleaning import Reason
from alice.text.corpus import QUOTES
from alice.text.formats import READERS
from alice.training import folder as training_folder
from alice.training import recipe
from alice.training import state as training_state

ROOT = Path(__file__).resolve().parent.parent
FORMATS = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
FILES = [
    *(checkpoint.CONFIG, checkpoint.WEIGHTS, checkpoint.CARD, checkpoint.TRAINING, checkpoint.METRICS),
    training_state.STATE,
    *(archive.RESULT, archive.ARRAYS, html.REPORT, plotly_script.FILE, store.ABOUT),
    *(gallery.INDEX, gallery.ENTRIES, gallery.ENTRY, gallery.THUMBNAIL),
]
INNER_ROOMS = {"alice.text", "alice.model", "alice.checkpoint", "alice.solving", "alice.training"}


@pytest.mark.parametrize("name", [*FILES, *READERS])
def test_formats_md_describes_every_file(name):
    assert f"`{name}`" in FORMATS or f"  {name} " in FORMATS


def test_formats_md_has_the_current_versions_and_limits():
    assert f'`"format": {checkpoint.FORMAT}`' in FORMATS
    assert f'`"{archive.FORMAT}"`, `{archive.VERSION}`' in FORMATS
    assert all(f"`{name}`" in FORMATS for name in (FOLDER_VARIABLE, store.LIMIT_VARIABLE, QUOTES))
    assert store.DEFAULT_LIMIT in FORMATS
    assert all(reason.value in " ".join(FORMATS.split()) for reason in Reason)


def test_formats_md_names_every_counter_of_a_training():
    for field in (*fields(training_state.Counters), *fields(training_folder.Totals)):
        assert f"`{field.name}`" in FORMATS, field.name
    assert recipe.Recipe.__name__ in FORMATS


def test_formats_md_names_every_entry_of_a_provenance():
    analysis = build(third_party=False).analyses["early-exit"]()
    entries = provenance.describe(analysis, RunContext(), None) | provenance.describe_place(1.0)
    for entry in entries:
        assert f"`{entry}`" in FORMATS, entry


def test_formats_md_names_every_field_of_a_result(tmp_path):
    figure = Figure(go.Figure(), "caption", Table(["x"], [[1]]))
    archive.write_result(tmp_path, Result("Title", metrics=[Metric("ser", 2.0)], figures={"f": figure}), {})
    document = json.loads((tmp_path / archive.RESULT).read_text())
    result = document["result"]
    (metric,), drawn = result["metrics"], result["figures"]["f"]
    for key in (*document, *result, *metric, *drawn, *drawn["table"]):
        assert f"`{key}`" in FORMATS, key


@pytest.mark.parametrize("name", ["base", "bijective"])
def test_formats_md_names_every_tensor_of_a_checkpoint(name):
    for tensor in checkpoint.read_tensors(checkpoint.bundled()[name] / checkpoint.WEIGHTS):
        parts = tensor.split(".")
        generic = ".".join(["blocks", "N", *parts[2:]] if parts[0] == "blocks" else parts)
        assert f"`{generic}`" in FORMATS, tensor


def box_of(module: str) -> str | None:
    """Return the box of the drawing that a module of ours is in; modules outside all rooms have none."""
    room = room_of(module)
    if room in INNER_ROOMS:
        return "alice"
    return next((box for box in (*LINKED, "alice.cli") if room == box or room.startswith(f"{box}.")), None)


def reachable(start: str, arrows: set[tuple[str, str]]) -> set[str]:
    """Return the boxes that arrows lead to from a box."""
    direct = {end for begin, end in arrows if begin == start}
    return direct.union(*(reachable(box, arrows) for box in direct))


def test_the_drawing_of_the_rooms_shows_the_order_of_the_imports():
    drawing = ElementTree.parse(ROOT / "docs" / "images" / "architecture.svg")  # noqa: S314  (our own file)
    arrows = {(path.get("data-from"), path.get("data-to")) for path in drawing.iter() if path.get("data-from")}
    pairs = {
        (box_of(name_of(path)), box_of(module))
        for path, tree in SOURCES.items()
        for module in imports(tree)
        if module.split(".")[0] == "alice"
    }
    real = {(start, end) for start, end in pairs if start and end and start != end}
    assert arrows <= real
    assert not {(start, end) for start, end in real if end not in reachable(start, arrows)}
    inside = [text.get("data-room") for text in drawing.iter() if text.get("data-room")]
    assert inside == [room for room in ORDER if room in INNER_ROOMS]
