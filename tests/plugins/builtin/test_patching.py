"""Patches whose effect is known exactly, and those of TransformerLens as the reference."""

import numpy as np
import pytest
import torch
from handmade import reader
from transformer_lens import patching

from alice.causal import answer_scores, parts_of, right_symbols
from alice.errors import AliceError
from alice.plugins.builtin.patching import Patching
from alice.plugins.builtin.patching.depth import crossing, first_layer, measure_depth
from alice.plugins.builtin.patching.measure import measure_maps
from alice.plugins.builtin.patching.places import PLACES, places_of, sort_places
from alice.plugins.builtin.patching.shares import DepthShares, shares_of
from alice.plugins.conformance import tiny_context
from alice.text import ENGLISH, KINDS, Batches, Counterfactuals, EncodedTexts, Pair, Words


def pair_of_texts(clean, corrupted):
    """Return a pair of one text each, encrypted with a key that maps every letter to itself."""
    keys = np.arange(26, dtype=np.uint8)[None]
    one, other = (Batches(EncodedTexts([text], ENGLISH), ENGLISH, keys=keys)[0] for text in (clean, corrupted))
    scored = torch.zeros(1, ENGLISH.size, dtype=torch.bool).scatter(1, one.cipher_ids, True)
    return Pair(one, other, scored, one.cipher_ids, torch.tensor([True]))


def test_places_are_sorted_by_how_near_they_are_to_the_change():
    clean, corrupted = "THE CAT SAW A DOG.", "THE HEN SAW A DOG."
    where = sort_places(pair_of_texts(clean, corrupted), ENGLISH, PLACES)[0]
    found = {
        name: "".join(letter for letter, at in zip(clean, row, strict=True) if at)
        for name, row in zip(PLACES, where, strict=True)
    }
    assert found == {
        "changed": "CAT",
        "neighbours": "  ",
        "same word": "",
        "same symbol": "TAA",
        "elsewhere": "HESW  DOG.",
    }
    where = sort_places(pair_of_texts("HAVE IT", "HATE IT"), ENGLISH, PLACES)[0]
    assert where.int().argmax(0).tolist() == [2, 1, 0, 1, 4, 4, 4]  # H is in the word, A and E are next to the V


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_is_at_exactly_one_place(kind, base):
    for pair in tiny_context(base, texts=5).pairs(kind):
        where = sort_places(pair, ENGLISH, places_of(kind))
        assert torch.equal(where.sum(1) == 1, pair.clean.mask)
        assert torch.equal(where[:, 0], pair.differs)


@pytest.mark.parametrize("into", ["corrupted", "clean"])
def test_all_places_together_carry_the_whole_answer_and_each_layer_starts_where_it_should(base, into):
    """Where blocks add nothing, the stream is the embedding at every layer, so that all layers agree."""
    model = reader(n_layers=2)
    found = {one.into: one for one in measure_maps(tiny_context(model, texts=4), "other-text")}[into]
    other = found.clean if into == "corrupted" else found.corrupted
    changed = found.stream[:, :, found.places.index("changed")]
    assert changed == pytest.approx(np.tile(other[:, None], (1, 3)), abs=1e-4)
    own = found.corrupted if into == "corrupted" else found.clean
    elsewhere = found.stream[:, :, found.places.index("elsewhere")]
    assert elsewhere == pytest.approx(np.tile(own[:, None], (1, 3)), abs=1e-4)
    assert found.parts == pytest.approx(
        np.tile(own[:, None], (1, 6)), abs=1e-4
    )  # parts that write nothing carry nothing


def metric_of(model, pair, kept):
    """Return a metric for TransformerLens that reads the stream by the clean ids; it is given logits alone."""

    def score(logits):
        right = right_symbols(pair.clean, ENGLISH)
        return answer_scores(model, kept["resid"], pair.reader, right, pair.scored).mean()

    return score


@pytest.mark.parametrize("variant", ["base", "bijective"])
def test_heads_agree_with_transformer_lens(variant, request):
    model = request.getfixturevalue(variant)
    ctx = tiny_context(model, texts=1)
    (pair,) = ctx.pairs("other-text")
    kept = {}
    last = f"blocks.{model.config.n_layers - 1}.hook_resid_post"
    model.add_hook(last, lambda act, hook: kept.update(resid=act), is_permanent=True)
    try:
        _, clean = model.run_with_cache(pair.clean.cipher_ids)
        with torch.no_grad():
            theirs = patching.get_act_patch_attn_head_out_all_pos(
                model, pair.corrupted.cipher_ids, clean, metric_of(model, pair, kept)
            )
    finally:
        model.reset_hooks(including_permanent=True)
    ours = measure_maps(ctx, "other-text")[0]
    assert ours.into == "corrupted"
    heads = [number for number, part in enumerate(parts_of(model.config)) if part.head is not None]
    assert ours.parts[0, heads] == pytest.approx(theirs.flatten().numpy(), abs=1e-4)


