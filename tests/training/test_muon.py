import pytest
import torch

from alice.training import optimizer
from alice.training.muon import LIKE_ADAMW, Muon, orthogonalised
from alice.training.recipe import Recipe

RATE, DECAY = 0.05, 0.1


def stepped(weight: torch.Tensor, gradient: torch.Tensor, pieces: int | None) -> torch.Tensor:
    """Return by how much a first step moves a weight."""
    parameter = torch.nn.Parameter(weight.clone())
    group = {"params": [parameter], "weight_decay": DECAY} | ({"pieces": pieces} if pieces else {})
    muon = Muon([group], lr=RATE)
    parameter.grad = gradient.clone()
    muon.step()
    return parameter.detach() - weight * (1 - RATE * DECAY)


@pytest.mark.parametrize("shape", [(3, 24, 16), (3, 16, 24), (2, 16, 16)])
def test_orthogonalised_matrices_keep_their_directions_and_lose_their_lengths(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 50
    left, lengths, right = torch.linalg.svd(matrices, full_matrices=False)
    found = torch.einsum("nri,nrc,nic->ni", left, orthogonalised(matrices), right)
    # Only singular values that are nothing beside the others may stay behind.
    large = lengths > lengths.amax(-1, keepdim=True) / 20
    assert large.sum() > 0.8 * large.numel()
    assert found[large].min() > 0.6
    assert found[large].max() < 1.3


def test_a_matrix_of_nothing_but_zeros_stays_so():
    assert not orthogonalised(torch.zeros(1, 4, 3)).any()


def test_the_step_of_a_matrix_has_the_length_of_its_rate_whatever_the_gradient():
    dice = torch.Generator().manual_seed(2)
    weight, gradient = torch.randn(24, 16, generator=dice), torch.randn(24, 16, generator=dice)
    small, large = (stepped(weight, gradient * scale, pieces=1) for scale in (1e-3, 1e3))
    torch.testing.assert_close(small, large)
    # 16 directions of length one: the root mean square of the 24 x 16 entries is the square root of 1 / 24.
    assert small.square().mean().sqrt() == pytest.approx(RATE * LIKE_ADAMW, rel=0.2)
    assert (small * gradient).sum() < 0  # downhill


def test_the_pieces_of_a_stacked_matrix_are_taken_one_by_one():
    dice = torch.Generator().manual_seed(3)
    weight, gradient = torch.randn(12, 8, generator=dice), torch.randn(12, 8, generator=dice)
    together = stepped(weight, gradient, pieces=3)
    for piece in (slice(0, 4), slice(4, 8), slice(8, 12)):
        torch.testing.assert_close(together[piece], stepped(weight[piece], gradient[piece], pieces=1))


def test_what_is_not_in_pieces_takes_the_steps_of_adamw():
    dice = torch.Generator().manual_seed(4)
    weight, gradient = torch.randn(6, generator=dice), torch.randn(6, generator=dice)
    parameter = torch.nn.Parameter(weight.clone())
    adamw = torch.optim.AdamW([parameter], lr=RATE, weight_decay=DECAY)
    parameter.grad = gradient.clone()
    adamw.step()
    torch.testing.assert_close(parameter.detach() - weight * (1 - RATE * DECAY), stepped(weight, gradient, pieces=None))


def test_the_matrices_of_the_blocks_are_muons_and_embeddings_and_answers_are_not(model):
    muon = optimizer.build(model, Recipe(steps=1, lr=1e-3, muon_lr=1e-2))
    names = {weight: name for name, weight in model.named_parameters()}
    taken = {names[weight] for group in muon.param_groups if "pieces" in group for weight in group["params"]}
    assert {name.split(".")[-2] for name in taken} == {"qkv", "out", "gate_up", "down"}
    assert len(taken) == 4 * sum(name.endswith("qkv.weight") for name in names.values())
    assert {group["lr"] for group in muon.param_groups if "pieces" in group} == {1e-2}
    assert {group["lr"] for group in muon.param_groups if "pieces" not in group} == {1e-3}
    optimizer.set_rate(muon, 0.5)
    assert {group["lr"] for group in muon.param_groups} == {5e-3, 5e-4}
