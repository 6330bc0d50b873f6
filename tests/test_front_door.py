"""The front door: what `import alice` offers, and that it is the road of the command line."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import plotly.io
import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts, write_plugin

import alice
from alice import front_door
from alice.cache import FOLDER_VARIABLE
from alice.cli import main
from alice.errors import AliceError
from alice.front_door import build_analysis
from alice.plugins import Metric, Result
from alice.reports import read_report
from alice.solving import open_languages

CIPHERTEXT = "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two checkpoints and some texts."""
    folder = tmp_path_factory.mktemp("front-door")
    save_checkpoint(folder / "model")
    save_checkpoint(folder / "other", "bijective")
    save_texts(folder / "texts.txt")
    return folder


@pytest.fixture(autouse=True)
def alone(monkeypatch, place):
    """No plugins but those of the test."""
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    monkeypatch.chdir(place)


@pytest.fixture(scope="module")
def found(place):
    """A report of early-exit on two models."""
    data = {"data": str(place / "texts.txt"), "split": "all"}
    return alice.run("early-exit", place / "model", place / "other", **data, samples=9, examples=[3])


def test_importing_it_loads_nothing_heavy():
    heavy = {"torch", "numpy", "plotly", "pandas", "click", "pluggy"}
    program = f"import sys, alice; dir(alice); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_everything_that_it_offers_is_there():
    for name in dir(alice):
        assert getattr(alice, name).__doc__


def test_a_name_that_it_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'lod'"):
        alice.lod  # noqa: B018


def test_a_model_is_loaded_onto_the_device_that_is_named(place):
    assert alice.load(place / "model", device="cpu").cfg.device.type == "cpu"
    for device in ("nowhere", "meta"):
        with pytest.raises(AliceError, match=f"cannot compute on the device '{device}'"):
            alice.load(place / "model", device=device)


def test_one_text_gives_a_solution_and_a_list_gives_a_list(place):
    model = alice.load(place / "other")
    one = alice.solve(CIPHERTEXT, model=model, layers=True)
    assert one.ciphertext == CIPHERTEXT
    assert sorted(one.key) == sorted(set(CIPHERTEXT) - {" ", ","})
    assert len(one.layers) == 1 + model.config.n_layers
    again, unsolved = alice.solve([CIPHERTEXT, "123"], model=place / "other")
    assert again.plaintext == one.plaintext
    assert (unsolved.key, unsolved.layers) == ({}, [])


@pytest.mark.parametrize("texts", [5, None, [CIPHERTEXT, 5], Path("texts.txt")])
def test_something_other_than_texts_is_refused_in_one_sentence(texts):
    with pytest.raises(AliceError, match="is not a text to solve; give a string or a list of strings"):
        alice.solve(texts, model="model")


