"""The truth about planted models holds: edges, layers, kinds of attention, concepts and decoys, by intervention."""

import numpy as np
import pytest
import torch
from contrasts_of import contrast_of

from alice.causal import Graph, Part, Replacements, parts_of
from alice.planted import change_without_decoys, readers_of
from alice.plugins.builtin.attention.statistics import STATISTICS, head_statistics, key_weights, uniform_pattern
from alice.plugins.builtin.circuit.scores import exact

NOTHING = 1e-6


def heads_of(planted, *kinds):
    """Return the names of the decoys of some kinds."""
    return [decoy.name for decoy in planted.truth.decoys if decoy.kind in kinds]


def part_of(planted, label) -> Part:
    return next(part for part in parts_of(planted.model.config) if part.label == label)


def scores(planted, batch, hooks=()):
    """Return the soft scores of the first batch under some hooks, (batch, pos, symbol)."""
    with torch.no_grad(), planted.model.hooks(fwd_hooks=list(hooks)):
        return planted.model(batch.cipher_ids, soft=True)


def removed(planted, batch, *labels):
    """Return the scores when the parts of these labels write nothing."""
    return scores(planted, batch, Replacements("zero", {}).hooks([part_of(planted, label) for label in labels]))


@pytest.fixture(scope="module")
def batch(batches):
    """A few texts."""
    return batches[-1].chosen(torch.arange(6))


def test_the_edges_are_those_that_matter_one_by_one(planted):
    contrast = contrast_of(planted.model)
    effects = torch.cat([exact(contrast, reader) for reader in contrast.graph.readers], dim=1).abs().amax(0)
    labels = contrast.graph.labels(np.arange(len(contrast.graph)))
    found = dict(zip(labels, effects.tolist(), strict=True))
    assert planted.truth.edges <= found.keys()
    assert {label for label, effect in found.items() if effect > 0.01} == planted.truth.edges
    assert all(effect < NOTHING for label, effect in found.items() if label not in planted.truth.edges)


def test_the_nodes_are_those_on_the_edges_and_all_edges_are_connected(planted):
    graph = Graph(planted.model.config)
    chosen = np.isin(graph.labels(np.arange(len(graph))), list(planted.truth.edges))
    assert np.array_equal(graph.connected(chosen), chosen)
    writers = {edge.split(" → ")[0] for edge in planted.truth.edges}
    assert planted.truth.nodes == writers - {"embedding"}


def test_the_answer_is_there_from_its_layer_on_and_not_before(planted, batch):
    with torch.no_grad():
        _, cache = planted.model.run_with_cache(batch.cipher_ids, names_filter=lambda name: "hook_resid_pre" in name)
        streams = [*cache.values(), planted.model.resid(batch.cipher_ids)]
        answers = [planted.model.decode(stream, batch.cipher_ids, soft=False).argmax(-1) for stream in streams]
    same = [torch.equal(answer[batch.mask], answers[-1][batch.mask]) for answer in answers]
    assert same == [layer >= planted.truth.answer_layer for layer in range(len(answers))]


def test_heads_attend_as_their_kinds_say(planted, batch):
    weights = key_weights(batch.cipher_ids, batch.mask, planted.model.alphabet)
    with torch.no_grad():
        _, cache = planted.model.run_with_cache(batch.cipher_ids, names_filter=lambda name: "hook_pattern" in name)
    uniform = head_statistics(uniform_pattern(batch.mask), weights)[:, 0].mean(0)
    for label, kind in planted.truth.kinds.items():
        part = part_of(planted, label)
        pattern = cache[f"blocks.{part.block}.attn.hook_pattern"]
        excess = (head_statistics(pattern, weights).mean(0)[part.head] - uniform)[2:]
        if kind == "broad":
            assert excess.abs().max() < NOTHING
        else:
            assert STATISTICS[2:][int(excess.argmax())] == kind
            assert excess.max() > 0.5


def test_randomising_the_decoys_changes_no_score(planted, batch):
    assert change_without_decoys(planted, batch) == 0


def test_what_is_unread_is_so_by_its_weights_and_a_silent_head_writes_nothing(planted):
    for label in heads_of(planted, "unread", "silent"):
        assert readers_of(planted.model, label) == ()
    for label in heads_of(planted, "unread", "silent", "backup"):
        part = part_of(planted, label)
        written = planted.model.blocks[part.block].attn.W_O[part.head]
        assert bool(written.any()) == (label not in heads_of(planted, "silent"))
    assert all(readers_of(planted.model, label) for label in planted.truth.nodes if "H" in label)


def test_a_backup_matters_only_if_the_other_head_is_removed(planted, batch):
    (backup,) = (decoy for decoy in planted.truth.decoys if decoy.kind == "backup")
    clean = scores(planted, batch)
    assert torch.equal(removed(planted, batch, backup.name), clean)
    assert (removed(planted, batch, backup.stands_in_for) - clean).abs().max() < 1e-3
    assert (removed(planted, batch, backup.stands_in_for, backup.name) - clean).abs().max() > 0.1


def test_a_used_concept_changes_the_scores_when_it_is_removed_and_an_unused_one_does_not(planted, batch):
    clean = scores(planted, batch)
    # After block 0 of `neighbours` nothing reads the previous symbol itself, only whether a word starts.
    previous = "previous " if planted.name == "frequency" else "word start"
    carriers = {"symbol": "symbol ", "next": "next ", "previous": previous}
    carriers |= dict.fromkeys(["rank", "letter"], "own frequency")
    for (concept, layer), verdict in planted.truth.concepts.items():
        vectors = [
            direction.vector
            for direction in planted.truth.directions
            if direction.layer == layer and direction.name.startswith(carriers.get(concept, concept))
        ]
        assert (verdict == "absent") == (not vectors)
        if vectors:
            change = (without(planted, batch, layer, torch.stack(vectors)) - clean).abs().max()
            assert change > 0.1 if verdict == "used" else change == 0, (concept, layer)


def test_the_answer_depends_on_the_used_directions_of_every_layer_and_on_no_unused_one(planted, batch):
    clean = scores(planted, batch)
    for layer in range(planted.model.config.n_layers + 1):
        for used in (True, False):
            vectors = [one.vector for one in planted.truth.directions if (one.layer, one.used) == (layer, used)]
            if vectors:
                change = (without(planted, batch, layer, torch.stack(vectors)) - clean).abs().max()
                assert change > 0.1 if used else change == 0, (layer, used)


def without(planted, batch, layer, vectors):
    """Return the scores when orthonormal directions, (direction, d_model), are removed from the stream of a layer."""

    def remove(stream, hook):
        return stream - stream @ vectors.T @ vectors

    name = "hook_embed" if layer == 0 else f"blocks.{layer - 1}.hook_resid_post"
    return scores(planted, batch, [(name, remove)])


def test_every_direction_is_a_unit_vector_of_a_layer_that_exists(planted):
    for direction in planted.truth.directions:
        assert direction.vector.norm() == 1
        assert 0 <= direction.layer <= planted.model.config.n_layers
    names = [(direction.name, direction.layer) for direction in planted.truth.directions]
    assert len(set(names)) == len(names)
