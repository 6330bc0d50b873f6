"""The result of the borg analysis: errors over relabellings beside the paper's, the decipherment and the key."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from alice.plugins.builtin.borg.measure import Deciphered, Page
from alice.plugins.builtin.borg.shown import key_table, readings_table, text_table
from alice.plugins.builtin.borg.transcription import shared_letters
from alice.plugins.builtin.suffixes import suffixes
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.statistics import Floats

BINS, WIDTHS = 12, (0.5, 1.0, 2.0, 5.0, 10.0)
"""Bars of the figure at most, and how wide they may be, in percent."""
CAVEATS = (
    "One text under many relabellings is still one text: the spread is that of the names of its symbols, not of texts.",
    "The true letter of a symbol is the one it meets most where words of the plaintext fit the transcription; what an "
    "editor corrected, or a scribe wrote wrong, counts as that letter. Symbols that the plaintext does not tell are "
    "left out of the error.",
)
PAPER_CAVEAT = (
    "The paper's figures are of other pages (0002r for the first, 256 characters of 0011v for the others) and of a "
    "model of 85M parameters: they stand here for orientation, not for a ranking."
)


def report(page: Page, deciphered: Sequence[Deciphered]) -> Result:
    """Put the decipherments into a result."""
    tables: dict[str, Table] = {}
    figures: dict[str, Figure] = {}
    arrays: dict[str, Any] = {}
    errors = {found.model: found.errors for found in deciphered if found.errors is not None}
    if errors:
        tables["solvers"] = _solver_table(deciphered)
        figures["errors"] = _error_figure(errors)
    tables["passages"] = _passage_table(page, deciphered)
    for suffix, found in zip(suffixes([found.model for found in deciphered]), deciphered, strict=True):
        tables[f"decipherment{suffix}"] = text_table(found)
        tables[f"relabellings{suffix}"] = readings_table(found)
        tables[f"key{suffix}"] = key_table(found)
        if found.errors is not None:
            arrays[f"errors{suffix}"] = found.errors
    return Result(
        title="A historical cipher",
        summary=_summary(page, deciphered),
        caveats=(*_doubts(page), *CAVEATS, PAPER_CAVEAT) if errors else CAVEATS[:1],
        metrics=_metrics(deciphered) | {"passages": len(page.passages), "symbols": len(page.whole.symbols)},
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _doubts(page: Page) -> tuple[str, ...]:
    """Name the symbols that the plaintext gives one letter to, and those that it gives none."""
    key = page.key or {}
    doubts = [f"one letter, {letter}, for {' and '.join(several)}" for letter, several in shared_letters(key).items()]
    if unknown := [symbol for symbol in page.whole.symbols if symbol not in key]:
        doubts.append(f"no letter for {' and '.join(unknown)}")
    if not doubts:
        return ()
    return (
        f"The plaintext has {'; '.join(doubts)}. In a simple substitution every symbol has a letter of its own: leave "
        "out with --ignore what is no part of the cipher, such as a sign for a whole word.",
    )


def _summary(page: Page, deciphered: Sequence[Deciphered]) -> str:
    count, parts = len(deciphered[0].readings[0].answers), len(page.passages)
    words = page.whole.words
    characters = sum(map(len, words)) + len(words) - 1
    said = [
        f"{page.title} has {len(page.whole.symbols)} symbols in {characters} characters, spaces counted, read in "
        f"{parts} {'passage' if parts == 1 else 'passages'}, each under {count} random relabellings of the symbols."
    ]
    for found in deciphered:
        if found.errors is None:
            said.append(
                f"Two relabellings make {found.model} read {found.letters_changed:.1f} % of the letters differently; "
                f"it gives its answers a probability of {found.confidence:.1f} % on the mean."
            )
        else:
            low, high = found.errors.min(), found.errors.max()
            said.append(
                f"{found.model} has a mean SER of {found.errors.mean():.2f} %, from {low:.2f} to {high:.2f} %; "
                f"the vote of all relabellings has {found.vote_error:.2f} %."
            )
    if page.key is not None:
        alice, lowest, highest = paper.BORG_MEAN_SER[paper.BORG_ALICE], paper.BORG_LOWEST, paper.BORG_HIGHEST
        said.append(f"The paper has {alice:.2f} %, from {lowest:.2f} to {highest:.2f} %, on another page.")
    return " ".join(said)


def _metrics(deciphered: Sequence[Deciphered]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for found in deciphered:
        of = f" of {found.model}" if len(deciphered) > 1 else ""
        if found.errors is not None and found.vote_error is not None:
            metrics[f"SER{of}, %"] = float(found.errors.mean())
            metrics[f"spread over relabellings{of}, %"] = float(found.errors.std(ddof=1))
            metrics[f"SER of the vote{of}, %"] = found.vote_error
        metrics[f"letters read differently{of}, %"] = found.letters_changed
        metrics[f"mean probability of an answer{of}, %"] = found.confidence
    return metrics


def _spread_cells(errors: Floats) -> tuple[float, float, float, float]:
    """Return mean, standard deviation, lowest and highest over relabellings, (relabelling,) -> four."""
    return float(errors.mean()), float(errors.std(ddof=1)), float(errors.min()), float(errors.max())


def _solver_table(deciphered: Sequence[Deciphered]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in deciphered:
        if found.errors is not None:
            rows.append((found.model, "measured here", len(found.errors), *_spread_cells(found.errors)))
            rows.append((f"{found.model}, vote", "measured here", None, found.vote_error, None, None, None))
    for solver, error in paper.BORG_MEAN_SER.items():
        ours = solver == paper.BORG_ALICE
        spread = (None, paper.BORG_LOWEST, paper.BORG_HIGHEST) if ours else (None, None, None)
        rows.append((solver, "the paper", paper.BORG_RELABELLINGS if ours else None, error, *spread))
    columns = ("solver", "from", "relabellings", "SER, %", "spread", "lowest", "highest")
    caption = (
        "Symbol error rate of the whole text in percent: mean, standard deviation, lowest and highest over random "
        "relabellings of the symbols. Under it, the paper's table, on other pages."
    )
    return Table(columns, rows, caption=caption)


def _error_figure(errors: dict[str, Floats]) -> Figure:
    """Draw how many relabellings have which error."""
    values = np.concatenate(list(errors.values()))
    width = next((width for width in WIDTHS if np.ptp(values) <= width * (BINS - 1)), WIDTHS[-1])
    first, last = int(values.min() // width), int(values.max() // width)
    edges = width * np.arange(first, last + 2)
    labels = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    series = {model: np.histogram(one, edges)[0].astype(float) for model, one in errors.items()}
    drawn = bars(series, labels=labels, x_title="SER, %", y_title="relabellings")
    caption = (
        "How many relabellings have which symbol error rate over the whole text. A solver that does not mind the names "
        "of the symbols has one bar."
    )
    return Figure(drawn, caption)


def _passage_table(page: Page, deciphered: Sequence[Deciphered]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in deciphered:
        for number, readings in enumerate(found.readings):
            wrong: tuple[float | None, ...] = (None, None, None, None)
            if readings.errors is not None:
                wrong = _spread_cells(100 * readings.errors)
            changed, sure = 100 * readings.letters_changed, 100 * float(readings.confidence[:, readings.letters].mean())
            rows.append((found.model, number + 1, len(readings.cipher_ids), *wrong, changed, sure))
    columns = ("model", "passage", "characters", "SER", "spread", "lowest", "highest", "letters changed", "confidence")
    caption = (
        "By passage, in percent: symbol error rate over the relabellings, chance that two of them read a letter "
        "differently, and mean probability that the model gives its answers."
    )
    if page.repeated:
        caption += f" The last passage begins with {page.repeated} characters of those before, counted here with both."
    return Table(columns, rows, caption=caption)
