import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.model import Alice
from alice.plugins import Result, RunContext
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.plugins.manager import Plugin
from alice.plugins.models import NamedModel
from alice.plugins.runner import AnalysisFailedError, compute, run_analysis
from alice.reports.archive import read_report
from alice.reports.provenance import VOLATILE


@dataclass(frozen=True)
class Probe:
    """Do something to a context."""

    name = "probe"
    checkpoints = "several"
    samples: int = 6
    word: str = ""
    folder: Path = Path("x")

    def run(self, ctx):
        texts = sum(len(batch) for batch in ctx.sample(self.samples).batches)
        return Result("Probe", metrics={"texts": texts, "draw": ctx.rng.random(), "torch": torch.rand(()).item()})


def acting(action):
    """Return an analysis that does this in its run."""
    return type("Acting", (Probe,), {"run": lambda self, ctx: action(ctx)})()


@pytest.fixture
def ctx(tiny_alice):
    return tiny_context(tiny_alice, texts=12)


def test_a_run_is_a_folder_with_result_arrays_and_report_and_the_gallery_knows_it(ctx, tmp_path):
    run = run_analysis(Probe(), ctx, out=tmp_path / "runs")
    assert re.fullmatch(r"probe-base-\d{8}-\d{6}", run.folder.name)
    assert {path.name for path in run.folder.iterdir()} == {"result.json", "arrays.npz", "report.html"}
    assert run.folder.name in (tmp_path / "runs" / "index.html").read_text()
    assert read_report(run.folder).result.metrics["texts"] == 6


def test_provenance_says_what_settled_the_result(ctx, tmp_path):
    plugin = Plugin("mine", "1.2", "entry point", "dist mine")
    about = run_analysis(Probe(word="w"), ctx, out=tmp_path, plugin=plugin).provenance
    assert about["analysis"] == "probe"
    assert about["options"] == {"samples": 6, "word": "w", "folder": "x"}
    assert about["seed"] == 0
    assert about["checkpoint"] == {"name": "base", "sha256": ctx.named_model.fingerprint}
    assert about["plugin"] == {"name": "mine", "version": "1.2", "origin": "entry point", "where": "dist mine"}
    assert about["data"]["texts"] == 6
    assert about["versions"]["torch"] == torch.__version__
    assert about["machine"]["cores"] == os.cpu_count()
    assert about["duration"] >= 0
    assert about["time"].endswith("+00:00")


def stable(folder):
    """Return a result.json without what may differ."""
    document = json.loads((folder / "result.json").read_text())
    for name in VOLATILE:
        assert document["provenance"].pop(name)
    return document


def test_the_same_inputs_and_seed_give_the_same_result_file(tiny_alice, tmp_path):
    folders = []
    for state in (1, 2):
        torch.manual_seed(state)  # what happened before must make no difference
        folders.append(run_analysis(Probe(), tiny_context(tiny_alice, texts=12), out=tmp_path / str(state)).folder)
    first, second = folders
    assert stable(first) == stable(second)
    assert (first / "arrays.npz").read_bytes() == (second / "arrays.npz").read_bytes()


@pytest.mark.parametrize("change", ["model", "texts", "seed", "options"])
def test_another_input_shows_in_the_result_file(tiny_alice, tmp_path, change):
    first = run_analysis(Probe(), tiny_context(tiny_alice, texts=12), out=tmp_path).folder
    model = tiny("base") if change == "model" else tiny_alice
    texts = tiny_texts(12)[::-1] if change == "texts" else tiny_texts(12)
    other = RunContext.open(model, data=texts, split="all", seed=1 if change == "seed" else 0)
    second = run_analysis(Probe(word="x" if change == "options" else ""), other, out=tmp_path).folder
    assert stable(first) != stable(second)


def test_one_weight_makes_another_checkpoint_and_the_file_it_came_in_does_not(tiny_alice, tmp_path):
    before = NamedModel("a", tiny_alice).fingerprint
    tiny_alice.save_pretrained(tmp_path / "saved")
    assert NamedModel("b", Alice.from_pretrained(tmp_path / "saved")).fingerprint == before
    with torch.no_grad():
        tiny_alice.blocks[1].ln1.w[3] += 0.5
    assert NamedModel("a", tiny_alice).fingerprint != before


def test_the_data_hash_covers_what_was_read_whoever_read_more_before(ctx, tmp_path):
    alone = run_analysis(Probe(samples=4), tiny_context(ctx.model, texts=12), out=tmp_path).provenance
    run_analysis(Probe(samples=10), ctx, out=tmp_path)
    after = run_analysis(Probe(samples=4), ctx, out=tmp_path).provenance
    assert alone["data"] == after["data"]
    assert alone["data"]["texts"] == 4


