"""The lens analysis: what must hold exactly, a rotation that a tuned lens undoes, and lenses stored and loaded."""

import numpy as np
import pytest
import torch
from handmade import reader

import alice
from alice.errors import AliceError
from alice.model import AffineLens
from alice.plugins import Report, RunContext
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.builtin.lens import Lens, training
from alice.plugins.builtin.lens.causal import Causes, measure_causes, removed
from alice.plugins.builtin.lens.distributions import divergence, log_tables, occurrences
from alice.plugins.builtin.lens.measure import LENSES, measure
from alice.plugins.builtin.lens.report import answer_layer
from alice.plugins.builtin.lens.training import Scaling, train
from alice.plugins.builtin.traces import EXITS
from alice.plugins.conformance import TRAINED, tiny_context, tiny_model, tiny_texts, trained_model, trained_texts

QUICK = Lens(samples=6, training_texts=16, directions=3, causal_samples=2)
PLAIN, SHIFTED, TUNED = range(len(LENSES))


@pytest.fixture(scope="module")
def trained():
    """The trained tiny model over its eight texts, and translators from random words."""
    data = [*trained_texts(), *tiny_texts(80, seed=3)]
    ctx = RunContext.open(trained_model(), data=data, split="all", samples=8)
    return ctx, train(ctx.training(80), epochs=2)


@pytest.fixture(scope="module")
def measured(trained):
    return measure(*trained)


def test_the_last_layer_is_read_as_it_is(measured, trained):
    ctx, found = trained
    assert found.names[-1] not in found.tuned(ctx.model).translators
    assert np.abs(measured.divergence[:, :, -1]).max() < 1e-6
    assert (measured.agreement[:, :, -1] == 1).all()
    assert np.abs(measured.bias[:, -1]).max() < 1e-9
    assert (found.shifts[-1] == 0).all()


def test_the_tuned_lens_is_nearer_to_the_final_answer_on_held_out_texts_at_every_layer(measured):
    kl = measured.divergence.mean(0)
    assert (kl[TUNED, :-1] < kl[PLAIN, :-1]).all()
    assert (kl[TUNED, :-1] < kl[SHIFTED, :-1]).all()


def test_the_plain_lens_is_the_early_exit(measured, trained):
    ctx, _ = trained
    plain = EarlyExit(samples=8, examples=()).run(ctx).array("ser", model=ctx.checkpoint)
    assert np.allclose(100 * measured.errors[:, PLAIN], plain)


def test_the_mean_shift_moves_the_mean_of_every_layer_to_that_of_the_last(trained):
    ctx, found = trained
    count, total = 0, 0.0
    for batch, cache in ctx.training(80).sample(found.texts).activations(*EXITS):
        total = total + torch.stack([cache[name][batch.mask].sum(0) for name in found.names])
        count += int(batch.mask.sum())
    assert torch.allclose(found.means, total / count, atol=1e-4)
    assert torch.allclose(found.means + found.shifts, found.means[-1].expand_as(found.means), atol=1e-5)


def test_a_planted_rotation_of_the_stream_is_undone():
    """The embedding is rotated and the only block rotates it back, so the tuned lens can be exact at layer 0."""
    model = reader(n_layers=1)
    turn = torch.linalg.qr(torch.randn(64, 64, generator=torch.Generator().manual_seed(0))).Q
    with torch.no_grad():
        model.embed.weight.copy_(model.embed.weight @ turn)
    block = model.blocks[0]
    block.forward = lambda stream, mask: block.hook_resid_post(stream @ turn.T)
    ctx = tiny_context(model, texts=6)
    found = measure(ctx, train(ctx.training(48), epochs=15))
    assert found.agreement[:, PLAIN, 0].mean() < 0.3
    assert found.agreement[:, TUNED, 0].mean() > 0.99
    assert found.divergence[:, TUNED, 0].mean() < 0.1 * found.divergence[:, PLAIN, 0].mean()


def test_a_large_constant_coordinate_of_the_stream_does_not_hinder_the_training():
    """The embedding is permuted beside a constant of 32,768, and the only block permutes it back."""
    model = reader(n_layers=1)
    order = torch.cat([torch.randperm(63, generator=torch.Generator().manual_seed(0)), torch.tensor([63])])
    with torch.no_grad():
        model.embed.weight[:, 63] = 2.0**15
        model.embed.weight.copy_(model.embed.weight[:, order])
        model.ln_final.w.fill_(2.0**15)  # the norm divides by an eighth of the constant
    block = model.blocks[0]
    block.forward = lambda stream, mask: block.hook_resid_post(stream[..., order.argsort()])
    ctx = tiny_context(model, texts=6)
    lens = train(ctx.training(48), epochs=15)
    found = measure(ctx, lens)
    assert lens.replaced == []
    assert found.agreement[:, PLAIN, 0].mean() < 0.3
    assert found.agreement[:, TUNED, 0].mean() > 0.99
    assert found.divergence[:, TUNED, 0].mean() < 0.1 * found.divergence[:, PLAIN, 0].mean()