def test_the_other_patches_of_transformer_lens_run_on_a_pair(model):
    (pair,) = tiny_context(model, texts=1).pairs("one-word")
    corrupted, layers = pair.corrupted.cipher_ids[:, :8], model.config.n_layers
    _, clean = model.run_with_cache(pair.clean.cipher_ids[:, :8])

    def metric(logits):
        return logits.log_softmax(-1)[0, 0, 1]

    with torch.no_grad(), model.soft():
        for patch in (
            patching.get_act_patch_resid_pre,
            patching.get_act_patch_attn_out,
            patching.get_act_patch_mlp_out,
        ):
            assert patch(model, corrupted, clean, metric).shape == (layers, 8)
        every = patching.get_act_patch_attn_head_all_pos_every(model, corrupted, clean, metric)
    assert every.shape == (5, layers, model.config.n_heads)
    assert every.isfinite().all()


def test_attribution_is_exact_where_the_score_is_linear(base):
    """For a tiny step the first-order estimate must be what the patch does."""
    ctx = tiny_context(base, texts=3)
    with torch.no_grad():
        for weight in base.blocks.parameters():
            weight *= 0.05  # nearly linear: what parts write is small against the embedding
    found = measure_maps(ctx, "other-text")[0]
    exact, estimate = (scores - found.corrupted[:, None] for scores in (found.parts, found.part_estimates))
    assert np.abs(exact).max() > 1e-6
    assert np.corrcoef(exact.ravel(), estimate.ravel())[0, 1] > 0.99


def test_a_model_that_reads_names_has_no_label_depth():
    """A model that reads every symbol as itself holds names to the end: a patch of means of names moves nothing."""
    for one in measure_depth(tiny_context(reader(n_layers=2), texts=4)):
        own = one.corrupted if one.into == "corrupted" else one.clean
        assert one.scores == pytest.approx(np.tile(own[:, None], (1, 3)), abs=1e-4)
        assert np.isnan(crossing(np.zeros((1, 3)), 50)).all()


def test_nothing_is_carried_at_the_embedding_and_the_control_has_the_same_length(base):
    for one in measure_depth(tiny_context(base, texts=6)):
        own = one.corrupted if one.into == "corrupted" else one.clean
        assert one.scores[:, 0] == pytest.approx(own, abs=1e-4)
        assert one.clean.shape == (6,)


def test_log_odds_of_the_two_runs_are_opposite_answers_to_one_question(base):
    (pair,) = Batches(EncodedTexts(["THE CAT SAW A DOG."], ENGLISH), ENGLISH)
    made = Counterfactuals("relabel-two", ENGLISH, Words(["A"])).pair(pair)
    first, second = (right_symbols(batch, ENGLISH)[made.scored] for batch in (made.clean, made.corrupted))
    assert first.tolist() == second.tolist()[::-1]  # the two symbols exchange their letters


def test_shares_run_from_the_patched_run_to_the_other():
    clean, corrupted = np.array([0.0, 0.0]), np.array([-4.0, -2.0])
    scores = [np.stack([corrupted, (clean + corrupted) / 2, clean], axis=1)]
    rng = np.random.default_rng(0)
    for into, expected in (("corrupted", [0, 50, 100]), ("clean", [100, 50, 0])):
        (found,) = shares_of(scores, clean, corrupted, into, rng)
        np.testing.assert_allclose(found.value, expected, atol=1e-9)
        np.testing.assert_allclose(found.ends, [expected, expected], atol=1e-9)


def test_the_depth_lies_between_layers():
    shares = np.array([[0, 20, 40, 80, 100.0], [0, 10, 20, 30, 40], [60, 70, 80, 90, 95]])
    np.testing.assert_allclose(crossing(shares, 50), [2.25, np.nan, 0])
    np.testing.assert_allclose(first_layer(shares, 90), [4, np.nan, 3])


def test_a_single_text_has_no_control_and_no_interval(base):
    (one, _) = measure_depth(tiny_context(base, texts=1))
    assert np.isnan(one.wrong).all()
    shares = DepthShares.of(one, np.random.default_rng(0))
    assert np.isnan(shares.wrong.value).all()
    assert np.isfinite(shares.moved.value).all()
    assert np.isnan(shares.moved.ends).all()


def test_the_report_has_every_kind_and_direction(base):
    result = Patching(samples=3, map_samples=2, kind=("one-word", "relabel-two")).run(tiny_context(base, texts=3))
    rows = result.tables["stream"].records()
    assert {(row["counterfactual"], row["into"]) for row in rows} == {
        (kind, into) for kind in ("one-word", "relabel-two") for into in ("corrupted", "clean")
    }
    assert (result.metric("texts").value, result.metric("map-texts").value) == (3, 2)
    layers = [row["layer"] for row in result.tables["label-depth"].records(into="clean")]
    assert layers == [0, 1, 2]
    assert result.tables["label-depth"].records(into="clean", layer=0)[0]["carried"] == pytest.approx(0, abs=0.1)


def test_wrong_options_are_refused():
    with pytest.raises(AliceError, match="no counterfactual 'one-wrod'; did you mean 'one-word'"):
        Patching(kind=("one-wrod",))
    with pytest.raises(AliceError, match="map_samples=0 is too small"):
        Patching(map_samples=0)
