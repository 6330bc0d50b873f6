import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from trainings import write_corpus

from alice.cli import main
from alice.training.folder import kept_checkpoints, read_metrics
from alice.training.loop import Trainer

FAST = ["--threads", "1", "--precision", "fp32", "--compile", "no", "--device", "cpu"]
FAST += ["--log-every", "1", "--eval-texts", "4", "--batch-tokens", "256"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return str(write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt"))


def sweep(*arguments):
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def about(folder):
    return json.loads((folder / "training.json").read_text())


def test_pools_are_trained_one_after_another_and_then_skipped(corpus, tmp_path):
    command = ("generalization", "--pools", "10,all", "--preset", "mini", "--data", corpus, "--out", tmp_path, *FAST)
    result = sweep(*command, "--steps", 3)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"done: {tmp_path}; draw it with: alice-interp run generalization --trainings {tmp_path}\n"
    assert "pool-10: starting" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool-10", "pool-all"]
    assert [about(tmp_path / name)["recipe"]["cipher_pool"] for name in ("pool-10", "pool-all")] == [10, None]
    assert about(tmp_path / "pool-10")["model"] == about(tmp_path / "pool-all")["model"]
    again = sweep(*command, "--steps", 3)
    assert again.exit_code == 0
    assert again.stderr == "pool-10: finished, 3 steps\npool-all: finished, 3 steps\n"
    longer = sweep(*command, "--steps", 4)
    assert "pool-all: resuming at step 3" in longer.stderr
    assert read_metrics(tmp_path / "pool-all")[-1]["step"] == 4


def test_no_workers_are_started_for_a_sweep_that_is_finished(corpus, tmp_path, monkeypatch):
    command = ("generalization", "--pools", "10", "--preset", "tiny", "--data", corpus, "--out", tmp_path, *FAST)
    assert sweep(*command, "--steps", 1).exit_code == 0
    monkeypatch.setattr("alice.cluster.open_cluster", lambda **options: pytest.fail("workers are started"))
    again = sweep(*command, "--steps", 1, "--workers", 2)
    assert again.exit_code == 0, again.output
    assert again.stderr == "pool-10: finished, 1 steps\n"


def test_sizes_are_trained_with_one_recipe(corpus, tmp_path):
    result = sweep("scaling", "--presets", "mini,0.5m", "--data", corpus, "--out", tmp_path, "--steps", 2, *FAST)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"alice-interp run scaling --trainings {tmp_path}\n")
    mini, other = (about(tmp_path / name) for name in ("size-mini", "size-0.5m"))
    assert mini["recipe"] == other["recipe"]
    assert (mini["model"]["d_model"], other["model"]["d_model"]) == (64, 128)
    sizes = {"d_model", "n_layers", "n_heads", "d_mlp", "hyper_heads"}
    assert {name for name, value in mini["model"].items() if value != other["model"][name]} == sizes


def test_renamings_and_seeds_are_trained_in_every_combination(corpus, tmp_path):
    varied = ("--relabel", "none,frequency", "--seeds", "0,7")
    result = sweep("scaling", "--presets", "tiny", *varied, "--data", corpus, "--out", tmp_path, "--steps", 1, *FAST)
    assert result.exit_code == 0, result.output
    found = {path.name: about(path) for path in tmp_path.iterdir()}
    settings = {name: (one["model"]["relabel"], one["recipe"]["seed"]) for name, one in found.items()}
    assert settings == {
        f"size-tiny-{relabel}-seed-{seed}": (relabel, seed) for relabel in ("none", "frequency") for seed in (0, 7)
    }


def test_a_signal_saves_and_the_same_command_continues(corpus, tmp_path, monkeypatch):
    arguments = ["--pools", "5,all", "--preset", "mini", "--data", corpus, "--out", str(tmp_path), *FAST]
    step = Trainer._step

    def interrupted(self, batch):
        if self.counters.step == 2:
            signal.raise_signal(signal.SIGTERM)
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_step", interrupted)
        stopped = sweep("generalization", *arguments, "--steps", 4)
    assert stopped.exit_code == 143
    assert stopped.stderr.splitlines()[-1] == f"stopped and saved in {tmp_path}; repeat the command to continue"
    assert not (tmp_path / "pool-all").exists()
    result = sweep("generalization", *arguments, "--steps", 4)
    assert "pool-5: resuming at step 3" in result.stderr
    assert [read_metrics(tmp_path / name)[-1]["step"] for name in ("pool-5", "pool-all")] == [4, 4]


def test_pools_are_trained_with_every_seed_and_keep_their_steps(corpus, tmp_path):
    varied = ("--pools", "3,all", "--seeds", "1,0", "--keep-steps", "log:2", "--preset", "tiny")
    result = sweep("generalization", *varied, "--data", corpus, "--out", tmp_path, "--steps", 4, *FAST)
    assert result.exit_code == 0, result.output
    found = {path.name: about(path)["recipe"] for path in tmp_path.iterdir()}
    assert {name: (recipe["cipher_pool"], recipe["seed"]) for name, recipe in found.items()} == {
        f"pool-{pool or 'all'}-seed-{seed}": (pool, seed) for pool in (3, None) for seed in (0, 1)
    }
    assert all(list(kept_checkpoints(tmp_path / name)) == [0, 1, 3, 4] for name in found)


MISTAKES = [
    (["generalization", "--pools", "10,many"], "'many', which is not a number of keys"),
    (["generalization", "--pools", "0"], "'0', which is not a number of keys"),
    (["generalization", "--pools", ","], "--pools is empty"),
    (["generalization", "--pools", "10,10"], "--pools names 10 twice"),
    (["generalization", "--pools", "10,010"], "--pools names 10 twice"),
    (["generalization", "--seeds", "1,01"], "--seeds names 1 twice"),
    (["generalization", "--scheduler", ""], "--scheduler is empty; give the address"),
    (["generalization", "--steps", "5", "--hours", "1"], "one budget"),
    (["scaling", "--presets", "mini,smal"], "there is no preset 'smal'; did you mean 'small'"),
    (["scaling", "--relabel", "none,frequent"], "there is no renaming 'frequent'"),
    (["generalization", "--workers", "2", "--scheduler", "tcp://here:1"], "--workers starts workers here, and --sched"),
    (["generalization", "--engine", "dask"], "--engine dask needs --scheduler with its address, or --workers"),
    (["generalization", "--seeds", "0,1", "--seed", "2"], "--seed and --seeds contradict each other"),
    (["scaling", "--seeds", "0,x"], "--seeds has 'x', which is not a seed"),
    (["scaling", "--seeds", "0,1", "--seed", "2"], "--seed and --seeds contradict each other"),
]


def test_a_mistake_is_one_line_before_anything_heavy_is_imported(tmp_path):
    program = (
        "import sys; from alice.cli import main\n"
        f"for arguments in {[arguments for arguments, _ in MISTAKES]!r}:\n"
        "    try: main(['sweep', *arguments])\n"
        "    except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "1 False\n" * len(MISTAKES)
    for line, (_, complaint) in zip(done.stderr.splitlines(), MISTAKES, strict=True):
        assert complaint in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "varied"), [("generalization", "--cipher-pool"), ("scaling", "--preset ")])
def test_help_has_the_options_of_a_training_except_what_varies(name, varied):
    shown = sweep(name, "--help").stdout
    for option in ("--steps", "--hours", "--lr", "--data", "--variant", "--threads", "--track"):
        assert f"{option} " in shown
    assert varied not in shown
    assert "--resume" not in shown


def test_what_a_failed_training_says_has_no_control_characters(corpus, tmp_path):
    (tmp_path / "gone").symlink_to("nowhere")  # a folder below it cannot be created
    out = tmp_path / "gone" / "\x1b[31mred"
    result = sweep("scaling", "--presets", "mini", "--data", corpus, "--out", out, *FAST, "--steps", 1)
    assert result.exit_code == 1
    assert "size-mini failed: cannot create the folder" in result.stderr
    assert all(line.isprintable() for line in result.stderr.splitlines())
