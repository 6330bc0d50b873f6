"""One text as it is read under its relabellings: which answers there are, how often, and where they differ."""

import numpy as np

from alice.plugins.builtin.relabelling.measure import Shown
from alice.plugins.builtin.traces import Ints
from alice.reports import Table
from alice.solving.solve import NO_SYMBOL
from alice.text.relabelling import Readings

MOST = 10
"""Different answers that are shown."""


def answers_table(model: str, shown: Shown) -> Table:
    """List the different answers to a text, the most frequent first, under the vote and the solution."""
    found, symbols = shown.readings, NO_SYMBOL + shown.alphabet.symbols
    answers, counts = np.unique(found.answers, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rows: list[tuple[str, int | None, float | None, str]] = []
    if found.plain_ids is not None:
        rows.append(("solution", None, None, marked(found.plain_ids, found.plain_ids, symbols)))
    wrong = None if found.vote_error is None else 100 * found.vote_error
    rows.append(("vote", None, wrong, marked(found.vote, found.vote, symbols)))
    for place, number in enumerate(order[:MOST], start=1):
        text = marked(answers[number], found.vote, symbols)
        rows.append((f"answer {place}", int(counts[number]), _error(found, answers[number]), text))
    more = f" {len(answers) - MOST} more answers are not shown." if len(answers) > MOST else ""
    caption = (
        f"{model}, {shown.title}: {len(answers)} different {'answer' if len(answers) == 1 else 'answers'} under "
        f"{len(found.answers)} relabellings, with how many give each. CAPITALS differ from the vote.{more}"
    )
    return Table(("line", "relabellings", "SER, %", "text"), rows, caption=caption, monospace=("text",))


def marked(ids: Ints, other: Ints, symbols: str) -> str:
    """Write a text small, with capitals where it differs from another."""
    pairs = zip(ids.tolist(), other.tolist(), strict=True)
    return "".join(symbols[one] if one != two else symbols[one].lower() for one, two in pairs)


def _error(found: Readings, answer: Ints) -> float | None:
    if found.errors is None:
        return None
    (places,) = np.nonzero((found.answers == answer).all(1))
    return 100 * float(found.errors[places[0]])
