import pytest
import torch

from alice.errors import AliceError
from alice.training import optimizer
from alice.training.loss import Objective
from alice.training.optimizer import ADAMW_RMS, Muon, orthogonalised
from alice.training.recipe import Recipe

RATE, DECAY = 0.05, 0.1


def names_of(model):
    return {weight: name for name, weight in model.named_parameters()}


def step(model, adam, ids):
    Objective(model)(ids, ids).sum().backward()
    adam.step()
    adam.zero_grad()


def test_weight_decay_spares_norms_embeddings_queries_and_biases(model):
    adam = optimizer.build(model, Recipe(steps=1))
    names = names_of(model)
    groups = {group["weight_decay"]: {names[weight] for weight in group["params"]} for group in adam.param_groups}
    assert groups.keys() == {0.1, 0.0}
    decayed, spared = groups[0.1], groups[0.0]
    assert all(name.endswith(".weight") and "ln" not in name for name in decayed)
    for name in spared:
        assert name.endswith((".w", ".bias", "embed.weight", "query")), name
    assert len(decayed) + len(spared) == len(names)
    assert (adam.defaults["betas"], adam.defaults["eps"]) == ((0.9, 0.95), 1e-5)


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_all_weights_decay_if_the_recipe_says_so(model, muon_lr):
    made = optimizer.build(model, Recipe(steps=1, weight_decay_on="all", muon_lr=muon_lr))
    assert {group["weight_decay"] for group in made.param_groups} == {0.1}
    assert sum(len(group["params"]) for group in made.param_groups) == len(names_of(model))


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_an_optimizer_continues_bit_for_bit_from_its_tensors(base, ids, muon_lr):
    recipe, names = Recipe(steps=9, lr=1e-2, muon_lr=muon_lr), names_of(base)
    adam = optimizer.build(base, recipe)
    for _ in range(3):
        step(base, adam, ids)
    weights = {name: value.clone() for name, value in base.state_dict().items()}
    memory = {name: value.clone() for name, value in optimizer.state_tensors(adam, names).items()}
    step(base, adam, ids)
    expected = {name: value.clone() for name, value in base.state_dict().items()}
    base.load_state_dict(weights)
    again = optimizer.build(base, recipe)
    optimizer.load_state_tensors(again, names, memory)
    step(base, again, ids)
    assert all(torch.equal(value, expected[name]) for name, value in base.state_dict().items())


@pytest.mark.parametrize("betas", [{"beta1": 0}, {"beta2": 0}])
def test_a_beta_may_be_a_whole_number(base, betas):
    made = optimizer.build(base, Recipe.from_dict({"steps": 1, **betas}, where="here"))
    assert all(isinstance(beta, float) for beta in made.param_groups[0]["betas"])


def test_the_state_of_another_model_is_refused(base):
    adam = optimizer.build(base, Recipe(steps=1))
    with pytest.raises(AliceError, match=r"'blocks.99.w', which this model does not have"):
        optimizer.load_state_tensors(adam, names_of(base), {"blocks.99.w/exp_avg": torch.zeros(1)})


def test_muon_takes_the_matrices_of_the_blocks_and_nothing_else(model):
    muon = optimizer.build(model, Recipe(steps=1, lr=1e-3, muon_lr=1e-2))
    names = names_of(model)
    taken = {names[weight] for group in muon.param_groups if "pieces" in group for weight in group["params"]}
    assert {name.split(".")[-2] for name in taken} == {"qkv", "out", "gate_up", "down"}
    assert len(taken) == 4 * sum(name.endswith("qkv.weight") for name in names.values())
    assert {group["lr"] for group in muon.param_groups if "pieces" in group} == {1e-2}
    assert {group["lr"] for group in muon.param_groups if "pieces" not in group} == {1e-3}
    optimizer.set_rate(muon, 0.5)
    assert {group["lr"] for group in muon.param_groups} == {5e-3, 5e-4}


def first_step(weight: torch.Tensor, gradient: torch.Tensor, pieces: int | None) -> torch.Tensor:
    """Return by how much a first step of Muon moves a weight, weight decay aside."""
    parameter = torch.nn.Parameter(weight.clone())
    group = {"params": [parameter], "weight_decay": DECAY} | ({"pieces": pieces} if pieces else {})
    muon = Muon([group], lr=RATE)
    parameter.grad = gradient.clone()
    muon.step()
    return parameter.detach() - weight * (1 - RATE * DECAY)


@pytest.mark.parametrize("shape", [(3, 24, 16), (3, 16, 24), (2, 16, 16)])
def test_orthogonalised_matrices_keep_their_singular_vectors_and_get_singular_values_near_one(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 50
    left, lengths, right = torch.linalg.svd(matrices, full_matrices=False)
    found = torch.einsum("nri,nrc,nic->ni", left, orthogonalised(matrices), right)
    # Only singular values that are very small compared with the others may stay small.
    large = lengths > lengths.amax(-1, keepdim=True) / 20
    assert large.sum() > 0.8 * large.numel()
    assert found[large].min() > 0.6
    assert found[large].max() < 1.3


def test_a_zero_matrix_stays_zero():
    assert not orthogonalised(torch.zeros(1, 4, 3)).any()


def test_the_size_of_muons_step_depends_on_the_rate_and_not_on_the_gradient():
    rng = torch.Generator().manual_seed(2)
    weight, gradient = torch.randn(24, 16, generator=rng), torch.randn(24, 16, generator=rng)
    small, large = (first_step(weight, gradient * scale, pieces=1) for scale in (1e-3, 1e3))
    torch.testing.assert_close(small, large)
    # 16 singular values of one: the root mean square of the 24 x 16 entries is the square root of 1 / 24.
    assert small.square().mean().sqrt() == pytest.approx(RATE * ADAMW_RMS, rel=0.2)
    assert (small * gradient).sum() < 0  # downhill


def test_the_pieces_of_a_stacked_matrix_are_orthogonalised_one_by_one():
    rng = torch.Generator().manual_seed(3)
    weight, gradient = torch.randn(12, 8, generator=rng), torch.randn(12, 8, generator=rng)
    together = first_step(weight, gradient, pieces=3)
    for piece in (slice(0, 4), slice(4, 8), slice(8, 12)):
        torch.testing.assert_close(together[piece], first_step(weight[piece], gradient[piece], pieces=1))


def test_groups_without_pieces_take_the_steps_of_adamw():
    rng = torch.Generator().manual_seed(4)
    weight, gradient = torch.randn(6, generator=rng), torch.randn(6, generator=rng)
    parameter = torch.nn.Parameter(weight.clone())
    adamw = torch.optim.AdamW([parameter], lr=RATE, weight_decay=DECAY)
    parameter.grad = gradient.clone()
    adamw.step()
    expected = parameter.detach() - weight * (1 - RATE * DECAY)
    torch.testing.assert_close(expected, first_step(weight, gradient, pieces=None))
