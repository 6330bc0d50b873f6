"""A frequency matcher, set by hand: every cipher letter is read as the letter that is about as frequent in English.

| part | what it does |
| --- | --- |
| `L0H0` | averages the one-hot embeddings over the text: the share of each symbol |
| `L0 MLP` | multiplies the one-hot embedding by the shares: the share of the symbol at this place |
| head | reads the letter whose share in English is nearest, or the best matching of all letters (bijective) |

Decoys: `L0H1` copies the previous symbol to where nothing reads it; `L0H2` attends to equal symbols and writes nothing;
`L1H0` averages again, which matters only if `L0H0` writes nothing; `L2H1` reads word boundaries for nobody.
"""

import numpy as np
from torch import Tensor

from alice.model import Variant
from alice.planted.truth import Decoy, Planted, Truth, Verdict
from alice.planted.weights import Draft
from alice.statistics import Floats, Ints
from alice.text import ENGLISH, PAD, Batch, Ids, lewand

N_LAYERS = 3
LETTER_SHARE = 0.79
"""Share of letters among the characters of English texts; the others are spaces and punctuation."""
WIDTH = 0.02
"""Standard deviation of a share around that in English that the scores assume."""
TIE_BREAK = 2.0**-16
"""Times the number of a letter, added to its share for the best matching, in which equally frequent letters would tie.

Even 26 times this is less than the share of one occurrence in the longest text.
"""


def english_shares() -> Floats:
    """Return the share of A to Z among all characters of English, (26,)."""
    return LETTER_SHARE * lewand()


def build(variant: Variant = "base") -> Planted:
    """Build the model with its truth, with the linear or the bijective head."""
    draft = Draft(n_layers=N_LAYERS, variant=variant)
    symbols = list(draft.symbol.values())
    shares = draft.symbol_field("share of", layer=1)
    done, frequency = draft.field("done", "own frequency", layer=1)
    draft.move(0, 0, [*symbols, draft.constant], [*shares.values(), done])
    for number, letter in enumerate(draft.letters, start=1):
        up = {shares[letter]: 1.0}
        if variant == "bijective":
            up[draft.constant] = number * TIE_BREAK
        draft.unit(0, gate={draft.symbol[letter]: 1.0}, up=up, target=frequency)
    draft.answer_others(0)
    english = english_shares()
    draft.answer_letters({frequency: english / WIDTH**2}, -0.5 * (english / WIDTH) ** 2)
    _add_decoys(draft, done, frequency)
    return Planted(
        "frequency",
        "reads every cipher letter as the letter whose frequency in English is nearest",
        draft.finished(),
        _truth(draft),
        expected_matching if variant == "bijective" else expected_answers,
    )


def _truth(draft: Draft) -> Truth:
    return Truth(
        nodes=frozenset({"L0H0", "L0 MLP"}),
        edges=frozenset({"embedding → L0H0 v", "embedding → L0 MLP", "L0H0 → L0 MLP", "L0 MLP → output"}),
        answer_layer=1,
        kinds={
            "L0H0": "broad",
            "L0H1": "neighbours",
            "L0H2": "same symbol",
            "L1H0": "broad",
            "L2H1": "word boundaries",
        },
        concepts=_concepts(),
        directions=draft.directions("own frequency"),
        decoys=(
            Decoy("silent", "L0H2"),
            Decoy("unread", "L0H1"),
            Decoy("unread", "L2H1"),
            Decoy("backup", "L1H0", stands_in_for="L0H0"),
            Decoy("unused", "previous"),
        ),
    )


def _add_decoys(draft: Draft, done: int, frequency: int) -> None:
    symbols = list(draft.symbol.values())
    draft.attend_offset(0, 1, 1)
    draft.move(0, 1, symbols, list(draft.symbol_field("previous", layer=1).values()))
    draft.attend_equal(0, 2, symbols)
    draft.read_only(0, 2, symbols)
    again = draft.symbol_field("share again of", layer=2)
    draft.move(1, 0, symbols, list(again.values()))
    for letter in draft.letters:
        draft.unit(1, gate={draft.symbol[letter]: 1.0, done: -8.0}, up={again[letter]: 1.0}, target=frequency)
    draft.attend_to(2, 1, draft.boundaries())
    draft.move(2, 1, symbols, list(draft.symbol_field("share among word boundaries of", layer=3).values()))


def _concepts() -> dict[tuple[str, int], Verdict]:
    """Return the verdict on what can be decoded from each layer."""
    found: dict[tuple[str, int], Verdict] = {("symbol", 0): "used", **absent_from_embedding()}
    for layer in range(1, N_LAYERS + 1):
        found |= {("symbol", layer): "unused", ("previous", layer): "unused"}
        found |= {("rank", layer): "used", ("letter", layer): "used"}
    return found


def absent_from_embedding() -> dict[tuple[str, int], Verdict]:
    """Return the verdict on what a symbol alone does not tell, as every text has another key."""
    return {(target, 0): "absent" for target in ("rank", "position", "word-length", "vowel", "previous", "next")}


def expected_answers(batch: Batch) -> Ids:
    """Return the letter of nearest frequency for every letter of a batch, any other symbol as it is, (batch, pos)."""
    counts, lengths = letter_counts(batch.cipher_ids)
    shares = counts / lengths[:, None]
    nearest = np.abs(shares[:, :, None] - english_shares()).argmin(-1)  # (batch, 26)
    return read_letters(batch, nearest)


def expected_matching(batch: Batch) -> Ids:
    """Return the answers when the letters of a batch in order of frequency are those of English, (batch, pos).

    Of two letters that are equally frequent in the text, the later one in the alphabet counts as more frequent.
    """
    counts, _ = letter_counts(batch.cipher_ids)
    order = counts.argsort(-1, kind="stable")  # (batch, 26), the rarest first
    matched = np.empty_like(order)
    np.put_along_axis(matched, order, np.broadcast_to(english_shares().argsort(), order.shape), axis=1)
    return read_letters(batch, matched)


def letter_counts(ids: Tensor) -> tuple[Ints, Ints]:
    """Return how often each letter occurs in texts, (batch, pos) -> (batch, 26), and their lengths, (batch,)."""
    rows = ids.cpu().numpy()
    return (rows[:, :, None] == ENGLISH.letter_ids).sum(1), (rows != PAD).sum(1)


def read_letters(batch: Batch, key: Ints) -> Ids:
    """Return the answers of a key, which has the plain letter (0-25) of each cipher letter, (batch, 26)."""
    table = np.tile(np.arange(ENGLISH.size), (len(batch), 1))
    table[:, ENGLISH.letter_ids] = ENGLISH.letter_ids[key]
    answers: Ids = np.take_along_axis(table, batch.cipher_ids.cpu().numpy(), axis=1).astype(np.uint8)
    return answers
