"""What was computed stays, whatever goes wrong after it."""

import errno
import os
from pathlib import Path

import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Result, publish
from alice.reports.archive import read_report, write_result

STORED = ["arrays.npz", "result.json"]


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def drafts(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("error", [TypeError("odd\nfigure"), OSError(errno.EIO, "Input/output error"), MemoryError()])
def test_a_result_whose_page_cannot_be_made_is_kept(tmp_path, result, monkeypatch, error):
    monkeypatch.setattr(publish, "render_report", failing(error))
    with pytest.raises(AliceError, match=r"stored in .*one.*alice-interp report") as caught:
        publish.publish(tmp_path / "one", result, {})
    assert "\n" not in str(caught.value)
    assert names(tmp_path / "one") == STORED
    assert read_report(tmp_path / "one").result.title == result.title
    assert "no report.html" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not drafts(tmp_path)


def test_a_result_is_kept_when_its_page_is_interrupted(tmp_path, result, monkeypatch):
    monkeypatch.setattr(publish, "render_report", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        publish.publish(tmp_path / "one", result, {})
    assert names(tmp_path / "one") == STORED


def test_a_curve_that_begins_at_a_date_is_published(tmp_path):
    figure = go.Figure(go.Scatter(y=[1, 2], x0="2020-01-01"))
    publish.publish(tmp_path / "one", Result("T", figures={"f": figure}), {})
    assert (tmp_path / "one" / "report.html").is_file()


def test_a_name_that_is_taken_meanwhile_gets_a_number(tmp_path, monkeypatch):
    def slow(folder, *rest):
        for name in ("one", "one-2"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "theirs").touch()
        return write_result(folder, *rest)

    monkeypatch.setattr(publish, "write_result", slow)
    run = publish.publish(tmp_path / "one", Result("Mine"), {})
    assert run.folder == tmp_path / "one-3"
    assert read_report(run.folder).result.title == "Mine"
    assert names(tmp_path / "one") == names(tmp_path / "one-2") == ["theirs"]
    assert 'href="one-3/report.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_result_that_cannot_get_its_name_is_kept_and_its_place_told(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "rename", failing(OSError(errno.EACCES, "Permission denied")))
    with pytest.raises(AliceError, match=r"Permission denied.*rename it") as caught:
        publish.publish(tmp_path / "one", Result("Mine"), {})
    (draft,) = drafts(tmp_path)
    assert draft in str(caught.value)
    assert read_report(tmp_path / draft).result.title == "Mine"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_is_told_in_a_sentence(tmp_path, monkeypatch, number):
    monkeypatch.setattr(os, "fsync", failing(OSError(number, os.strerror(number))))
    with pytest.raises(AliceError, match=r"another folder|write elsewhere"):
        publish.publish(tmp_path / "one", Result("Mine"), {})
    assert not names(tmp_path)


def test_a_gallery_that_cannot_be_written_is_told_and_the_run_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "write_gallery", failing(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(AliceError, match="not in the gallery: Input/output error"):
        publish.publish(tmp_path / "one", Result("Mine"), {})
    assert names(tmp_path / "one") == sorted([*STORED, "report.html"])


def test_a_page_of_somebody_else_stays_and_the_run_succeeds(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    run = publish.publish(tmp_path / "one", Result("T"), {})
    assert (run.folder / "report.html").is_file()
    assert (tmp_path / "index.html").read_text() == "mine"
