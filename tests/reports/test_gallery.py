import json
import multiprocessing
import re
import shutil

import pytest

from alice.errors import AliceError
from alice.reports import Metric, Report, Result, gallery
from alice.reports.archive import write_result
from alice.reports.gallery import ENTRIES, ENTRY, THUMBNAIL, read_entries, render_entries, render_index, write_gallery
from alice.reports.publish import publish

EVIL = "<script>window.pwned=1</script>\"'&\u2028*/"


def lines(runs):
    """Return what entries.js adds to the page, by folder."""
    header, *calls = (runs / ENTRIES).read_bytes().decode().removesuffix("\n").split("\n")
    assert header.startswith("// ")
    found = [json.loads(re.fullmatch(r"addReport\((.*)\);", call)[1]) for call in calls]
    assert len({entry["name"] for entry in found}) == len(found)
    return {entry["name"]: entry for entry in found}


def problems(runs):
    return {listed.name: listed.problem for listed in read_entries(runs) if listed.problem}


def test_an_entry_says_what_ran_on_which_model_when_and_with_what_result(runs):
    assert lines(runs)["one"] == {
        "name": "one", "address": "one", "title": "Early exit — ünïcode", "analysis": "early-exit", "models": ["tiny"],
        "date": "2026-11-16 07:30", "metric": "symbol error rate", "value": "2.14 ± 0.42 %", "picture": True,
    }  # fmt: skip
    assert (runs / "one" / THUMBNAIL).read_text().startswith("<svg")
    assert lines(runs)["two"]["picture"] is False
    assert not (runs / "two" / THUMBNAIL).exists()


def test_with_several_models_an_entry_says_whose_metric_it_is(runs, result, provenance):
    several = {**provenance, "checkpoints": [{"name": "base"}, {"name": "bijective"}]}
    name = publish(Report(result, several), runs).folder.name
    assert lines(runs)[name]["metric"] == "symbol error rate, base"
    assert lines(runs)[name]["models"] == ["base", "bijective"]


def test_adding_a_report_appends_one_line_and_reads_no_other_report(runs, monkeypatch):
    before = (runs / ENTRIES).read_bytes()
    for name in ("one", "two"):
        (runs / name / "result.json").write_text("unreadable")
        (runs / name / ENTRY).unlink()
    monkeypatch.setattr(gallery, "read_entries", None)
    new = publish(Report(Result("New"), {}), runs)
    after = (runs / ENTRIES).read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + 1
    assert lines(runs)[new.folder.name]["title"] == "New"


def add(runs, number):
    publish(Report(Result(f"Number {number}"), {"analysis": f"a{number}"}), runs)


def test_reports_that_are_added_at_the_same_time_are_all_listed(runs):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=add, args=(runs, number)) for number in range(4)]
    processes.append(context.Process(target=write_gallery, args=(runs,)))
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert {"one", "two"} <= lines(runs).keys()
    assert {entry["title"] for entry in lines(runs).values()} >= {f"Number {number}" for number in range(4)}


def test_the_list_is_brought_up_to_date(runs):
    shutil.rmtree(runs / "two")
    shutil.copytree(runs / "one", runs / "copy")
    write_gallery(runs)
    assert list(lines(runs)) == ["copy", "one"]


@pytest.mark.parametrize("damage", [b"", b"half a line", b"addReport({", b'{"name"'])
def test_an_incomplete_last_line_is_removed_by_the_next_report(runs, damage):
    with (runs / ENTRIES).open("ab") as file:
        file.write(damage)
    add(runs, 1)
    assert len(lines(runs)) == 3


def test_a_list_that_was_deleted_is_made_again(runs):
    (runs / ENTRIES).unlink()
    add(runs, 1)
    assert len(lines(runs)) == 3


def test_a_full_disk_leaves_the_list_as_it_was(runs, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, line):
            return self.file.write(line[:5])

    before, append = (runs / ENTRIES).read_bytes(), gallery._append
    monkeypatch.setattr(gallery, "_append", lambda file, line: append(Full(file), line))
    with pytest.raises(OSError, match="No space"):
        gallery.add_report(runs / "one")
    assert (runs / ENTRIES).read_bytes() == before


def test_nobody_waits_for_ever_for_the_list(runs, monkeypatch):
    monkeypatch.setattr(gallery, "SECONDS_TO_LOCK", 0.05)
    with gallery._locked(runs / ENTRIES), pytest.raises(AliceError, match="another process has been writing"):
        gallery.add_report(runs / "one")


def break_json(folder):
    (folder / "result.json").write_text('{"format"')
    (folder / ENTRY).unlink()


def old_format(folder):
    (folder / "result.json").write_text('{"format": "alice-interp result", "version": 1}')
    (folder / ENTRY).unlink()


def remove_json(folder):
    (folder / "result.json").unlink()


def remove_report(folder):
    (folder / "report.html").unlink()


def json_is_a_folder(folder):
    (folder / "result.json").unlink()
    (folder / "result.json").mkdir()


