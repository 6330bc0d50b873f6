"""From a run folder to a checkpoint worth shipping: half precision, its log, and a card with measured figures."""

from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile
from typing import Any

import torch

from alice import metrics_log
from alice.checkpoint import WEIGHTS
from alice.errors import AliceError
from alice.evaluate import ErrorTable
from alice.files import atomic_write
from alice.metrics import SHORT, bin_names
from alice.model import Alice
from alice.run_folder import ABOUT, Run, read_about, write_about

CARD = "card.md"


def export_weights(run_folder: Path, out: Path) -> Alice:
    """Write a run's weights in half precision with its log and its totals; return the model as it will be loaded."""
    if out.resolve() == run_folder.resolve():
        raise AliceError(f"{out} is the run itself; export to another folder")
    run = Run.open(run_folder, {})
    totals = vars(run.totals())
    Alice.from_pretrained(run_folder).save_pretrained(out, dtype=torch.float16)
    copyfile(run_folder / metrics_log.FILE, out / metrics_log.FILE)
    data = run.data if run.data.startswith("hf:") else Path(run.data).name  # where it lay does not matter to others
    write_about(out, {"data": data, "recipe": run.recipe.to_dict(), "totals": totals})
    return Alice.from_pretrained(out)


def write_card(out: Path, name: str, model: Alice, errors: ErrorTable, command: str) -> None:
    """Write the card of an exported checkpoint, with the error rates that a command measured."""
    facts = _facts(out, name, model, read_about(out))
    with atomic_write(out / CARD) as file:
        file.write(facts + _errors(errors, command) + _LIMITS)


def _facts(out: Path, name: str, model: Alice, about: dict[str, Any]) -> str:
    config, recipe, used = model.config, about["recipe"], about["totals"]
    size = sum(weight.numel() for weight in model.parameters())
    hypernet = f" and a hypernetwork of {config.hyper_layers}" if config.variant == "dynamic" else ""
    return f"""# {name}

A `{config.variant}` ALICE model: {config.n_layers} layers{hypernet}, width {config.d_model}, {config.n_heads} heads,
{size:,} parameters, stored in half precision ({(out / WEIGHTS).stat().st_size / 1e6:.1f} MB).
Exported on {datetime.now(UTC):%Y-%m-%d} with `alice-interp ckpt export`.

## Training

- Data: the training side of {about["data"]} (97.5 %, chosen by a hash of the letters), texts of 15 to
  {recipe["max_length"]} characters, a fresh random key for every text.
- Recipe: AdamW, peak learning rate {recipe["lr"]} after {recipe["warmup_steps"]} steps, schedule {recipe["schedule"]},
  batches of {recipe["batch_tokens"]} characters, gradient clipped at {recipe["clip"]}.
  All of it is in `{ABOUT}`, the course of the last run in `{metrics_log.FILE}`.
- {used["steps"]:,} steps, {used["tokens"]:,} characters, {used["core_hours"]:.1f} core hours
  on a CPU that did other work, too.
"""


def _errors(errors: ErrorTable, command: str) -> str:
    rows = []
    for part in (*bin_names(), f"<{SHORT}", f">={SHORT}", "all"):
        mean, median = errors.mean[part], errors.median[part]
        if mean.count:
            spread = f"{median.median:.2f} ({median.low:.2f}-{median.high:.2f})"
            rows.append(f"| {part} | {mean.count:,} | {mean.mean:.2f} ± {mean.error:.2f} | {spread} |")
    return f"""
## Symbol error rate

In percent, over {errors.texts:,} test texts under unseen keys; measured with `{command}`.

| length | texts | mean ± bootstrap error | median (16-84 %) |
| --- | --- | --- | --- |
{chr(10).join(rows)}
"""


_LIMITS = """
## Limits

English only, in the letters A-Z, space and nine punctuation marks; the spaces between words must be there. Much
smaller than the paper's models and trained for much less time, so it makes more errors, above all in short texts. Below
about 28 letters a cryptogram has more than one solution, whoever solves it.
"""
