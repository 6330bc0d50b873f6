import copy
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
from workbench import save_checkpoint

from alice.errors import AliceError
from alice.model import Alice
from alice.plugins import Metric, Result, RunContext
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.plugins.context.models import NamedModel, hooks_on
from alice.plugins.manager import Plugin
from alice.plugins.runner import AnalysisFailedError, analyse, compute, run_analysis
from alice.reports.archive import VOLATILE, read_report
from alice.text.alphabet import LETTERS


@dataclass(frozen=True)
class Probe:
    """Do something to a context."""

    name = "probe"
    checkpoints = "several"
    samples: int = 6
    word: str = ""
    folder: Path = Path("x")
    pair: tuple[int, int] = (1, 2)

    def run(self, ctx):
        texts = sum(len(batch) for batch in ctx.sample(self.samples).batches)
        drawn = [Metric("draw", ctx.rng.random()), Metric("torch", torch.rand(()).item())]
        return Result("Probe", metrics=[Metric("texts", texts), *drawn])


def acting(action):
    """Return an analysis that does this in its run."""
    return type("Acting", (Probe,), {"run": lambda self, ctx: action(ctx)})()


@pytest.fixture
def ctx(tiny_alice):
    return tiny_context(tiny_alice, texts=12)


def test_a_report_is_a_folder_with_result_arrays_and_page_and_the_gallery_lists_it(ctx, tmp_path):
    report = run_analysis(Probe(), ctx, out=tmp_path / "runs")
    assert re.fullmatch(r"probe-base-\d{8}-\d{6}", report.folder.name)
    assert {"result.json", "arrays.npz", "report.html"} <= {path.name for path in report.folder.iterdir()}
    assert report.folder.name in (tmp_path / "runs" / "entries.js").read_text()
    assert read_report(report.folder).metric("texts").value == 6


