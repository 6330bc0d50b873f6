import pytest
import torch

from alice.causal import REPLACEMENTS, Part, Replacements, mean_activations, parts_of
from alice.errors import AliceError
from alice.text import ENGLISH, Batches, BatchLimit, Counterfactuals, EncodedTexts, Words

BATCHES = Batches(EncodedTexts(["THE CAT SAW A DOG.", "NO DOG"], ENGLISH), ENGLISH, limit=BatchLimit(texts=1))
PAIR = Counterfactuals("other-text", ENGLISH, Words(["DOG HEN SAT A IT BEE"])).pair(BATCHES[1])


def test_parts_are_all_heads_and_feed_forward_layers_in_order(base):
    labels = [part.label for part in parts_of(base.config)]
    assert labels[:3] == ["L0H0", "L0H1", "L0 MLP"]
    assert len(labels) == base.config.n_layers * (base.config.n_heads + 1)


@pytest.mark.parametrize("part", [Part(1, 1), Part(1)], ids=lambda part: part.label)
def test_each_replacement_puts_its_value_there_and_nowhere_else(base, part):
    ids, names = PAIR.clean.cipher_ids, [part.hook]
    means = mean_activations(base, BATCHES, names)
    _, clean = base.run_with_cache(ids)
    _, other = base.run_with_cache(PAIR.corrupted.cipher_ids)
    expected = {
        "zero": torch.zeros(()),
        "mean": part.taken(means[part.hook][None, None]),
        "resample": part.taken(other[part.hook]),
    }
    for kind in REPLACEMENTS:
        found = Replacements.of(kind, base, PAIR, means=means, names=names)
        with base.hooks(fwd_hooks=found.hooks([part])):
            _, cache = base.run_with_cache(ids, reset_hooks_end=False)
        taken = part.taken(cache[part.hook])
        assert torch.allclose(taken, expected[kind].expand_as(taken), atol=1e-5), kind
        if part.head is not None:
            assert torch.allclose(Part(1, 0).taken(cache[part.hook]), Part(1, 0).taken(clean[part.hook]), atol=1e-5)


def test_replacing_every_part_with_its_own_value_changes_nothing(model):
    ids = PAIR.clean.cipher_ids
    parts = parts_of(model.config)
    names = sorted({part.hook for part in parts})
    _, cache = model.run_with_cache(ids)
    same = Replacements("resample", {name: cache[name] for name in names})
    with model.hooks(fwd_hooks=same.hooks(parts)):
        assert torch.allclose(model.resid(ids), cache["resid_post", -1], atol=1e-5)


def test_means_count_every_character_once_and_no_padding(base):
    names = ["blocks.0.hook_mlp_out"]
    together = Batches(
        EncodedTexts(["THE CAT SAW A DOG.", "NO DOG"], ENGLISH),
        ENGLISH,
        keys=torch.arange(26).repeat(2, 1).numpy().astype("uint8"),
    )
    rows = [base.run_with_cache(batch.cipher_ids)[1][names[0]][batch.mask] for batch in together]
    assert torch.allclose(mean_activations(base, together, names)[names[0]], torch.cat(rows).mean(0), atol=1e-6)


def test_a_misspelt_replacement_names_the_nearest(base):
    with pytest.raises(AliceError, match="no replacement 'zeros'; did you mean 'zero'"):
        Replacements.of("zeros", base, PAIR, means={}, names=[])
    with pytest.raises(AliceError, match="no text"):
        mean_activations(base, [], ["hook_embed"])
