"""The keys that a model finds, compared with the true ones over many texts, and the whole key of single texts."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.plugins.builtin.answers import OTHER, Answers, Exit, answer, answers
from alice.plugins.builtin.options import no_example
from alice.plugins.builtin.traces import Trace, given_trace, text_batch, traces
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints, RatioBootstrap
from alice.text import N_LETTERS

Bools = NDArray[np.bool_]
MARGINS = np.linspace(0, 1, 11)[:-1]
"""Lower ends of the bins of margins; a bin of negative margins comes before the first."""
PAIRS = np.stack(np.triu_indices(N_LETTERS, 1))
"""The 325 pairs of letters, (2, pairs)."""


@dataclass(frozen=True, eq=False)
class TextKey:
    """One text with the key that a model finds for it."""

    trace: Trace
    """The text and the model's answer."""
    probabilities: Floats
    """Probability of each plain letter for each cipher letter, (26, 26)."""

    @property
    def key(self) -> Ints:
        """Plain letter (0-25) that each cipher letter is taken for, (26,); OTHER if the answer is not a letter."""
        letters = self.trace.alphabet.letter_ids
        numbers = np.full(self.trace.alphabet.size, OTHER, dtype=np.int64)
        numbers[letters] = np.arange(N_LETTERS)
        return numbers[self.trace.answers[-1, letters]]

    @property
    def collisions(self) -> dict[int, list[int]]:
        """Plain letters that several cipher letters of the text are taken for, with these cipher letters."""
        claimed = defaultdict(list)
        for cipher in np.flatnonzero(self.trace.seen & (self.key != OTHER)).tolist():
            claimed[int(self.key[cipher])].append(cipher)
        return {plain: ciphers for plain, ciphers in sorted(claimed.items()) if len(ciphers) > 1}

    @property
    def colliding(self) -> Ints:
        """Cipher letters that share their answer with another, (letters,), in order."""
        return np.array(sorted(chain.from_iterable(self.collisions.values())), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of all texts with letters, in the order of the texts."""

    numbers: Ints
    """Number of each text, (text,)."""
    lengths: Ints
    """Characters of each text, (text,)."""
    observed: Ints
    """Different letters in each text, (text,)."""
    right: Ints
    """Observed letters that are right, (text,)."""
    right_of_26: Ints
    """Letters that are right, observed or not, (text,)."""
    one_to_one: Bools
    """Whether the observed letters are taken for different letters, (text,)."""
    consistent: Bools
    """Whether each symbol has the same answer at all its positions, (text,)."""

    @property
    def accuracy(self) -> Floats:
        """Share of the observed letters that are right, (text,)."""
        return self.right / self.observed

    @property
    def accuracy_of_all(self) -> Floats:
        """Share of all 26 letters that are right, observed or not, (text,)."""
        return self.right_of_26 / N_LETTERS

    @classmethod
    def of_rows(cls, rows: Ints) -> Self:
        """Return the keys of rows with a column for each field, (text, 7), which may be in any order."""
        numbers, lengths, observed, right, right_of_26, one_to_one, consistent = rows[rows[:, 0].argsort()].T
        return cls(numbers, lengths, observed, right, right_of_26, one_to_one == 1, consistent == 1)


@dataclass(frozen=True, eq=False)
class Measured:
    """What the keys of one model are like."""

    model: str
    """Name of the checkpoint."""
    bijective: bool
    """Whether its head is built to answer with permutations; collisions are counted anyway."""
    texts: int
    """Texts read, including those without letters."""
    keys: Keys
    """The key of each text with letters."""
    margins: RatioBootstrap
    """Right letters over all observed letters, by margin, (bin,)."""
    mean_margins: tuple[float | None, float | None]
    """Mean margin of wrong letters and of right ones; None if there are none."""
    collisions: Ints
    """Texts in which both letters of a pair are taken for the same letter, (26, pair)."""
    texts_collided: int
    """Texts with any such pair."""
    example: TextKey
    """The text to draw."""
    collided: TextKey | None
    """Of the texts with a collision, the first of those with the most of their key right."""

    @property
    def may_collide(self) -> bool:
        """Whether the report shows collisions. A bijective head has none unless something is wrong."""
        return not self.bijective or self.texts_collided > 0


@dataclass(eq=False)
class _Sums:
    """Sums over batches, as in `Measured`."""

    margins: RatioBootstrap
    texts: int = 0
    rows: list[Ints] = field(default_factory=list)
    """The fields of `Keys` for each batch, (text, 7)."""
    collisions: Ints = field(default_factory=lambda: np.zeros((N_LETTERS, PAIRS.shape[1]), dtype=np.int64))
    texts_collided: int = 0
    margin_sums: Floats = field(default_factory=lambda: np.zeros(2))
    collided: TextKey | None = None
    collided_accuracy: float = -1.0

    def add(self, found: Answers) -> None:
        """Add a batch."""
        claims, observed = found.claims, found.counts > 0
        right = claims == np.arange(N_LETTERS)
        same = _collisions(claims, observed)
        np.add.at(self.collisions, (claims[:, PAIRS[0]][same], np.nonzero(same)[1]), 1)
        self.texts_collided += int(same.any(1).sum())
        one_to_one = ~same.any(1) & ~((claims == OTHER) & observed).any(1)
        numbers = found.batch.index.tolist()
        counts = (numbers, found.lengths, observed.sum(1), (right & observed).sum(1), right.sum(1))
        self.rows.append(np.stack([*counts, one_to_one, found.consistent], axis=1)[observed.any(1)])
        self.texts += len(claims)
        self._add_margins(found.margins, observed, right)
        accuracy = (right & observed).sum(1) / np.maximum(observed.sum(1), 1)
        accuracy[~same.any(1)] = -1
        if accuracy.max() > self.collided_accuracy:
            self.collided, self.collided_accuracy = _text_key(found, numbers[int(accuracy.argmax())]), accuracy.max()

    def _add_margins(self, margins: Floats, observed: Bools, right: Bools) -> None:
        bins = np.digitize(margins, MARGINS)
        parts = [[(bins == number) & observed & which for which in (right, True)] for number in range(len(MARGINS) + 1)]
        self.margins.add(*(np.stack([pair[which].sum(1) for pair in parts], axis=1) for which in (0, 1)))
        self.margin_sums += [margins[observed & ~right].sum(), margins[observed & right].sum()]

    @property
    def mean_margins(self) -> tuple[float | None, float | None]:
        right = self.margins.part.sum()
        counts = (self.margins.whole.sum() - right, right)
        pairs = zip(self.margin_sums, counts, strict=True)
        wrong, good = (float(total / count) if count else None for total, count in pairs)
        return wrong, good


def measure(
    ctx: RunContext, example: int = 0, *, text: str = "", encrypt: bool = False, exit_: Exit | None = None
) -> Measured:
    """Read all texts of a context; keep the whole key of one example, or of `text` if it is given."""
    sums = _Sums(RatioBootstrap(ctx.rng, len(MARGINS) + 1))
    shown: TextKey | None = None
    for found in answers(ctx, exit_, probabilities=True):
        sums.add(found)
        if not text and example in found.batch.index.tolist():
            shown = _text_key(found, example)
    if not any(map(len, sums.rows)):
        raise AliceError("no text has a letter, so there is no key to recover; check the corpus")
    if text:
        shown = _given_key(ctx, text, exit_, encrypt=encrypt)
    if shown is None:
        raise AliceError(no_example(example, f"{sums.texts} texts"))
    return Measured(
        model=ctx.checkpoint,
        bijective=ctx.model.config.variant == "bijective",
        texts=sums.texts,
        keys=Keys.of_rows(np.concatenate(sums.rows)),
        margins=sums.margins,
        mean_margins=sums.mean_margins,
        collisions=sums.collisions,
        texts_collided=sums.texts_collided,
        example=shown,
        collided=sums.collided,
    )


def _collisions(claims: Ints, observed: Bools) -> Bools:
    """Return for each text and pair of letters whether both occur and are taken for the same letter, (text, pair)."""
    one, other = PAIRS
    letters = observed & (claims != OTHER)
    return (claims[:, one] == claims[:, other]) & letters[:, one] & letters[:, other]


def _text_key(found: Answers, number: int) -> TextKey:
    """Return the key of text `number`, which must be in the batch."""
    ((_, trace),) = traces(found.batch, found.symbols[None], found.alphabet, [number])
    return TextKey(trace, _letter_probabilities(found, found.batch.index.tolist().index(number)))


def _given_key(ctx: RunContext, text: str, exit_: Exit | None, *, encrypt: bool) -> TextKey:
    """Return the key of a text given by the user; the true key is known only if we encrypt it."""
    batch = text_batch(ctx, text, encrypt=encrypt)
    found = answer(ctx.model, batch, exit_, probabilities=True)
    trace = given_trace(batch, found.symbols[None], ctx.alphabet, known=encrypt)
    return TextKey(trace, _letter_probabilities(found, 0))


def _letter_probabilities(found: Answers, row: int) -> Floats:
    """Return the probabilities of one text for letters alone, (26, 26)."""
    if found.probabilities is None:
        raise ValueError("the answers have no probabilities; call answer(..., probabilities=True)")
    letters = found.alphabet.letter_ids
    table: Floats = found.probabilities[row].double().cpu().numpy()[np.ix_(letters, letters)]
    return table
