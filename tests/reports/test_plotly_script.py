import pytest

from alice.errors import AliceError
from alice.reports import Report, Result, plotly_script
from alice.reports.html import write_report


@pytest.mark.parametrize(
    ("present", "replaced"),
    [
        (b"/** plotly.js v0.0.1 */", True),
        (b"", True),
        (b"/** plotly.js v999.0.0 */", False),
    ],
)
def test_a_newer_plotly_replaces_an_older_script(tmp_path, present, replaced):
    (tmp_path / plotly_script.FILE).write_bytes(present)
    plotly_script.place(tmp_path)
    assert ((tmp_path / plotly_script.FILE).read_bytes() != present) is replaced


def test_a_truncated_script_of_the_same_version_is_replaced(tmp_path):
    whole = plotly_script.source().encode()
    (tmp_path / plotly_script.FILE).write_bytes(whole[:5000])
    plotly_script.place(tmp_path)
    assert (tmp_path / plotly_script.FILE).read_bytes() == whole


@pytest.mark.parametrize("theirs", [b"/* my own customised plotly */", b"/** plotly.js (custom build) */"])
def test_a_script_of_somebody_else_is_refused_before_anything_is_written(tmp_path, theirs):
    report = Report(Result("Depth"), {}).save(tmp_path / "runs")
    (tmp_path / "runs" / plotly_script.FILE).write_bytes(theirs)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for write in (lambda: write_report(report, out=tmp_path / "page.html"), lambda: report.save(tmp_path / "runs")):
        with pytest.raises(
            AliceError, match=r"plotly\.min\.js is not a script of plotly and would be replaced; move it"
        ):
            write()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    write_report(report, out=tmp_path / "page.html", standalone=True)
    assert (tmp_path / "runs" / plotly_script.FILE).read_bytes() == theirs
