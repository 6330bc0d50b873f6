"""A profile of each cipher letter, set by hand: its frequency, and what comes before it.

| part | what it does |
| --- | --- |
| `L0H0` | averages the one-hot embeddings over the text: the share of each symbol |
| `L0H1` | copies the previous symbol, which rotary positions alone point at |
| `L0 MLP` | the share of the symbol at this place; whether a word starts here; whether the letter is doubled |
| `L1H0` | copies the share of the previous letter, which `L0 MLP` wrote there |
| head | reads the letter whose profile in English is nearest, after the mean over all places of a symbol |

The first character of a text, which has none before it, is its own predecessor.

Decoys: `L0H2` points at the previous symbol as well and writes nothing; `L0H3` copies the next symbol to where nothing
reads it; `L1H1` averages over equal symbols for nobody; `L2H0` copies the share of the previous letter again, which
matters only if `L1H0` writes nothing.
"""

from collections.abc import Iterable

import numpy as np
from torch import Tensor

from alice.errors import AliceError
from alice.model import Variant
from alice.planted.frequency import absent_from_embedding, english_shares, letter_counts, read_letters
from alice.planted.truth import Decoy, Planted, Truth, Verdict
from alice.planted.weights import Draft
from alice.statistics import Floats
from alice.text import ENGLISH, LETTERS, Batch, Ids

N_LAYERS = 3
FEATURES = ("own frequency", "word start", "frequency of the previous letter", "doubled")
"""What a profile holds: the letter's share of all characters, and three means over its places."""
WIDTHS = (0.04, 0.4, 0.04, 0.16)
"""Standard deviations of the features around those of English that the scores assume.

They are about twice the real ones: the features depend on each other, and the scores would be too sure otherwise."""
ENGLISH_PROFILES: dict[str, tuple[float, float, float]] = {
    "A": (0.325, 0.0338, 0.008),
    "B": (0.710, 0.0163, 0.023),
    "C": (0.362, 0.0427, 0.024),
    "D": (0.206, 0.0540, 0.012),
    "E": (0.044, 0.0413, 0.029),
    "F": (0.380, 0.0392, 0.045),
    "G": (0.224, 0.0464, 0.014),
    "H": (0.194, 0.0506, 0.006),
    "I": (0.266, 0.0350, 0.026),
    "J": (0.790, 0.0107, 0.031),
    "K": (0.204, 0.0451, 0.004),
    "L": (0.182, 0.0470, 0.142),
    "M": (0.414, 0.0402, 0.026),
    "N": (0.079, 0.0630, 0.012),
    "O": (0.164, 0.0399, 0.033),
    "P": (0.396, 0.0324, 0.071),
    "Q": (0.502, 0.0405, 0.007),
    "R": (0.088, 0.0623, 0.016),
    "S": (0.251, 0.0487, 0.055),
    "T": (0.370, 0.0381, 0.030),
    "U": (0.081, 0.0511, 0.001),
    "V": (0.112, 0.0689, 0.001),
    "W": (0.693, 0.0198, 0.039),
    "X": (0.005, 0.0992, 0.000),
    "Y": (0.283, 0.0396, 0.013),
    "Z": (0.068, 0.0588, 0.046),
}
"""Word start, frequency of the previous letter and doubled for each letter, as `measured_profiles` returns them for the
first 30,000 training texts of the default corpus."""


def english_profiles() -> Floats:
    """Return the profile of each letter in English, (26, feature)."""
    measured = np.array([ENGLISH_PROFILES[letter] for letter in LETTERS])
    return np.concatenate([english_shares()[:, None], measured], axis=1)


def build(variant: Variant = "base") -> Planted:
    """Build the model with its truth; it has the linear head."""
    if variant != "base":
        raise AliceError(f"the planted model neighbours has no {variant} head; leave the variant out")
    draft = Draft(n_layers=N_LAYERS, variant=variant)
    symbols = list(draft.symbol.values())
    shares = draft.symbol_field("share of", layer=1)
    previous = draft.symbol_field("previous", layer=1)
    frequency, start, doubled = draft.field("own frequency", "word start", "doubled", layer=1)
    previous_frequency, done = draft.field("frequency of the previous letter", "done", layer=2)
    draft.move(0, 0, symbols, list(shares.values()))
    draft.attend_offset(0, 1, 1)
    draft.move(0, 1, symbols, list(previous.values()))
    for letter in draft.letters:
        own = draft.symbol[letter]
        draft.unit(0, gate={own: 1.0}, up={shares[letter]: 1.0}, target=frequency)
        both = {own: 1.0, previous[letter]: 1.0, draft.constant: -1.0}
        draft.unit(0, gate=both, up={draft.constant: 1.0}, target=doubled)
    draft.unit(0, gate={previous[other]: 1.0 for other in draft.others}, up={draft.constant: 1.0}, target=start)
    draft.answer_others(0)
    draft.attend_offset(1, 0, 1)
    draft.move(1, 0, [frequency, draft.constant], [previous_frequency, done])
    precise = english_profiles() / np.square(WIDTHS)
    features = (frequency, start, previous_frequency, doubled)
    draft.answer_letters(dict(zip(features, precise.T, strict=True)), -0.5 * (precise * english_profiles()).sum(1))
    _add_decoys(draft, previous, frequency, previous_frequency, done)
    summary = (
        "reads every cipher letter as the letter whose frequency and neighbours before it are most alike in English"
    )
    return Planted("neighbours", summary, draft.finished(), _truth(draft), expected_answers)


