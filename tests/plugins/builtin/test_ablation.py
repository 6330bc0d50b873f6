"""Ablation of parts whose effects are known, and permutation tests of made-up effects."""

import numpy as np
import pytest
import torch
from handmade import leave_letters_alone, reader
from tiny import tiny

from alice.causal import Part, Replacements, answer_scores, right_symbols
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.ablation import Ablation
from alice.plugins.builtin.ablation.measure import ROTATED, WAYS, measure, rotated
from alice.plugins.builtin.ablation.permutations import correlations, explained_by
from alice.plugins.conformance import tiny_context

PERMUTATIONS = 500


def feeding_forward():
    """Return a model that reads letters as themselves, with one part that makes it surer: the MLP of block 1.

    Every embedding has a distracting component, and the MLP strengthens the one that the head reads.
    """
    model = reader(n_layers=3)
    block = model.blocks[1]
    letters = torch.eye(64)[1 : block.mlp.down.weight.shape[1] + 1]  # (d_mlp, d_model): directions of A, B, ...
    with torch.no_grad():
        model.embed.weight[:, 60] = 1
        block.ln2.w.fill_(1)
        block.mlp.gate_up.weight.copy_(torch.cat([letters, letters]))
        block.mlp.down.weight.copy_(0.1 * letters.T)
    return model


