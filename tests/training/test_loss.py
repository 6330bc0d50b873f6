import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from alice.training.loss import Objective, character_weights, token_losses


@pytest.fixture
def plain(ids):
    """Answers that decode each symbol alike: the next letter, and everything else as it is."""
    shifted = ids % 26 + 1
    return torch.where((ids >= 1) & (ids <= 26), shifted, ids)


def test_the_loss_of_the_linear_head_is_the_cross_entropy_at_every_character(base, ids, plain):
    per_position = F.cross_entropy(base(ids).transpose(1, 2), plain, reduction="none")
    assert torch.allclose(token_losses(base, ids, plain)[ids != 0], per_position[ids != 0], atol=1e-5)


def test_the_loss_of_the_permutation_head_is_the_log_likelihood_of_the_sinkhorn_matrix(bijective, ids, plain):
    _, cache = bijective.run_with_cache(ids, soft=True, names_filter="head.hook_log_perm")
    expected = []
    for text, position in (ids != 0).nonzero().tolist():
        cipher, letter = int(ids[text, position]), int(plain[text, position])
        is_letter = 1 <= cipher <= 26
        expected.append(-cache["head.hook_log_perm"][text, cipher - 1, letter - 1] if is_letter else torch.tensor(0.0))
    assert torch.allclose(token_losses(bijective, ids, plain)[ids != 0], torch.stack(expected), atol=1e-5)


def test_padding_adds_nothing_to_the_loss(model, ids, plain):
    longer = [F.pad(rows, (0, 5)) for rows in (ids, plain)]
    losses = token_losses(model, *longer)
    assert torch.allclose(losses[:, :-5], token_losses(model, ids, plain), atol=1e-4)
    assert not losses[longer[0] == 0].any()


def test_every_weight_gets_a_gradient(model, ids, plain):
    objective = Objective(model.train())
    objective(ids, plain).sum().backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert not without


def test_weights_of_characters_add_up_to_one_per_batch_over_all_batches():
    lengths = np.array([10, 30, 60])
    assert character_weights("batch", lengths, 2) is None
    assert character_weights("character", lengths, 2).tolist() == pytest.approx([0.02, 0.02, 0.02])
    assert (character_weights("text", lengths, 2) * lengths).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])
