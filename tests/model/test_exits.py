"""Lenses: the plain exit, and affine translators before it."""

import pytest
import torch

from alice.errors import AliceError
from alice.model import AffineLens, PlainExit
from alice.plugins.conformance import tiny_context, tiny_model

HOOK = "blocks.0.hook_resid_post"


@pytest.fixture(params=["base", "bijective"])
def read(request):
    """A model, and the stream of a batch after its first block."""
    model = tiny_model(request.param)
    batch, cache = tiny_context(model, texts=4).activations(HOOK)[0]
    return model, cache[HOOK], batch.cipher_ids


def identity(width=16):
    return {f"{HOOK}.A": torch.eye(width), f"{HOOK}.b": torch.zeros(width)}


@torch.no_grad()
def test_the_plain_exit_is_the_models_own_head(read):
    model, resid, ids = read
    assert torch.equal(PlainExit(model).read(HOOK, resid, ids), model.decode_symbols(resid, ids, soft=False))
    assert torch.equal(PlainExit(model).read(HOOK, resid, ids, soft=True), model.log_probabilities(resid, ids))


@torch.no_grad()
@pytest.mark.parametrize("soft", [True, False])
def test_an_identity_translator_is_the_plain_exit(read, soft):
    model, resid, ids = read
    plain, lens = PlainExit(model), AffineLens(model, identity())
    assert torch.allclose(lens.read(HOOK, resid, ids, soft=soft), plain.read(HOOK, resid, ids, soft=soft), atol=1e-6)


@torch.no_grad()
def test_a_translator_multiplies_from_the_right_and_adds(read):
    model, resid, ids = read
    matrix, vector = torch.randn(16, 16), torch.randn(16)
    lens = AffineLens(model, {f"{HOOK}.A": matrix, f"{HOOK}.b": vector})
    translated = resid @ matrix + vector
    assert torch.allclose(lens.translate(HOOK, resid), translated, atol=1e-5)
    expected = model.log_probabilities(translated, ids)
    assert torch.allclose(lens.read(HOOK, resid, ids, soft=True), expected, atol=1e-4)
    assert torch.equal(lens.translate("hook_embed", resid), resid), "a hook without a translator is read as it is"


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({f"{HOOK}.A": torch.eye(16)}, "lacks the tensor"),
        (identity(8), r"has the shape \(8, 8\), not \(16, 16\)"),
        ({"blocks.0.hook_resid_pots.A": torch.eye(16), "blocks.0.hook_resid_pots.b": torch.zeros(16)}, "did you mean"),
        (identity() | {f"{HOOK}.C": torch.zeros(16)}, "fits no hook"),
        (identity() | {f"{HOOK}.b": torch.full((16,), torch.nan)}, "not finite numbers"),
        (identity() | {f"{HOOK}.A": torch.eye(16, dtype=torch.int64)}, "not finite numbers"),
        ({"A": torch.eye(16)}, "lacks the tensor"),
    ],
)
def test_tensors_that_do_not_fit_are_one_sentence(tensors, words):
    with pytest.raises(AliceError, match=words):
        AffineLens(tiny_model(), tensors)
