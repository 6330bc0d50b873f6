"""What the runner does about an analysis that is careless with weights, options or folders."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import Result, RunContext, runner
from alice.plugins.conformance import tiny_context
from alice.plugins.runner import AnalysisFailedError, compute, run_analysis
from alice.text.alphabet import LETTERS


@dataclass(frozen=True)
class Plain:
    """Do something to a context."""

    name = "plain"
    checkpoints = "several"
    pair: tuple[int, int] = (1, 2)

    def run(self, ctx):
        return Result("Plain")


def acting(action):
    """Return an analysis that does this in its run."""
    return type("Acting", (Plain,), {"run": lambda self, ctx: action(ctx)})()


@pytest.fixture
def ctx(tiny_alice):
    return tiny_context(tiny_alice, texts=12)


def in_place(model):
    with torch.no_grad():
        model.blocks[0].ln1.w.mul_(3)


def unseen(model):
    model.blocks[0].ln1.w.data[:2] = 9.0


def other_type(model):
    model.half()


@pytest.mark.parametrize("change", [in_place, unseen, other_type])
@pytest.mark.parametrize("fails", [False, True])
def test_changed_weights_fail_the_analysis_and_are_put_back_for_the_next(ctx, change, fails):
    def careless(ctx):
        change(ctx.model)
        return 1 / 0 if fails else Result("Careless")

    before = ctx.model(ctx.batches[0].cipher_ids)
    complaint = "ZeroDivisionError" if fails else "the analysis plain changed the weights of base"
    with pytest.raises(AliceError, match=complaint):
        compute(acting(careless), ctx)
    assert torch.equal(ctx.model(ctx.batches[0].cipher_ids), before)
    assert isinstance(compute(Plain(), ctx), Result)


def test_what_can_be_refused_about_the_options_is_refused_before_computing(ctx, tmp_path):
    analysis = type("Eager", (Plain,), {"run": lambda self, ctx: pytest.fail("computed")})(pair=(1, 2, 3))
    with pytest.raises(AnalysisFailedError, match=r"plain failed \(ValueError: zip"):
        run_analysis(analysis, ctx, out=tmp_path)


def test_a_bug_while_the_report_is_written_is_one_line_too(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "publish", lambda *args: {}["gone"])
    with pytest.raises(AnalysisFailedError, match=r"plain failed \(KeyError: 'gone'\)"):
        run_analysis(Plain(), ctx, out=tmp_path)


def test_that_a_folder_can_be_written_to_is_tried_and_not_asked(ctx, tmp_path, monkeypatch):
    def refuse(path, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)  # as on a read-only disk, whatever the bits of the folder say
    with pytest.raises(AliceError, match=r"no run can be written to .* \(Permission denied\); choose another folder"):
        run_analysis(acting(lambda ctx: pytest.fail("computed")), ctx, out=tmp_path)
    assert list(Path(tmp_path).iterdir()) == []


def test_texts_that_differ_between_models_are_named_for_each(tmp_path):
    def read(ctx):
        return Result("Read", metrics={"batches": sum(len(one.batches) for one in ctx.each)})

    models = (tiny("base"), tiny("bijective", symbols=LETTERS + " "))
    several = RunContext.open(*models, data=["ONE TEXT", "AND ANOTHER"], split="all")
    data = run_analysis(acting(read), several, out=tmp_path).provenance["data"]
    assert data.keys() == {"base", "bijective"}
    assert data["base"]["sha256"] != data["bijective"]["sha256"]
    alike = tiny_context(tiny("base"), tiny("bijective"), texts=4)
    assert run_analysis(acting(read), alike, out=tmp_path).provenance["data"]["texts"] == 4
