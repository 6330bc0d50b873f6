"""The result of the borg analysis: errors over relabellings next to the paper's, the decipherment and the key."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from alice.plugins import paper
from alice.plugins.builtin.borg.marks import DROPPED, KINDS
from alice.plugins.builtin.borg.measure import Deciphered, Page
from alice.plugins.builtin.borg.transcription import Word, shared_letters
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars
from alice.solving import NO_SYMBOL
from alice.statistics import Floats
from alice.text import PAD

BINS, WIDTHS = 12, (0.5, 1.0, 2.0, 5.0, 10.0)
"""Maximum number of bars in the figure, and their possible widths in percent."""
LINE = 48
"""Characters per line of a text."""
UNKNOWN = "?"
"""Stands for a symbol whose letter is unknown."""
CAVEATS = (
    "Many relabellings of one text are still one text: the spread is over names of its symbols, not over texts.",
    "The true letter of a symbol is the one it is aligned with most often. What an editor corrected, or a scribe got "
    "wrong, counts as that letter. Symbols without a letter in the plaintext do not count as errors.",
)
MARKS_CAPTION = "Editorial marks by kind: what they look like, how they were read, and how many there are in each file."
PAPER_CAVEAT = (
    "The paper's figures are for other pages (0002r for the first, 256 characters of 0011v for the others) and for a "
    "model of 85M parameters. They are for orientation and do not rank anything."
)


def report(page: Page, deciphered: Sequence[Deciphered]) -> Result:
    """Return the decipherments as a result."""
    tables: dict[str, Table] = {}
    figures: dict[str, Figure] = {}
    errors = {found.model: found.errors for found in deciphered if found.errors is not None}
    if errors:
        tables["solvers"] = _solver_table(deciphered)
        figures["relabellings"] = _error_figure(errors)
    tables["passages"] = _passage_table(page, deciphered)
    tables["decipherment"] = _text_table(page, deciphered)
    tables["relabellings"] = _readings_table(deciphered)
    tables["key"] = _key_table(page, deciphered)
    if marks := _mark_rows(page):
        tables["marks"] = Table(("kind", "example", "meaning", "transcription", "plaintext"), marks, MARKS_CAPTION)
    return Result(
        title="A historical cipher",
        summary=_summary(page, deciphered),
        caveats=(*_doubts(page), *CAVEATS, PAPER_CAVEAT) if errors else CAVEATS[:1],
        metrics=_metrics(page, deciphered),
        tables=tables,
        figures=figures,
        arrays={model_key("ser", model): values for model, values in errors.items()},
    )


def _mark_rows(page: Page) -> list[tuple[str, str, str, int, int | None]]:
    """Return the kinds of editorial mark that occur, with their number in the transcription and in the plaintext."""
    ours, theirs = page.whole.marks, None if page.plain is None else page.plain.marks
    return [
        (kind, *meaning, ours[kind], None if theirs is None else theirs[kind])
        for kind, meaning in KINDS.items()
        if ours[kind] or (theirs is not None and theirs[kind])
    ]


def _left_out(page: Page) -> str:
    """Say what was left out of the transcription and of the plaintext; nothing if everything was read."""
    files = {page.title: page.whole.marks, "its plaintext": page.plain.marks if page.plain is not None else Counter()}
    parts = [
        f"of {name} {', '.join(f'{marks[kind]} {kind}' for kind in DROPPED if marks[kind])}"
        for name, marks in files.items()
        if any(marks[kind] for kind in DROPPED)
    ]
    return f"Left out: {'; '.join(parts)} (table `marks`)." if parts else ""


def _doubts(page: Page) -> tuple[str, ...]:
    """Name the symbols that share a letter in the plaintext, and those without one."""
    key = page.key or {}
    doubts = [f"{' and '.join(several)} the same letter, {letter}" for letter, several in shared_letters(key).items()]
    if unknown := [symbol for symbol in page.whole.symbols if symbol not in key]:
        doubts.append(f"{' and '.join(unknown)} no letter")
    if not doubts:
        return ()
    return (
        f"The plaintext gives {'; '.join(doubts)}. In a simple substitution every symbol has a letter of its own: use "
        "--ignore to leave out what is not part of the cipher, such as a sign for a whole word.",
    )


def _summary(page: Page, deciphered: Sequence[Deciphered]) -> str:
    count, parts = len(deciphered[0].readings[0].answers), len(page.passages)
    words = page.whole.words
    characters = sum(map(len, words)) + len(words) - 1
    sentences = [
        f"{page.title} has {characters} characters including spaces, {len(page.whole.symbols)} different symbols, and "
        f"was read in {parts} {'passage' if parts == 1 else 'passages'} under {count} random relabellings."
    ]
    sentences += filter(None, [_left_out(page)])
    for found in deciphered:
        if found.errors is None:
            sentences.append(
                f"Under two relabellings {found.model} reads {found.letters_changed:.1f} % of the letters differently; "
                f"the mean probability of its answers is {found.confidence:.1f} %."
            )
        else:
            low, high = found.errors.min(), found.errors.max()
            sentences.append(
                f"{found.model} has a mean SER of {found.errors.mean():.2f} %, from {low:.2f} to {high:.2f} %; "
                f"the vote of all relabellings has {found.vote_error:.2f} %."
            )
    if page.key is not None:
        mean = paper.BORG_MEAN_SER[paper.BORG_ALICE]
        spread = f"from {paper.BORG_LOWEST:.2f} to {paper.BORG_HIGHEST:.2f} %"
        sentences.append(f"The paper has {mean:.2f} %, {spread}, on another page.")
    return " ".join(sentences)


def _metrics(page: Page, deciphered: Sequence[Deciphered]) -> list[Metric]:
    metrics: list[Metric] = []
    for found in deciphered:
        values: dict[str, tuple[float, str]] = {}
        if found.errors is not None and found.vote_error is not None:
            values["ser"] = float(found.errors.mean()), "symbol error rate"
            values["ser-spread"] = float(found.errors.std(ddof=1)), "standard deviation over relabellings"
            values["ser-vote"] = found.vote_error, "symbol error rate of the vote"
        values["letters-changed"] = found.letters_changed, "letters read differently"
        values["confidence"] = found.confidence, "mean probability of an answer"
        metrics += [
            Metric(name, value, unit="%", model=found.model, label=label) for name, (value, label) in values.items()
        ]
    return [*metrics, Metric("passages", len(page.passages)), Metric("symbols", len(page.whole.symbols))]


SPREAD_LABELS = {"ser": "SER, %", "spread": "SD, %", "lowest": "lowest, %", "highest": "highest, %"}


def _spread_cells(errors: Floats) -> tuple[float, float, float, float]:
    """Return mean, standard deviation, minimum and maximum over relabellings, (relabelling,) -> four."""
    return float(errors.mean()), float(errors.std(ddof=1)), float(errors.min()), float(errors.max())


def _solver_table(deciphered: Sequence[Deciphered]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in deciphered:
        if found.errors is not None:
            rows.append((found.model, "model", "measured", len(found.errors), *_spread_cells(found.errors)))
            rows.append((found.model, "model", "measured-vote", None, found.vote_error, None, None, None))
    for solver, error in paper.BORG_MEAN_SER.items():
        ours = solver == paper.BORG_ALICE
        spread = (None, paper.BORG_LOWEST, paper.BORG_HIGHEST) if ours else (None, None, None)
        kind, count = ("model", paper.BORG_RELABELLINGS) if ours else ("solver", None)
        rows.append((solver, kind, "paper", count, error, *spread))
    caption = (
        "Symbol error rate of the whole text: mean, standard deviation (SD), lowest and highest over random "
        "relabellings of the symbols. Source: measured, the vote of all relabellings, or the paper, on other pages."
    )
    labels = {"model": "model or solver", **SPREAD_LABELS}
    return Table(("model", "kind", "source", "relabellings", *SPREAD_LABELS), rows, caption, labels)


def _error_figure(errors: dict[str, Floats]) -> Figure:
    """Draw a histogram of the error rate over relabellings."""
    values = np.concatenate(list(errors.values()))
    width = next((width for width in WIDTHS if np.ptp(values) <= width * (BINS - 1)), WIDTHS[-1])
    first, last = int(values.min() // width), int(values.max() // width)
    edges = width * np.arange(first, last + 2)
    labels = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    series = {model: np.histogram(one, edges)[0].astype(float) for model, one in errors.items()}
    drawn = bars(series, labels=labels, x_title="SER, %", y_title="relabellings")
    caption = (
        "Number of relabellings by symbol error rate over the whole text. A solver that ignores the names of the "
        "symbols has a single bar."
    )
    return Figure(drawn, caption)


def _passage_table(page: Page, deciphered: Sequence[Deciphered]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in deciphered:
        for number, readings in enumerate(found.readings, start=1):
            wrong: tuple[float | None, ...] = (None, None, None, None)
            if readings.errors is not None:
                wrong = _spread_cells(100 * readings.errors)
            confidence = 100 * float(readings.confidence[:, readings.letters].mean())
            changed = 100 * readings.letters_changed
            rows.append((found.model, number, len(readings.cipher_ids), *wrong, changed, confidence))
    caption = (
        "By passage: symbol error rate over the relabellings (SD: standard deviation), probability that two of them "
        "read a letter differently, and mean probability of the model's answers."
    )
    if page.repeated:
        caption += f" The last passage starts with {page.repeated} characters of the one before; both count them."
    labels = {**SPREAD_LABELS, "letters_changed": "letters changed, %", "confidence": "confidence, %"}
    return Table(("model", "passage", "characters", *labels), rows, caption, labels)


def _text_table(page: Page, deciphered: Sequence[Deciphered]) -> Table:
    """Return the whole text as the vote reads it, line by line below the plaintext."""
    rows: list[tuple[str, int, str, str]] = []
    for found in deciphered:
        answers = {symbol: _marked(found, symbol) for symbol in page.whole.symbols}
        readings = {"decipherment": answers}
        if (known := page.key) is not None:
            plain = {symbol: known.get(symbol, UNKNOWN).lower() for symbol in page.whole.symbols}
            readings = {"plaintext": plain, "decipherment": answers}
        for number, (first, last) in enumerate(lines(page.whole.words, LINE), start=1):
            words = page.whole.words[first:last]
            rows += [(found.model, number, name, _spelled(words, letters)) for name, letters in readings.items()]
    errors = " CAPITALS are wrong." if page.key is not None else ""
    caption = f"{page.title} deciphered: each symbol as most relabellings read it.{errors}"
    return Table(("model", "line", "reading", "text"), rows, caption, monospace=("text",))


def _spelled(words: Sequence[Word], letters: Mapping[str, str]) -> str:
    return " ".join("".join(letters[symbol] for symbol in word) for word in words)


def _marked(found: Deciphered, symbol: str) -> str:
    answer, known = found.votes[symbol][0], found.page.key
    wrong = known is not None and symbol in known and answer != known[symbol]
    return answer if wrong else answer.lower()


def lines(words: Sequence[Sequence[str]], width: int) -> list[tuple[int, int]]:
    """Return the range of words of each line, from the first to one past the last, for lines of about `width`."""
    found, first, used = [], 0, 0
    for number, word in enumerate(words):
        if number > first and used + 1 + len(word) > width:
            found.append((first, number))
            first, used = number, -1
        used += len(word) + 1 if number > first else len(word)
    return [*found, (first, len(words))]


def _readings_table(deciphered: Sequence[Deciphered]) -> Table:
    """Return the first passage under the best, the median and the worst relabelling."""
    rows = [(found.model, *row) for found in deciphered for row in _reading_rows(found)]
    truth = "vote" if deciphered[0].readings[0].plain_ids is None else "plaintext"
    caption = (
        f"The first passage under the relabellings that are closest to the {truth}, in the middle, and farthest from "
        "it. CAPITALS differ from it; differs: share of the characters that do."
    )
    labels = {"differs": "differs, %"}
    columns = ("model", "line", "relabelling", "differs", "text")
    return Table(columns, rows, caption, labels, monospace=("text",))


def _reading_rows(found: Deciphered) -> list[tuple[int, str, float | None, str]]:
    readings, known = found.readings[0], found.readings[0].plain_ids
    truth = readings.vote if known is None else known
    wrong = (readings.answers != truth) & (truth != PAD)  # (relabelling, pos)
    order = np.argsort(wrong.sum(1), kind="stable")
    chosen = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    written = NO_SYMBOL + found.alphabet.symbols
    true_symbols = written if known is None else UNKNOWN + found.alphabet.symbols
    texts = {"vote" if known is None else "plaintext": "".join(true_symbols[one] for one in truth).lower()}
    for name, number in chosen.items():
        pairs = zip(readings.answers[number], wrong[number], strict=True)
        texts[name] = "".join(written[one] if bad else written[one].lower() for one, bad in pairs)
    shares = {name: 100 * float(wrong[number].sum() / (truth != PAD).sum()) for name, number in chosen.items()}
    rows, start = [], 0
    words = found.page.passages[0].words
    for number, (first, last) in enumerate(lines(words, LINE), start=1):
        end = start + sum(map(len, words[first:last])) + last - first - 1
        rows += [(number, name, shares.get(name), text[start:end]) for name, text in texts.items()]
        start = end + 1
    return rows


def _key_table(page: Page, deciphered: Sequence[Deciphered]) -> Table:
    """Return each symbol with its most frequent answer and the letter it stands for."""
    counts = {symbol: sum(word.count(symbol) for word in page.whole.words) for symbol in page.whole.symbols}
    rows = [
        (
            found.model,
            symbol,
            counts[symbol],
            found.votes[symbol][0],
            100 * found.votes[symbol][1],
            None if page.key is None else page.key.get(symbol, UNKNOWN),
        )
        for found in deciphered
        for symbol in sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    ]
    caption = (
        "Each symbol, the most frequent first, with the letter that most readings take it for, the share of readings "
        "that do, and the letter it stands for, if known."
    )
    labels = {"share": "share, %"}
    columns = ("model", "symbol", "times", "read_as", "share", "stands_for")
    return Table(columns, rows, caption, labels, monospace=("symbol",))
