"""The deciphered text as it is shown: line by line with its errors marked, its best and worst readings, and the key."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from alice.plugins.builtin.borg.measure import UNKNOWN, Deciphered, lines
from alice.plugins.builtin.borg.transcription import Word
from alice.reports import Table
from alice.solving.solve import NO_SYMBOL
from alice.text.alphabet import PAD

WIDTH = 64
"""Characters of a line."""


def text_table(found: Deciphered) -> Table:
    """Show the whole text as the vote has it, each line under the transcription and over the plaintext."""
    page, known = found.page, found.page.key
    rows: list[tuple[int, str, str]] = []
    for number, (first, last) in enumerate(lines(page.whole.words, WIDTH), start=1):
        words = page.whole.words[first:last]
        if known is not None:
            rows.append((number, "plaintext", _spelled(words, lambda symbol: known.get(symbol, UNKNOWN).lower())))
        rows.append((number, "decipherment", _spelled(words, lambda symbol: _marked(found, symbol))))
    errors = " CAPITALS are wrong." if known is not None else ""
    caption = f"{found.model}: {page.title} deciphered; a symbol is read as most relabellings read it.{errors}"
    return Table(("line", "what", "text"), rows, caption=caption, monospace=("text",))


def _spelled(words: Sequence[Word], spell: Callable[[str], str]) -> str:
    return " ".join("".join(spell(symbol) for symbol in word) for word in words)


def _marked(found: Deciphered, symbol: str) -> str:
    answer, known = found.votes[symbol][0], found.page.key
    wrong = known is not None and symbol in known and answer != known[symbol]
    return answer if wrong else answer.lower()


def readings_table(found: Deciphered) -> Table:
    """Show the first passage under the relabellings that come closest to the truth, halfway, and least close."""
    readings, known = found.readings[0], found.readings[0].plain_ids
    truth = readings.vote if known is None else known
    wrong = (readings.answers != truth) & (truth != PAD)  # (relabelling, pos)
    order = np.argsort(wrong.sum(1), kind="stable")
    chosen = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    written = (UNKNOWN if known is not None else NO_SYMBOL) + found.alphabet.symbols
    texts = {"vote" if known is None else "plaintext": "".join(written[one] for one in truth).lower()}
    for name, number in chosen.items():
        pairs = zip(readings.answers[number], wrong[number], strict=True)
        texts[name] = "".join(symbol if bad else symbol.lower() for symbol, bad in _characters(found, pairs))
    shares = {name: 100 * float(wrong[number].sum() / (truth != PAD).sum()) for name, number in chosen.items()}
    rows, start = [], 0
    words = found.page.passages[0].words
    for number, (first, last) in enumerate(lines(words, WIDTH), start=1):
        end = start + sum(map(len, words[first:last])) + last - first - 1
        rows += [(number, name, shares.get(name), text[start:end]) for name, text in texts.items()]
        start = end + 1
    caption = (
        f"{found.model}: the first passage under the relabelling that comes closest to the {next(iter(texts))}, under "
        "one in the middle, and under that which is farthest. CAPITALS differ; so many percent of all characters do."
    )
    return Table(("line", "relabelling", "differs, %", "text"), rows, caption=caption, monospace=("text",))


def _characters(found: Deciphered, pairs: Iterable[tuple[int, bool]]) -> Iterator[tuple[str, bool]]:
    written = NO_SYMBOL + found.alphabet.symbols
    return ((written[one], bad) for one, bad in pairs)


def key_table(found: Deciphered) -> Table:
    """List each symbol with what it is read as, how often, and what it stands for."""
    page = found.page
    counts = {symbol: sum(word.count(symbol) for word in page.whole.words) for symbol in page.whole.symbols}
    rows = [
        (
            symbol,
            counts[symbol],
            found.votes[symbol][0],
            100 * found.votes[symbol][1],
            None if page.key is None else page.key.get(symbol, UNKNOWN),
        )
        for symbol in sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    ]
    caption = (
        f"{found.model}: each symbol, the most frequent first, with the letter that most readings take it for, the "
        "share of the readings that do, in percent, and the letter it stands for if that is known."
    )
    return Table(("symbol", "times", "read as", "share", "stands for"), rows, caption=caption, monospace=("symbol",))
