"""Small trainings for tests: a corpus of made-up sentences and a model that learns in milliseconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from alice.model.config import ModelConfig
from alice.training.folder import Training, read_metrics
from alice.training.recipe import Recipe
from alice.training.setup import train

WORDS = tuple(
    "THE A CAT DOG OLD NEW SEA SKY RUNS SLEEPS SINGS OVER UNDER NEAR GREEN QUIET BRIDGE RIVER STONE LIGHT".split()  # noqa: SIM905  (easier to read)
)
RECIPE = Recipe(steps=30, batch_tokens=512, lr=3e-3, precision="fp32", compile="no", log_every=5, eval_every=15)


def write_corpus(path: Path, count: int = 400) -> Path:
    """Write sentences of random words, one per line."""
    rng = np.random.default_rng(0)
    lines = (" ".join(rng.choice(WORDS, size=rng.integers(4, 12))) + "." for _ in range(count))
    path.write_text("\n".join(lines) + "\n")
    return path


def small_training(folder: Path, data: Path, *, variant: Any = "base", model: Any = None, **changes: Any) -> Training:
    """Return a training of a tiny model."""
    fields = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_mlp": 16, "hyper_layers": 1, "hyper_heads": 2}
    config = ModelConfig(variant=variant, cross_skip=True, sinkhorn_tau=1.0, init_std=0.1, **fields | (model or {}))
    return Training(config, replace(RECIPE, **changes), str(data), folder)


def carry_out(training: Training, **options: Any) -> bool:
    """Train in this process on one thread, so that trainings can be compared bit for bit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train(training, device="cpu", **options)
    finally:
        torch.set_num_threads(threads)


def losses(folder: Path) -> list[float]:
    """Return the losses that a training has logged."""
    return [row["loss"] for row in read_metrics(folder) if "loss" in row]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return the weights of the checkpoint in a folder."""
    return load_file(folder / "model.safetensors")


def same_weights(left: Path, right: Path) -> bool:
    """Return whether two checkpoints agree bit for bit."""
    a, b = weights(left), weights(right)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
