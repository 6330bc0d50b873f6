"""From a run folder to a checkpoint worth shipping: half precision, its log, and a card with measured figures."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from alice.checkpoint.folder import WEIGHTS
from alice.errors import AliceError
from alice.files import atomic_write
from alice.metrics import SHORT, bin_names
from alice.model import Alice
from alice.solving.evaluate import ErrorTable
from alice.text.alphabet import LETTERS
from alice.training import log as metrics_log
from alice.training.folder import ABOUT, Run, write_about

CARD = "card.md"


def shippable(run_folder: Path) -> Alice:
    """Return a run's model as it will be loaded: with its weights rounded to half precision."""
    model = Alice.from_pretrained(run_folder)
    model.load_state_dict({name: weight.half().float() for name, weight in model.state_dict().items()})
    return model


def export(run_folder: Path, out: Path, model: Alice, *, name: str, errors: ErrorTable, command: str) -> None:
    """Write a checkpoint with its log, its totals and its card, on which stands what a command measured."""
    if out.resolve() == run_folder.resolve():
        raise AliceError(f"{out} is the run itself; export to another folder")
    run = Run.open(run_folder, {})
    data = run.data if run.data.startswith("hf:") else Path(run.data).name  # where it lay does not matter to others
    about = {"data": data, "recipe": run.recipe.to_dict(), "model": run.model.to_dict(), "totals": vars(run.totals())}
    if run.init is not None:
        about["started_from"] = Path(run.init).name
    model.save_pretrained(out, dtype=torch.float16)
    with atomic_write(out / metrics_log.FILE, "wb") as log:
        log.write((run_folder / metrics_log.FILE).read_bytes())
    write_about(out, about)
    with atomic_write(out / CARD) as file:
        file.write(_facts(out, name, model, about) + _errors(errors, command) + _LIMITS)


def _facts(out: Path, name: str, model: Alice, about: dict[str, Any]) -> str:
    config, recipe, used = model.config, about["recipe"], about["totals"]
    keys = f"a pool of {recipe['cipher_pool']} keys" if recipe["cipher_pool"] else "a fresh random key for every text"
    limits = {"characters": recipe["batch_tokens"], "texts": recipe["batch_texts"]}
    batch = " and ".join(f"{limit} {what}" for what, limit in limits.items() if limit) + " at most"
    start = (
        f",\n  those of `{about['started_from']}`, from whose weights it started, included"
        if "started_from" in about
        else ""
    )
    size = sum(weight.numel() for weight in model.parameters())
    hypernet = f" and a hypernetwork of {config.hyper_layers}" if config.variant == "dynamic" else ""
    return f"""# {name}

A `{config.variant}` ALICE model: {config.n_layers} layers{hypernet}, width {config.d_model}, {config.n_heads} heads,
{size:,} parameters, stored in half precision ({(out / WEIGHTS).stat().st_size / 1e6:.1f} MB).
Exported on {datetime.now(UTC):%Y-%m-%d} with `alice-interp ckpt export`.

## Training

- Data: the training side of {about["data"]} (97.5 %, chosen by a hash of the letters), texts of 15 to
  {recipe["max_length"]} characters, {keys}.
- Symbols: {_symbols(model)}.
- Recipe: {_optimizer(recipe)}.
  {recipe["warmup_steps"]} steps of warm-up, schedule {recipe["schedule"]}, batches of {batch}, gradient clipped
  at {recipe["clip"]}.
  All of it is in `{ABOUT}`, the course of the last run in `{metrics_log.FILE}`.
- {used["steps"]:,} steps, {used["tokens"]:,} characters, {used["core_hours"]:.1f} core hours{start}.
"""


def _symbols(model: Alice) -> str:
    """Write the symbols of a model."""
    marks = "".join(symbol for symbol in model.alphabet.symbols if symbol not in LETTERS + " ")
    parts = ["A-Z", *(["space"] if " " in model.alphabet.symbols else []), *([f"`{marks}`"] if marks else [])]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _optimizer(recipe: Mapping[str, Any]) -> str:
    adamw = f"AdamW with a peak learning rate of {recipe['lr']}"
    muon = recipe.get("muon_lr")  # runs from before there was Muon do not say
    if not muon:
        return adamw
    return f"Muon with a peak learning rate of {muon} for the matrices of the blocks,\n  {adamw} for the rest"


def _errors(errors: ErrorTable, command: str) -> str:
    rows = []
    for part in (*bin_names(), f"<{SHORT}", f">={SHORT}", "all"):
        mean, median = errors.mean[part], errors.median[part]
        if mean.count:
            spread = f"{median.median:.2f} ({median.low:.2f}-{median.high:.2f})"
            rows.append(f"| {part} | {mean.count:,} | {mean:.2f} | {spread} |")
    return f"""
## Symbol error rate

In percent, over {errors.texts:,} test texts under unseen keys; measured with `{command}`.

| length | texts | mean ± bootstrap error | median (16-84 %) |
| --- | --- | --- | --- |
{chr(10).join(rows)}
"""


_LIMITS = """
## Limits

It knows the language, the alphabet and the kind of text it was trained on; the spaces between words must be there. The
paper's model has 85 million parameters and saw far more text: what a smaller one gets wrong, it gets wrong above all in
short texts. Below about 28 letters a cryptogram has more than one solution, whoever solves it.
"""
