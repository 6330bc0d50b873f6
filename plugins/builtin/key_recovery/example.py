"""A key and its text as they are shown: the paper's matrix, and the lines with colliding letters marked."""

from typing import Any

import numpy as np

from alice.plugins.builtin.answers import OTHER
from alice.plugins.builtin.key_recovery.measure import Keys
from alice.plugins.builtin.key_recovery.shown import ShownKey
from alice.plugins.builtin.traces import Ints
from alice.reports import Figure, Table
from alice.reports.key_matrix import Marks, key_matrix
from alice.solving.solve import NO_SYMBOL
from alice.text.alphabet import LETTERS

ALONE, COLLIDING, TRUE = "#111111", "#d9601a", "#7d8790"
NAMES = (*LETTERS, "no letter")


def key_figure(found: Keys, shown: ShownKey) -> Figure:
    """Draw the key that was found over the true one and the model's probabilities."""
    trace, key = shown.trace, shown.key
    # What the linear head says about a letter that is not there is its bias, and no part of any key.
    drawn = (trace.seen | found.bijective) & (key != OTHER)
    collides = np.isin(np.arange(len(LETTERS)), shown.colliding)
    marks = []
    if trace.key is not None:
        rows = np.flatnonzero(trace.seen)
        marks.append(Marks("true key", rows, trace.key[rows], "square-open", TRUE, 17))
    for kind, symbol in (("right", "square"), ("wrong", "circle"), ("found", "diamond")):
        for colliding, color in ((False, ALONE), (True, COLLIDING)):
            rows = np.flatnonzero(drawn & (_verdicts(shown) == kind) & (collides == colliding))
            marks.append(Marks(f"{kind}, colliding" if colliding else kind, rows, key[rows], symbol, color))
    figure = key_matrix(marks, LETTERS, shaded=np.flatnonzero(~trace.seen), weights=shown.probabilities)
    verdict = "Open squares are the true key" if trace.key is not None else "The true key is not known"
    orange = "" if not found.may_collide else " Orange: two letters of the text claim this plain letter."
    caption = (
        f"{found.model}, {trace.title}: the key that the model finds, over its probabilities (blue). {verdict}."
        f"{orange} Shaded rows are letters that the text does not have."
    )
    return Figure(figure, caption, _key_data(shown))


def _verdicts(shown: ShownKey) -> Any:
    if shown.trace.key is None:
        return np.full(len(LETTERS), "found")
    return np.where(shown.key == shown.trace.key, "right", "wrong")


def _key_data(shown: ShownKey) -> Table:
    trace = shown.trace
    counts = [int((trace.cipher_ids == number).sum()) for number in trace.alphabet.letter_ids]
    rows = [
        (
            LETTERS[cipher],
            counts[cipher],
            NAMES[answer],
            None if trace.key is None else LETTERS[trace.key[cipher]],
            float(shown.probabilities[cipher, answer]) if answer != OTHER else None,
            cipher in shown.colliding,
        )
        for cipher, answer in enumerate(shown.key.tolist())
    ]
    return Table(("cipher", "characters", "answer", "plain", "probability", "collides"), rows)


def text_table(found: Keys, shown: ShownKey, what: str) -> Table:
    """Write the text in lines, letters that collide in capitals and the others small."""
    trace = shown.trace
    lines = {"plaintext": trace.plain_ids, "ciphertext": trace.cipher_ids, "answer": trace.texts[-1]}
    rows = [(name, _marked(shown, ids)) for name, ids in lines.items() if ids is not None]
    rows.append(("collisions", _collisions(shown)))
    caption = f"{found.model}, {trace.title}{what}. CAPITALS are letters that share their answer with another."
    return Table(("line", "text"), rows, caption=caption, monospace=("text",))


def _marked(shown: ShownKey, ids: Ints) -> str:
    trace = shown.trace
    marked = np.isin(trace.cipher_ids, trace.alphabet.letter_ids[shown.colliding])
    written = NO_SYMBOL + trace.alphabet.symbols
    symbols = (written[number] for number in ids)
    return "".join(symbol if mark else symbol.lower() for symbol, mark in zip(symbols, marked, strict=True))


def _collisions(shown: ShownKey) -> str:
    """Say which cipher letters claim the same plain letter, with what they truly stand for."""
    key = shown.trace.key
    said = []
    for plain, ciphers in shown.collisions.items():
        truth = "" if key is None else f" (truly {' and '.join(LETTERS[key[cipher]] for cipher in ciphers)})"
        said.append(f"{' and '.join(LETTERS[cipher] for cipher in ciphers)}{truth} are read as {LETTERS[plain]}")
    return "; ".join(said) or "none"
