"""The whole analysis, on a model whose circuit is known, and interrupted."""

import numpy as np
import pytest
from handmade import reader

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.circuit import CircuitAnalysis, measure
from alice.plugins.conformance import tiny_context, tiny_texts


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep pieces in a folder of this test."""
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path))


def test_a_model_whose_blocks_add_nothing_has_a_circuit_of_one_edge():
    ctx = RunContext.open(reader(), data=tiny_texts(4), split="all")
    result = CircuitAnalysis(samples=4, edges=0.1, steps=2, exact=True).run(ctx)
    (first, *others) = result.tables["edges"].records(model="base")
    assert (first["writer"], first["reader"], first["exact"]) == ("embedding", "output", pytest.approx(100))
    assert first["eap_ig_activations"] == pytest.approx(first["eap_ig_inputs"])
    assert all(edge["exact"] == pytest.approx(0, abs=1e-3) for edge in others)
    assert result.metric("circuit-edges").value == result.metric("connected-edges").value == 1
    assert result.metric("faithfulness").value == pytest.approx(1, abs=1e-5)
    assert result.metric("completeness").value == pytest.approx(0, abs=1e-5)
    assert result.metric("cmd").value == pytest.approx(0, abs=1e-5)
    assert result.metric("ser-circuit").value == pytest.approx(result.metric("ser").value)
    assert [row["needed"] for row in result.tables["groups"].records()] == [None, None, True]


def test_texts_to_score_on_are_not_tested_on(base):
    result = CircuitAnalysis(samples=7, steps=1).run(tiny_context(base, texts=9))
    assert (result.metric("texts").value, result.metric("test-texts").value) == (4, 3)
    assert result.array("effects-eap", model="base").shape == (4, 46)


def test_interrupted_patching_continues_where_it_stopped(base, monkeypatch):
    ctx, computed, limit = tiny_context(base, texts=6), [], 3
    patch = measure._exact_block

    def interrupted(contrast, block):
        if len(computed) == limit:
            raise KeyboardInterrupt
        computed.append(block)
        return patch(contrast, block)

    contrasts = measure.Contrasts(ctx, counterfactual="other-text", replacement="resample", testing=False)
    expected = measure.exact_effects(
        ctx, measure.Contrasts(ctx, counterfactual="one-word", replacement="zero", testing=False)
    )
    monkeypatch.setattr(measure, "_exact_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure.exact_effects(ctx, contrasts)
    limit = None
    found = measure.exact_effects(ctx, contrasts)
    batches = sum(contrasts.pair(number) is not None for number in range(len(contrasts)))
    assert len(computed) == 3 * batches + 1  # one piece is computed again to verify those that were kept
    assert found.shape == expected.shape
    computed.clear()
    np.testing.assert_array_equal(measure.exact_effects(ctx, contrasts), found)
    assert len(computed) == 1


@pytest.mark.parametrize("counterfactual", ["other-text", "one-word", "one-pattern"])
def test_every_counterfactual_gives_a_result(bijective, counterfactual):
    result = CircuitAnalysis(samples=6, steps=1, counterfactual=counterfactual).run(tiny_context(bijective, texts=6))
    assert np.isfinite(result.metric("faithfulness", model="bijective").value)


def test_options_out_of_range_are_one_sentence(base):
    with pytest.raises(AliceError, match="samples=1 is too small; give 2 or more"):
        CircuitAnalysis(samples=1)
    with pytest.raises(AliceError, match="edges=0 is not a share of the edges"):
        CircuitAnalysis(edges=0)
    with pytest.raises(AliceError, match="one text only; give at least two"):
        CircuitAnalysis().run(RunContext.open(base, data=["ONLY ONE TEXT"]))
