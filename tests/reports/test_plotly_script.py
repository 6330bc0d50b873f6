import pytest

from alice.reports import plotly_script


@pytest.mark.parametrize(
    ("present", "replaced"),
    [
        (b"/** plotly.js v0.0.1 */", True),
        (b"damaged", True),
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
