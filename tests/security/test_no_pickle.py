"""No data file can execute code: neither pickles nor texts are ever evaluated."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from alice.cli import main
from alice.errors import AliceError
from alice.reports import archive, encoding

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [
    path for room in ("alice", "probes", "plugins", "reports", "benchmarks") for path in (ROOT / room).rglob("*.py")
]
UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "yaml",
    "jsonpickle",
}
UNSAFE_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "pandas.read_pickle",
    "pd.read_pickle",
}
PICKLING = r"(.*\.)?(all_)?(gather|scatter|broadcast|send|recv)_object(_list)?"
UNSAFE_NAMES = re.compile(rf"(torch|numpy)\.load|torch\.jit\.load|{PICKLING}")
"""Functions that pickle or unpickle; a module may not import them by name, since it could call them by another."""
HARMLESS = {"pickle.UnpicklingError"}
"""Raised by torch when it refuses a pickle."""


def dotted(node):
    """Return a name such as `torch.load`, or an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults(source):
    """Return what in a source file could execute the content of a data file."""
    tree = ast.parse(source)
    found = [
        name
        for name in imported(tree)
        if (name.split(".")[0] in UNSAFE_MODULES and name not in HARMLESS) or UNSAFE_NAMES.fullmatch(name)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "pickle":
            found.append("'pickle'")
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
        unsafe_torch = name.endswith("torch.load") and given.get("weights_only") is not True
        unsafe_numpy = name in ("np.load", "numpy.load") and given.get("allow_pickle") is not False
        shell = name.split(".")[0] == "subprocess" and given.get("shell") not in (None, False)
        if (
            name in UNSAFE_CALLS
            or name.endswith("jit.load")
            or re.fullmatch(PICKLING, name)
            or unsafe_torch
            or unsafe_numpy
            or shell
            or given.get("allow_pickle") is True
        ):
            found.append(name)
        if given.get("trust_remote_code"):
            found.append("trust_remote_code")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_executes_data(path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib",
        "import dill.source",
        "import_module('pickle')",
        "torch.load(f)",
        "from torch import load",
        "from numpy import load",
        "torch.jit.load(f)",
        "from accelerate.utils import broadcast_object_list",
        "torch.distributed.all_gather_object(x, y)",
        "torch.load(f, weights_only=False)",
        "np.load(f)",
        "np.load(f, allow_pickle=True)",
        "eval(x)",
        "import yaml",
        "subprocess.run(x, shell=True)",
        "load_dataset(x, trust_remote_code=True)",
    ],
)
def test_unsafe_code_is_found(source):
    assert faults(source)


def test_only_plugins_are_executed_and_in_one_place():
    running = [path.name for path in FILES if re.search(r"exec_module|runpy", path.read_text(encoding="utf-8"))]
    assert set(running) == {"discovery.py"}


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("new_format", [True, False])
def test_a_payload_in_a_checkpoint_is_refused_in_one_line(tmp_path, new_format):
    import torch

    whole = {"model_state_dict": {}, "config": {"x": Payload(tmp_path / "ran")}}
    torch.save(whole, tmp_path / "evil.pt", _use_new_zipfile_serialization=new_format)
    done = CliRunner().invoke(main, ["ckpt", "import", str(tmp_path / "evil.pt"), "--out", str(tmp_path / "out")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "could execute code, so it is refused" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out").exists()


def test_a_payload_in_place_of_weights_is_refused(tmp_path):
    import torch
    from tiny import tiny

    from alice.model import Alice

    tiny("base").save_pretrained(tmp_path / "ckpt")
    torch.save(Payload(tmp_path / "ran"), tmp_path / "ckpt" / "model.safetensors")
    with pytest.raises(AliceError, match="not a safetensors file"):
        Alice.from_pretrained(tmp_path / "ckpt")
    assert not (tmp_path / "ran").exists()


def test_objects_among_the_arrays_of_a_report_are_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", odd=np.array([Payload(tmp_path / "ran")], dtype=object))
    content = (tmp_path / archive.ARRAYS).read_bytes()
    with pytest.raises(AliceError, match="not a file of plain arrays"):
        encoding.read_arrays(tmp_path / archive.ARRAYS, archive.hashlib.sha256(content).hexdigest())
    assert not (tmp_path / "ran").exists()
    np.load(tmp_path / "arrays.npz", allow_pickle=True)["odd"]
    assert (tmp_path / "ran").exists()  # the payload works if it is unpickled
