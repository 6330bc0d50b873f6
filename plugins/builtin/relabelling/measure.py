"""Reads texts under relabellings: those of a context, the lines of a file, or one that the user gave."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.plugins.builtin.options import no_example
from alice.plugins.builtin.traces import text_batch
from alice.plugins.context import RunContext
from alice.solving import Readings, read_relabelled, relabellings
from alice.solving.solution import read
from alice.statistics import Floats, Ints
from alice.text import Alphabet, Batch
from alice.text.formats import read_lines

Text = tuple[int, Ints, Ints | None]
"""Number, ciphertext and, if it is known, plaintext."""


@dataclass(frozen=True, eq=False)
class Example:
    """One text with its readings, to be shown."""

    title: str
    """Name of the text."""
    alphabet: Alphabet
    """Symbols of the ids."""
    readings: Readings
    """The answers to it."""


@dataclass(frozen=True, eq=False)
class Changes:
    """How far one model's answers change, text by text in the order of their numbers."""

    model: str
    """Name of the checkpoint."""
    relabellings: int
    """Number of relabellings of each text."""
    lengths: Ints
    """Characters, (texts,)."""
    letters: Floats
    """Probability that two relabellings read a letter differently, (texts,)."""
    texts: Floats
    """Probability that two relabellings read the text differently, (texts,)."""
    ever: NDArray[np.bool_]
    """Whether any two relabellings read it differently, (texts,)."""
    errors: Floats | None
    """Symbol error rate as a fraction, (texts, relabelling), if the plaintexts are known."""
    vote_errors: Floats | None
    """Symbol error rate of the vote as a fraction, (texts,), if the plaintexts are known."""
    example: Example
    """The text to show."""


def measure(ctx: RunContext, *, count: int, samples: int, file: Path | None, wanted: int | None) -> Changes:
    """Read every text under `count` relabellings; keep a few numbers of each, and all readings of one."""
    rows: dict[int, Floats] = {}
    most, example = -1.0, None

    def read_some(texts: Iterable[Text]) -> tuple[dict[int, Floats], float, Example | None]:
        """Return four numbers of each text, then its errors if known; and how far the text to show changes."""
        some: dict[int, Floats] = {}
        furthest, shown = -1.0, None
        for number, cipher, plain in texts:
            found = read_relabelled(ctx.model, cipher, relabellings(count, ctx.seed, number), plain_ids=plain)
            changed, errors = found.letters_changed, () if found.errors is None else found.errors
            some[number] = np.array([len(cipher), changed, found.text_changed, found.vote_error or 0.0, *errors])
            if number == wanted if wanted is not None else changed > furthest:
                furthest, shown = changed, Example(_title(number, file), ctx.alphabet, found)
        return some, furthest, shown

    label = f"Reading with {ctx.checkpoint}"
    if file is None:
        parts = ctx.map(lambda batch: read_some(_batch_texts(batch)), ctx.batches, label)
    else:
        parts = ctx.map(lambda text: read_some([text]), list(_file_texts(ctx, file, samples)), label)
    for some, furthest, shown in parts:
        rows |= some
        if shown is not None and (wanted is not None or furthest > most):
            most, example = furthest, shown
    if example is None:
        raise AliceError(no_example(wanted or 0, f"{len(rows)} texts"))
    table = np.stack([rows[number] for number in sorted(rows)])
    lengths, letters, changed_texts, votes = table.T[:4]
    known = table.shape[1] > 4
    return Changes(
        ctx.checkpoint,
        count,
        lengths.astype(np.int64),
        letters,
        changed_texts,
        changed_texts > 0,
        table[:, 4:] if known else None,
        votes if known else None,
        example,
    )


def read_given(ctx: RunContext, text: str, *, encrypt: bool, count: int) -> Example:
    """Read a text of the user; with `encrypt` it is the plaintext, which the relabellings encrypt."""
    ids = text_batch(ctx, text, encrypt=False).cipher_ids[0].cpu().numpy()
    found = read_relabelled(ctx.model, ids, relabellings(count, ctx.seed), plain_ids=ids if encrypt else None)
    return Example("the given text", ctx.alphabet, found)


def _title(number: int, file: Path | None) -> str:
    return f"example {number}" if file is None else f"text {number} of {file.name}"


def _batch_texts(batch: Batch) -> Iterator[Text]:
    rows = zip(batch.index.tolist(), batch.mask.sum(1).tolist(), batch.cipher_ids, batch.plain_ids, strict=True)
    for number, length, cipher, plain in rows:
        yield number, cipher[:length].cpu().numpy(), plain[:length].cpu().numpy()


def _file_texts(ctx: RunContext, file: Path, samples: int) -> Iterator[Text]:
    lines = (line.strip() for line in read_lines(file))
    number = -1
    for number, line in enumerate(islice((line for line in lines if line), samples)):
        reading = read(line, ctx.alphabet)
        if fault := reading.fault(ctx.model.config.n_ctx):
            raise AliceError(f"{file}, {line[:40]!r}: {fault}")
        yield number, reading.ids.astype(np.int64), None
    if number < 0:
        raise AliceError(f"{file} is empty; write one ciphertext per line")
