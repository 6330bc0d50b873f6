"""Trains a planted model with strict interchange interventions: `python -m alice.planted.train NAME --out FOLDER`.

The loss is the cross-entropy of the program's answers: for texts as they are (behaviour), and for texts into which
variables of other texts are carried (interchange) while nodes outside of the circuit are resampled (strictness).
Sometimes the head that has a backup is removed, and the answers must stay. A first stage trains the table of answers
and the unembedding alone, which takes seconds; the second trains them together with the nodes that have no task. The
rest of the circuit is set by hand, in `alice.planted.wiring`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from alice.checkpoint import CARD
from alice.errors import AliceError
from alice.files import atomic_write
from alice.model import Alice
from alice.planted.acceptance import Acceptance, accept
from alice.planted.interchange import drawn, scores, variables
from alice.planted.programs import is_letter, present, values_of
from alice.planted.wiring import CONTEXT, FREQUENCY, WIRINGS, Wiring, apply_masks, initial_model, masks, trainable
from alice.text import ENGLISH, QUOTES, Batches, BatchLimit, EncodedTexts, is_test, open_corpus

SHORTEST, LONGEST = 100, 200
"""Lengths of the texts."""
TRAINING_TEXTS, TEST_TEXTS, BATCH = 20_000, 512, 32


@dataclass(frozen=True)
class Settings:
    """How long and how fast a model is trained."""

    steps: int = 60
    """Steps of the second stage."""
    lr: float = 2e-4
    """Peak learning rate of the second stage."""
    table_steps: int = 600
    table_lr: float = 5e-3
    table_batches: int = 12
    """Batches whose streams the first stage trains on."""
    table_batch: int = 512
    carried: float = 0.3
    """Probability that a variable of a base comes from its source."""
    resampled: float = 0.4
    """The same for a node outside of the circuit."""
    removed: float = 0.15
    """Probability that the head with a backup writes nothing."""
    seed: int = 0


def cipher_batches(count: int, *, test: bool, seed: int, size: int = BATCH, mixed: bool = False) -> Iterator[Tensor]:
    """Yield batches of ciphertexts, (size, pos): training texts forever, or test texts once."""
    fitting = (
        text
        for text in open_corpus(QUOTES, alphabet=ENGLISH)
        if SHORTEST <= len(text) <= LONGEST and is_test(text) == test
    )
    texts, epoch = EncodedTexts(islice(fitting, count), ENGLISH), 0
    limit, found = BatchLimit(tokens=None, texts=size), False
    while epoch == 0 or not test:
        for batch in Batches(texts, ENGLISH, limit=limit, seed=(seed, epoch), shuffle=True, mixed=mixed):
            if len(batch) == size:
                found = True
                yield batch.cipher_ids
        epoch += 1
        if not found:
            raise AliceError(f"{len(texts)} texts do not fill a batch of {size}; take more, or smaller batches")


@dataclass(frozen=True, eq=False)
class Streams:
    """Streams that enter the table, with the variables of their symbols."""

    rows: Tensor
    """(row, d_model)."""
    symbols: Tensor
    """(row,), likewise the two below."""
    frequency: Tensor
    context: Tensor


@torch.no_grad()
def streams_of(model: Alice, wiring: Wiring, batches: Iterator[Tensor]) -> Streams:
    """Return the stream that enters the table at one place of each symbol of each text."""
    name, found = f"blocks.{wiring.table.block}.hook_resid_mid", []
    for ids in batches:
        _, cache = model.run_with_cache(ids, names_filter=name, stop_at_layer=wiring.table.block + 1)
        values, here = values_of(wiring.program, ids), present(ids)
        place = F.one_hot(ids, ENGLISH.size).argmax(1)
        rows = cache[name].gather(1, place.unsqueeze(-1).expand(-1, -1, model.config.d_model))
        symbols = torch.arange(ENGLISH.size).expand_as(here)
        found.append([tensor[here] for tensor in (rows, symbols, values.frequency, values.context)])
    return Streams(*(torch.cat(column) for column in zip(*found, strict=True)))


def fit_table(model: Alice, wiring: Wiring, streams: Streams, settings: Settings) -> None:
    """Train the table and the unembedding on streams between which the two variables are exchanged."""
    block: Any = model.blocks[wiring.table.block]
    weights = [*block.mlp.parameters(), *model.head.parameters()]
    optimizer, schedule = _optimizer(weights, settings.table_lr, settings.table_steps)
    allowed, letters = masks(model, wiring), is_letter(streams.symbols).nonzero()[:, 0]
    for _ in range(settings.table_steps):
        base = torch.randint(len(streams.rows), (settings.table_batch,))
        first, second = letters[torch.randint(len(letters), (2, settings.table_batch))]
        mixed = streams.rows[base]
        mixed[:, FREQUENCY] = streams.rows[first][:, FREQUENCY]
        mixed[:, CONTEXT] = streams.rows[second][:, CONTEXT]
        answers = wiring.program.table[streams.frequency[first], streams.context[second]]
        wanted = torch.where(is_letter(streams.symbols[base]), answers, streams.symbols[base])
        logits = model.head.unembed(model.ln_final(mixed + block.mlp(block.ln2(mixed))))
        optimizer.zero_grad()
        F.cross_entropy(logits, wanted).backward()
        optimizer.step()
        schedule.step()
        apply_masks(model, allowed)


def train(wiring: Wiring, settings: Settings) -> Alice:
    """Train a model from its initial weights."""
    torch.manual_seed(settings.seed)
    model = initial_model(wiring, settings.seed)
    batches = cipher_batches(TRAINING_TEXTS, test=False, seed=settings.seed)
    fit_table(model, wiring, streams_of(model, wiring, islice(batches, settings.table_batches)), settings)
    model.train()
    optimizer, schedule = _optimizer(list(model.parameters()), settings.lr, settings.steps)
    changeable, carried = trainable(model, wiring), dict.fromkeys(variables(wiring), settings.carried)
    for step, ids in enumerate(islice(batches, settings.steps)):
        intervention = drawn(wiring, ids, carried, resample=settings.resampled, remove=settings.removed)
        table, wanted, here = scores(model, wiring, intervention), intervention.expected(), present(ids)
        loss = F.cross_entropy(table[here], wanted[here])
        optimizer.zero_grad()
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                parameter.grad *= changeable[name]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 10 == 0:
            right = float((table.argmax(-1) == wanted)[here].float().mean())
            click.echo(f"step {step:>4} · loss {loss.item():.4f} · {right:.2%} right")
    return model.eval()


def _optimizer(
    weights: list[torch.nn.Parameter], lr: float, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.AdamW(weights, lr=lr, betas=(0.9, 0.98), weight_decay=0.0)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=max(steps, 2), pct_start=0.1)


def card(wiring: Wiring, found: Acceptance) -> str:
    """Return the card of a model."""
    program = wiring.program
    rows = "\n".join(f"| {name} | {share:.2%} |" for name, share in found.rows())
    verdict = "accepted" if found.accepted else "not accepted"
    return (
        f"# Planted model {program.name}\n\nIt {program.summary}.\n\n"
        f"Shares of {found.symbols:,} symbols of held-out texts (`python -m alice.planted.train {program.name}`), "
        f"{verdict}:\n\n| figure | share |\n| --- | --- |\n{rows}\n"
    )


@click.command()
@click.argument("name", type=click.Choice(list(WIRINGS)))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the model.")
@click.option("--steps", default=Settings.steps, show_default=True, help="Steps of the second stage.")
@click.option("--test-only", is_flag=True, help="Test the model in the folder instead of training one.")
def main(name: str, out: Path, steps: int, test_only: bool) -> None:
    """Train a planted model, round it to half precision, test it on held-out texts and write it with its card."""
    wiring = WIRINGS[name]
    if not test_only:
        train(wiring, Settings(steps=steps)).save_pretrained(out, dtype=torch.float16)
    found = accept(Alice.from_pretrained(out, device="cpu"), wiring, cipher_batches(TEST_TEXTS, test=True, seed=1))
    with atomic_write(out / CARD) as file:
        file.write(card(wiring, found))
    click.echo(card(wiring, found))


if __name__ == "__main__":
    main()
