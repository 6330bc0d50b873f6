"""What the pages say of files and rooms is what the code says."""

from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from test_architecture import MAY_IMPORT

from alice.checkpoint import folder as checkpoint
from alice.plugins import provenance, store
from alice.plugins.context import RunContext
from alice.plugins.manager import build
from alice.reports import archive, gallery, html, plotly_script
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
    *(archive.RESULT, archive.ARRAYS, html.REPORT, gallery.INDEX, plotly_script.FILE, store.ABOUT),
]


@pytest.mark.parametrize("name", [*FILES, *READERS])
def test_every_file_has_a_place_in_the_page_of_formats(name):
    assert f"`{name}`" in FORMATS or f"  {name} " in FORMATS


def test_the_page_of_formats_says_which_versions_it_is_of():
    assert f'`"format": {checkpoint.FORMAT}`' in FORMATS
    assert f'`"{archive.FORMAT}"`, `{archive.VERSION}`' in FORMATS
    assert all(f"`{name}`" in FORMATS for name in (store.FOLDER_VARIABLE, store.LIMIT_VARIABLE, QUOTES))
    assert store.DEFAULT_LIMIT in FORMATS
    assert all(reason.value in " ".join(FORMATS.split()) for reason in Reason)


def test_every_counter_of_a_training_is_named():
    for field in (*fields(training_state.Counters), *fields(training_folder.Totals)):
        assert f"`{field.name}`" in FORMATS, field.name
    assert recipe.Recipe.__name__ in FORMATS


def test_every_entry_of_a_provenance_is_named():
    analysis = build(third_party=False).analyses["early-exit"]()
    entries = provenance.describe(analysis, RunContext(), None) | provenance.describe_place(1.0)
    for entry in entries:
        assert f"`{entry}`" in FORMATS, entry


def test_every_entry_of_a_stored_result_is_named(tmp_path):
    from alice.reports import Result

    run = archive.write_result(tmp_path, Result("A title"), {})
    document = yaml.safe_load((run.folder / archive.RESULT).read_text())  # JSON is YAML
    for key in (*document, *document["result"]):
        assert f"`{key}`" in FORMATS, key


@pytest.mark.parametrize("name", ["base", "bijective"])
def test_every_tensor_of_a_checkpoint_is_named(name):
    for tensor in checkpoint.read_tensors(checkpoint.bundled()[name] / checkpoint.WEIGHTS):
        parts = tensor.split(".")
        generic = ".".join(["blocks", "N", *parts[2:]] if parts[0] == "blocks" else parts)
        assert f"`{generic}`" in FORMATS, tensor


def test_the_picture_of_the_rooms_is_what_the_tests_hold_everybody_to():
    drawing = ElementTree.parse(ROOT / "docs" / "images" / "architecture.svg")  # noqa: S314  (ours)
    arrows = {(path.get("data-from"), path.get("data-to")) for path in drawing.iter() if path.get("data-from")}
    # These two may import every room below; their arrows lead to the hub, from which all others are reached.
    above = {"alice.cli": {"alice.plugins", "alice.bench"}, "alice.bench": {"alice.plugins"}}
    for room, allowed in MAY_IMPORT.items():
        drawn = {to for start, to in arrows if start == room}
        assert drawn == above.get(room, allowed - {room}), room
