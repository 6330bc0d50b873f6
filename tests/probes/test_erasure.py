"""Erasing a concept: no linear probe is left with anything, and no smaller change does it."""

import pytest
import torch
from torch.nn.functional import one_hot

from alice.errors import AliceError
from alice.probes.erasure import fit_erasers
from alice.probes.layers import IGNORED, LayerProbes

D, CLASSES = 10, 3


def encoded(tokens=1500, seed=0):
    """Return activations with correlated features that encode a label, and the labels."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(CLASSES, (tokens,), generator=generator)
    mixing = torch.randn(D, D, generator=torch.Generator().manual_seed(5))
    directions = torch.randn(CLASSES, D, generator=torch.Generator().manual_seed(6))
    x = torch.randn(tokens, D, generator=generator) @ mixing + 3 * one_hot(y, CLASSES).float() @ directions + 2
    return x[None], y


def test_after_erasure_a_converged_probe_gives_the_constant_answer():
    x, y = encoded()
    ((eraser,),) = fit_erasers(list(zip(x.split(400, 1), y[None].split(400, 1), strict=True)), [CLASSES])
    assert eraser.rank == CLASSES - 1
    before, after = (LayerProbes(penalty=0.01).fit([(given, y)], CLASSES) for given in (x, eraser(x)))
    share = torch.bincount(y).max() / len(y)
    assert (before.predict(x)[0] == y).float().mean() > 0.95
    assert (after.predict(eraser(x))[0] == y).float().mean() == pytest.approx(float(share), abs=1e-3)
    frequencies = torch.bincount(y) / len(y)
    answers = after.logits(eraser(x))[0][0].softmax(-1)
    torch.testing.assert_close(answers, frequencies.expand_as(answers), rtol=0, atol=0.01)


def test_erasure_moves_the_activations_less_than_other_maps_that_erase():
    x, y = encoded()
    ((eraser,),) = fit_erasers([(x, y[None])], [CLASSES])
    moved = (eraser(x) - x).square().sum(-1).mean()
    assert moved / x[0].var(0, correction=0).sum() == pytest.approx(eraser.removed, rel=1e-3)
    means = torch.stack([x[0, y == label].mean(0) for label in range(CLASSES)]) - x[0].mean(0)
    basis = torch.linalg.svd(means, full_matrices=False)[2][: CLASSES - 1]
    centred = x[0] - x[0].mean(0)
    orthogonal = (centred @ basis.T @ basis).square().sum(-1).mean()  # projecting out the class means erases as well
    assert moved < 0.99 * orthogonal
    torch.testing.assert_close(eraser(x).mean(1), x.mean(1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(eraser(eraser(x)), eraser(x), rtol=1e-3, atol=1e-3)


def test_tokens_without_a_label_do_not_matter():
    x, y = encoded()
    ((expected,),) = fit_erasers([(x[:, :900], y[None, :900])], [CLASSES])
    y[900:] = IGNORED
    ((found,),) = fit_erasers([(x, y[None])], [CLASSES])
    torch.testing.assert_close(found(x), expected(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(AliceError, match="no labels"):
        fit_erasers([(x, torch.full_like(y[None], IGNORED))], [CLASSES])


def test_random_directions_remove_their_share_of_the_dimensions():
    x, y = encoded()
    ((eraser,),) = fit_erasers([(x, y[None])], [CLASSES])
    texts = torch.randn(200, 5, D, generator=torch.Generator().manual_seed(1)) + eraser.mean
    erased = eraser.random(texts, 4, torch.Generator().manual_seed(2))
    left = (erased - eraser.mean).square().sum() / (texts - eraser.mean).square().sum()
    assert left == pytest.approx(1 - 4 / D, abs=0.03)
    whole = eraser.random(texts, D + 5, torch.Generator())
    torch.testing.assert_close(whole, eraser.mean.expand_as(whole), rtol=0, atol=1e-4)
