"""Training folders with known contents, for tests of what reads them."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from alice.model.config import ModelConfig
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.plugins.builtin.generalization.measures import LAPSES, POOL_WEIGHTS, Measured, Snapshot
from alice.training.recipe import Recipe

Pairs = list[tuple[int, float]]


def write_training(
    folder: Path,
    *,
    losses: Pairs,
    errors: Pairs = [],  # noqa: B006  (never changed)
    pool: int | None = None,
    tokens_per_step: int = 100,
    flops_per_step: float | None = 1e6,
    data: str = "quotes",
    model: dict[str, Any] | None = None,
    **recipe: Any,
) -> Path:
    """Write `training.json` and `metrics.jsonl` with the given losses and error rates by step."""
    folder.mkdir(parents=True)
    how = Recipe(**{"steps": max(step for step, _ in [*losses, *errors]), "cipher_pool": pool, **recipe})
    what = ModelConfig(**{"d_model": 16, "n_layers": 1, "n_heads": 2, "d_mlp": 16, **(model or {})})
    about = {"data": data, "recipe": how.to_dict(), "model": what.to_dict()}
    (folder / "training.json").write_text(json.dumps(about))
    rows = [(step, {"loss": loss}) for step, loss in losses] + [(step, {"ser": {"all": ser}}) for step, ser in errors]
    lines = []
    for step, values in sorted(rows, key=lambda row: row[0]):
        flops = {} if flops_per_step is None else {"flops": step * flops_per_step}
        lines.append(json.dumps({"step": step, "tokens": step * tokens_per_step, **flops, "seconds": 1.0, **values}))
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def made_up_measures(step: int, share: float) -> Measured:
    """Return measures of a checkpoint of one layer and two heads that has a share of the characters right."""
    mixtures = np.linspace(0.1, 2.0, len(LAPSES) * len(POOL_WEIGHTS)).reshape(len(LAPSES), len(POOL_WEIGHTS))
    snapshot = Snapshot(
        accuracy_pool=0.9,
        accuracy_new=share,
        exits_pool=[0.1, 0.9],
        exits_new=[0.1, share],
        kl_pool_pool=0.5,
        kl_pool_new=1.5,
        kl_general_pool=0.25,
        kl_general_new=0.5,
        mixtures=mixtures.tolist(),
        symmetry=[0.0, 0.5],
        same_answers=[0.1, share],
        label_depth=1.5,
        attention=[[0.5] * len(STATISTICS)] * 2,
        uniform_attention=[0.1] * len(STATISTICS),
        weight_norm=12.5,
    )
    return Measured(step, 100, 0.01, snapshot)
