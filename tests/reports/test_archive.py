"""A report comes back from its folder as it was; truncated, foreign and hostile files are refused in one sentence."""

import hashlib
import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alice.errors import AliceError
from alice.reports import Figure, Metric, Result, Table, archive, encoding, read_report
from alice.reports.archive import fingerprint, read_without_arrays, write_result
from alice.reports.encoding import read_tensors, write_tensors

TEXT = st.text(max_size=20)
CELLS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
ARRAYS = hnp.arrays(
    st.sampled_from(["?", "i1", ">u2", "<i8", "f2", "<f4", ">f8", "c16", "U3", "S2", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def same_array(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_a_report_comes_back_as_it_was(tmp_path, result, provenance):
    write_result(tmp_path, result, provenance)
    report = read_report(tmp_path)
    back = report.result
    for name in ("title", "summary", "caveats", "headline"):
        assert getattr(back, name) == getattr(result, name)
    assert repr([vars(metric) for metric in back.metrics]) == repr([vars(metric) for metric in result.metrics])
    assert dict(back.tables) == dict(result.tables)
    assert all(same_array(back.arrays[name], array) for name, array in result.arrays.items())
    assert list(back.figures) == list(result.figures)
    for name, figure in result.figures.items():
        assert back.figures[name].json == figure.json
        assert (back.figures[name].caption, back.figures[name].data) == (figure.caption, figure.data)
    assert report.provenance == provenance
    assert report.folder == tmp_path
    assert fingerprint(back) == fingerprint(result)


@settings(deadline=None, max_examples=40)  # files are flushed to a disk that may be busy
@given(CELLS.filter(lambda cell: cell is not None), st.floats(), st.lists(st.tuples(CELLS, CELLS)), ARRAYS)
def test_any_metric_cells_and_array_come_back_exactly(tmp_path_factory, value, error, rows, array):
    folder = tmp_path_factory.mktemp("report")
    metric, table = Metric("m", value, error, (-abs(error), abs(error))), Table(["a", "b"], rows)
    write_result(folder, Result("T", metrics=[metric], tables={"t": table}, arrays={"a": array}), {})
    back = read_report(folder).result
    assert repr(vars(back.metric("m"))) == repr(vars(metric))
    assert repr(back.tables["t"].rows) == repr(tuple(rows))
    assert same_array(back.arrays["a"], array)


def test_traces_come_back_with_their_arrays(tmp_path):
    trace = go.Scatter(
        x=np.array([1, 2], dtype="i4"),
        y=[1.5, -0.0],
        text=np.array(["a", None], dtype=object),
        customdata=[[1, "x"], ["x", {"$float": "nan"}]],
    )
    figure = go.Figure(trace, frames=[go.Frame(name="1", data=[go.Scatter(y=np.array([3.0, math.nan]))])])
    write_result(tmp_path, Result("T", figures={"f": figure}), {})
    back = read_report(tmp_path).figures["f"].figure
    assert list(back.data[0].text) == ["a", None]
    assert back.data[0].customdata[1][1] == {"$float": "nan"}
    assert repr(back.data[0].y) == "(1.5, -0.0)"
    assert back.to_json() == Figure(figure).json


@pytest.mark.parametrize("template", [None, "none", "plotly_dark"])
def test_the_template_comes_back(tmp_path, template):
    figure = Figure(go.Figure(layout={"template": template}))
    write_result(tmp_path, Result("T", figures={"f": figure}), {})
    assert read_report(tmp_path).figures["f"].figure.to_dict() == figure.figure.to_dict()


def test_the_same_result_gives_the_same_bytes(tmp_path, result, provenance):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_result(tmp_path / name, replace(result), dict(reversed(provenance.items())))
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == [archive.ARRAYS, archive.RESULT]
    for file in (archive.RESULT, archive.ARRAYS):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_other_programs_can_read_metrics_figures_and_arrays(tmp_path, result):
    write_result(tmp_path, result, {})
    stored = json.loads((tmp_path / archive.RESULT).read_text())["result"]
    assert stored["metrics"][0] == {
        "name": "ser", "value": 2.14, "error": 0.42, "interval": None, "unit": "%", "model": "base",
        "label": "symbol error rate",
    }  # fmt: skip
    assert go.Figure(stored["figures"]["error"]["plotly"]).data[1].name == "base"
    with np.load(tmp_path / archive.ARRAYS, allow_pickle=False) as loaded:
        assert loaded["file"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("value", [object(), np.zeros(1), {1: 2}])
def test_provenance_that_is_not_plain_is_refused_before_anything_is_written(tmp_path, value):
    with pytest.raises(AliceError, match=r"the provenance (contains|has the key)"):
        write_result(tmp_path, Result("T"), {"x": value})
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(AliceError, match=r"result\.json does not exist"):
        read_report(tmp_path / "nowhere")


def test_pages_do_without_missing_arrays(tmp_path, result):
    write_result(tmp_path, result, {})
    (tmp_path / archive.ARRAYS).unlink()
    with pytest.raises(AliceError, match=r"arrays\.npz cannot be read"):
        read_report(tmp_path)
    assert read_without_arrays(tmp_path).title == result.title


def test_results_that_differ_have_different_fingerprints(result):
    assert fingerprint(replace(result, arrays={})) != fingerprint(result)
    assert fingerprint(replace(result, title="other")) != fingerprint(result)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_truncated_result_is_one_sentence(tmp_path, result, share):
    write_result(tmp_path, result, {})
    path = tmp_path / archive.RESULT
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AliceError, match="not valid JSON"):
        read_report(tmp_path)


def edited(folder, change):
    figure = go.Figure(go.Scatter(y=np.ones(2)), {"template": {}})
    write_result(folder, Result("T", metrics=[Metric("m", 1.5)], figures={"f": figure}), {})
    document = json.loads((folder / archive.RESULT).read_text())
    change(document)
    (folder / archive.RESULT).write_text(json.dumps(document))


def set_in(*path, value):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_in("format", value="other"), "not a result of alice-interp"),
        (set_in("version", value=1), "old format version 1, .*; run the analysis again"),
        (set_in("version", value=99), "version 99, not 4; upgrade the program"),
        (set_in("result", value=[]), "damaged"),
        (set_in("result", "title", value=5), "damaged"),
        (set_in("result", "extra", value=5), "damaged"),
        (set_in("result", "arrays", value={}), "damaged"),
        (set_in("result", "metrics", 0, "value", value={"$float": "1"}), "damaged"),
        (set_in("result", "metrics", 0, "value", value={"$code": "1"}), "damaged"),
        (set_in("result", "metrics", 0, "interval", value=[1]), "damaged"),
        (set_in("result", "metrics", 0, "extra", value=1), "damaged"),
        (set_in("result", "metrics", value={"m": 1}), "damaged"),
        (set_in("result", "tables", value={"../t": {"columns": [], "rows": []}}), "damaged"),
        (set_in("result", "figures", "f", "plotly", "layout", value={"onload": "x"}), "damaged"),
        (set_in("result", "figures", "f", "plotly", "data", value=[{"type": "evil"}]), "damaged"),
        (set_in("result", "figures", "f", "plotly", value="x"), "damaged"),
        (set_in("provenance", value=[1]), "provenance"),
        (set_in("arrays_sha256", value="00"), "does not belong"),
    ],
)
def test_a_foreign_or_hostile_result_is_one_sentence(tmp_path, change, words):
    edited(tmp_path, change)
    with pytest.raises(AliceError, match=words) as caught:
        read_report(tmp_path)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "NaN", '{"a": 1, "a": 2}', '{"a": 1e999}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "\x00"],
)
def test_json_that_is_not_ours_is_one_sentence(tmp_path, text):
    (tmp_path / archive.RESULT).write_text(text)
    with pytest.raises(AliceError, match=r"not valid JSON|not a result of alice-interp"):
        read_report(tmp_path)