def test_a_report_can_be_had_without_storing_it_and_saved_later(ctx, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = analyse(Probe(), ctx)
    assert report.folder is None
    assert not list(tmp_path.iterdir())
    assert read_report(report.save().folder).metrics == report.metrics


def test_provenance_says_what_determined_the_result(ctx):
    plugin = Plugin("mine", "1.2", "entry point", "dist mine")
    about = analyse(Probe(word="w"), ctx, plugin=plugin).provenance
    assert about["analysis"] == "probe"
    assert about["options"] == {"samples": 6, "word": "w", "folder": "x", "pair": [1, 2]}
    assert about["seed"] == 0
    assert about["checkpoints"] == [{"name": "base", "sha256": ctx.named_model.fingerprint}]
    assert about["plugin"] == {"name": "mine", "version": "1.2", "origin": "entry point", "where": "dist mine"}
    (read,) = about["data"]
    assert read.keys() == {"model", "source", "split", "texts", "sha256"}
    assert (read["model"], read["split"], read["texts"]) == ("base", "all", 6)
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


@pytest.mark.parametrize("change", ["nothing", "model", "texts", "seed", "options"])
def test_another_input_changes_the_provenance(tiny_alice, change):
    def settled(report):
        return {name: value for name, value in report.provenance.items() if name not in VOLATILE}

    first = analyse(Probe(), tiny_context(tiny_alice, texts=12))
    model = tiny("base", d_mlp=16) if change == "model" else tiny_alice
    texts = tiny_texts(12)[::-1] if change == "texts" else tiny_texts(12)
    other = RunContext.open(model, data=texts, split="all", seed=1 if change == "seed" else 0)
    second = analyse(Probe(word="x" if change == "options" else ""), other)
    assert (settled(first) == settled(second)) == (change == "nothing")


def test_one_weight_makes_another_checkpoint_and_the_file_it_came_in_does_not(tiny_alice, tmp_path):
    before = NamedModel("a", tiny_alice).fingerprint
    tiny_alice.save_pretrained(tmp_path / "saved")
    assert NamedModel("b", Alice.from_pretrained(tmp_path / "saved")).fingerprint == before
    with torch.no_grad():
        tiny_alice.blocks[1].ln1.w[3] += 0.5
    assert NamedModel("a", tiny_alice).fingerprint != before


def test_the_data_hash_covers_what_this_analysis_read_not_what_others_read_before(ctx):
    alone = analyse(Probe(samples=4), tiny_context(ctx.model, texts=12)).provenance
    analyse(Probe(samples=10), ctx)
    after = analyse(Probe(samples=4), ctx).provenance
    assert alone["data"] == after["data"]
    assert alone["data"][0]["texts"] == 4


def test_an_analysis_that_reads_no_text_has_no_data(ctx):
    assert analyse(acting(lambda ctx: Result("Nothing")), ctx).provenance["data"] == []


def test_several_models_are_all_named(tmp_path):
    ctx = tiny_context(tiny("base"), tiny("bijective"), texts=8)
    run = run_analysis(Probe(), ctx, out=tmp_path)
    assert run.folder.name.startswith("probe-base+bijective-")
    assert run.models == ["base", "bijective"]
    assert [sorted(one) for one in run.provenance["checkpoints"]] == [["name", "sha256"]] * 2


def test_an_analysis_for_one_model_refuses_two():
    single = type("Single", (Probe,), {"checkpoints": "one"})()
    with pytest.raises(AliceError, match="reads one checkpoint, not 2"):
        compute(single, tiny_context(tiny("base"), tiny("bijective"), texts=3))


def test_a_bug_becomes_one_line_with_the_cause_kept(ctx):
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(ZeroDivisionError: division by zero\)") as caught:
        compute(acting(lambda ctx: 1 / 0), ctx)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("code", [0, 1, 128, 200, True, "why"])
def test_an_analysis_that_tries_to_end_the_program_only_fails(ctx, code):
    with pytest.raises(AnalysisFailedError, match=rf"probe failed \(SystemExit: {code}\)"):
        compute(acting(lambda ctx: sys.exit(code)), ctx)


def test_an_analysis_that_raises_anything_only_fails(ctx):
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(BaseException: odd\)"):
        compute(acting(lambda ctx: raise_it(BaseException("odd"))), ctx)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), *map(SystemExit, (129, 130, 143))])
def test_a_signal_still_ends_the_program(ctx, end):
    with pytest.raises(type(end)):
        compute(acting(lambda ctx: raise_it(end)), ctx)


def raise_it(error):
    raise error


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(ctx, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match=r"cannot create the folder .*file/runs, because .*file is a file"):
        run_analysis(acting(lambda ctx: pytest.fail("computed")), ctx, out=tmp_path / "file" / "runs")


def test_anything_but_a_result_is_refused(ctx):
    with pytest.raises(AliceError, match="returned dict; it must return a Result"):
        compute(acting(lambda ctx: {}), ctx)


def test_a_failed_analysis_leaves_nothing(ctx, tmp_path):
    with pytest.raises(AliceError):
        run_analysis(acting(lambda ctx: 1 / 0), ctx, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def zero(*values):
    return values[-1] * 0


CARELESS = {
    "mode": lambda model: model.train(),
    "lens": lambda model: model.add_hook("hook_embed", lambda value, hook: value * 0),
    "permanent": lambda model: model.add_perma_hook("hook_embed", lambda value, hook: value * 0),
    "forward": lambda model: model.blocks[0].mlp.register_forward_hook(zero),
    "before": lambda model: model.ln_final.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0,)),
    "keywords": lambda model: model.register_forward_hook(lambda *values: values[-1] * 0, with_kwargs=True),
    "backward": lambda model: model.ln_final.register_full_backward_hook(lambda *values: None),
    "everywhere": lambda model: torch.nn.modules.module.register_module_forward_hook(zero),
    "split": lambda model: model.set_use_split_qkv_input(True),
    "replaced": lambda model: setattr(model.blocks[0], "forward", lambda x, mask: x * 0),
}


