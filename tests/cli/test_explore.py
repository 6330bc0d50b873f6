"""`alice-interp explore` and `run --explore`."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.checkpoint.packed import pack, tensor_shapes
from alice.cli import main
from alice.model import ModelConfig


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder with a checkpoint and texts."""
    monkeypatch.chdir(tmp_path)
    save_checkpoint(Path("model"))
    save_texts(Path("texts.txt"))


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


def content(page, name):
    return re.search(rf'id="explorer-{name}">([^<]*)<', Path(page).read_text())[1]


def test_the_page_holds_the_model_and_the_state():
    done = invoke("explore", "--ckpt", "model", "--out", "page.html", "--state", '{"text": "AB", "off": [["mlp", 1]]}')
    assert (done.exit_code, done.stdout) == (0, "page.html\n"), done.output
    header = json.loads(content("page.html", "header"))
    assert (header["name"], header["config"]["n_layers"]) == ("model", 2)
    assert json.loads(content("page.html", "state")) == {"text": "AB", "off": [["mlp", 1]]}


def test_a_page_is_replaced_and_another_file_only_by_force():
    assert invoke("explore", "--ckpt", "model").exit_code == 0
    assert invoke("explore", "--ckpt", "model").exit_code == 0
    Path("mine.html").write_text("mine")
    done = invoke("explore", "--ckpt", "model", "--out", "mine.html")
    assert done.exit_code == 1
    assert "mine.html already exists; add --force" in done.stderr
    assert Path("mine.html").read_text() == "mine"
    assert invoke("explore", "--ckpt", "model", "--out", "mine.html", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--state", "nonsense"], "this is no state of the explorer; copy the link"),
        (
            ["--state", '{"off": [["head", 9, 0]]}'],
            "the field 'off' of a state of the explorer is not valid for the model",
        ),
        (["--ckpt", "bse"], "there is no checkpoint 'bse'; did you mean 'base'"),
        (["--out", "model/page.html"], "is inside model, which is read by this command"),
        (["--out", "gone/page.html"], "gone"),
    ],
)
def test_what_cannot_be_written_is_one_sentence_and_leaves_no_file(arguments, sentence):
    done = invoke("explore", "--ckpt", "model", *arguments)
    assert done.exit_code == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(Path().rglob("*.html"))


def test_weights_that_do_not_fit_the_configuration_are_refused():
    config = json.loads(Path("model/config.json").read_text())
    Path("model/config.json").write_text(json.dumps({**config, "symbols": config["symbols"] + "#"}))
    assert "has shape" in invoke("explore", "--ckpt", "model").stderr
    Path("model/config.json").write_text(json.dumps({**config, "variant": "bijective"}))
    assert "the weight head.query is missing" in invoke("explore", "--ckpt", "model").stderr


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_the_weights_of_a_page_are_those_of_the_model(variant):
    model = tiny(variant, hyper_mlp=24)
    assert tensor_shapes(model.config) == {name: tuple(w.shape) for name, w in model.state_dict().items()}
    assert tensor_shapes(ModelConfig(variant=variant)).keys() >= {"ln_final.w"}


def test_a_single_precision_model_is_rounded_to_half(tmp_path):
    packed = pack("model")
    assert len(packed.weights) == 2 * sum(weight.numel() for weight in tiny("base").state_dict().values())


@pytest.mark.parametrize(
    ("analysis", "label"),
    [
        (["ablation", "--samples", "3", "--pairs", "0", "--permutations", "10"], "Switch off L"),
        (["patching", "--samples", "3", "--map-samples", "1", "--kind", "relabel-two"], "Patch layer "),
        (["circuit", "--samples", "4", "--steps", "1"], "where the best edges begin"),
        (["early-exit", "--samples", "5"], "Step through the layers of example 0"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_report_links_to_what_can_be_tried(analysis, label):
    done = invoke("run", *analysis, "--ckpt", "model", "--data", "texts.txt", "--split", "all", "--explore")
    assert done.exit_code == 0, done.output
    assert "explorer of model: runs/explore-model.html" in done.stderr
    page = Path(done.stdout.splitlines()[-1]).read_text()
    assert label in page
    assert 'href="../explore-model.html#s=' in page


def test_an_analysis_without_a_model_has_no_explorer():
    done = invoke("run", "scaling", "--trainings", "texts.txt", "--explore")
    assert done.exit_code == 1
