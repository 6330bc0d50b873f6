from pathlib import Path

import pytest
import torch

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import VARIANTS
from alice.training.presets import (
    AUTHORS,
    CPU_SIZES,
    OURS,
    PAPER,
    PAPER_SIZES,
    PRESETS,
    RECIPES,
    default_recipe,
    model_config,
    recipe,
)


@pytest.mark.parametrize("preset", PAPER_SIZES)
def test_a_paper_preset_has_as_many_parameters_as_its_name_says(preset):
    wanted = {"0.5m": 0.53e6}.get(preset, float(preset.removesuffix("m")) * 1e6)
    with torch.device("meta"):  # shapes without memory
        model = Alice(model_config(preset))
    assert sum(weight.numel() for weight in model.parameters()) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("preset", PAPER_SIZES)
def test_the_variants_of_a_paper_preset_are_about_equally_large(preset):
    sizes = {}
    for variant in ("base", "bijective", "dynamic"):
        with torch.device("meta"):
            model = Alice(model_config(preset, variant))
        sizes[variant] = sum(weight.numel() for weight in model.parameters())
    assert max(sizes.values()) < 1.06 * min(sizes.values())


def test_the_paper_presets_follow_the_paper_and_ours_have_the_skip():
    paper, ours = model_config("85m", "bijective"), model_config("small", "bijective")
    assert (paper.cross_skip, paper.sinkhorn_tau, paper.sinkhorn_iters, paper.gumbel_noise) == (False, 4.75, 6, 1.0)
    assert paper.cross_heads == paper.n_heads > 1  # the paper's cross-attention is multi-head
    assert ours.cross_skip
    assert recipe("85m").steps == 200_000
    assert (recipe("85m").lr, recipe("85m").batch_texts, recipe("85m").schedule) == (1e-4, 96, "constant")


def test_the_dynamic_model_of_the_paper_has_ten_layers_and_a_hypernetwork_of_two():
    config = model_config("85m", "dynamic")
    assert (config.n_layers, config.hyper_layers) == (10, 2)


@pytest.mark.parametrize("preset", CPU_SIZES)
def test_the_variants_of_our_presets_have_one_backbone_so_that_one_can_start_from_another(preset):
    configs = [model_config(preset, variant) for variant in VARIANTS]
    assert {config.n_layers for config in configs} == {CPU_SIZES[preset].n_layers}
    assert all(config.hyper_skip for config in configs)


def test_the_shipped_size_has_at_least_six_layers():
    assert CPU_SIZES["small"].n_layers >= 6


def test_an_unknown_preset_suggests_the_nearest():
    with pytest.raises(AliceError, match="no preset 'smal'; did you mean 'small'"):
        model_config("smal")


def test_a_preset_has_its_own_recipe_unless_another_is_named():
    assert [default_recipe(preset) for preset in ("mini", "small", "0.5m", "85m")] == ["ours", "ours", "paper", "paper"]
    assert (recipe("mini"), recipe("85m"), recipe("mini", "authors")) == (OURS, PAPER, AUTHORS)
    assert model_config("85m", "bijective") == model_config("85m", "bijective", recipe="paper")
    assert model_config("mini", recipe="authors").attention_dropout == 0.1
    assert model_config("mini", recipe="authors", attention_dropout=0.0).attention_dropout == 0.0


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_recipe_fits_every_size(name, variant):
    for preset in PRESETS:
        config, size = model_config(preset, variant, recipe=name), (CPU_SIZES | PAPER_SIZES)[preset]
        assert (config.d_model, config.n_heads, config.d_mlp) == (size.d_model, size.n_heads, size.d_mlp)


def test_the_paper_and_the_authors_differ_as_documented():
    paper, authors = (model_config("85m", "bijective", recipe=name).to_dict() for name in ("paper", "authors"))
    assert {name for name in paper if paper[name] != authors[name]} == {
        "attention_dropout", "stochastic_depth_linear", "query_init", "whole_vocab", "cross_heads", "sinkhorn_tau",
        "sinkhorn_iters", "hyper_dropout", "hyper_sees_padding", "hyper_rope_truncated", "hyper_mlp",
    }  # fmt: skip
    plain, theirs = PAPER.to_dict(), AUTHORS.to_dict()
    assert {name for name in plain if plain[name] != theirs[name]} == {
        "batch_lengths", "bijective_loss", "weight_decay_on",
    }  # fmt: skip
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    for name in {name for name in paper if paper[name] != authors[name]} | {
        name for name in plain if plain[name] != theirs[name]
    }:
        assert f"`{name}`" in page or f"`--{name.replace('_', '-')}`" in page, name
