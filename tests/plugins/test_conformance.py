"""The kit for authors accepts a good analysis and catches each way of breaking a rule."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from alice.errors import AliceError
from alice.plugins import Metric, Result, RunContext
from alice.plugins.testing import check_analysis
from alice.solving import score

EVERY_LAYER = "blocks.*.hook_resid_post"


@dataclass(frozen=True)
class Good:
    """The mean of the residual stream."""

    name = "good"
    samples: int = 500
    side: Literal["left", "right"] = "left"

    def run(self, ctx):
        total = 0.0
        for batch, cache in ctx.sample(self.samples).activations(EVERY_LAYER):
            total += float(cache["blocks.1.hook_resid_post"][batch.mask].sum())
        return Result("Good", metrics=[Metric("total", total, model=ctx.checkpoint), Metric("draw", ctx.rng.random())])


def bad(run, **fields):
    """Return an analysis like the good one with another run."""
    body = {"run": run, "__doc__": "A bad one.", "__annotations__": {name: hint for name, (hint, _) in fields.items()}}
    return dataclass(frozen=True)(type("Bad", (Good,), body | {name: default for name, (_, default) in fields.items()}))


def test_the_fixtures_are_there(tiny_alice, run_context):
    assert tiny_alice.config.n_layers == 2
    assert isinstance(run_context, RunContext)
    assert run_context.model is tiny_alice
    assert sum(len(batch) for batch in run_context.batches) == 24


def test_the_trained_model_is_small_and_solves_long_texts(trained_context):
    weights = files("alice.plugins") / "trained_tiny" / "model.safetensors"
    assert len(weights.read_bytes()) < 200_000
    scores = score(trained_context.model, trained_context.batches)
    assert scores.lengths.min() > 180
    assert scores.errors.mean() < 0.05


def test_a_good_analysis_passes_with_any_options(check_analysis):
    check_analysis(Good, side="right")


def trained_offset(self, ctx):
    """Learn one number per layer from training texts, and measure it on the others."""
    offset = torch.zeros(16, requires_grad=True)
    optimizer = torch.optim.SGD([offset], lr=0.1)
    for batch, cache in ctx.training(self.samples).activations(EVERY_LAYER):
        loss = (
            (cache["blocks.0.hook_resid_post"] + offset - cache["blocks.1.hook_resid_post"])[batch.mask].square().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    texts = sum(len(batch) for batch in ctx.sample(self.samples).batches)
    return Result("Offset", metrics=[Metric("norm", float(offset.detach().norm())), Metric("texts", texts)])


def attributed(self, ctx):
    """Sum gradients with respect to the embedding."""
    total = 0.0
    for batch, cache in ctx.sample(self.samples).activations("hook_embed", "blocks.1.hook_resid_post", grad=True):
        score = ctx.model.log_probabilities(cache["blocks.1.hook_resid_post"], batch.cipher_ids).mean()
        (gradient,) = torch.autograd.grad(score, cache["hook_embed"])
        total += float(gradient.norm())
    return Result("Attributed", metrics=[Metric("norm", total)])


@pytest.mark.parametrize("run", [trained_offset, attributed])
def test_an_analysis_may_train_and_differentiate(run, check_analysis):
    check_analysis(bad(run), variants=("base", "bijective"))


def test_a_class_that_is_not_an_analysis_is_refused():
    with pytest.raises(AliceError, match="is not a frozen dataclass"):
        check_analysis(int)


@pytest.mark.parametrize("draw", [np.random.random, torch.rand], ids=["numpy", "torch"])
def test_randomness_from_global_generators_is_caught_unless_the_runner_seeds_them(draw):
    cls = bad(lambda self, ctx: Result("Random", metrics=[Metric("draw", float(draw(1)[0]))]))
    if draw is torch.rand:
        check_analysis(cls, variants=("base",))
        return
    with pytest.raises(AssertionError, match="the same seed gives different results"):
        check_analysis(cls, variants=("base",))


@pytest.mark.parametrize("way", ["lens", "torch"])
def test_a_hook_left_behind_is_caught(way):
    def run(self, ctx):
        if way == "lens":
            ctx.model.add_hook("hook_embed", lambda value, hook: value)
        else:
            ctx.model.ln_final.register_forward_hook(lambda module, inputs, output: None)
        return Result("Hooked")

    with pytest.raises(AssertionError, match=f"it leaves a hook on {'hook_embed' if way == 'lens' else 'ln_final'}"):
        check_analysis(bad(run), variants=("base",))


@pytest.mark.parametrize("fault", ["name", "model"])
def test_a_metric_whose_name_depends_on_the_number_of_models_is_caught(fault):
    def run(self, ctx):
        several = len(ctx.each) > 1
        name = f"ser-of-{ctx.checkpoint}" if fault == "name" and several else "ser"
        return Result(
            "Named", metrics=[Metric(name, 1.0, model="" if fault == "model" and several else ctx.checkpoint)]
        )

    cls = bad(run)
    cls.checkpoints = "several"
    with pytest.raises(AssertionError, match="metric 'ser' of base is missing when there are several models"):
        check_analysis(cls, variants=("base", "bijective"))


@pytest.mark.parametrize(
    "keep",
    [
        lambda cache: cache["blocks.0.hook_resid_post"],
        lambda cache: cache["blocks.0.hook_resid_post"][:, 0],
        lambda cache: cache["blocks.0.hook_resid_post"].numpy().copy(),
    ],
    ids=["tensor", "view", "array"],
)
def test_keeping_the_activations_of_all_texts_is_caught(keep):
    def run(self, ctx):
        kept = [keep(cache) for _, cache in ctx.sample(self.samples).activations(EVERY_LAYER)]
        return Result("Hoarder", metrics=[Metric("batches", len(kept))])

    with pytest.raises(AssertionError, match=r"memory grows by .* bytes per text"):
        check_analysis(bad(run), variants=("base",))


def test_keeping_what_the_store_gives_is_caught_and_nothing_is_left_in_the_users_cache(tmp_path, monkeypatch):
    def run(self, ctx):
        kept = [cache for _, cache in ctx.sample(self.samples).store(EVERY_LAYER)]
        return Result("Hoarder", metrics=[Metric("batches", len(kept))])

    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "mine"))
    with pytest.raises(AssertionError, match=r"memory grows by .* bytes per text"):
        check_analysis(bad(run), variants=("base",))
    assert not (tmp_path / "mine").exists()


def test_tensors_without_memory_that_are_held_elsewhere_do_no_harm():
    left = [torch.eye(3).to_sparse(), FakeTensorMode().from_tensor(torch.eye(3))]
    check_analysis(Good, variants=("base",))
    assert len(left) == 2


def test_keeping_a_number_for_each_text_is_fine():
    def run(self, ctx):
        means = [float(row.mean()) for _, cache in ctx.activations("hook_embed") for row in cache["hook_embed"]]
        return Result("Numbers", arrays={"means": np.array(means)})

    check_analysis(bad(run), variants=("base",))


def test_an_analysis_without_a_model_can_be_checked():
    cls = type("Alone", (Good,), {"checkpoints": "none", "run": lambda self, ctx: Result("Alone")})
    cls.__doc__ = "Alone."
    check_analysis(cls)


def test_options_that_do_not_come_back_are_caught():
    cls = bad(lambda self, ctx: Result("Options"), when=(str, ""))
    cls.__eq__ = lambda self, other: self is other
    with pytest.raises(AssertionError, match="come back from JSON as"):
        check_analysis(cls)


def test_changed_weights_are_caught():
    def run(self, ctx):
        ctx.model.blocks[0].ln1.w.data += 1
        return Result("Changed")

    with pytest.raises(AssertionError, match="it changes the weights"):
        check_analysis(bad(run), variants=("base",))


def test_an_option_that_hides_how_memory_grows_is_caught():
    def run(self, ctx):
        kept = [cache for _, cache in ctx.sample(self.limit).activations(EVERY_LAYER)]
        return Result("Hoarder", metrics=[Metric("batches", len(kept))])

    with pytest.raises(AssertionError, match=r"reads no more of 240 texts than of 80.* `samples`"):
        check_analysis(bad(run, limit=(int, 50)), variants=("base",))
