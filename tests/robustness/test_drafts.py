"""What processes that died left behind goes with the next that writes there; what is whole, held or foreign stays."""

import os
import shutil

import pytest

from alice.errors import AliceError
from alice.files import atomic_write, draft_folder, held, remove_drafts
from alice.reports import Result
from alice.reports.archive import read_report, write_result
from alice.reports.publish import publish


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_whole_result_that_had_no_name_yet_gets_it_and_half_of_one_goes(tmp_path):
    for draft in (".whole.0a1b2c3d.tmp", ".half.0a1b2c3d.tmp"):
        (tmp_path / draft).mkdir()
        write_result(tmp_path / draft, Result("Found"), {})
    (tmp_path / ".half.0a1b2c3d.tmp" / "result.json").unlink()
    publish(tmp_path / "new", Result("New"), {})
    assert names(tmp_path) == ["index.html", "new", "plotly.min.js", "whole"]
    assert read_report(tmp_path / "whole").result.title == "Found"
    assert "whole" in (tmp_path / "index.html").read_text()


def test_half_a_page_of_an_earlier_run_goes(tmp_path):
    run = publish(tmp_path / "one", Result("One"), {})
    (run.folder / ".report.html.0a1b2c3d.tmp").touch()
    (tmp_path / ".index.html.0a1b2c3d.tmp").touch()
    publish(tmp_path / "two", Result("Two"), {})
    assert names(tmp_path) == ["index.html", "one", "plotly.min.js", "two"]
    assert names(run.folder) == ["arrays.npz", "report.html", "result.json"]


def test_what_somebody_is_writing_stays(tmp_path):
    with draft_folder(tmp_path / "run") as folder, atomic_write(tmp_path / "file") as file:
        before = names(tmp_path)
        remove_drafts(tmp_path)
        assert names(tmp_path) == before
        assert len(before) == 2
        file.write("whole")
        folder.rename(tmp_path / "run")
    assert names(tmp_path) == ["file", "run"]


def test_files_of_others_stay(tmp_path):
    (tmp_path / "far").mkdir()
    others = (".notes.tmp", ".notes.12345678.txt", ".notes.1234.tmp", "notes.0a1b2c3d.tmp", ".0a1b2c3d.tmp")
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".link.0a1b2c3d.tmp").symlink_to(tmp_path / "far")
    os.mkfifo(tmp_path / ".pipe.0a1b2c3d.tmp")
    with held(tmp_path / "far"):
        remove_drafts(tmp_path)
    assert {*others, ".link.0a1b2c3d.tmp", "far"} <= set(names(tmp_path))


def test_a_cleaner_that_is_quicker_than_the_writer_does_no_harm(tmp_path, monkeypatch):
    from alice import files

    lock, raced = files._lock, []

    def late(descriptor):
        if not raced:
            raced.append(True)
            remove_drafts(tmp_path)  # between the making of a draft and its lock
        return lock(descriptor)

    monkeypatch.setattr(files, "_lock", late)
    with atomic_write(tmp_path / "file") as file:
        file.write("whole")
    raced.clear()
    with draft_folder(tmp_path / "run") as folder:
        folder.rename(tmp_path / "run")
    assert names(tmp_path) == ["file", "run"]


def test_on_a_disk_without_locks_everything_can_be_written_and_nothing_is_taken_for_dead(tmp_path, monkeypatch):
    def unknown(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unknown)
    (tmp_path / ".file.0a1b2c3d.tmp").touch()
    with atomic_write(tmp_path / "file") as file:
        file.write("whole")
    with held(tmp_path):
        publish(tmp_path / "run", Result("Mine"), {})
    assert read_report(tmp_path / "run").result.title == "Mine"
    assert names(tmp_path) == [".file.0a1b2c3d.tmp", "file", "index.html", "plotly.min.js", "run"]


def test_a_folder_that_vanishes_meanwhile_is_one_sentence(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(AliceError, match="does not exist"), atomic_write(tmp_path / "file"):
        pass