def _add_decoys(draft: Draft, previous: dict[int, int], frequency: int, previous_frequency: int, done: int) -> None:
    symbols = list(draft.symbol.values())
    draft.attend_offset(0, 2, 1)
    draft.read_only(0, 2, symbols)
    draft.attend_offset(0, 3, -1)
    draft.move(0, 3, symbols, list(draft.symbol_field("next", layer=1).values()))
    draft.attend_equal(1, 1, symbols)
    before_equal = draft.symbol_field("share before equal symbols of", layer=2)
    draft.move(1, 1, list(previous.values()), list(before_equal.values()))
    (again,) = draft.field("frequency of the previous letter again", layer=3)
    draft.attend_offset(2, 0, 1)
    draft.move(2, 0, [frequency], [again])
    draft.unit(2, gate={draft.constant: 1.0, done: -8.0}, up={again: 1.0}, target=previous_frequency)


def _truth(draft: Draft) -> Truth:
    return Truth(
        nodes=frozenset({"L0H0", "L0H1", "L0 MLP", "L1H0"}),
        edges=frozenset(
            {
                *("embedding → L0H0 v", "embedding → L0H1 v", "embedding → L0 MLP"),
                *("L0H0 → L0 MLP", "L0H1 → L0 MLP", "L0 MLP → L1H0 v", "L0 MLP → output", "L1H0 → output"),
            }
        ),
        answer_layer=2,
        kinds={
            "L0H0": "broad",
            **dict.fromkeys(("L0H1", "L0H2", "L0H3", "L1H0", "L2H0"), "neighbours"),
            "L1H1": "same symbol",
        },
        concepts=_concepts(),
        directions=draft.directions(*FEATURES),
        decoys=(
            Decoy("silent", "L0H2"),
            Decoy("unread", "L0H3"),
            Decoy("unread", "L1H1"),
            Decoy("backup", "L2H0", stands_in_for="L1H0"),
            Decoy("unused", "next"),
        ),
    )


def _concepts() -> dict[tuple[str, int], Verdict]:
    """Return the verdict on what can be decoded from each layer."""
    found: dict[tuple[str, int], Verdict] = {("symbol", 0): "used", **absent_from_embedding()}
    for layer in range(1, N_LAYERS + 1):
        found |= {("symbol", layer): "unused", ("next", layer): "unused"}
        found |= {("rank", layer): "used", ("letter", layer): "used", ("previous", layer): "used"}
    return found


def expected_answers(batch: Batch) -> Ids:
    """Return the letter of nearest profile for every letter of a batch, any other symbol as it is, (batch, pos)."""
    distance = (profiles(batch.cipher_ids)[:, :, None] - english_profiles()) / WIDTHS  # (batch, 26, 26, feature)
    return read_letters(batch, np.square(distance).sum(-1).argmin(-1))


def profiles(ids: Tensor) -> Floats:
    """Return the profile of each letter in texts, (batch, pos) -> (batch, 26, feature); 0 for absent letters."""
    rows, (counts, lengths) = ids.cpu().numpy(), letter_counts(ids)
    shares = np.zeros((len(rows), ENGLISH.size))
    shares[:, ENGLISH.letter_ids] = counts / lengths[:, None]
    previous = np.concatenate([rows[:, :1], rows[:, :-1]], axis=1)
    start = ~np.isin(previous, ENGLISH.letter_ids)
    features = np.stack([start, np.take_along_axis(shares, previous, axis=1), previous == rows], axis=-1)
    member = (rows[:, None, :] == ENGLISH.letter_ids[:, None]) / np.maximum(counts, 1)[..., None]  # (batch, 26, pos)
    return np.concatenate([shares[:, ENGLISH.letter_ids, None], member @ features], axis=-1)


def measured_profiles(batches: Iterable[Batch]) -> Floats:
    """Return the mean profile of each letter over its places in plaintexts, (26, feature): where English comes from."""
    total, places = np.zeros((len(LETTERS), len(FEATURES))), np.zeros((len(LETTERS), 1))
    for batch in batches:
        counts, _ = letter_counts(batch.plain_ids)
        total += (profiles(batch.plain_ids) * counts[..., None]).sum(0)
        places += counts.sum(0)[:, None]
    return total / np.maximum(places, 1)
