"""Drafts (temporary files) of killed processes are removed by the next writer; all other files stay."""

import os
import shutil

import pytest

from alice.errors import AliceError
from alice.files import atomic_write, draft_folder, held, remove_drafts
from alice.reports import Report, Result, read_report
from alice.reports.archive import write_result
from alice.reports.gallery import write_gallery


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_complete_result_in_a_draft_is_published_and_an_incomplete_one_removed(tmp_path):
    for draft in (".complete.0a1b2c3d.alice-interp-draft", ".incomplete.0a1b2c3d.alice-interp-draft"):
        (tmp_path / draft).mkdir()
        write_result(tmp_path / draft, Result("Found"), {})
    (tmp_path / ".incomplete.0a1b2c3d.alice-interp-draft" / "result.json").unlink()
    new = Report(Result("New"), {}).save(tmp_path).folder.name
    assert names(tmp_path) == ["complete", "entries.js", "index.html", "plotly.min.js", new]
    assert read_report(tmp_path / "complete").title == "Found"
    assert (tmp_path / "complete" / "report.html").is_file()
    assert '"complete"' in (tmp_path / "entries.js").read_text()


def test_drafts_of_pages_are_removed_when_the_gallery_is_written_again(tmp_path):
    folder = Report(Result("One"), {}).save(tmp_path).folder
    (folder / ".report.html.0a1b2c3d.alice-interp-draft").touch()
    (tmp_path / ".entries.js.0a1b2c3d.alice-interp-draft").touch()
    write_gallery(tmp_path)
    assert names(tmp_path) == ["entries.js", "index.html", "plotly.min.js", folder.name]
    assert names(folder) == ["arrays.npz", "entry.json", "report.html", "result.json"]


def test_locked_drafts_stay(tmp_path):
    with draft_folder(tmp_path / "report") as folder, atomic_write(tmp_path / "file") as file:
        before = names(tmp_path)
        remove_drafts(tmp_path)
        assert names(tmp_path) == before
        assert len(before) == 2
        file.write("complete")
        folder.rename(tmp_path / "report")
    assert names(tmp_path) == ["file", "report"]


@pytest.mark.parametrize("write", [remove_drafts, Report(Result("New"), {}).save, write_gallery])
def test_foreign_files_stay(tmp_path, write):
    (tmp_path / "far").mkdir()
    foreign = [
        ".notes.tmp",
        ".notes.0a1b2c3d.tmp",
        ".notes.1234.alice-interp-draft",
        "notes.0a1b2c3d.alice-interp-draft",
    ]
    foreign += [".0a1b2c3d.alice-interp-draft", ".notes.alice-interp-draft"]
    for name in foreign:
        (tmp_path / name).touch()
    (tmp_path / ".thesis.deadbeef.tmp").mkdir()
    (tmp_path / ".thesis.deadbeef.tmp" / "chapter1.tex").touch()
    (tmp_path / ".link.0a1b2c3d.alice-interp-draft").symlink_to(tmp_path / "far")
    os.mkfifo(tmp_path / ".pipe.0a1b2c3d.alice-interp-draft")
    with held(tmp_path / "far"):
        write(tmp_path)
    assert {*foreign, ".link.0a1b2c3d.alice-interp-draft", "far"} <= set(names(tmp_path))
    assert names(tmp_path / ".thesis.deadbeef.tmp") == ["chapter1.tex"]


def test_a_draft_removed_before_it_was_locked_is_created_again(tmp_path, monkeypatch):
    from alice import files

    lock, raced = files._lock, []

    def late(descriptor):
        if not raced:
            raced.append(True)
            remove_drafts(tmp_path)  # between creating a draft and locking it
        return lock(descriptor)

    monkeypatch.setattr(files, "_lock", late)
    with atomic_write(tmp_path / "file") as file:
        file.write("complete")
    raced.clear()
    with draft_folder(tmp_path / "report") as folder:
        folder.rename(tmp_path / "report")
    assert names(tmp_path) == ["file", "report"]


def test_without_file_locks_writing_works_and_no_draft_counts_as_stale(tmp_path, monkeypatch):
    def unsupported(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    (tmp_path / ".file.0a1b2c3d.alice-interp-draft").touch()
    with atomic_write(tmp_path / "file") as file:
        file.write("complete")
    with held(tmp_path):
        folder = Report(Result("Mine"), {}).save(tmp_path).folder
    assert read_report(folder).title == "Mine"
    assert names(tmp_path) == [
        ".file.0a1b2c3d.alice-interp-draft",
        "entries.js",
        "file",
        "index.html",
        "plotly.min.js",
        folder.name,
    ]


def test_writing_into_a_missing_folder_is_one_sentence(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(AliceError, match="does not exist"), atomic_write(tmp_path / "file"):
        pass
