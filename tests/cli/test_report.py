import json
import subprocess
import sys

import plotly.graph_objects as go
import pytest
from click.testing import CliRunner

from alice.cli import main
from alice.reports import Metric, Result, Table
from alice.reports.archive import write_result
from alice.reports.gallery import write_gallery

DEPTH = Result("Depth", metrics=[Metric("layers", 12)], tables={"t": Table(["a"], [[1]])})


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "runs" / "depth"
    folder.mkdir(parents=True)
    write_result(folder, DEPTH, {"analysis": "depth"})
    return folder


def report(*arguments):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_the_page_of_a_stored_result_is_written_and_its_path_printed(folder):
    done = report(folder)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(folder / "report.html")
    assert "<h1>Depth</h1>" in (folder / "report.html").read_text(encoding="utf-8")
    assert not (folder.parent / "index.html").exists()


def test_a_gallery_is_brought_up_to_date_and_linked(folder):
    write_gallery(folder.parent)
    entries = folder.parent / "entries.js"
    assert "it has no report.html" in entries.read_text(encoding="utf-8")
    (folder / "entry.json").write_text(json.dumps({"title": "old"}))
    assert report(folder).exit_code == 0
    assert '"address": "depth", "title": "Depth"' in entries.read_text(encoding="utf-8")
    assert 'href="../index.html"' in (folder / "report.html").read_text(encoding="utf-8")


def test_a_page_of_somebody_else_is_left_alone(folder):
    index = folder.parent / "index.html"
    index.write_text("mine")
    assert report(folder).exit_code == 0
    assert index.read_text() == "mine"


def test_a_standalone_page_can_be_written_elsewhere(folder, tmp_path):
    out = tmp_path / "page.html"
    assert report(folder, "--standalone", "--out", out).exit_code == 0
    assert out.stat().st_size > 1_000_000
    assert not (folder / "report.html").exists()
    assert report(folder, "--out", out).exit_code == 0  # a report may be replaced by another


def test_the_result_is_never_overwritten(folder):
    before = (folder / "result.json").read_bytes()
    done = report(folder, "--out", folder / "result.json")
    assert done.exit_code == 1
    assert "is read by this command" in done.stderr
    assert (folder / "result.json").read_bytes() == before


def test_a_figure_of_a_stranger_with_damaged_numbers_is_shown(folder):
    packed = {"y": {"dtype": "zz", "bdata": "AAAA"}, "type": "scatter"}
    write_result(folder, Result("Strange", figures={"f": go.Figure({"data": [packed]}, skip_invalid=True)}), {})
    assert report(folder).exit_code == 0


def test_a_folder_that_is_not_a_report_is_one_line(tmp_path):
    done = report(tmp_path)
    assert done.exit_code == 1
    assert done.stderr.startswith("alice-interp: error: ")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_line(folder, tmp_path):
    done = report(folder, "--out", tmp_path / "nowhere" / "page.html")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr


def test_no_torch_is_needed(folder):
    code = (
        f"import sys; sys.modules['torch'] = None; from alice.cli import main; "
        f"main(['report', {str(folder)!r}], standalone_mode=False)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
