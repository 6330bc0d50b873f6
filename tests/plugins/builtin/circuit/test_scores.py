"""Effects of edges: exact ones against the run of a circuit, estimates where they are exact or where sums are known."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from contrasts_of import contrast_of, with_linear_score

from alice.plugins.builtin.circuit import scores
from alice.plugins.builtin.circuit.faithfulness import circuit_stream
from alice.plugins.builtin.circuit.nodes import outputs
from alice.plugins.builtin.circuit.scores import eap, eap_ig_activations, eap_ig_inputs, exact

HELD = ("blocks.*.ln?.hook_scale", "blocks.*.attn.hook_pattern", "blocks.*.mlp.hook_pre")


def exact_effects(contrast):
    return torch.cat([exact(contrast, reader) for reader in contrast.graph.readers], 1)


@contextmanager
def linearised(model, ids):
    """Hold norms, attention patterns and gates at their clean values, which makes the blocks linear."""
    names = model.match_hooks(*HELD)
    _, cache = model.run_with_cache(ids, names_filter=names)

    def hold(activation, hook):
        clean = cache[hook.name]
        clean = clean.unsqueeze(2) if activation.ndim > clean.ndim else clean  # the inputs of heads are separate
        return clean.repeat(len(activation) // len(clean), *[1] * (clean.ndim - 1)).expand(
            *activation.shape[:-1], clean.shape[-1]
        )

    with model.hooks(fwd_hooks=[(name, hold) for name in names]):
        yield


@pytest.fixture
def linear(base):
    """A contrast of a linear model with a linear score."""
    contrast = contrast_of(base)
    with linearised(base, contrast.ids):
        # What the linear model writes for the corrupted embedding.
        with base.hooks(fwd_hooks=[("hook_embed", lambda embedding, hook: contrast.corrupted[0])]):
            corrupted = outputs(base, contrast.ids)
        yield with_linear_score(replace(contrast, corrupted=corrupted))


def test_exact_effects_are_those_of_a_circuit_without_the_edge(model):
    contrast = contrast_of(model)
    found = exact_effects(contrast)
    assert found.shape == (len(contrast.ids), len(contrast.graph))
    for edge in range(0, len(contrast.graph), 5):
        others = np.arange(len(contrast.graph)) != edge
        expected = contrast.clean_scores - contrast.score(circuit_stream(contrast, others))
        torch.testing.assert_close(found[:, edge], expected.detach(), atol=2e-5, rtol=1e-4)


def test_stacking_edges_changes_nothing(base, monkeypatch):
    contrast = contrast_of(base)
    together = exact_effects(contrast)
    monkeypatch.setattr(scores, "STACKED", 1)
    torch.testing.assert_close(exact_effects(contrast), together, atol=1e-5, rtol=1e-4)


def test_every_estimate_is_exact_in_a_linear_model(linear):
    expected = exact_effects(linear)
    assert expected.abs().max() > 0.1
    for estimate in (eap(linear), eap_ig_inputs(linear, 2), eap_ig_activations(linear, 2)):
        torch.testing.assert_close(estimate, expected, atol=1e-4, rtol=1e-4)


def test_first_order_effects_across_every_cut_add_up_to_the_total_effect_of_a_linear_model(linear):
    """Moving a linear node n across the cut changes nothing: with g its gradient and J its Jacobian, the edges into it
    sum to g_in · Δin and those out of it to g_out · Δout = g_out · J Δin = g_in · Δin; at the last cut, in front of the
    output, the sum is g · Δ(final stream), which is the total effect of a linear score.
    """
    effects, graph = eap(linear), linear.graph
    total = (linear.clean_scores - linear.corrupted_scores).double()
    node = {label: number for number, label in enumerate((*graph.writers, "output"))}
    owner = np.array([node[graph.readers[reader].node] for reader in graph.edges[:, 1]])
    for cut in range(1, len(graph.writers) + 1):
        across = (graph.edges[:, 0] < cut) & (owner >= cut)
        torch.testing.assert_close(effects[:, across].double().sum(1), total, atol=1e-4, rtol=1e-4)


def test_estimates_approach_the_exact_effects_of_a_small_change(base):
    contrast = with_linear_score(contrast_of(base.double()))
    small = 1e-5 * (contrast.corrupted - contrast.clean)
    contrast = replace(contrast, corrupted=contrast.clean + small)
    expected = exact_effects(contrast)
    for estimate in (eap(contrast), eap_ig_inputs(contrast, 1), eap_ig_activations(contrast, 1)):
        torch.testing.assert_close(estimate, expected, atol=1e-3 * float(expected.abs().max()), rtol=0)


def test_integrated_gradients_of_the_embedding_add_up_to_the_total_effect(model):
    contrast = with_linear_score(contrast_of(model))
    of_embedding = contrast.graph.edges[:, 0] == 0
    total = contrast.clean_scores - contrast.corrupted_scores
    found = eap_ig_inputs(contrast, 32)[:, of_embedding].sum(1)
    torch.testing.assert_close(found, total, atol=0.02 * float(total.abs().max()), rtol=0)


def test_both_integrations_agree_about_the_embedding(model):
    contrast = contrast_of(model)
    of_embedding = contrast.graph.edges[:, 0] == 0
    inputs, activations = eap_ig_inputs(contrast, 3), eap_ig_activations(contrast, 3)
    torch.testing.assert_close(activations[:, of_embedding], inputs[:, of_embedding], atol=1e-4, rtol=1e-3)
    assert not torch.allclose(activations[:, ~of_embedding], inputs[:, ~of_embedding], atol=1e-3)
