"""What processes that died left behind goes with the next that writes there; what is whole, held or foreign stays."""

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


def test_a_whole_result_that_had_no_name_yet_gets_it_and_half_of_one_goes(tmp_path):
    for draft in (".whole.0a1b2c3d.tmp", ".half.0a1b2c3d.tmp"):
        (tmp_path / draft).mkdir()
        write_result(tmp_path / draft, Result("Found"), {})
    (tmp_path / ".half.0a1b2c3d.tmp" / "result.json").unlink()
    new = Report(Result("New"), {}).save(tmp_path).folder.name
    assert names(tmp_path) == ["entries.js", "index.html", "plotly.min.js", new, "whole"]
    assert read_report(tmp_path / "whole").title == "Found"
    assert (tmp_path / "whole" / "report.html").is_file()
    assert "whole" in (tmp_path / "entries.js").read_text()


def test_half_a_page_goes_with_the_next_update_of_the_gallery(tmp_path):
    folder = Report(Result("One"), {}).save(tmp_path).folder
    (folder / ".report.html.0a1b2c3d.tmp").touch()
    (tmp_path / ".entries.js.0a1b2c3d.tmp").touch()
    write_gallery(tmp_path)
    assert names(tmp_path) == ["entries.js", "index.html", "plotly.min.js", folder.name]
    assert names(folder) == ["arrays.npz", "entry.json", "report.html", "result.json"]


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
        folder = Report(Result("Mine"), {}).save(tmp_path).folder
    assert read_report(folder).title == "Mine"
    assert names(tmp_path) == [".file.0a1b2c3d.tmp", "entries.js", "file", "index.html", "plotly.min.js", folder.name]


def test_a_folder_that_vanishes_meanwhile_is_one_sentence(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(AliceError, match="does not exist"), atomic_write(tmp_path / "file"):
        pass