def test_a_part_that_writes_nothing_costs_nothing_and_the_one_that_writes_does(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = feeding_forward()
    found = measure(tiny_context(model, texts=4), pairs=2)
    lost = found.clean[:, None, None, 0] - found.without[..., 0]  # (text, way, part)
    writer = found.parts.index(Part(1))
    silent = [number for number in range(len(found.parts)) if number != writer]
    assert np.abs(lost[:, :, silent]).max() < 1e-5
    for way in ("zero", "mean", "resample"):
        assert lost[:, WAYS.index(way), writer].min() > 1e-3, way
    assert np.abs(found.without[:, :, silent, 1] - found.clean[:, None, None, 1]).max() < 1e-7


def test_resampling_everything_gives_the_answer_to_the_other_text(base):
    ctx = tiny_context(base, texts=4)
    found = measure(ctx, pairs=0)
    assert found.without_pairs.shape == (4, 2, 0)
    for pair in ctx.pairs("other-text"):
        _, cache = base.run_with_cache(pair.corrupted.cipher_ids)
        everything = {name: cache[name] for name in {part.hook for part in found.parts}}
        hooks = Replacements("resample", everything).hooks(found.parts)
        with base.hooks(fwd_hooks=hooks):
            resid = base.resid(pair.clean.cipher_ids, stream=cache["hook_embed"])
        assert torch.allclose(resid, cache["resid_post", -1], atol=1e-5)


def test_a_pair_of_heads_is_both_removed(base):
    ctx = tiny_context(base, texts=4)
    found = measure(ctx, pairs=2)
    ((one, other),) = found.pairs
    assert found.parts[one].head is not None
    assert found.parts[other].head is not None
    scores = {}
    for pair in ctx.pairs("other-text"):
        names = [found.parts[one].hook, found.parts[other].hook]
        replaced = Replacements.of("resample", base, pair, means={}, names=names)
        with torch.no_grad(), base.hooks(fwd_hooks=replaced.hooks([found.parts[one], found.parts[other]])):
            resid = base.resid(pair.clean.cipher_ids)
        right = right_symbols(pair.clean, ctx.alphabet)
        score = answer_scores(base, resid, pair.reader, right, pair.scored)
        scores |= zip(pair.clean.index.tolist(), score.tolist(), strict=True)
    assert found.without_pairs[:, 0, 0] == pytest.approx([scores[number] for number in range(4)], abs=1e-5)


def test_the_control_changes_as_much_as_another_text_in_other_directions():
    generator = torch.Generator().manual_seed(1)
    clean = {"z": torch.randn(2, 5, 3, 4, generator=generator), "out": torch.randn(2, 5, 8, generator=generator)}
    other = {name: torch.randn(value.shape, generator=generator) for name, value in clean.items()}
    turned = rotated(clean, Replacements("resample", other), seed=0).values
    for name in clean:
        change, control = other[name] - clean[name], turned[name] - clean[name]
        assert torch.allclose(control.norm(dim=-1), change.norm(dim=-1), atol=1e-5)
        assert (control - change).norm() > 0.5 * change.norm()
        products = [
            torch.einsum("...pd,...qd->...pq", one.flatten(0, -3), one.flatten(0, -3)) for one in (change, control)
        ]
        assert torch.allclose(*products, atol=1e-4) if name == "out" else True


def test_kinds_with_different_effects_are_found_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    kinds, blocks = np.repeat(["self", "broad"], 12), np.tile(np.arange(6), 4)
    order = np.argsort(blocks, kind="stable")
    kinds, blocks = kinds[order], blocks[order]
    effects = np.where(kinds == "self", 5.0, 1.0) + rng.normal(size=24)
    found = explained_by(effects, kinds.tolist(), blocks, rng, permutations=PERMUTATIONS)
    assert found.share > 0.6
    assert found.chance == pytest.approx(1 / 23, abs=0.02)  # groups - 1 over heads - 1
    assert found.p == found.p_within == 1 / (PERMUTATIONS + 1)
    ps = [explained_by(rng.normal(size=24), kinds.tolist(), blocks, rng, permutations=200).p for _ in range(60)]
    assert 0.35 < np.mean(ps) < 0.65


def test_an_effect_of_depth_is_not_taken_for_one_of_kinds_within_blocks():
    rng = np.random.default_rng(3)
    blocks = np.repeat(np.arange(6), 4)
    kinds = ["early" if block < 3 else "late" for block in blocks]  # kinds that only repeat the depth
    found = explained_by(-blocks + 0.1 * rng.normal(size=24), kinds, blocks, rng, permutations=PERMUTATIONS)
    assert found.p < 0.01
    assert found.p_within == 1


def test_the_correlations_are_corrected_for_their_number():
    rng = np.random.default_rng(0)
    effects = rng.normal(size=20)
    statistics = np.stack([effects**3, np.ones(20), rng.normal(size=20)], axis=1)
    strong, constant, weak = correlations(effects, statistics, rng, permutations=PERMUTATIONS)
    assert (strong.rho, strong.p) == (pytest.approx(1), 1 / (PERMUTATIONS + 1))
    assert np.isnan(constant.rho)
    assert weak.p > 0.05


def test_nothing_is_tested_without_groups():
    one = explained_by(np.arange(4.0), ["broad"] * 4, np.zeros(4, int), np.random.default_rng(0), permutations=9)
    assert np.isnan(one.share)
    assert np.isnan(one.p)


def test_the_report_names_parts_and_losses(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = Ablation(samples=4, pairs=2, permutations=50).run(tiny_context(feeding_forward(), texts=4))
    assert result.metric("strongest-part").value == "L1 MLP"
    rows = result.tables["parts"].records(replacement="zero")
    assert [row["part"] for row in rows] == [
        "L0H0",
        "L0H1",
        "L0 MLP",
        "L1H0",
        "L1H1",
        "L1 MLP",
        "L2H0",
        "L2H1",
        "L2 MLP",
    ]
    assert all(row["loss"] == pytest.approx(0, abs=1e-3) for row in rows if row["part"] != "L1 MLP")
    (pair,) = result.tables["pairs"].records()
    assert pair["interaction"] == pytest.approx(0, abs=1e-3)
    assert {row["replacement"] for row in result.tables["tests"].records()} == set(WAYS)
    assert ROTATED in WAYS


def test_texts_without_words_and_wrong_options_are_refused():
    with pytest.raises(AliceError, match="pairs=-1 is too small"):
        Ablation(pairs=-1)
    with pytest.raises(AliceError, match="no text to measure"):
        Ablation(samples=0)
    with pytest.raises(AliceError, match=r"no text has a letter|no words"):
        Ablation().run(RunContext.open(tiny("base"), data=["?!"], split="all"))
