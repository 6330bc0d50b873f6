"""Named sizes and recipes: the paper's six models, and smaller ones that train on a CPU."""

from dataclasses import dataclass
from typing import Any

from alice.errors import AliceError, nearest
from alice.model import ModelConfig, Variant
from alice.training.recipe import Recipe


@dataclass(frozen=True)
class Size:
    """Size of a model, as in the paper's table of sizes."""

    d_model: int
    n_layers: int
    n_heads: int
    d_mlp: int


PAPER_SIZES = {
    "0.5m": Size(128, 2, 4, 512),
    "3.4m": Size(256, 4, 4, 768),
    "10.7m": Size(384, 6, 6, 1024),
    "27.3m": Size(512, 8, 8, 1536),
    "85m": Size(768, 12, 12, 2048),
    "308m": Size(1024, 24, 16, 2816),
}
CPU_SIZES = {
    "tiny": Size(48, 4, 2, 96),  # 0.1 million weights, for tests
    "mini": Size(64, 4, 2, 192),  # heads narrower than 32 spend more on their softmax than on products
    "small": Size(128, 8, 4, 384),
}
PRESETS = (*CPU_SIZES, *PAPER_SIZES)

# Dropout and stochastic depth are from the authors' code, not from the paper.
_PAPER_EXTRAS = {"dropout": 0.1, "stochastic_depth": 0.1}
# A lower temperature with the paper's noise-to-temperature ratio. With the skips the variants learn as fast as base;
# without them the queries must first learn to find their own symbol, which the loss hardly rewards early in training.
_CPU_EXTRAS = {
    "init_std": 0.04,
    "cross_skip": True,
    "sinkhorn_tau": 1.0,
    "gumbel_noise": 0.21,
    "hyper_layers": 2,
    "hyper_skip": True,
}

PAPER_RECIPE = Recipe(
    steps=200_000, batch_texts=96, batch_tokens=None, lr=1e-4, schedule="constant", warmup_steps=0, clip=0.0
)
CPU_RECIPE = Recipe(
    steps=20_000,
    batch_texts=None,
    batch_tokens=4096,
    lr=2e-3,
    muon_lr=6e-3,
    schedule="wsd",
    warmup_steps=200,
    clip=1.0,
)


def model_config(preset: str, variant: Variant = "base", **overrides: Any) -> ModelConfig:
    """Return the architecture of a preset; the paper's dynamic variant trades layers for its hypernetwork."""
    size = _find(preset)
    fields: dict[str, Any] = {**vars(size), "variant": variant, "hyper_heads": size.n_heads}
    fields |= _CPU_EXTRAS if preset in CPU_SIZES else {**_PAPER_EXTRAS, "cross_heads": size.n_heads}
    if variant == "dynamic" and preset in PAPER_SIZES:
        fields["hyper_layers"] = min(2, size.n_layers // 2)
        fields["n_layers"] = size.n_layers - fields["hyper_layers"]
    return ModelConfig(**(fields | overrides))


def recipe(preset: str) -> Recipe:
    """Return the default recipe of a preset."""
    _find(preset)
    return CPU_RECIPE if preset in CPU_SIZES else PAPER_RECIPE


def _find(preset: str) -> Size:
    sizes = CPU_SIZES | PAPER_SIZES
    if preset not in sizes:
        choices = f"; choose one of {', '.join(sizes)}"
        raise AliceError(f"there is no preset {preset!r}{nearest(preset, sizes) or choices}")
    return sizes[preset]
