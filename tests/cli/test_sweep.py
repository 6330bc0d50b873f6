import json
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from training_runs import write_corpus

from alice.cli import main
from alice.training import log as metrics_log

FAST = ["--threads", "1", "--precision", "fp32", "--compile", "no", "--cpu", "--log-every", "1", "--eval-texts", "4"]
FAST += ["--batch-tokens", "256"]


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
    assert result.stdout == f"done: {tmp_path}; draw it with: alice-interp run generalization --runs {tmp_path}\n"
    assert "pool-10: starting" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool-10", "pool-all"]
    assert [about(tmp_path / name)["recipe"]["cipher_pool"] for name in ("pool-10", "pool-all")] == [10, None]
    assert about(tmp_path / "pool-10")["model"] == about(tmp_path / "pool-all")["model"]
    again = sweep(*command, "--steps", 3)
    assert again.exit_code == 0
    assert again.stderr == "pool-10: finished, 3 steps\npool-all: finished, 3 steps\n"
    longer = sweep(*command, "--steps", 4)
    assert "pool-all: going on from step 3" in longer.stderr
    assert metrics_log.read(tmp_path / "pool-all")[-1]["step"] == 4


def test_sizes_are_trained_with_one_recipe(corpus, tmp_path):
    result = sweep("scaling", "--presets", "mini,0.5m", "--data", corpus, "--out", tmp_path, "--steps", 2, *FAST)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"alice-interp run scaling --runs {tmp_path}\n")
    mini, other = (about(tmp_path / name) for name in ("size-mini", "size-0.5m"))
    assert mini["recipe"] == other["recipe"]
    assert (mini["model"]["d_model"], other["model"]["d_model"]) == (64, 128)


def test_a_signal_saves_and_the_same_command_goes_on(corpus, tmp_path):
    arguments = ["--pools", "5,all", "--preset", "mini", "--data", corpus, "--out", str(tmp_path), *FAST]
    command = [sys.executable, "-m", "alice.cli", "sweep", "generalization", *arguments, "--steps", "100000"]
    folder = tmp_path / "pool-5"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(2400):
            if (folder / "metrics.jsonl").exists() and len(metrics_log.read(folder)) > 3:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert errors.splitlines()[-1] == f"stopped and saved in {tmp_path}; the same command again goes on"
    assert "Traceback" not in errors
    assert not (tmp_path / "pool-all").exists()
    steps = metrics_log.read(folder)[-1]["step"]
    result = sweep("generalization", *arguments, "--steps", steps + 1)
    assert f"pool-5: going on from step {steps}" in result.stderr
    assert metrics_log.read(tmp_path / "pool-all")[-1]["step"] == steps + 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["generalization", "--pools", "10,many"], "'many', which is no number of keys"),
        (["generalization", "--pools", "0"], "'0', which is no number of keys"),
        (["generalization", "--pools", ","], "--pools names nothing to train"),
        (["generalization", "--pools", "10,10"], "--pools names 10 twice"),
        (["generalization", "--steps", "5", "--hours", "1"], "one budget"),
        (["scaling", "--presets", "mini,smal"], "there is no preset 'smal'; did you mean 'small'"),
    ],
)
def test_a_mistake_is_one_line_before_anything_heavy_is_loaded(tmp_path, arguments, complaint):
    program = (
        f"import sys; from alice.cli import main\ntry: main(['sweep', *{arguments!r}, '--out', 'runs'])\n"
        "except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "1 False\n"
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("name", "varied"), [("generalization", "--cipher-pool"), ("scaling", "--preset ")])
def test_help_has_the_options_of_a_training_but_what_varies(name, varied):
    shown = sweep(name, "--help").stdout
    for option in ("--steps", "--hours", "--lr", "--data", "--variant", "--threads", "--track"):
        assert f"{option} " in shown
    assert varied not in shown
    assert "--resume" not in shown
