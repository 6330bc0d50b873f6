"""A report is run again from its provenance alone; whatever is gone or changed is said in one sentence."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.reports.archive import Report, read_report
from alice.reports.verify.subject import Subject, open_subject
from alice.verifying.again import run_again
from alice.verifying.inputs import CannotRepeatError, Places, open_inputs


def changed(report, **entries):
    """Return a report with other entries in its provenance."""
    return Report(report.result, {**report.provenance, **entries}, report.folder)


def test_a_stored_report_is_found_unchanged_and_gives_the_same_again(early_exit, plugins, here):
    inputs = open_inputs(early_exit, plugins, Places())
    assert list(inputs.found) == ["1 checkpoint", f"8 texts of {early_exit.provenance['data'][0]['source']}"]
    assert list(inputs.notes) == []
    _, found = run_again(open_subject(early_exit.stored_in), inputs)
    assert (found.verdict, found.exact) == ("the same", True)


def test_a_page_alone_is_run_again_too(early_exit, plugins, here):
    shutil.copy(early_exit.stored_in / "report.html", "sent.html")
    subject = open_subject(Path("sent.html"))
    assert not subject.stored
    _, found = run_again(subject, open_inputs(subject.report, plugins, Places()))
    assert (found.verdict, found.exact, found.notes) == ("the same", True, [])
    assert found.compared["arrays"] == len(early_exit.arrays)


def test_arrays_of_which_a_page_has_only_a_hash_are_a_note_if_it_differs(early_exit, plugins, here):
    shutil.copy(early_exit.stored_in / "report.html", "sent.html")
    subject = open_subject(Path("sent.html"))
    other = replace(subject.embedded, document={**subject.embedded.document, "arrays_sha256": "0" * 64})
    _, found = run_again(
        Subject(subject.report, subject.page, other, stored=False), open_inputs(subject.report, plugins, Places())
    )
    assert found.verdict == "the same"
    assert "only hashes" in found.notes[0]


def test_forged_data_are_found_by_running_again(early_exit, plugins, here):
    folder = Path(shutil.copytree(early_exit.stored_in, "forged"))
    document = json.loads((folder / "result.json").read_text())
    document["result"]["metrics"][0]["value"] /= 2
    (folder / "result.json").write_text(json.dumps(document))
    subject = open_subject(folder)
    _, found = run_again(subject, open_inputs(subject.report, plugins, Places()))
    assert found.verdict == "different"
    assert found.different[0].startswith("metric ser@model")


def test_paths_may_start_from_the_folder_of_the_reports(bench, early_exit, plugins, here):
    entry = early_exit.provenance["checkpoints"][0]
    data = early_exit.provenance["data"][0]
    moved = changed(early_exit, checkpoints=[{**entry, "place": "model"}], data=[{**data, "source": "texts.txt"}])
    with pytest.raises(CannotRepeatError, match="checkpoint 'model' is not here"):
        open_inputs(moved, plugins, Places())
    assert open_inputs(moved, plugins, Places(folders=[Path(), bench])).ctx.checkpoint == "model"
    given = Places(ckpt=[str(bench / "model")], data=str(bench / "texts.txt"))
    assert open_inputs(moved, plugins, given).ctx.checkpoint == "model"


def test_a_model_under_the_name_of_a_bundled_one_is_a_note(early_exit, plugins, here):
    entry = early_exit.provenance["checkpoints"][0]
    data = early_exit.provenance["data"][0]
    named = changed(early_exit, checkpoints=[{**entry, "name": "base"}], data=[{**data, "model": "base"}])
    (note,) = open_inputs(named, plugins, Places()).notes
    assert "calls base is " in note
    assert "not the bundled model of that name" in note


def test_a_number_in_the_words_of_a_forged_report_is_found_by_running_again(early_exit, plugins, here):
    folder = Path(shutil.copytree(early_exit.stored_in, "forged"))
    document = json.loads((folder / "result.json").read_text())
    summary = document["result"]["summary"]
    document["result"]["summary"] = re.sub(r"\d+\.\d+ %", "0.01 %", summary)
    assert document["result"]["summary"] != summary
    (folder / "result.json").write_text(json.dumps(document))
    subject = open_subject(folder)
    _, found = run_again(subject, open_inputs(subject.report, plugins, Places()))
    assert [line.partition(":")[0] for line in found.different] == ["summary"]


FAULTS = {
    "no analysis": ({"analysis": None}, "does not say which analysis"),
    "another analysis": ({"analysis": "mine", "plugin": {"name": "theirs", "where": "x.py"}}, "the plugin theirs"),
    "another plugin": ({"plugin": {"name": "theirs", "where": "x.py"}}, "came from the plugin theirs"),
    "no options": ({"options": [1]}, "with which options"),
    "unknown option": ({"options": {"strange": 1}}, "has no option 'strange'"),
    "option of another type": ({"options": {"samples": "many"}}, "cannot take samples"),
    "a lens that is gone": ({"options": {"lens": "gone/lens"}}, "'gone/lens', an input of early-exit, is not here"),
    "no seed": ({"seed": "x"}, "has the seed 'x'"),
    "negative seed": ({"seed": -1}, "has the seed -1"),
    "no checkpoint": ({"checkpoints": []}, "needs a checkpoint"),
    "damaged checkpoint": ({"checkpoints": [{"name": 5}]}, "does not say which checkpoints"),
    "gone checkpoint": ({"checkpoints": [{"name": "gone", "sha256": "0"}]}, "checkpoint 'gone' is not here"),
    "hub id": ({"checkpoints": [{"name": "someone/model", "sha256": "0"}]}, "'someone/model' is not here"),
    "null byte": ({"checkpoints": [{"name": "a\0b", "sha256": "0"}]}, "is not here"),
    "gone texts": ({"data": [{"model": "model", "source": "gone.txt", "split": "all", "texts": 8}]}, "'gone.txt'"),
    "hub texts": ({"data": [{"model": "model", "source": "hf:a/b", "split": "all", "texts": 8}]}, "'hf:a/b' are not"),
    "a list of texts": (
        {"data": [{"model": "model", "source": "the given list", "split": "all", "texts": 8}]},
        "'the given list' are not here",
    ),
    "damaged data": ({"data": [{"model": "model", "source": 5}]}, "does not say which texts"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_repeated_is_one_sentence(name, early_exit, plugins, here):
    entries, message = FAULTS[name]
    with pytest.raises(CannotRepeatError, match=message) as raised:
        open_inputs(changed(early_exit, **entries), plugins, Places())
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_changed_checkpoint_and_changed_texts_are_refused(early_exit, plugins, here):
    tiny("base", d_model=32).save_pretrained(here / "other")
    with pytest.raises(CannotRepeatError, match="the checkpoint model has changed: its hash is"):
        open_inputs(early_exit, plugins, Places(ckpt=["other"]))
    texts = save_texts(here / "other.txt", count=40).read_text().replace("THE", "THEY", 1)
    (here / "other.txt").write_text(texts)
    with pytest.raises(CannotRepeatError, match=r"texts .* have changed"):
        open_inputs(early_exit, plugins, Places(data="other.txt"))
    with pytest.raises(CannotRepeatError, match="has 1 checkpoint; give --ckpt as often"):
        open_inputs(early_exit, plugins, Places(ckpt=["a", "b"]))


def test_other_versions_are_a_note(early_exit, plugins, here):
    versions = {**early_exit.provenance["versions"], "numpy": "1.0"}
    plugin = {**early_exit.provenance["plugin"], "version": "0.0.1"}
    (note,) = open_inputs(changed(early_exit, versions=versions, plugin=plugin), plugins, Places()).notes
    assert note.startswith("made with numpy 1.0 (now ")
    assert "plugin early_exit 0.0.1" in note


def test_the_provenance_says_where_a_checkpoint_lies_only_if_its_name_does_not(early_exit, bench):
    assert early_exit.provenance["checkpoints"][0]["place"] == str(bench / "model")
    assert read_report(early_exit.stored_in).provenance["machine"]["workers"] is None


def test_a_model_of_another_folder_keeps_the_name_that_the_report_gives_it(early_exit, plugins, here):
    save_checkpoint(here / "renamed")
    inputs = open_inputs(early_exit, plugins, Places(ckpt=["renamed"]))
    assert inputs.ctx.checkpoint == "model"


def test_times_are_named_and_everything_else_of_a_timing_analysis_is_compared(make_report, plugins, here):
    report = make_report("speed", samples=4, rounds=2, seconds=1e6, classical=0)
    _, found = run_again(open_subject(report.stored_in), open_inputs(report, plugins, Places()))
    assert found.verdict == "the same", found.different
    assert {"summary", "metrics.letters-per-second-single", "arrays.seconds", "figures.models"} <= set(found.left_out)
    assert found.compared["tables"] == 2
