"""Keys that a model finds, compared with the true ones over many texts."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.plugins.builtin.answers import OTHER, Answers, answers
from alice.plugins.builtin.key_recovery.shown import ShownKey, shown_key
from alice.plugins.builtin.traces import Ints
from alice.plugins.context import RunContext
from alice.statistics import Floats, RatioBootstrap
from alice.text.cipher import N_LETTERS

MARGINS = np.linspace(0, 1, 11)[:-1]
"""Lower ends of the bins of margins; before the first comes a bin of negative ones."""
COLUMNS = ("text", "characters", "letters observed", "observed and right", "right of 26", "one-to-one", "consistent")
"""What is kept of each text."""
PAIRS = np.stack(np.triu_indices(N_LETTERS, 1))
"""The 325 pairs of letters, (2, pairs)."""


@dataclass(eq=False)
class Keys:
    """What one model's keys are like; `measure` fills it batch by batch."""

    model: str
    """Name of the checkpoint."""
    bijective: bool
    """Whether its head should only answer with permutations; what it does answer is counted all the same."""
    margins: RatioBootstrap
    """Letters that are right over all, by margin, (bins,): the observed letters of all texts."""
    texts: int = 0
    """Texts read."""
    rows: list[Ints] = field(default_factory=list)
    """Of each batch, a row of COLUMNS for each text with letters."""
    collisions: Ints = field(default_factory=lambda: np.zeros((N_LETTERS, PAIRS.shape[1]), dtype=np.int64))
    """Texts in which both letters of a pair are taken for the same letter, (26, pairs)."""
    texts_collided: int = 0
    """Texts in which that is so for any pair."""
    summed_margins: Floats = field(default_factory=lambda: np.zeros(2))
    """Sum of the margins of wrong letters and of right ones."""
    examples: dict[int, ShownKey] = field(default_factory=dict)
    """The key asked for, by the number of its text."""
    collided: ShownKey | None = None
    """Of the texts with a collision, that with the most of its key right; the first of these."""
    collided_accuracy: float = -1.0
    """How much of that is right."""

    @property
    def may_collide(self) -> bool:
        """Whether collisions are to be shown: always without a bijective head, and with one if there are any."""
        return not self.bijective or self.texts_collided > 0

    @property
    def columns(self) -> Ints:
        """The COLUMNS, (7, texts), in the order of the texts."""
        rows = np.concatenate(self.rows)
        return rows[rows[:, 0].argsort()].T

    @property
    def lengths(self) -> Ints:
        """Characters of each text, (texts,)."""
        return self._column("characters")

    @property
    def accuracy(self) -> Floats:
        """Share of the observed letters that are right, (texts,)."""
        return self._column("observed and right") / self._column("letters observed")

    @property
    def accuracy_of_all(self) -> Floats:
        """Share of all 26 letters that are right, (texts,), the unobserved ones by whatever the model says."""
        return self._column("right of 26") / N_LETTERS

    @property
    def one_to_one(self) -> NDArray[np.bool_]:
        """Whether the observed letters are taken for letters, all different, (texts,)."""
        return self._column("one-to-one") == 1

    def _column(self, name: str) -> Ints:
        return self.columns[COLUMNS.index(name)]

    @property
    def mean_margins(self) -> tuple[float | None, float | None]:
        """Mean margin of wrong letters and of right ones; None if there is none."""
        right = self.margins.part.sum()
        counts = (self.margins.whole.sum() - right, right)
        pairs = zip(self.summed_margins, counts, strict=True)
        wrong, good = (float(total / count) if count else None for total, count in pairs)
        return wrong, good


def measure(ctx: RunContext, wanted: int) -> Keys:
    """Read all texts of a context, and keep the key of the one that is wanted."""
    bijective = ctx.model.config.variant == "bijective"
    keys = Keys(ctx.checkpoint, bijective, RatioBootstrap(ctx.rng, len(MARGINS) + 1))
    for found in answers(ctx, probabilities=True):
        _add(keys, found, wanted)
    if not keys.rows or not sum(map(len, keys.rows)):
        raise AliceError("no text has a letter, so there is no key to recover; check the corpus")
    return keys


def _add(keys: Keys, found: Answers, wanted: int) -> None:
    claims, observed = found.claims, found.counts > 0
    right = claims == np.arange(N_LETTERS)
    same = _collisions(claims, observed)
    np.add.at(keys.collisions, (claims[:, PAIRS[0]][same], np.nonzero(same)[1]), 1)
    keys.texts_collided += int(same.any(1).sum())
    one_to_one = ~same.any(1) & ~((claims == OTHER) & observed).any(1)
    numbers = found.batch.index.tolist()
    counts = (numbers, found.lengths, observed.sum(1), (right & observed).sum(1), right.sum(1))
    keys.rows.append(np.stack([*counts, one_to_one, found.consistent], axis=1)[observed.any(1)])
    keys.texts += len(claims)
    _add_margins(keys, found.margins, observed, right)
    if wanted in numbers:
        keys.examples[wanted] = shown_key(found, wanted)
    accuracy = (right & observed).sum(1) / np.maximum(observed.sum(1), 1)
    accuracy[~same.any(1)] = -1
    if accuracy.max() > keys.collided_accuracy:
        keys.collided, keys.collided_accuracy = shown_key(found, numbers[int(accuracy.argmax())]), accuracy.max()


def _collisions(claims: Ints, observed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say of each text and pair of letters whether both are there and are taken for one letter, (texts, pairs)."""
    one, other = PAIRS
    letters = observed & (claims != OTHER)
    return (claims[:, one] == claims[:, other]) & letters[:, one] & letters[:, other]


def _add_margins(keys: Keys, margins: Floats, observed: NDArray[np.bool_], right: NDArray[np.bool_]) -> None:
    bins = np.digitize(margins, MARGINS)
    parts = [[(bins == number) & observed & which for which in (right, True)] for number in range(len(MARGINS) + 1)]
    keys.margins.add(*(np.stack([pair[which].sum(1) for pair in parts], axis=1) for which in (0, 1)))
    keys.summed_margins += [margins[observed & ~right].sum(), margins[observed & right].sum()]