def test_a_guided_search_takes_languages_by_name_or_by_file(place, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    text = place / "texts.txt"
    found = [
        alice.solve(CIPHERTEXT, model="other", solver="guided", languages=given)
        for given in (text, [text], str(text), open_languages([str(text)]))
    ]
    assert found == found[:1] * 4
    assert found[0].candidates[0].plaintext == found[0].plaintext


@pytest.mark.parametrize("solver", ["guided", "hill-climbing"])
@pytest.mark.parametrize("languages", [[], None, 5, [5]])
def test_what_is_no_language_is_refused_in_one_sentence(solver, languages):
    with pytest.raises(AliceError, match="is no language to solve in; give the name of a corpus, or a list of them"):
        alice.solve(CIPHERTEXT, model="other", solver=solver, languages=languages)


def test_the_model_is_among_the_solvers_that_are_suggested():
    with pytest.raises(AliceError, match="there is no solver 'modl'; did you mean 'model'"):
        alice.solve(CIPHERTEXT, model="other", solver="modl")


def test_solving_again_keeps_the_model_until_its_files_change(place, tmp_path, monkeypatch):
    folder = save_checkpoint(tmp_path / "mine")
    loads, load = [], front_door.load
    monkeypatch.setattr(front_door, "load", lambda *args, **options: loads.append(args) or load(*args, **options))
    answers = {alice.solve(CIPHERTEXT, model=folder).plaintext for _ in range(3)}
    assert (len(loads), len(answers)) == (1, 1)
    (folder / "being-written").symlink_to("gone")  # as a training's temporary files are, between two looks
    alice.solve(CIPHERTEXT, model=folder)
    assert len(loads) == 1
    save_checkpoint(folder, "bijective")
    alice.solve(CIPHERTEXT, model=folder)
    assert len(loads) == 2


def test_a_list_of_texts_is_read_in_full(place):
    assert alice.run("early-exit", place / "model", data=["ONE TEXT", "ANOTHER"]).metric("texts").value == 2


def test_a_report_has_metrics_tables_and_figures_by_name(found, monkeypatch):
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")  # as in a notebook
    assert found.metric("ser", model="model").unit == "%"
    assert set(found.tables["error-by-layer"].to_pandas()["model"]) == {"model", "other"}
    assert "application/vnd.plotly.v1+json" in found.figures["error-by-layer"]._repr_mimebundle_()
    assert found.folder is None
    assert not Path("runs").exists()


def test_a_saved_report_is_what_the_command_line_writes(found, tmp_path):
    stored = found.save(tmp_path / "python")
    arguments = ["--ckpt", "model", "--ckpt", "other", "--data", "texts.txt", "--split", "all"]
    options = ["--samples", "9", "--examples", "3", "--out", str(tmp_path / "shell")]
    result = CliRunner().invoke(main, ["run", "early-exit", *arguments, *options])
    assert result.exit_code == 0, result.output
    written = read_report(Path(result.stdout.splitlines()[-1]).parent)
    assert written.metrics == stored.metrics
    assert written.provenance["options"] == stored.provenance["options"]
    hashes = [[one["sha256"] for one in report.provenance["checkpoints"]] for report in (written, stored)]
    assert hashes[0] == hashes[1]  # their places were given otherwise
    assert written.provenance["plugin"] == stored.provenance["plugin"]
    assert {path.name for path in written.folder.iterdir()} == {path.name for path in stored.folder.iterdir()}


def test_the_analyses_are_those_of_all_plugins(tmp_path, monkeypatch):
    write_plugin(tmp_path / "mine.py")
    monkeypatch.setenv("ALICE_INTERP_PLUGINS", str(tmp_path))
    monkeypatch.delenv("ALICE_INTERP_LOAD_PLUGINS")
    assert alice.analyses()["count"] == "Count the texts."
    assert "early-exit" in alice.analyses()
    report = alice.run("count", "model", data=["ONE TEXT", "ANOTHER"], split="all", seed=3)
    assert report.metric("texts").value == 2
    assert (report.provenance["seed"], report.provenance["plugin"]["name"]) == (3, "mine")


@dataclass(frozen=True)
class Own:
    """An analysis written in a notebook."""

    name = "own"
    checkpoints = "none"
    value: int = 3

    def run(self, ctx):
        return Result("Own", metrics=[Metric("value", self.value + ctx.seed)])


def test_an_analysis_of_ones_own_runs_without_being_a_plugin():
    assert alice.run(Own(value=5), seed=2).metric("value").value == 7
    with pytest.raises(AliceError, match="own is built already; set value where you build it"):
        alice.run(Own(), value=4)


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        (["erly-exit", "model"], {}, "there is no analysis 'erly-exit'; did you mean 'early-exit'"),
        (["early-exit"], {}, "early-exit needs a checkpoint: a bundled model, a checkpoint folder or a hub id$"),
        (["scaling", "model"], {}, "scaling reads no checkpoint"),
        (["early-exit", "model"], {"sample": 3}, "early-exit has no option 'sample'; did you mean 'samples'"),
        (["early-exit", "model"], {"samples": "many"}, "early-exit cannot take samples='many'; its type is int"),
        (["early-exit", "model"], {"encrypt": True}, "there is nothing to encrypt; give text with encrypt"),
        (["scaling"], {}, "scaling needs trainings; make some with: alice-interp sweep"),
        (["early-exit", "model"], {"split": "tst"}, "there is no split 'tst'; choose 'test', 'validation', 'train' or"),
        (["early-exit", "model"], {"samples": 0}, "samples=0"),
        (["early-exit", "nowhere"], {}, "there is no checkpoint 'nowhere'"),
        (["early-exit", "model"], {"device": "nowhere"}, "cannot compute on the device"),
    ],
)
def test_a_wrong_argument_is_one_sentence_about_arguments(arguments, options, complaint):
    with pytest.raises(AliceError, match=complaint):
        alice.run(*arguments, **{"data": "texts.txt", "split": "all"} | options)


@dataclass(frozen=True)
class Kinds:
    """Options of several kinds."""

    name = "kinds"
    file: Path | None = None
    files: tuple[Path, ...] = ()
    pair: tuple[int, str] = (1, "a")
    level: Literal["low", "high"] = "low"
    share: float = 0.5


def test_options_are_converted_as_python_writes_them():
    built = build_analysis(Kinds, {"file": "a", "files": ["b", Path("c")], "pair": [2, "b"], "share": 1})
    assert built == Kinds(Path("a"), (Path("b"), Path("c")), (2, "b"), share=1)
    for name, value in {"pair": [2], "level": "middle", "files": "b", "share": [1], "file": 3}.items():
        with pytest.raises(AliceError, match=f"kinds cannot take {name}="):
            build_analysis(Kinds, {name: value})