def link_out(folder):
    shutil.move(folder, folder.parent.parent / "outside")
    folder.symlink_to(folder.parent.parent / "outside")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (break_json, "not valid JSON"),
        (old_format, "old format version 1"),
        (remove_json, "no result.json"),
        (remove_report, "no report.html"),
        (json_is_a_folder, "no result.json"),
        (link_out, "link out of this folder"),
    ],
)
def test_a_broken_report_is_listed_with_a_reason_and_the_others_are_shown(runs, damage, reason):
    damage(runs / "one")
    write_gallery(runs)
    assert reason in problems(runs)["one"]
    assert reason in lines(runs)["one"]["problem"]
    assert "\n" not in problems(runs)["one"]
    assert list(problems(runs)) == ["one"]


def test_a_training_and_a_folder_that_is_being_written_are_not_listed(runs):
    (runs / "mine").mkdir()
    (runs / "mine" / "training.json").write_text("{}")
    (runs / ".draft.1234.alice-interp-draft").mkdir()
    assert [listed.name for listed in read_entries(runs)] == ["one", "two"]


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"title": "x"}', "hostile"])
def test_an_entry_that_is_missing_or_damaged_is_made_from_the_result(runs, content):
    kept = json.loads((runs / "two" / ENTRY).read_text())
    if content == "hostile":
        content = json.dumps({**kept, "models": [{"evil": 1}]})
    (runs / "two" / ENTRY).unlink()
    if content is not None:
        (runs / "two" / ENTRY).write_text(content)
    (_, listed) = read_entries(runs)
    assert (listed.entry.title, listed.entry.value) == (kept["title"], kept["value"])
    write_gallery(runs)
    assert json.loads((runs / "two" / ENTRY).read_text()) == kept


def test_writing_the_gallery_reads_each_entry_once(runs, monkeypatch):
    read = []
    stored = gallery._stored_entry
    monkeypatch.setattr(gallery, "_stored_entry", lambda folder: read.append(folder.name) or stored(folder))
    write_gallery(runs)
    assert read == ["one", "two"]


def test_a_result_without_an_entry_is_read_again_when_it_changed(runs, provenance):
    (runs / "two" / ENTRY).unlink()
    assert read_entries(runs)[1].entry.title == "Depth"
    write_result(runs / "two", Result("Changed title"), provenance)
    assert read_entries(runs)[1].entry.title == "Changed title"


def test_stale_temporary_files_are_removed_with_the_next_update(runs):
    (runs / "one" / ".report.html.0a1b2c3d.alice-interp-draft").touch()
    write_gallery(runs)
    assert not (runs / "one" / ".report.html.0a1b2c3d.alice-interp-draft").exists()


def test_the_page_is_written_only_when_it_is_missing_or_outdated(runs):
    first = (runs / "index.html").read_bytes()
    add(runs, 1)
    assert (runs / "index.html").read_bytes() == first
    (runs / "index.html").write_text('<meta name="generator" content="alice-interp">')  # as earlier versions wrote it
    add(runs, 2)
    assert b"addReport" in (runs / "index.html").read_bytes()


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(AliceError, match="cannot be read"):
        write_gallery(tmp_path / "nowhere")


def test_a_page_or_a_script_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(AliceError, match="not a gallery of alice-interp"):
        write_gallery(tmp_path)
    assert (tmp_path / "index.html").read_text() == "mine"
    (tmp_path / "index.html").unlink()
    (tmp_path / ENTRIES).write_text("mine")
    (tmp_path / "one").mkdir()
    for write in (lambda: gallery.add_report(tmp_path / "one"), lambda: write_gallery(tmp_path)):
        with pytest.raises(AliceError, match="not written by alice-interp"):
            write()
        assert (tmp_path / ENTRIES).read_text() == "mine"


def test_no_text_of_a_report_becomes_code(tmp_path, result):
    hostile = Result(EVIL.replace("\u2028", ""), metrics=[Metric("m", EVIL, unit=EVIL)], figures=result.figures)
    published = publish(Report(hostile, {"analysis": "a", "checkpoints": [{"name": EVIL}], "time": EVIL}), tmp_path)
    published.folder.rename(tmp_path / "<img src=x onerror=window.pwned=1>")
    (tmp_path / "<script>window.pwned=2<").mkdir()
    write_gallery(tmp_path)
    text = (tmp_path / ENTRIES).read_text(encoding="utf-8")
    assert not re.search("[<>&\u2028]", text)
    listed = lines(tmp_path)["<img src=x onerror=window.pwned=1>"]
    assert listed["address"] == "%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E"
    assert EVIL in listed["value"]


def test_the_page_runs_only_its_own_scripts():
    page = render_index()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert re.fullmatch(r"('(sha256|nonce)-[\w+/=]+' ?)+", directives["script-src"])
    assert directives["img-src"] == "'self' file: data:"
    assert render_index() != page  # the nonce is new each time
    assert render_entries([]) == gallery.HEADER
