"""ONNX files: onnxruntime gives the model's answers, and a file that does not is never written."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from tiny import tiny

from alice.checkpoint import onnx_file
from alice.cli import main
from alice.errors import AliceError
from alice.text import Batches, EncodedTexts


def batches(model):
    texts = EncodedTexts(["NOBODY READS THIS, NOT EVEN YOU.", "A SHORT ONE", "Q"], model.alphabet)
    return Batches(texts, model.alphabet)


@pytest.fixture(scope="module")
def runtime():
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    return pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def file(runtime, tmp_path_factory):
    """The file of a tiny base model."""
    model, out = tiny("base", n_layers=1), tmp_path_factory.mktemp("onnx") / "model.onnx"
    onnx_file.write(out, model, batches(model))
    return out


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_a_file_gives_the_scores_of_the_model_and_has_its_alphabet(runtime, file, variant, tmp_path):
    model = tiny(variant, n_layers=1)
    if variant != "base":
        file = tmp_path / "model.onnx"
        onnx_file.write(file, model, batches(model))
    found = onnx_file.compare(file, model, batches(model))
    assert (found.texts, found.characters, found.different) == (3, 44, 0)
    assert found.largest < 1e-4
    session = runtime.InferenceSession(file)
    about = session.get_modelmeta().custom_metadata_map
    assert about["alphabet"] == model.alphabet.symbols
    assert json.loads(about["config"]) == model.config.to_dict()
    ids = model.to_tokens(["LONGER THAN ANY OTHER " * 4, "X"])
    with torch.no_grad():
        expected = model(ids, soft=True).numpy()
    np.testing.assert_allclose(session.run(None, {"ids": ids.numpy()})[0], expected, atol=1e-4)


def test_the_file_of_a_model_that_renames_letters_renames_them_too(runtime, tmp_path):
    model = tiny("bijective", n_layers=1, relabel="frequency")
    onnx_file.write(tmp_path / "model.onnx", model, batches(model))
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    first, second = (
        session.run(None, {"ids": model.to_tokens([text, "X"]).numpy()})[0][0]
        for text in ("TO BE OR NOT TO BE", "QV MF VI AVQ QV MF")
    )
    assert np.array_equal(first, second)


def test_a_file_with_other_answers_is_not_written(file, tmp_path, monkeypatch):
    model = tiny("base", n_layers=1)
    monkeypatch.setattr(onnx_file, "_onnx", lambda model: file.read_bytes())
    monkeypatch.setattr(onnx_file, "_scores", lambda model, ids: -model(ids).detach().numpy())
    with pytest.raises(AliceError, match=r"another answer for \d+ of 44 characters.*was not written"):
        onnx_file.write(tmp_path / "model.onnx", model, batches(model))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "find_spec", lambda name: None)
    with pytest.raises(AliceError, match=r"needs the package onnx; run pip install 'alice-interp\[interop\]'"):
        onnx_file.write(tmp_path / "model.onnx", tiny("base"), [])


def invoke(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_the_command_writes_a_checkpoint_folder_as_onnx(file, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "_onnx", lambda model: file.read_bytes())
    tiny("base", n_layers=1).save_pretrained(tmp_path / "tiny")
    out = tmp_path / "model.onnx"
    done = invoke("ckpt", "export", tmp_path / "tiny", "--format", "onnx", "--out", out, "--samples", 20)
    assert done.exit_code == 0, done.output
    assert "onnxruntime gives the model's answer for all" in done.stdout
    assert "of 20 texts" in done.stdout
    assert done.stdout.endswith(f"done: {out}\n")
    again = invoke("ckpt", "export", tmp_path / "tiny", "--format", "onnx", "--out", out)
    assert again.exit_code == 1
    assert "already exists; add --force" in again.stderr


def test_onnx_files_have_no_card(tmp_path):
    done = invoke("ckpt", "export", "base", "--format", "onnx", "--out", tmp_path / "m.onnx", "--name", "mine")
    assert done.exit_code == 1
    assert "--name is the name on a card" in done.stderr