def test_the_scaling_is_the_mean_and_the_size_around_it():
    ctx = tiny_context(tiny_model(), texts=6)
    with torch.no_grad():
        ctx.model.embed.weight[:, 0] = 2.0**15
    names = ctx.model.match_hooks(*EXITS)
    parts = [torch.stack([cache[name][batch.mask] for name in names]) for batch, cache in ctx.activations(*names)]
    streams = torch.cat(parts, 1).double()
    found = Scaling.of(ctx, names)
    assert torch.allclose(found.means, streams.mean(1))
    assert torch.allclose(found.sizes, streams.var(1, correction=0).mean(1).sqrt(), rtol=1e-9)


def test_translators_start_as_the_identity_exactly(monkeypatch):
    monkeypatch.setattr(training, "LEARNING_RATE", 0.0)
    found = train(tiny_context(tiny_model(), texts=4).training(8), epochs=1)
    assert torch.equal(found.matrices, torch.eye(found.matrices.shape[-1]).expand_as(found.matrices))
    assert (found.vectors == 0).all()


def test_a_translator_that_is_worse_than_the_identity_is_replaced_by_it_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(training, "LEARNING_RATE", 10.0)
    result = QUICK.run(tiny_context(tiny_model(), texts=6))
    rows = result.tables["training"].records()
    assert all(row["replaced"] and row["aside_kl"] > row["aside_plain_kl"] for row in rows)
    assert result.metric("replaced").value == len(rows)
    assert "At layer 0, 1 it did not improve on the plain exit" in result.summary
    kl = result.array("kl", model="base")
    assert np.allclose(kl[:, TUNED], kl[:, PLAIN], atol=1e-6)


def test_where_a_planted_model_has_its_answer_the_tuned_lens_stays_the_plain_exit():
    ctx = RunContext.open("planted:frequency", data=tiny_texts(40), split="all", samples=4)
    result = QUICK.run(ctx)
    kl = result.array("kl", model="planted:frequency").mean(0)
    assert [row["replaced"] for row in result.tables["training"].records()] == [False, True, True]
    assert (kl[TUNED, 1:] == 0).all()
    assert kl[TUNED, 0] < kl[PLAIN, 0]
    assert result.metric("answer-layer").value == 1


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_the_training_never_touches_the_model_and_lowers_the_loss(variant):
    model = tiny_model(variant)
    found = train(tiny_context(model, texts=4).training(24), epochs=6)
    assert all(weight.grad is None for weight in model.parameters())
    assert (found.losses[-4:].mean(0) < found.losses[:4].mean(0)).all()


def test_rows_are_distributions_and_the_divergence_of_equals_is_zero(bijective):
    batch, cache = tiny_context(bijective, texts=3).activations("hook_embed")[0]
    tables = log_tables(bijective, cache["hook_embed"][None], batch.cipher_ids).detach()
    assert torch.allclose(tables.exp().sum(-1), torch.ones(tables.shape[:-1]), atol=1e-5)
    counts = occurrences(bijective, batch.cipher_ids)
    assert torch.equal(counts.sum(1), batch.mask.sum(1).float())
    assert (divergence(tables[0], tables, counts) == 0).all()


def test_the_divergence_is_in_bits_and_weights_symbols_by_their_characters():
    sure, even = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
    wanted = torch.stack([sure, even]).clamp(min=1e-9).log()[None]
    found = even.log().expand(1, 1, 2, 2)
    assert divergence(wanted, found, torch.tensor([[3.0, 1.0]])).item() == pytest.approx(0.75)


def test_removing_a_direction_leaves_the_mean_along_it_and_the_rest():
    streams, means = torch.randn(2, 3, 4, 8), torch.randn(2, 8)
    directions = torch.nn.functional.normalize(torch.randn(2, 8), dim=-1)
    left = removed(streams, means, directions)
    along = torch.einsum("lbpd,ld->lbp", left, directions)
    assert torch.allclose(along, (means * directions).sum(-1)[:, None, None].expand_as(along), atol=1e-5)
    taken = streams - left
    size = torch.einsum("lbpd,ld->lbp", taken, directions)[..., None]
    assert torch.allclose(taken, size * directions[:, None, None], atol=1e-5)


@pytest.fixture(scope="module")
def causes(trained):
    return measure_causes(*trained, texts=3, directions=4)


def test_the_causal_basis_is_orthonormal_and_matters_more_than_random_directions(causes):
    for found in causes.values():
        unit = found.basis @ found.basis.transpose(0, 2, 1)
        assert np.allclose(unit, np.eye(4), atol=1e-4)
    tuned = causes["tuned"]
    assert (tuned.lens.mean(0)[:, 0] >= tuned.lens.mean(0)[:, -1]).all()
    assert tuned.model[:, 1:].mean() > tuned.random[:, 1:].mean()


