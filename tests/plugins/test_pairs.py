import pytest
import torch

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.conformance import tiny_context
from alice.text import KINDS

TEXTS = ["THE CAT SAW A DOG.", "NO DOG SAW THE CAT", "A BEE AND A HEN MET"]


def test_pairs_follow_the_batches_and_repeat(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=6)
    pairs = ctx.pairs("other-text")
    assert len(pairs) == len(ctx.batches)
    for batch, first, again in zip(ctx.batches, pairs, ctx.pairs("other-text"), strict=True):
        assert torch.equal(first.clean.cipher_ids, batch.cipher_ids)
        assert torch.equal(first.corrupted.cipher_ids, again.corrupted.cipher_ids)
    assert pairs[0] is pairs[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_pairs_of_given_texts(tiny_alice, kind):
    (pair,) = RunContext.open(tiny_alice, data=TEXTS).pairs(kind)
    assert pair.usable.any()


def test_another_seed_gives_other_counterfactuals(tiny_alice):
    (one,), (other,) = (RunContext.open(tiny_alice, data=TEXTS, seed=seed).pairs("other-text") for seed in (0, 1))
    assert not torch.equal(one.corrupted.plain_ids, other.corrupted.plain_ids)


def test_a_misspelt_kind_is_an_error(tiny_alice):
    with pytest.raises(AliceError, match="no counterfactual 'othertext'; did you mean 'other-text'"):
        tiny_context(tiny_alice, texts=2).pairs("othertext")
