"""Patches between the runs of a pair, with activations whose means are known."""

import pytest
import torch

from alice.causal import DIRECTIONS, Patch
from alice.text import ENGLISH, KINDS, Batches, Counterfactuals, EncodedTexts, Words

BATCH = Batches(EncodedTexts(["THE CAT SAW A DOG.", "NO DOG SAW THE CAT"], ENGLISH), ENGLISH)[0]
WORDS = Words(["DOG HEN SAT A IT BEE"])


def pair_of(kind):
    return Counterfactuals(kind, ENGLISH, WORDS).pair(BATCH).kept()


def symbol_means(activation, ids, row):
    """Return the mean activation of each symbol of one text."""
    return {int(symbol): activation[row][ids[row] == symbol].mean(0) for symbol in ids[row].unique() if symbol}


@pytest.mark.parametrize("into", DIRECTIONS)
@pytest.mark.parametrize("shape", [(8,), (2, 4)], ids=["stream", "heads"])
def test_relabelled_runs_are_aligned_by_symbol(into, shape):
    patch = Patch(pair_of("relabel-all"), ENGLISH, into)
    target, source = torch.randn(2, *patch.ids.shape, *shape, generator=torch.Generator().manual_seed(0))
    carried = patch.carried(target, source)
    for row in range(len(patch.ids)):
        before = symbol_means(target, patch.ids, row)
        found, wanted = symbol_means(carried, patch.ids, row), symbol_means(source, patch.source_ids, row)
        for symbol in found:
            assert torch.allclose(found[symbol], wanted[symbol], atol=1e-5)
            at = patch.ids[row] == symbol  # what its places do not have in common stays
            assert torch.allclose(carried[row][at] - found[symbol], target[row][at] - before[symbol], atol=1e-5)


@pytest.mark.parametrize("into", DIRECTIONS)
def test_other_runs_are_aligned_by_position(into):
    patch = Patch(pair_of("other-text"), ENGLISH, into)
    target, source = torch.randn(2, *patch.ids.shape, 8, generator=torch.Generator().manual_seed(0))
    where = patch.pair.clean.mask.clone()
    where[:, 3:] = False
    carried = patch.carried(target, source, where)
    assert torch.equal(carried[:, :3], source[:, :3])
    assert torch.equal(carried[:, 3:], target[:, 3:])


@pytest.mark.parametrize("into", DIRECTIONS)
def test_patching_the_embedding_of_relabelled_texts_changes_nothing(base, into):
    patch = Patch(pair_of("relabel-two"), ENGLISH, into)
    target, source = base.embed(patch.ids), base.embed(patch.source_ids)
    assert torch.allclose(patch.carried(target, source), target, atol=1e-6)


def test_each_direction_is_read_by_its_own_ids():
    for kind in KINDS:
        pair = pair_of(kind)
        into = {direction: Patch(pair, ENGLISH, direction) for direction in DIRECTIONS}
        assert into["corrupted"].ids is into["clean"].source_ids is pair.corrupted.cipher_ids
        assert into["clean"].reader is pair.clean.cipher_ids
        assert into["corrupted"].reader is pair.reader
        assert pair.by_symbol == kind.startswith("relabel")


def test_texts_without_a_counterfactual_are_left_out():
    batch = Batches(EncodedTexts(["AAAAAAA", "THE CAT"], ENGLISH), ENGLISH)[0]
    for kind in ("relabel-two", "one-word"):
        pair = Counterfactuals(kind, ENGLISH, WORDS).pair(batch)
        assert pair.usable.tolist() == [text == 1 for text in batch.index]
        kept = pair.kept()
        assert kept.clean.index.tolist() == kept.corrupted.index.tolist() == [1]
        assert len(kept.scored) == len(kept.reader) == 1
        assert kept.by_symbol == pair.by_symbol