@pytest.mark.parametrize("change", CARELESS)
@pytest.mark.parametrize("fails", [False, True])
def test_the_next_analysis_finds_the_model_without_hooks_and_in_eval_mode(ctx, change, fails):
    def careless(ctx):
        CARELESS[change](ctx.model)
        return 1 / 0 if fails else Result("Careless")

    before = ctx.model(ctx.batches[0].cipher_ids)
    if fails:
        with pytest.raises(AnalysisFailedError):
            compute(acting(careless), ctx)
    else:
        compute(acting(careless), ctx)
    assert not ctx.model.training
    assert not ctx.model.cfg.use_split_qkv_input
    assert hooks_on(ctx.model) == []
    assert torch.equal(ctx.model(ctx.batches[0].cipher_ids), before)


def test_the_next_analysis_finds_hard_answers(bijective):
    ctx = tiny_context(bijective, texts=2)
    compute(acting(lambda ctx: setattr(ctx.model, "soft_answers", True) or Result("Careless")), ctx)
    assert ctx.model.soft_answers is None


def in_place(model):
    with torch.no_grad():
        model.blocks[0].ln1.w.mul_(3)


def through_data(model):
    model.blocks[0].ln1.w.data[:2] = 9.0


def buffer(model):
    next(model.buffers()).mul_(2)


def other_type(model):
    model.half()


def method(model):
    for block in model.blocks:
        block._drop = lambda branch: branch * 0


def module(model):
    model.blocks[0].mlp = torch.nn.Identity()


def number(model):
    model.ln_final.eps = 100.0


@pytest.mark.parametrize("change", [in_place, through_data, buffer, other_type, method, module, number])
@pytest.mark.parametrize("fails", [False, True])
def test_changed_weights_fail_the_analysis_and_the_next_one_gets_the_checkpoint_again(tmp_path, change, fails):
    def careless(ctx):
        change(ctx.model)
        return 1 / 0 if fails else Result("Careless")

    ctx = RunContext.open(save_checkpoint(tmp_path / "mine"), data=tiny_texts(5), split="all")
    before = ctx.model(ctx.batches[0].cipher_ids)
    complaint = "ZeroDivisionError" if fails else "the analysis probe changed the weights or modules of mine"
    with pytest.raises(AliceError, match=complaint):
        compute(acting(careless), ctx)
    seen = []
    compute(acting(lambda ctx: seen.append(ctx.model(ctx.batches[0].cipher_ids)) or Result("Next")), ctx)
    assert torch.equal(seen[0], before)


@pytest.mark.parametrize("gone", ["no checkpoint", "another checkpoint"])
def test_a_changed_model_that_cannot_be_loaded_again_is_refused(ctx, tmp_path, gone):
    if gone == "another checkpoint":
        folder = save_checkpoint(tmp_path / "mine")
        ctx = RunContext.open(folder, data=tiny_texts(5), split="all")
        ctx.named_model.is_unchanged()
        save_checkpoint(folder, d_mlp=16)
    with pytest.raises(AliceError, match="changed the weights or modules"):
        compute(acting(lambda ctx: in_place(ctx.model) or Result("Careless")), ctx)
    with pytest.raises(AliceError, match="were changed; open the model again"):
        compute(Probe(), ctx)


def test_a_copy_of_the_model_may_be_changed(ctx):
    assert compute(acting(lambda ctx: in_place(copy.deepcopy(ctx.model)) or Result("Careful")), ctx)


def test_the_global_generators_of_the_caller_keep_their_state(ctx):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    compute(Probe(), ctx)
    assert torch.equal(torch.rand(3), wanted)


def test_reports_of_the_same_second_have_folders_of_their_own(ctx, tmp_path):
    folders = {run_analysis(acting(lambda ctx: Result("A")), ctx, out=tmp_path).folder for _ in range(2)}
    assert len(folders) == 2