def test_an_analysis_that_reads_no_text_has_no_data(ctx, tmp_path):
    run = run_analysis(acting(lambda ctx: Result("Nothing")), ctx, out=tmp_path)
    assert run.provenance["data"] is None


def test_several_models_are_all_named(tmp_path):
    ctx = tiny_context(tiny("base"), tiny("bijective"), texts=8)
    run = run_analysis(Probe(), ctx, out=tmp_path)
    assert run.folder.name.startswith("probe-base+bijective-")
    assert run.provenance["checkpoint"]["name"] == "base, bijective"
    assert run.provenance["checkpoint"]["sha256"].keys() == {"base", "bijective"}


def test_an_analysis_for_one_model_refuses_two():
    single = type("Single", (Probe,), {"checkpoints": "one"})()
    with pytest.raises(AliceError, match="reads one checkpoint, not 2"):
        compute(single, tiny_context(tiny("base"), tiny("bijective"), texts=3))


def test_a_bug_becomes_one_line_with_the_cause_kept(ctx):
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(ZeroDivisionError: division by zero\)") as caught:
        compute(acting(lambda ctx: 1 / 0), ctx)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_analysis_that_would_leave_the_program_only_fails(ctx):
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(SystemExit: 0\)"):
        compute(acting(lambda ctx: sys.exit(0)), ctx)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(ctx, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match=r"no run can be written to .*file/runs"):
        run_analysis(acting(lambda ctx: pytest.fail("computed")), ctx, out=tmp_path / "file" / "runs")


def test_what_is_no_result_is_refused(ctx):
    with pytest.raises(AliceError, match="returned dict; it must return a Result"):
        compute(acting(lambda ctx: {}), ctx)


def test_a_failed_run_leaves_nothing(ctx, tmp_path):
    with pytest.raises(AliceError):
        run_analysis(acting(lambda ctx: 1 / 0), ctx, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_the_next_analysis_finds_the_model_as_it_was(ctx):
    def careless(ctx):
        ctx.model.add_hook("hook_embed", lambda value, hook: value * 0)
        ctx.model.train()
        return Result("Careless")

    before = ctx.model(ctx.batches[0].cipher_ids)
    compute(acting(careless), ctx)
    assert not ctx.model.training
    assert torch.equal(ctx.model(ctx.batches[0].cipher_ids), before)


def test_the_global_generators_of_the_caller_are_left_alone(ctx):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    compute(Probe(), ctx)
    assert torch.equal(torch.rand(3), wanted)


def test_two_runs_in_one_second_have_two_folders(ctx, tmp_path):
    folders = {run_analysis(acting(lambda ctx: Result("A")), ctx, out=tmp_path).folder for _ in range(3)}
    assert len(folders) == 3


def test_the_name_of_a_checkpoint_cannot_leave_the_folder(tiny_alice, tmp_path):
    ctx = tiny_context(tiny_alice, texts=8)
    object.__setattr__(ctx.named_model, "name", "../../etc/<b>")
    assert run_analysis(Probe(), ctx, out=tmp_path / "runs").folder.parent == tmp_path / "runs"


def test_html_in_options_and_plugin_names_is_shown_and_never_run(ctx, tmp_path):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    run = run_analysis(Probe(word=evil), ctx, out=tmp_path, plugin=Plugin(evil, evil, "file", evil))
    for page in (run.folder / "report.html", tmp_path / "index.html"):
        assert "<script>alert" not in page.read_text()
        assert "<img src=x" not in page.read_text()
    assert read_report(run.folder).provenance["options"]["word"] == evil


def test_a_standalone_report_names_no_other_file(ctx, tmp_path):
    run = run_analysis(acting(lambda ctx: with_figure()), ctx, out=tmp_path, standalone=True)
    page = (run.folder / "report.html").read_text()
    assert "/plotly.min.js" not in page
    assert len(page) > 1_000_000


def with_figure():
    from alice.reports.figures import layer_curve

    return Result("Figure", figures={"curve": layer_curve(np.arange(3))})


KILLED = """
import os, signal, sys
from alice.plugins.conformance import tiny_context, tiny_model
from alice.plugins.runner import run_analysis
from alice.plugins.builtin.early_exit import EarlyExit
ctx = tiny_context(tiny_model("base"), texts=9)
synced = []
def die(number):
    synced.append(number)
    if len(synced) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
run_analysis(EarlyExit(samples=9, examples=(0,)), ctx, out=sys.argv[1])
"""


def test_a_kill_in_the_middle_of_writing_leaves_no_half_run_and_its_draft_goes_with_the_next(ctx, tmp_path):
    runs = tmp_path / "runs"
    done = subprocess.run([sys.executable, "-c", KILLED, str(runs)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (draft,) = runs.iterdir()
    assert draft.name.startswith(".")
    run_analysis(Probe(), ctx, out=runs)
    assert "early-exit" not in (runs / "index.html").read_text()
    assert not draft.exists()
