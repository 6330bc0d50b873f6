import pytest
import torch

from alice.errors import AliceError
from alice.training import optimizer
from alice.training.loss import Objective
from alice.training.recipe import Recipe


def names_of(model):
    return {weight: name for name, weight in model.named_parameters()}


def step(model, adam, ids):
    Objective(model)(ids, ids).backward()
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
def test_an_optimizer_goes_on_bit_for_bit_from_its_tensors(base, ids, muon_lr):
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


def test_a_state_of_another_model_is_refused(base):
    adam = optimizer.build(base, Recipe(steps=1))
    with pytest.raises(AliceError, match=r"'blocks.99.w', which this model lacks"):
        optimizer.load_state_tensors(adam, names_of(base), {"blocks.99.w/exp_avg": torch.zeros(1)})
