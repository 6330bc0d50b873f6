"""Trains a planted model with strict interchange interventions: `python -m alice.planted.train NAME --out FOLDER`.

The loss is the cross-entropy of the program's answers: for texts as they are (behaviour), and for texts into which
variables of other texts are carried (interchange) while nodes outside of the circuit are resampled (strictness).
Sometimes the head that has a backup is removed, and the answers must stay. A first stage trains the nodes of the
circuit one after another to compute the program's variables, in `alice.planted.fitting`; the second trains all of them
together with this loss, and the nodes that have no task. What is set by hand is in `alice.planted.start`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from alice.checkpoint import CARD
from alice.errors import AliceError
from alice.files import atomic_write
from alice.model import Alice
from alice.planted.acceptance import Acceptance, accept
from alice.planted.fitting import Schedule, fit_node, fit_table, inputs_of, optimizer_of
from alice.planted.interchange import drawn, scores, variables
from alice.planted.masks import trainable
from alice.planted.programs import present
from alice.planted.start import initial_model
from alice.planted.wiring import WIRINGS, Wiring
from alice.text import ENGLISH, QUOTES, Batches, BatchLimit, EncodedTexts, is_test, open_corpus

SHORTEST, LONGEST = 100, 200
"""Lengths of the texts."""
TRAINING_TEXTS, TEST_TEXTS, BATCH = 20_000, 512, 32


@dataclass(frozen=True)
class Settings:
    """How long and how fast a model is trained."""

    steps: int = 60
    """Steps of the second stage."""
    lr: float = 5e-5
    """Peak learning rate of the second stage."""
    fit_steps: int = 5000
    """Steps of the first stage for each node of the circuit."""
    fit_lr: float = 2e-2
    fit_batches: int = 60
    """Batches of texts whose streams the first stage trains on."""
    fit_batch: int = 512
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


def train(wiring: Wiring, settings: Settings) -> Alice:
    """Train a model from its initial weights."""
    torch.manual_seed(settings.seed)
    model = initial_model(wiring, settings.seed)
    batches = cipher_batches(TRAINING_TEXTS, test=False, seed=settings.seed)
    fit(model, wiring, batches, settings)
    intervene(model, wiring, islice(batches, settings.steps), settings)
    return model.eval()


def fit(model: Alice, wiring: Wiring, batches: Iterator[Tensor], settings: Settings) -> None:
    """Train the nodes of the circuit one after another, and the unembedding with the last."""
    schedule = Schedule(settings.fit_steps, settings.fit_lr, settings.fit_batch)
    for part in wiring.circuit:
        inputs = inputs_of(model, wiring, part, islice(batches, settings.fit_batches))
        if part == wiring.table:
            loss = fit_table(model, wiring, inputs, schedule)
        else:
            loss = fit_node(model, wiring, part, inputs, schedule)
        click.echo(f"{part.label} · loss {loss:.6f}")


def intervene(model: Alice, wiring: Wiring, batches: Iterator[Tensor], settings: Settings) -> None:
    """Train all that is not set by hand with strict interchange interventions."""
    model.train()
    optimizer, schedule = optimizer_of(list(model.parameters()), settings.lr, settings.steps)
    changeable, carried = trainable(model, wiring), dict.fromkeys(variables(wiring), settings.carried)
    for step, ids in enumerate(batches):
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
@click.option("--seed", default=Settings.seed, show_default=True, help="Seed of the initial weights and of the texts.")
@click.option("--test-only", is_flag=True, help="Test the model in the folder instead of training one.")
def main(name: str, out: Path, steps: int, seed: int, test_only: bool) -> None:
    """Train a planted model, round it to half precision, test it on held-out texts and write it with its card."""
    wiring = WIRINGS[name]
    if not test_only:
        train(wiring, Settings(steps=steps, seed=seed)).save_pretrained(out, dtype=torch.float16)
    found = accept(Alice.from_pretrained(out, device="cpu"), wiring, cipher_batches(TEST_TEXTS, test=True, seed=1))
    with atomic_write(out / CARD) as file:
        file.write(card(wiring, found))
    click.echo(card(wiring, found))


if __name__ == "__main__":
    main()