def test_at_the_last_layer_the_lens_is_the_model(causes):
    for found in causes.values():
        assert np.allclose(found.lens[:, -1], found.model[:, -1], atol=1e-5)
        assert found.spearman(np.random.default_rng(0))[0, -1] == pytest.approx(1)


def test_the_rank_correlation_is_that_of_scipy_and_its_interval_contains_it():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    lens = rng.random((20, 2, 9))
    model = lens + 0.1 * rng.random(lens.shape)
    model[:, 1] = 0.0
    value, low, high = Causes(*np.zeros((2, 2, 9, 3)), lens, model, lens).spearman(rng)
    assert value[0] == pytest.approx(spearmanr(lens[:, 0].mean(0), model[:, 0].mean(0)).statistic)
    assert low[0] <= value[0] <= high[0]
    assert np.isnan([value[1], low[1], high[1]]).all(), "equal effects have no ranks"


@pytest.mark.parametrize("variant", ["base", "bijective"])
def test_a_stored_lens_reads_the_same_numbers(variant, tmp_path):
    ctx = tiny_context(tiny_model(variant), texts=6)
    result = QUICK.run(ctx)
    sha256 = ctx.named_model.fingerprint
    provenance = {"analysis": "lens", "checkpoints": [{"name": ctx.checkpoint, "sha256": sha256}]}
    folder = Report(result, provenance).save(tmp_path / "runs").folder
    again = EarlyExit(samples=6, examples=(), lens=folder).run(ctx).array("ser", model=variant)
    assert np.allclose(again, result.array("ser", model=variant)[:, TUNED])
    lens = alice.load_lens(folder, ctx.model)
    assert isinstance(lens, AffineLens)
    with pytest.raises(AliceError, match=f"was made for {variant}, not for"):
        alice.load_lens(folder)  # the bundled model of that name


def test_a_lens_names_the_checkpoint_that_it_was_made_for(tmp_path):
    ctx = RunContext.open(TRAINED, data=[*trained_texts(), *tiny_texts(4)], samples=2, device="cpu")
    one = {"name": str(TRAINED), "sha256": ctx.named_model.fingerprint}
    result = Lens(samples=2, training_texts=4, directions=3, causal_samples=2).run(ctx)
    folder = Report(result, {"checkpoints": [one]}).save(tmp_path / "runs").folder
    hook = "blocks.0.hook_resid_post"
    expected = result.artefact("translators", model=ctx.checkpoint)[f"{hook}.A"]
    assert np.array_equal(alice.load_lens(folder, device="cpu").translators[hook][0].numpy(), expected)
    file = next(Report(result, {}).save(tmp_path / "others").folder.glob("translators*"))
    with pytest.raises(AliceError, match="does not say which model it was made for"):
        alice.load_lens(file)


def test_findings_are_what_is_read_from_the_answer_layer_on_by_its_effect_on_the_model():
    analysis = QUICK
    result = analysis.run(tiny_context(tiny_model(), texts=6))
    found = analysis.findings(result)
    assert found.answer_layer is None
    first = int(result.metric("answer-layer").value)
    scores = [one.score for one in found.used_directions]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3 * (3 - first)
    effects = result.array("model-effect", model="base").mean(0)[first:]  # (layer, direction)
    layer, number = np.unravel_index(effects.argmax(), effects.shape)
    assert (found.used_directions[0].layer, scores[0]) == (first + layer, effects.max())
    reads = result.array("causal-reads", model="base")[first + layer, number]
    assert np.array_equal(found.used_directions[0].vector, reads)


def test_the_lens_reads_only_what_the_head_reads_although_the_causal_basis_mixes_in_what_varies():
    planted = alice.planted.build("frequency")
    ctx = RunContext.open(planted.model, samples=4, device="cpu")
    found = measure_causes(ctx, train(ctx.training(4), epochs=1), texts=3, directions=3)["plain"]
    used = np.stack([one.vector.numpy() for one in planted.truth.directions if one.layer == 3 and one.used])
    inside = [np.square(part[3] @ used.T).sum(1) for part in (found.basis, found.reads)]  # (direction,) each
    assert inside[0].min() < 0.7
    assert inside[1].min() > 0.999


def test_the_answer_layer_is_the_first_that_agrees_within_the_tolerance():
    assert answer_layer(np.array([10.0, 94.9, 95.0, 100.0])) == 2
    assert answer_layer(np.array([100.0, 100.0])) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [({"samples": 0}, "samples=0"), ({"directions": 2}, "directions=2"), ({"training_texts": 1}, "training_texts=1")],
)
def test_options_that_make_no_sense_are_one_sentence(options, words):
    with pytest.raises(AliceError, match=words):
        Lens(**options)
