import subprocess
import sys

import plotly.graph_objects as go
import pytest
from click.testing import CliRunner

from alice.cli import main
from alice.reports import Result, Table
from alice.reports.archive import write_result
from alice.reports.gallery import write_gallery


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "runs" / "depth"
    folder.mkdir(parents=True)
    write_result(
        folder, Result("Depth", metrics=[Metric("layers", 12)], tables={"t": Table(["a"], [[1]])}), {"analysis": "depth"}
    )
    return folder


def report(*arguments):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_the_page_of_a_stored_result_is_written_and_its_place_printed(run_folder):
    done = report(run_folder)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(run_folder / "report.html")
    assert "<h1>Depth</h1>" in (run_folder / "report.html").read_text(encoding="utf-8")
    assert not (run_folder.parent / "index.html").exists()


def test_a_gallery_that_is_there_is_renewed_and_linked(run_folder):
    write_gallery(run_folder.parent)
    assert "no report.html" in (run_folder.parent / "index.html").read_text(encoding="utf-8")
    assert report(run_folder).exit_code == 0
    assert 'href="depth/report.html"' in (run_folder.parent / "index.html").read_text(encoding="utf-8")
    assert 'href="../index.html"' in (run_folder / "report.html").read_text(encoding="utf-8")


def test_a_page_of_somebody_else_is_left_alone(run_folder):
    index = run_folder.parent / "index.html"
    index.write_text("mine")
    assert report(run_folder).exit_code == 0
    assert index.read_text() == "mine"


def test_a_standalone_page_can_be_written_elsewhere(run_folder, tmp_path):
    out = tmp_path / "page.html"
    assert report(run_folder, "--standalone", "--out", out).exit_code == 0
    assert out.stat().st_size > 1_000_000
    assert not (run_folder / "report.html").exists()


def test_a_figure_of_a_stranger_with_damaged_numbers_is_no_obstacle(run_folder):
    packed = {"y": {"dtype": "zz", "bdata": "AAAA"}, "type": "scatter"}
    write_result(run_folder, Result("Strange", figures={"f": go.Figure({"data": [packed]}, skip_invalid=True)}), {})
    assert report(run_folder).exit_code == 0


def test_a_folder_that_is_no_run_is_one_line(tmp_path):
    done = report(tmp_path)
    assert done.exit_code == 1
    assert done.stderr.startswith("alice-interp: error: ")
    assert done.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(run_folder, tmp_path):
    done = report(run_folder, "--out", tmp_path / "nowhere" / "page.html")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr


def test_no_torch_is_needed(run_folder):
    code = (
        f"import sys; sys.modules['torch'] = None; from alice.cli import main; "
        f"main(['report', {str(run_folder)!r}], standalone_mode=False)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