def with_arrays(folder, content):
    """Write a report whose result.json names the hash of any bytes."""
    write_result(folder, Result("T"), {})
    (folder / archive.ARRAYS).write_bytes(content)
    path = folder / archive.RESULT
    document = json.loads(path.read_text())
    document["arrays_sha256"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(document))


def zipped(tmp_path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(tmp_path / "made.zip", "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return (tmp_path / "made.zip").read_bytes()


def pickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    return zipped(tmp_path, {"o.npy": (tmp_path / "o.npy").read_bytes()})


def bomb(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros(10**6))
    return zipped(tmp_path, {"z.npy": (tmp_path / "z.npy").read_bytes()}, zipfile.ZIP_DEFLATED)


def huge_shape(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}".ljust(117) + "\n"
    return zipped(tmp_path, {"h.npy": b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()})


@pytest.mark.parametrize(
    "make",
    [
        lambda path: b"",
        lambda path: b"not a zip file",
        pickled,
        bomb,
        huge_shape,
        lambda path: zipped(path, {"evil.py": b"print()"}),
        lambda path: zipped(path, {"a.npy": b"\x93NUMPY"}),
        lambda path: zipped(path, {"../a.npy": encoding.pack_arrays({"a": np.ones(1)})}),
    ],
)
def test_a_hostile_file_of_arrays_is_one_sentence(tmp_path, make):
    with_arrays(tmp_path, make(tmp_path))
    with pytest.raises(AliceError, match=r"arrays\.npz|damaged"):
        read_report(tmp_path)


TENSORS = {"layer.A": np.arange(6, dtype=np.float32).reshape(2, 3), "layer.b": np.array([1, 2], dtype=np.int64)}


def test_artefacts_come_back_exactly_with_the_provenance_in_their_file(tmp_path):
    write_result(tmp_path, Result("T", artefacts={"lens@base": TENSORS}), {"analysis": "a", "none": float("nan")})
    found = read_report(tmp_path).artefact("lens", "base")
    for name, array in TENSORS.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    tensors, provenance = read_tensors(tmp_path / "lens@base.safetensors")
    assert sorted(tensors) == sorted(TENSORS)
    assert provenance["analysis"] == "a"


def test_the_hash_of_a_result_covers_its_artefacts_but_not_their_provenance(tmp_path):
    result = Result("T", artefacts={"lens": TENSORS})
    assert fingerprint(result) != fingerprint(Result("T", artefacts={"lens": {"layer.A": TENSORS["layer.A"]}}))
    for seed, folder in enumerate((tmp_path / "a", tmp_path / "b")):
        folder.mkdir()
        write_result(folder, result, {"seed": seed})
    hashes = [json.loads((tmp_path / name / "result.json").read_text())["artefacts"] for name in "ab"]
    assert hashes[0] == hashes[1]


def test_an_artefact_that_is_missing_damaged_or_another_is_one_sentence(tmp_path):
    write_result(tmp_path, Result("T", artefacts={"lens": TENSORS}), {})
    path = tmp_path / "lens.safetensors"
    whole = path.read_bytes()
    write_tensors(tmp_path, "lens", {"layer.A": np.zeros(3)}, {})
    with pytest.raises(AliceError, match=r"does not belong to its result\.json"):
        read_report(tmp_path)
    path.write_bytes(whole[:20])
    with pytest.raises(AliceError, match="is not an artefact"):
        read_report(tmp_path)
    path.unlink()
    with pytest.raises(AliceError, match="cannot be read"):
        read_report(tmp_path)


@pytest.mark.parametrize(
    ("artefacts", "words"),
    [
        ({"lens": {}}, "give a dict from names to tensors"),
        ({"lens": {"": np.zeros(1)}}, "a name of its own"),
        ({"lens": {"a": np.array(["x"])}}, "give numbers"),
        ({"a b": TENSORS}, "a name begins with a letter"),
    ],
)
def test_what_is_not_an_artefact_is_refused(artefacts, words):
    with pytest.raises(AliceError, match=words):
        Result("T", artefacts=artefacts)
