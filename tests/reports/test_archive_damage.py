"""Truncated, foreign and hostile files: each is refused with one sentence."""

import hashlib
import json
import zipfile

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Result, archive, array_file
from alice.reports.archive import read_report, write_result


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_result_is_told(tmp_path, result, share):
    write_result(tmp_path, result, {})
    path = tmp_path / archive.RESULT
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AliceError, match="no valid JSON"):
        read_report(tmp_path)


def edited(folder, change):
    write_result(folder, Result("T", metrics={"m": 1.5}, figures={"f": go.Figure(go.Scatter(y=np.ones(2)))}), {})
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
        (set_in("format", value="other"), "no result of alice-interp"),
        (set_in("version", value=99), "version 99"),
        (set_in("result", value=[]), "damaged"),
        (set_in("result", "title", value=5), "damaged"),
        (set_in("result", "extra", value=5), "damaged"),
        (set_in("result", "metrics", "m", value={"$float": "1"}), "damaged"),
        (set_in("result", "metrics", "m", value={"$code": "1"}), "damaged"),
        (set_in("result", "tables", value={"../t": {"columns": [], "rows": []}}), "damaged"),
        (set_in("result", "figures", "f", "layout", value={"onload": "x"}), "damaged"),
        (set_in("result", "figures", "f", "traces", value=[{"type": "evil"}]), "damaged"),
        (set_in("result", "figures", "f", "traces", 0, "y", "dtype", value="O"), "damaged"),
        (set_in("result", "figures", "f", "traces", 0, "y", "shape", value=[10**12]), "damaged"),
        (set_in("result", "figures", "f", "traces", 0, "y", "$array", value="not base64!"), "damaged"),
        (set_in("provenance", value=[1]), "provenance"),
        (set_in("arrays_sha256", value="00"), "not the file"),
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
def test_json_that_is_none_of_ours_is_one_sentence(tmp_path, text):
    (tmp_path / archive.RESULT).write_text(text)
    with pytest.raises(AliceError, match=r"no valid JSON|no result of alice-interp"):
        read_report(tmp_path)


def with_arrays(folder, content):
    """Write a run whose result.json vouches for any bytes."""
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
        lambda path: b"no zip",
        pickled,
        bomb,
        huge_shape,
        lambda path: zipped(path, {"evil.py": b"print()"}),
        lambda path: zipped(path, {"a.npy": b"\x93NUMPY"}),
        lambda path: zipped(path, {"../a.npy": array_file.pack({"a": np.ones(1)})}),
    ],
)
def test_a_hostile_file_of_arrays_is_one_sentence(tmp_path, make):
    with_arrays(tmp_path, make(tmp_path))
    with pytest.raises(AliceError, match=r"arrays\.npz|damaged"):
        read_report(tmp_path)
