"""Trains a network of the baselines, or a `base` beside them: `python -m alice.baselines.train NAME --out FOLDER`.

Batches, split, optimizer, schedule, loop and saved state are those of `alice-interp train`. All networks get the same
number of operations: the steps are counted that fit into the budget. A training that was interrupted continues.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click
import torch
from accelerate.utils import set_seed
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from alice.baselines.sequences import SequenceModel
from alice.baselines.shipped import NETWORKS, REFERENCE
from alice.checkpoint import CARD
from alice.files import atomic_write, make_folder
from alice.model import Alice, training_flops
from alice.text import PAD, QUOTES, Batch, open_corpus
from alice.training import Recipe, model_config
from alice.training.loop import Row, Trainer
from alice.training.presets import recipe
from alice.training.setup import new_accelerator, training_stream, validation_batches
from alice.training.state import STATE

PRESET = "mini"
FLOPS = 4e12
"""Operations that each network is trained for."""
RECIPE = replace(recipe(PRESET), batch_tokens=2048, warmup_steps=100, eval_every=250, eval_texts=300, save_minutes=2.0)
"""As for other small models, but with smaller batches, so that the budget is enough for some hundred steps."""
HIDDEN = 0.5
"""Share of the texts in which a language model does not see some letters."""


class WritingLoss(nn.Module):
    """The loss of a network that writes plaintext, given the characters before each."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, cipher: Tensor, plain: Tensor) -> Tensor:
        """Return the summed loss of each text, (batch, pos) twice -> (batch,)."""
        hides = self.training and self.model.design.kind == "language-model"
        logits = self.model(cipher, hide_letters(plain, self.model) if hides else plain)
        losses = F.cross_entropy(logits.transpose(1, 2), plain, reduction="none")
        return losses.masked_fill(plain == PAD, 0.0).sum(-1)


def hide_letters(plain: Tensor, model: SequenceModel) -> Tensor:
    """Hide letters as a search does that has not decided them yet, (batch, pos) -> the same with -1 for hidden ones.

    In some texts every letter of the alphabet is hidden with a probability that is drawn for the text.
    """
    count, size = len(plain), model.alphabet.size
    chance = torch.rand(count, 1) * (torch.rand(count, 1) < HIDDEN)
    hidden = torch.rand(count, size) < chance
    others = torch.ones(size, dtype=torch.bool)
    others[model.alphabet.letter_ids] = False
    hidden = (hidden & ~others).to(plain.device)
    return plain.masked_fill(hidden.gather(1, plain), -1)


class BaselineTrainer(Trainer):
    """The trainer, for a network that writes."""

    def _objective(self) -> nn.Module:
        return WritingLoss(self._network)

    def _flops(self, lengths: Tensor) -> float:
        return self._network.training_flops(lengths)

    @torch.no_grad()
    def _validate(self) -> list[Row]:
        """Measure the loss per character on held-out texts."""
        objective = WritingLoss(self._network).eval()
        losses = sum(float(objective(batch.cipher_ids, batch.plain_ids).sum()) for batch in self.validation)
        self.model.train()
        return [{**self._position(), "validation_loss": losses / sum(int(one.mask.sum()) for one in self.validation)}]

    @property
    def _network(self) -> SequenceModel:
        return cast(SequenceModel, self.model)


def steps_within(batches: Iterable[Batch], operations: Callable[[Tensor], float], budget: float) -> int:
    """Return the number of steps that a budget of operations is enough for, at least 1."""
    used, steps = 0.0, 0
    for batch in batches:
        used += operations(batch.mask.sum(1))
        if used > budget:
            break
        steps += 1
    return max(1, steps)


def operations_of(model: SequenceModel | Alice, lengths: Tensor) -> float:
    """Return the operations of a training step on texts of these lengths, (batch,)."""
    if isinstance(model, SequenceModel):
        return model.training_flops(lengths)
    return training_flops(model.config, int(lengths.sum()), int(lengths.square().sum()))


def train(
    name: str,
    folder: Path,
    *,
    flops: float = FLOPS,
    data: str = QUOTES,
    settings: Recipe | None = None,
    preset: str = PRESET,
) -> Trainer:
    """Train a network by name with a budget of operations, or continue the training in the folder."""
    config, settings = model_config(preset), settings or RECIPE
    corpus = open_corpus(data, max_length=settings.max_length)
    set_seed(settings.seed)
    model: Any = Alice(config) if name == REFERENCE else SequenceModel(config, NETWORKS[name])
    stream = training_stream(corpus, settings)
    steps = steps_within(stream.start(), lambda lengths: operations_of(model, lengths), flops)
    settings = replace(settings, steps=steps, hours=None)
    trainer = (Trainer if name == REFERENCE else BaselineTrainer)(
        model,
        settings,
        stream=stream,
        validation=validation_batches(corpus, settings),
        folder=make_folder(folder),
        accelerator=new_accelerator(settings),
        report=_show,
    )
    if (folder / STATE).exists():
        trainer.resume()
    trainer.fit()
    return trainer


def _show(row: Row) -> None:
    if row["step"] % 50 == 0 or "lr" not in row:
        click.echo(" · ".join(f"{name} {value}" for name, value in row.items()))


def card(name: str, trainer: Trainer, data: str) -> str:
    """Return the card of a network."""
    counters, recipe, config = trainer.counters, trainer.recipe, trainer.model.config
    weights = sum(weight.numel() for weight in trainer.model.parameters())
    return (
        f"# {name}\n\nOne of the networks behind the baselines (docs/baselines.md): {weights:,} weights, "
        f"width {config.d_model}, {config.n_layers} blocks, half precision.\n\n"
        f"- Data: the training split of {data}, texts of 15 to {recipe.max_length} characters, a fresh key for each.\n"
        f"- {counters.step:,} steps, {counters.tokens:,} characters of plaintext, {counters.flops:.3g} operations, "
        f"{counters.core_seconds / 60:.0f} minutes of one core.\n"
        f"- Command: `python -m alice.baselines.train {name} --out FOLDER`; its log is in `metrics.jsonl`.\n"
    )


@click.command()
@click.argument("name", type=click.Choice([*NETWORKS, REFERENCE]))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the network.")
@click.option("--flops", default=FLOPS, show_default=True, help="Budget in operations.")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus.")
def main(name: str, out: Path, flops: float, data: str) -> None:
    """Train a network for a number of operations, round it to half precision and write it with its card."""
    trainer = train(name, out, flops=flops, data=data)
    trainer.best().save_pretrained(out, dtype=torch.float16)
    with atomic_write(out / CARD) as file:
        file.write(card(name, trainer, Path(data).name))


if __name__ == "__main__":
    main()