def test_the_name_of_a_checkpoint_cannot_leave_the_folder(tiny_alice, tmp_path):
    ctx = tiny_context(tiny_alice, texts=8)
    object.__setattr__(ctx.named_model, "name", "../../etc/<b>")
    assert run_analysis(Probe(), ctx, out=tmp_path / "runs").folder.parent == tmp_path / "runs"


def test_html_in_options_and_plugin_names_is_shown_as_text(ctx, tmp_path):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    run = run_analysis(Probe(word=evil), ctx, out=tmp_path, plugin=Plugin(evil, evil, "file", evil))
    for page in (run.folder / "report.html", tmp_path / "index.html", tmp_path / "entries.js"):
        assert "<script>alert" not in page.read_text()
        assert "<img src=x" not in page.read_text()
    assert read_report(run.folder).provenance["options"]["word"] == evil


def test_a_standalone_report_needs_no_other_file(ctx, tmp_path):
    run = run_analysis(acting(lambda ctx: with_figure()), ctx, out=tmp_path, standalone=True)
    page = (run.folder / "report.html").read_text()
    assert "/plotly.min.js" not in page
    assert len(page) > 1_000_000


def with_figure():
    from alice.reports.figures import layer_curve

    return Result("Figure", figures={"curve": layer_curve(np.arange(3))})


KILLED = """
import os, signal, sys
from dataclasses import dataclass
from alice.plugins import Result, RunContext
from alice.plugins.runner import run_analysis

@dataclass(frozen=True)
class Nothing:
    name, checkpoints = "nothing", "none"
    def run(self, ctx):
        return Result("Nothing")

synced = []
def die(number):
    synced.append(number)
    if len(synced) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
run_analysis(Nothing(), RunContext(), out=sys.argv[1])
"""


def test_a_kill_in_the_middle_of_writing_leaves_no_half_report_and_the_next_removes_the_temporary_folder(ctx, tmp_path):
    runs = tmp_path / "runs"
    done = subprocess.run([sys.executable, "-c", KILLED, str(runs)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (draft,) = runs.iterdir()
    assert draft.name.startswith(".")
    run_analysis(Probe(), ctx, out=runs)
    assert "nothing" not in (runs / "entries.js").read_text()
    assert not draft.exists()


def test_options_that_cannot_be_stored_are_refused_before_computing(ctx, tmp_path):
    analysis = type("Eager", (Probe,), {"run": lambda self, ctx: pytest.fail("computed")})(pair=(1, 2, 3))
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(ValueError: zip"):
        run_analysis(analysis, ctx, out=tmp_path)


def test_a_bug_while_the_report_is_written_is_one_line_too(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr("alice.reports.publish.publish", lambda *args, **options: {}["gone"])
    with pytest.raises(AnalysisFailedError, match=r"probe failed \(KeyError: 'gone'\)"):
        run_analysis(Probe(), ctx, out=tmp_path)


def test_whether_a_folder_can_be_written_to_is_tested_by_writing(ctx, tmp_path, monkeypatch):
    def refuse(path, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)  # as on a read-only disk, whatever the permission bits say
    with pytest.raises(AliceError, match=r"no report can be written to .* \(Permission denied\); choose another"):
        run_analysis(acting(lambda ctx: pytest.fail("computed")), ctx, out=tmp_path)
    assert list(Path(tmp_path).iterdir()) == []


def test_the_texts_of_each_model_are_recorded_whether_they_differ_or_not():
    def read(ctx):
        return Result("Read", metrics=[Metric("batches", sum(len(one.batches) for one in ctx.each))])

    models = (tiny("base"), tiny("bijective", symbols=LETTERS + " "))
    several = RunContext.open(*models, data=["ONE TEXT", "AND ANOTHER"], split="all")
    base, bijective = analyse(acting(read), several).provenance["data"]
    assert (base["model"], bijective["model"]) == ("base", "bijective")
    assert base["sha256"] != bijective["sha256"]
    alike = tiny_context(tiny("base"), tiny("bijective"), texts=4)
    base, bijective = analyse(acting(read), alike).provenance["data"]
    assert base == {**bijective, "model": "base"}
