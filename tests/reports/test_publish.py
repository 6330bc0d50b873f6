"""A computed result is kept, even if everything afterwards fails."""

import errno
import os
import shutil
from pathlib import Path

import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Metric, Report, Result, publish, read_report
from alice.reports.archive import write_result
from alice.reports.gallery import write_gallery

STORED = ["arrays.npz", "result.json"]
COMPLETE = ["arrays.npz", "entry.json", "report.html", "result.json"]
MINE = Report(Result("Mine"), {"analysis": "one"})


@pytest.fixture(autouse=True)
def folder_name(monkeypatch):
    """Call the folder of a report by the name of its analysis."""
    monkeypatch.setattr(publish, "_folder_name", lambda report: report.analysis)


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def drafts(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_publishing_makes_a_folder_with_its_page_and_adds_it_to_the_gallery(tmp_path):
    stored = MINE.save(tmp_path / "runs")
    assert names(stored.folder) == COMPLETE
    assert names(tmp_path / "runs") == ["entries.js", "index.html", "one", "plotly.min.js"]
    assert 'href="../index.html"' in (stored.folder / "report.html").read_text(encoding="utf-8")


def test_the_folder_is_named_after_analysis_models_and_time(monkeypatch):
    monkeypatch.undo()
    several = {"analysis": "early-exit", "checkpoints": [{"name": "base"}, {"name": "runs/my model"}]}
    assert publish._folder_name(Report(Result("T"), several)).startswith("early-exit-base+runs-my-model-20")
    assert publish._folder_name(Report(Result("T"), {})).startswith("report-20")


def test_a_failed_publication_leaves_nothing(tmp_path):
    with pytest.raises(AliceError, match="provenance contains"):
        publish.publish(Report(MINE.result, {"analysis": "one", "x": object()}), tmp_path)
    assert not names(tmp_path)


@pytest.mark.parametrize("error", [TypeError("odd\nfigure"), OSError(errno.EIO, "Input/output error"), MemoryError()])
def test_a_result_whose_page_cannot_be_made_is_kept_and_listed(tmp_path, monkeypatch, error):
    monkeypatch.setattr(publish, "write_report", failing(error))
    with pytest.raises(AliceError, match=r"stored in .*one.*alice-interp report") as caught:
        publish.publish(MINE, tmp_path)
    assert "\n" not in str(caught.value)
    assert {*STORED} <= {*names(tmp_path / "one")} <= {*STORED, "entry.json"}
    assert read_report(tmp_path / "one").title == "Mine"
    assert "it has no report.html" in (tmp_path / "entries.js").read_text(encoding="utf-8")
    assert not drafts(tmp_path)


def test_a_result_is_kept_when_its_page_is_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "write_report", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        publish.publish(MINE, tmp_path)
    assert names(tmp_path / "one") == STORED


def test_a_curve_that_begins_at_a_date_is_published(tmp_path):
    figure = go.Figure(go.Scatter(y=[1, 2], x0="2020-01-01"))
    stored = publish.publish(Report(Result("T", figures={"f": figure}), {"analysis": "one"}), tmp_path)
    assert names(stored.folder) == sorted([*COMPLETE, "thumbnail.svg"])


def test_a_name_that_is_taken_meanwhile_gets_a_number(tmp_path, monkeypatch):
    def slow(folder, *rest):
        for name in ("one", "one-2"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "theirs").touch()
        return write_result(folder, *rest)

    monkeypatch.setattr(publish, "write_result", slow)
    stored = publish.publish(MINE, tmp_path)
    assert stored.folder == tmp_path / "one-3"
    assert read_report(stored.folder).title == "Mine"
    assert names(tmp_path / "one") == names(tmp_path / "one-2") == ["theirs"]
    assert '"address": "one-3"' in (tmp_path / "entries.js").read_text(encoding="utf-8")


def test_a_result_that_cannot_be_renamed_is_kept_and_its_folder_named(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "rename", failing(OSError(errno.EACCES, "Permission denied")))
    with pytest.raises(AliceError, match=r"Permission denied.*rename it") as caught:
        publish.publish(MINE, tmp_path)
    (draft,) = drafts(tmp_path)
    assert draft in str(caught.value)
    assert read_report(tmp_path / draft).title == "Mine"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_is_one_sentence(tmp_path, monkeypatch, number):
    monkeypatch.setattr(os, "fsync", failing(OSError(number, os.strerror(number))))
    with pytest.raises(AliceError, match=r"another folder|write elsewhere"):
        publish.publish(MINE, tmp_path)
    assert not names(tmp_path)


def test_a_gallery_that_cannot_be_written_is_an_error_and_the_report_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "add_report", failing(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(AliceError, match="not in the gallery: Input/output error"):
        publish.publish(MINE, tmp_path)
    assert names(tmp_path / "one") == COMPLETE


def test_a_page_of_somebody_else_stays_and_publishing_succeeds(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    stored = publish.publish(MINE, tmp_path)
    assert (stored.folder / "report.html").is_file()
    assert (tmp_path / "index.html").read_text() == "mine"
    assert not (tmp_path / "entries.js").exists()


@pytest.mark.parametrize("listed_before", [True, False])
@pytest.mark.parametrize("finish", [lambda folder: publish.publish(MINE, folder), write_gallery])
def test_a_report_that_a_killed_process_left_is_finished_and_half_of_one_is_removed(tmp_path, finish, listed_before):
    if listed_before:
        write_gallery(tmp_path)
    for draft in (
        ".whole.0a1b2c3d.alice-interp-draft",
        ".half.0a1b2c3d.alice-interp-draft",
        ".broken.0a1b2c3d.alice-interp-draft",
    ):
        (tmp_path / draft).mkdir()
        write_result(tmp_path / draft, Result("Found", metrics=[Metric("m", 1)]), {})
        (tmp_path / draft / ".report.html.0a1b2c3d.alice-interp-draft").touch()
    (tmp_path / ".half.0a1b2c3d.alice-interp-draft" / "result.json").unlink()
    (tmp_path / ".broken.0a1b2c3d.alice-interp-draft" / "result.json").write_text("?")
    finish(tmp_path)
    assert set(names(tmp_path)) - {"one"} == {"broken", "entries.js", "index.html", "plotly.min.js", "whole"}
    assert names(tmp_path / "whole") == COMPLETE
    assert "Found" in (tmp_path / "entries.js").read_text()
    assert "not valid JSON" in (tmp_path / "entries.js").read_text()


def test_a_missing_folder_is_made_and_a_file_in_its_place_is_one_sentence(tmp_path):
    assert publish.publish(MINE, tmp_path / "a" / "b").folder.is_dir()
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").touch()
    with pytest.raises(AliceError, match="cannot create the folder"):
        publish.publish(MINE, tmp_path / "a")
