"""Export a trained model: half-precision weights, the log of its training, and a card with measured error rates."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from alice.checkpoint.folder import CARD, METRICS, TRAINING, WEIGHTS, in_dtype, write_json
from alice.errors import printable
from alice.files import atomic_write
from alice.metrics import SHORT, bin_names
from alice.model import Alice
from alice.statistics import Estimate, Spread
from alice.text import LETTERS, SHARED, Split

ErrorRates = Mapping[str, tuple[Estimate, Spread, Estimate]]
"""Mean over texts, median and rate per character, in percent, of each length bin, short and long texts and all."""


def round_to_half(model: Alice) -> Alice:
    """Round the weights of a model to half precision in place, as the exported checkpoint has them; return it.

    A weight too large for half precision is refused: no healthy training has one, and a card must not hide that.
    """
    rounded = {name: in_dtype(name, weight, torch.float16).float() for name, weight in model.state_dict().items()}
    model.load_state_dict(rounded)
    return model


def export(
    out: Path,
    model: Alice,
    *,
    name: str,
    training: Mapping[str, Any],
    log: bytes,
    errors: ErrorRates,
    apart: ErrorRates | None = None,
    split: Split = "test",
    command: str,
) -> None:
    """Write a checkpoint folder with the log and summary of its training, and its card.

    Args:
        out: folder to write.
        model: the model, its weights rounded to half precision.
        name: name on the card.
        training: how it was trained, as in `Training.summary`.
        log: contents of the training's metrics.jsonl.
        errors: the error rates to print on the card.
        apart: those of the texts that share no passage with a text of another split.
        split: the split of the corpus that they are measured on.
        command: the command that measures these error rates.

    """
    model.save_pretrained(out, dtype=torch.float16)
    with atomic_write(out / METRICS, "wb") as file:
        file.write(log)
    write_json(out / TRAINING, training)
    with atomic_write(out / CARD) as card:
        shown = {**training, "data": printable(training["data"])}
        card.write(
            _facts(out, printable(name), model, shown) + _errors(errors, apart, split, printable(command)) + _LIMITS
        )


def _facts(out: Path, name: str, model: Alice, training: Mapping[str, Any]) -> str:
    config, recipe, used = model.config, training["recipe"], training["totals"]
    keys = f"a pool of {recipe['cipher_pool']} keys" if recipe["cipher_pool"] else "a fresh random key for every text"
    pieces = f", up to {recipe['pieces']} short pieces of each" if recipe.get("pieces") else ""
    limits = {"characters": recipe["batch_tokens"], "texts": recipe["batch_texts"]}
    batch = " and ".join(f"{limit} {what}" for what, limit in limits.items() if limit)
    start = ""
    if "started_from" in training:
        earlier, origin = training["before"]["steps"], training["started_from"]
        origin = f"an earlier `{origin}`" if origin == name else f"`{origin}`"
        start = f".\n  {earlier:,} of these steps are those of {origin}, whose weights it started from"
        start += ";\n  the lengths of texts and the recipe are those of the steps since then"
    size = sum(weight.numel() for weight in model.parameters())
    hypernet = f" and a hypernetwork of {config.hyper_layers}" if config.variant == "dynamic" else ""
    return f"""# {name}

A `{config.variant}` ALICE model: {config.n_layers} layers{hypernet}, width {config.d_model}, {config.n_heads} heads,
{size:,} parameters, stored in half precision ({(out / WEIGHTS).stat().st_size / 1e6:.1f} MB).
Exported on {datetime.now(UTC):%Y-%m-%d} with `alice-interp ckpt export`.

## Training

- Data: the training split of {training["data"]} ({_share(training)},
  chosen by a hash of the letters), texts of 15 to {recipe["max_length"]} characters{pieces},
  {keys}{_changes(training)}.
- Symbols: {_symbols(model)}.
- Recipe: {_optimizer(recipe)}.
  {recipe["warmup_steps"]} steps of warm-up, schedule {recipe["schedule"]}, batches of at most {batch}, gradient clipped
  at {recipe["clip"]}.
  The whole recipe is in `{TRAINING}`, the log of the last training in `{METRICS}`.
- {used["steps"]:,} steps, {used["tokens"]:,} characters, {used["core_hours"]:.1f} core hours{start}.
"""


def _share(training: Mapping[str, Any]) -> str:
    """Return how much of a corpus a model was trained on; earlier versions had no validation split."""
    if training["recipe"].get("held_out") != "validation":
        return "97.5 %"
    return "95 %, and 97.5 % before its last training" if training.get("saw_validation") else "95 %"


def _changes(training: Mapping[str, Any]) -> str:
    """Say at which steps a training was continued on other texts."""
    steps = [f"{one['until']:,}" for one in training.get("earlier_data", ())]
    return f"; the texts were changed after step {' and step '.join(steps)}" if steps else ""


def _symbols(model: Alice) -> str:
    """List the symbols of a model."""
    marks = "".join(symbol for symbol in model.alphabet.symbols if symbol not in LETTERS + " ")
    parts = ["A-Z", *(["space"] if " " in model.alphabet.symbols else []), *([f"`{marks}`"] if marks else [])]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    how = {"none": "", "frequency": "frequency", "recurrence": "first appearance"}[model.config.relabel]
    return f"{listed}; the model renames the letters of each text by {how}" if how else listed


def _optimizer(recipe: Mapping[str, Any]) -> str:
    adamw = f"AdamW with a peak learning rate of {recipe['lr']}"
    if not recipe["muon_lr"]:
        return adamw
    return (
        f"Muon with a peak learning rate of {recipe['muon_lr']} for the matrices of the blocks,\n  {adamw} for the rest"
    )


def _errors(errors: ErrorRates, apart: ErrorRates | None, split: Split, command: str) -> str:
    texts = "texts" if split == "all" else f"{split} texts"
    parts = (f"<{SHORT}", f">={SHORT}", "all")
    rows = [_row(part, *errors[part]) for part in (*bin_names(), *parts)]
    rows += [_row(f"{part}, apart", *apart[part]) for part in parts] if apart is not None else []
    meaning = f"""
Texts apart share no {SHARED} characters in a row with a text of the same file that is not a test text.""" * bool(apart)
    return f"""
## Symbol error rate

In percent, over {errors["all"][0].count:,} {texts} under unseen keys; measured with `{command}`.
The mean is over texts. Per character, as in the authors' training script, long texts count more.{meaning}

| length | texts | mean ± standard error | median (16-84 %) | per character |
| --- | --- | --- | --- | --- |
{chr(10).join(filter(None, rows))}
"""


def _row(part: str, mean: Estimate, median: Spread, per_character: Estimate) -> str:
    """Return a row of the table; an empty one if there are no such texts."""
    spread = f"{median.median:.2f} ({median.low:.2f}-{median.high:.2f})"
    return f"| {part} | {mean.count:,} | {mean:.2f} | {spread} | {per_character:.2f} |" * bool(mean.count)


_LIMITS = """
## Limits

The model knows the language, the alphabet and the kind of text that it was trained on, and needs the spaces between
words. The paper's model has 85 million parameters and saw far more text; a smaller one makes most of its additional
errors in short texts. A cryptogram of fewer than about 28 letters has more than one solution, for any solver.
"""
