import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cli import main
from alice.plugins import manager
from alice.plugins.analysis import is_for_all


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No plugins but those of the test."""
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    monkeypatch.delenv("ALICE_INTERP_PLUGINS", raising=False)


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A folder with two checkpoints, texts and a plugin."""
    folder = tmp_path_factory.mktemp("stock")
    save_checkpoint(folder / "model")
    save_checkpoint(folder / "other", "bijective")
    save_texts(folder / "texts.txt")
    write_plugin(folder / "mine.py")
    return folder


@pytest.fixture
def place(stock, tmp_path, monkeypatch):
    """A copy of the folder as the current one."""
    folder = Path(shutil.copytree(stock, tmp_path / "place"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def few(monkeypatch):
    """No built-in analyses, only the corpora and solvers, so that `run all` is quick."""
    monkeypatch.setattr(manager, "BUILTIN", tuple(name for name in manager.BUILTIN if not has_analysis(name)))


def has_analysis(module):
    return hasattr(import_module(module), "register_analyses")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == code, result.output
    return result


DATA = ("--ckpt", "model", "--data", "texts.txt", "--split", "all")


def document(result):
    return json.loads((Path(result.stdout.splitlines()[-1]).parent / "result.json").read_text())


def test_a_built_in_analysis_runs_and_says_where_its_report_is(place):
    result = run("early-exit", *DATA, "--samples", "9", "--examples", "3")
    headline, report = result.stdout.splitlines()
    assert re.fullmatch(r"symbol error rate: [\d.]+ ± [\d.]+ %", headline)
    assert Path(report).is_file()
    assert document(result)["provenance"]["options"]["examples"] == [3]
    assert result.stderr == ""


def test_two_checkpoints_are_two_curves(place):
    result = run("early-exit", *DATA, "--ckpt", "other", "--samples", "5", "--examples", "0")
    assert document(result)["provenance"]["checkpoints"][1]["name"] == "other"


def test_a_plugin_file_gives_its_analysis_and_is_announced(place):
    result = run("count", *DATA, "--plugin", "mine.py", "--samples", "3")
    assert "texts: 3" in result.stdout
    assert result.stderr == "loading plugin mine.py (this runs its code)\n"
    provenance = document(result)["provenance"]
    assert provenance["plugin"] == {"name": "mine", "version": "none", "origin": "file", "where": "mine.py"}


@pytest.mark.parametrize("order", [("--plugin", "mine.py", "count"), ("--plugin=mine.py", "count")])
def test_the_plugin_may_be_named_before_the_analysis(place, order):
    assert "texts: 5" in run(*order, *DATA).stdout


def test_the_seed_and_the_folder_are_the_users(place):
    result = run("count", "--plugin", "mine.py", *DATA, "--seed", "4", "--out", "elsewhere")
    assert document(result)["provenance"]["seed"] == 4
    assert Path(result.stdout.splitlines()[-1]).is_relative_to(place / "elsewhere")


def test_an_unknown_analysis_is_answered_with_the_nearest(place):
    assert "there is no analysis 'erly-exit'; did you mean 'early-exit'?" in run("erly-exit", code=2).stderr


WRONG = [
    (["early-exit", "--samples", "many"], 2, "Invalid value for '--samples': 'many' is not a valid integer."),
    (["early-exit", "--samples", "0"], 1, "samples=0 leaves no text"),
    (
        ["early-exit"],
        1,
        "a checkpoint folder or a hub id; give it with --ckpt",
    ),
    (["count", "--plugin", "mine.py", "--ckpt", "a", "--ckpt", "b"], 1, "reads one checkpoint, not 2"),
    (["all", "--ckpt", "a", "--ckpt", "b"], 1, "run all takes one checkpoint, not 2"),
    (["all"], 1, "run all takes one checkpoint, not 0"),
    (["early-exit", "--seed", "-1", "--ckpt", "a"], 2, "'--seed': -1"),
]


def test_a_wrong_option_is_one_line_before_any_model_is_loaded(place):
    program = f"""
import json, sys
from click.testing import CliRunner
from alice.cli import main
from alice.plugins import manager
for arguments, *_ in {WRONG!r}:
    result = CliRunner().invoke(main, ["run", *arguments])
    print(json.dumps([result.exit_code, result.stderr, "torch" in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for (_, code, complaint), line in zip(WRONG, done.stdout.splitlines(), strict=True):
        found, errors, torch_loaded = json.loads(line)
        assert (found, torch_loaded) == (code, False)
        assert complaint in errors.splitlines()[-1]


def test_a_checkpoint_that_is_not_there_is_one_line(place):
    result = run("early-exit", "--ckpt", "nowhere", code=1)
    assert result.stderr.startswith("alice-interp: error: there is no checkpoint 'nowhere'")
    assert result.stderr.count("\n") == 1


def test_help_lists_every_analysis_with_its_summary(place):
    shown = " ".join(run("--plugin", "mine.py", "--help").stdout.split())
    for cls in manager.build(third_party=False).analyses.values():
        assert str(cls.name) in shown
    assert "count Count the texts." in shown
    assert "More words" not in shown


def test_the_help_of_an_analysis_shows_its_options_and_whose_it_is(place):
    shown = run("count", "--plugin", "mine.py", "--help").stdout
    assert "Texts to count." in shown
    assert "[default: 5]" in shown
    assert "From the plugin mine (mine.py)." in shown


def test_a_broken_plugin_of_the_folder_is_reported_and_the_command_goes_on(place, monkeypatch):
    folder = place / "plugins"
    folder.mkdir()
    write_plugin(folder / "broken.py", source="1 / 0")
    monkeypatch.setenv("ALICE_INTERP_PLUGINS", str(folder))
    monkeypatch.delenv("ALICE_INTERP_LOAD_PLUGINS")
    result = run("count", "--plugin", "mine.py", *DATA)
    assert f"plugin broken ({folder / 'broken.py'}) did not load: ZeroDivisionError: division" in result.stderr


@pytest.mark.parametrize(("file", "reason"), [("gone.py", "there is no file gone.py"), ("broken.py", "ZeroDivision")])
@pytest.mark.parametrize("command", [["early-exit", "--ckpt", "model"], ["all", "--ckpt", "model"], ["--help"]])
def test_a_file_given_as_a_plugin_that_does_not_load_stops_the_command(place, file, reason, command):
    write_plugin(place / "broken.py", source="1 / 0")
    result = run("--plugin", file, *command, code=1)
    assert result.stderr.splitlines()[-1].startswith(f"alice-interp: error: plugin {file} did not load: {reason}")
    assert not (place / "runs").exists()


def test_with_several_models_the_headline_of_each_is_printed(place):
    models = ("--ckpt", "model", "--ckpt", "other", "--data", "texts.txt", "--split", "all")
    line, _ = run("early-exit", *models, "--samples", "5").stdout.splitlines()
    assert re.fullmatch(r"symbol error rate: model [\d.]+ ± [\d.]+ %, other [\d.]+ ± [\d.]+ %", line)


def test_a_failing_analysis_is_one_line_and_exit_code_1(place):
    write_plugin(place / "fails.py", name="fails", body="{}['missing']")
    result = run("fails", "--plugin", "fails.py", *DATA, code=1)
    assert result.stderr.splitlines()[-1] == (
        "alice-interp: error: the analysis fails failed (KeyError: 'missing'); "
        "`alice-interp --debug run ...` shows where"
    )
    assert not (place / "runs").exists()


WITHOUT_TRAINING_TEXTS = {"lens", "features", "disagreement"}
"""Analyses that fail with `--split all`, which leaves no text to train on."""


@pytest.fixture(scope="module")
def all_run(stock, tmp_path_factory):
    """`run all` with every built-in analysis and plugins that fail each in their way, in a folder of its own."""
    place = Path(shutil.copytree(stock, tmp_path_factory.mktemp("all") / "place"))
    source = (place / "mine.py").read_text()
    write_plugin(place / "fails.py", name="fails", body="1 / 0")
    unbuilt = "    def __post_init__(self):\n        made.append(1)\n        {1: 0}[len(made)]\n\n    def run("
    moody = source.replace('name = "count"', 'name = "moody"').replace("    def run(", unbuilt)
    (place / "moody.py").write_text(f"made = []\n{moody}")
    (place / "alone.py").write_text(source.replace('name = "count"', 'name = "alone"; checkpoints = "none"'))
    files = [part for name in ("fails.py", "moody.py", "mine.py", "alone.py") for part in ("--plugin", name)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
        patch.chdir(place)
        result = run("all", *files, *DATA, code=1)
    names = {path.name.rsplit("-", 3)[0] for path in (place / "runs").iterdir() if path.is_dir()}
    return result, names


def test_all_runs_every_analysis_that_needs_only_a_checkpoint(all_run):
    result, names = all_run
    built_in = {name for name, cls in manager.build(third_party=False).analyses.items() if is_for_all(cls)}
    assert names == built_in - WITHOUT_TRAINING_TEXTS | {"count"}
    assert result.stdout.count("report.html") == len(names)
    (left_out,) = [line for line in result.stderr.splitlines() if line.startswith("left out")]
    assert {"generalization", "scaling", "alone"} <= set(left_out.partition(": ")[2].split(", "))


def test_all_goes_on_after_a_failure_and_names_all_failures_at_the_end(all_run):
    result, _ = all_run
    last = result.stderr.splitlines()[-1]
    failed = len(WITHOUT_TRAINING_TEXTS | {"fails", "moody"})
    assert last.startswith(f"alice-interp: error: {failed} of ")
    assert "; fails (the analysis fails failed (ZeroDivisionError: division by zero)" in last
    assert "moody (moody refuses its options: 2)" in last
    assert last.endswith("the other reports are in runs")


@pytest.mark.parametrize("debug", [False, True])
def test_debug_shows_where_each_analysis_of_all_failed(place, few, debug):
    write_plugin(place / "fails.py", name="fails", body="1 / 0")
    result = CliRunner().invoke(main, [*["--debug"] * debug, "run", "all", "--plugin", "fails.py", *DATA])
    assert ('fails.py", line' in result.stderr) is debug


def test_all_succeeds_where_nothing_fails(place, few):
    assert run("all", *DATA, "--plugin", "mine.py").stdout.count("report.html") == 1


def test_completing_a_line_runs_no_plugin_file(place):
    (place / "mine.py").write_text("open('ran', 'w').close()\n" + (place / "mine.py").read_text())
    for words in (["run", "--plugin", "mine.py"], ["run", "--plugin", "mine.py", "count"]):
        offered = ShellComplete(main, {}, "alice-interp", "_ALICE").get_completions(words, "")
        assert "early-exit" in {item.value for item in offered}
    assert not (place / "ran").exists()


def test_an_analysis_without_a_model_needs_none_and_takes_none(place):
    source = (place / "mine.py").read_text()
    source = source.replace("texts = sum(len(batch) for batch in ctx.sample(self.samples).batches)", "texts = 1")
    (place / "mine.py").write_text(source.replace('name = "count"', 'name = "count"; checkpoints = "none"'))
    result = run("count", "--plugin", "mine.py")
    assert Path(result.stdout.splitlines()[-1]).parent.name.startswith("count-2")
    assert document(result)["provenance"]["checkpoints"] == []
    assert "reads no checkpoint" in run("count", "--plugin", "mine.py", "--ckpt", "model", code=1).stderr


def test_what_an_analysis_needs_must_be_given(place):
    source = (place / "mine.py").read_text().replace('name = "count"', 'name = "count"; needs = ("word",)')
    (place / "mine.py").write_text(source)
    message = run("count", "--plugin", "mine.py", *DATA, code=1).stderr.splitlines()[-1]
    assert message == "alice-interp: error: count needs --word; see: alice-interp run count --help"
    assert "texts: 5" in run("count", "--plugin", "mine.py", *DATA, "--word", "x").stdout


def test_a_corpus_of_a_plugin_is_read_by_its_name(place):
    write_plugin(
        place / "corpus.py",
        source="""
        from alice.plugins import hookimpl

        @hookimpl
        def register_corpora():
            return {"mine": lambda alphabet: ["ONE TEXT", "ANOTHER TEXT"]}
        """,
    )
    files = ("--plugin", "corpus.py", "--plugin", "mine.py")
    result = run("count", *files, "--ckpt", "model", "--data", "mine", "--split", "all")
    assert "texts: 2" in result.stdout
    assert document(result)["provenance"]["data"][0]["source"] == "mine"


def test_a_small_corpus_without_test_texts_says_what_to_do(place):
    (place / "one.txt").write_text("A single sentence, all alone.\n")
    result = run("early-exit", "--ckpt", "model", "--data", "one.txt", code=1)
    assert "is in the test split; the split 'all' has every text" in result.stderr
