"""Training folders with known contents, for tests of what reads them."""

import json
from pathlib import Path
from typing import Any

from alice.model.config import ModelConfig
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
