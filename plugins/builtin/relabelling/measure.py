"""Reads texts under relabellings: those of a context, the lines of a file, or one that the user gave."""

from collections.abc import Iterator
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
from alice.text import Alphabet
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
    texts = _context_texts(ctx) if file is None else _file_texts(ctx, file, samples)
    total = sum(len(batch) for batch in ctx.batches) if file is None else None
    rows: dict[int, Floats] = {}  # for each text four numbers, then its errors if they are known
    most, example = -1.0, None
    for number, cipher, plain in ctx.progress(texts, f"Reading with {ctx.checkpoint}", total):
        found = read_relabelled(ctx.model, cipher, relabellings(count, ctx.seed, number), plain_ids=plain)
        changed = found.letters_changed
        errors = () if found.errors is None else found.errors
        rows[number] = np.array([len(cipher), changed, found.text_changed, found.vote_error or 0.0, *errors])
        if number == wanted if wanted is not None else changed > most:
            most, example = changed, Example(_title(number, file), ctx.alphabet, found)
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


def _context_texts(ctx: RunContext) -> Iterator[Text]:
    for batch in ctx.batches:
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
