"""Solves every text by the network, by the language model, and by both, with the answer of each layer."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alice.plugins.context import RunContext
from alice.solving import GuidedSearch, Languages
from alice.solving.guided import Candidates
from alice.solving.guided_solver import Opinion, changes, opinions_at
from alice.solving.language_model import N_SYMBOLS
from alice.statistics import Floats, Ints
from alice.text import LETTERS, N_LETTERS, Batch

Letters = NDArray[np.int64]
Row = tuple[NDArray[np.int8], NDArray[np.float32]]
"""What is kept of one text: letters, (letters, 3 + 2 layers), and real numbers, (letters, 2)."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What each source answers, over the letters of all texts; a letter counts once in each text."""

    model: str
    """Name of the checkpoint."""
    learned: int
    """Number of texts that the language model learned from."""
    text: Ints
    """Number of the text, (letters,)."""
    truth: Letters
    """The right plain letter, (letters,)."""
    network: Letters
    """The letter of the network's own answer at each layer, (letters, layers)."""
    language: Letters
    """The letter of the language model alone, (letters,)."""
    guided: Letters
    """The letter of the search guided by each layer, (letters, layers)."""
    misled: Letters
    """The letter of the search guided by the network's answer to another text, (letters,)."""
    nats: Floats
    """Score by which the search prefers its letter to the network's, NaN where they agree, (letters,)."""
    confidence: Floats
    """Probability of the guided search's letter, by its own account, (letters,)."""

    @property
    def layers(self) -> int:
        """Number of layers, the embedding included."""
        return self.network.shape[1]


def measure(ctx: RunContext, search: GuidedSearch) -> Answers:
    """Solve the texts of a context in every way."""
    rows: dict[int, Row] = {}
    nothing = np.full((N_LETTERS, N_LETTERS), -np.log(N_LETTERS), dtype=np.float32)
    before: NDArray[np.float32] | None = None
    streams = ctx.activations("hook_embed", "blocks.*.hook_resid_post")
    for batch, cache in ctx.progress(streams, f"Solving with {ctx.checkpoint}"):
        layers = [opinions_at(ctx.model, cache[name], batch.cipher_ids) for name in streams.names]
        for row, (number, cipher, plain) in enumerate(_texts(ctx, batch)):
            exits = [one[row] for one in layers]
            found = [search.find(cipher, one.logs) for one in exits]
            last = exits[-1].logs
            other = last[:, ::-1] if before is None else before  # the first text has none before it
            alone, misled = search.find(cipher, nothing), search.find(cipher, other)
            rows[number] = _columns(search, found, (alone, misled), exits, plain)
            before = last  # of another text, for the next one
    return _answers(ctx, search.languages, rows)


def _texts(ctx: RunContext, batch: Batch) -> Iterator[tuple[int, str, str]]:
    """Yield number, ciphertext and plaintext of each text of a batch."""
    pairs = zip(batch.index.tolist(), batch.cipher_ids.cpu().numpy(), batch.plain_ids.cpu().numpy(), strict=True)
    return ((number, ctx.alphabet.decode(cipher), ctx.alphabet.decode(plain)) for number, cipher, plain in pairs)


def _columns(
    search: GuidedSearch,
    found: list[Candidates],
    others: tuple[Candidates, Candidates],
    exits: list[Opinion],
    plain: str,
) -> Row:
    """Return truth, the others, exits and guided letters of one text, and then nats and confidence."""
    last = found[-1]
    letters, truth = last.present, np.zeros(N_SYMBOLS, dtype=np.int64)
    truth[last.cipher] = last.language.symbols(plain)
    changed = {LETTERS.index(one.cipher): one.nats for one in changes(search, last, exits[-1])}
    columns = [
        truth,
        others[0].keys[0],
        others[1].keys[0],
        *(one.answer for one in exits),
        *(one.keys[0] for one in found),
    ]
    nats = [changed.get(letter, np.nan) for letter in letters.tolist()]
    whole = np.stack([column[letters] for column in columns], axis=1).astype(np.int8)  # small, as every text has one
    return whole, np.stack([nats, last.confidence()], axis=1).astype(np.float32)


def _answers(ctx: RunContext, languages: Languages, rows: dict[int, Row]) -> Answers:
    numbers = sorted(rows)
    whole = np.concatenate([rows[number][0] for number in numbers]).astype(np.int64)
    real = np.concatenate([rows[number][1] for number in numbers]).astype(np.float64)
    layers = (whole.shape[1] - 3) // 2
    return Answers(
        model=ctx.checkpoint,
        learned=languages.texts,
        text=np.concatenate([np.full(len(rows[number][0]), number) for number in numbers]),
        truth=whole[:, 0],
        network=whole[:, 3 : 3 + layers],
        language=whole[:, 1],
        guided=whole[:, 3 + layers :],
        misled=whole[:, 2],
        nats=real[:, 0],
        confidence=real[:, 1],
    )
