import json
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alice.errors import AliceError
from alice.reports import Figure, Result, Table, archive, encoding
from alice.reports.archive import fingerprint, read_report, read_without_arrays, write_result

TEXT = st.text(max_size=20)
CELLS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
LABELS = TEXT.filter(lambda text: text.strip() and text.isprintable())
ARRAYS = hnp.arrays(
    st.sampled_from(["?", "i1", ">u2", "<i8", "f2", "<f4", ">f8", "c16", "U3", "S2", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
TREES = st.recursive(
    CELLS | ARRAYS.filter(lambda array: array.dtype.kind in "biufcUM"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("$float"), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(one, other):
    """Compare exactly: types, signs of zero, NaN, dtypes."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return type(other) is float and (repr(one) == repr(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def test_a_result_comes_back_as_it_was(tmp_path, result, provenance):
    write_result(tmp_path, result, provenance)
    run = read_report(tmp_path)
    back = run.result
    assert (back.title, back.summary, back.caveats, back.headline) == (
        result.title, result.summary, result.caveats, result.headline,
    )  # fmt: skip
    assert same(dict(back.metrics), dict(result.metrics))
    assert list(back.metrics) == list(result.metrics)
    assert dict(back.tables) == dict(result.tables)
    assert same(dict(back.arrays), dict(result.arrays))
    assert list(back.figures) == list(result.figures)
    for name, figure in result.figures.items():
        assert back.figures[name].figure.to_json() == figure.figure.to_json()
        assert (back.figures[name].caption, back.figures[name].data) == (figure.caption, figure.data)
    assert run.provenance == provenance
    assert fingerprint(back) == fingerprint(result)


@settings(deadline=None)  # files are flushed to a disk that may be busy
@given(st.dictionaries(LABELS, CELLS.filter(lambda cell: cell is not None)), st.lists(st.tuples(CELLS, CELLS)), ARRAYS)
def test_any_metrics_cells_and_arrays_come_back_exactly(tmp_path_factory, metrics, rows, array):
    folder = tmp_path_factory.mktemp("run")
    result = Result("T", metrics=metrics, tables={"t": Table(["a", "b"], rows)}, arrays={"a": array})
    write_result(folder, result, {})
    back = read_report(folder).result
    assert same(dict(back.metrics), metrics)
    assert same(back.tables["t"].rows, tuple(rows))
    assert same(back.arrays["a"], array)


@given(TREES)
def test_any_tree_survives_json(tree):
    text = encoding.write_json({"tree": encoding.encode(tree, "a tree")})
    text.encode()
    assert same(encoding.decode(encoding.read_json(text)["tree"]), tree)


def test_traces_come_back_with_their_arrays(tmp_path):
    trace = go.Scatter(
        x=np.array([1, 2], dtype="i4"),
        y=[math.nan, -0.0],
        text=np.array(["a", None], dtype=object),
        customdata=[[1, math.inf], ["x", {"$float": "nan"}]],
    )
    figure = go.Figure(trace, frames=[go.Frame(name="1", data=[go.Scatter(y=np.array([3.0]))])])
    write_result(tmp_path, Result("T", figures={"f": figure}), {})
    back = read_report(tmp_path).result.figures["f"].figure
    assert same(back.data[0].to_plotly_json()["x"], figure.data[0].to_plotly_json()["x"])
    assert list(back.data[0].text) == ["a", None]
    assert back.data[0].customdata[1][1] == {"$float": "nan"}
    assert back.frames[0].data[0].y.tolist() == [3.0]
    assert same(back.data[0].to_plotly_json()["y"], [math.nan, -0.0])


@pytest.mark.parametrize("template", [None, "none", "plotly_dark"])
def test_the_template_comes_back(tmp_path, template):
    figure = Figure(go.Figure(layout={"template": template}))
    write_result(tmp_path, Result("T", figures={"f": figure}), {})
    assert read_report(tmp_path).result.figures["f"].figure.to_dict() == figure.figure.to_dict()


def test_the_same_result_gives_the_same_bytes(tmp_path, result, provenance):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_result(tmp_path / name, replace(result), dict(reversed(provenance.items())))
    for file in (archive.RESULT, archive.ARRAYS):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_numpy_alone_can_read_the_arrays(tmp_path, result):
    write_result(tmp_path, result, {})
    with np.load(tmp_path / archive.ARRAYS, allow_pickle=False) as loaded:
        assert loaded["file"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_anything_can_read_the_metrics(tmp_path, result):
    write_result(tmp_path, result, {})
    assert json.loads((tmp_path / archive.RESULT).read_text())["result"]["metrics"]["error"] == 0.25


def test_nothing_is_left_behind(tmp_path, result, provenance):
    write_result(tmp_path, result, provenance)
    assert sorted(path.name for path in tmp_path.iterdir()) == [archive.ARRAYS, archive.RESULT]


def test_provenance_that_is_not_plain_is_told(tmp_path):
    with pytest.raises(AliceError, match="provenance contains a PosixPath"):
        write_result(tmp_path, Result("T"), {"out": tmp_path})
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(AliceError, match=r"result\.json does not exist"):
        read_report(tmp_path / "nowhere")


def test_missing_arrays_are_told_but_pages_do_without(tmp_path, result):
    write_result(tmp_path, result, {})
    (tmp_path / archive.ARRAYS).unlink()
    with pytest.raises(AliceError, match=r"arrays\.npz cannot be read"):
        read_report(tmp_path)
    assert read_without_arrays(tmp_path).result.title == result.title


def test_fingerprints_tell_results_apart(result):
    assert fingerprint(replace(result, arrays={})) != fingerprint(result)
    assert fingerprint(replace(result, title="other")) != fingerprint(result)
