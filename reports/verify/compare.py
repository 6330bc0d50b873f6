"""Compares two results of one analysis: every metric, table, array, figure, text, card and word.

A number agrees if it is equal up to `RELATIVE`, which allows for another machine's floating point. One that moves
further agrees within its stated error if it has one, by the rules of `RULES`; whole numbers, texts and truth values
must be equal. Figures and words repeat numbers of the rest: they may move as a number moved that they repeat.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np

from alice.reports.archive import fingerprint
from alice.reports.checks import Array
from alice.reports.encoding import encode
from alice.reports.number_text import is_number
from alice.reports.parts import KINDS, Card, Figure, HeatText, Metric, Table
from alice.reports.result import Result
from alice.reports.verify.numbers import (
    ERRORS,
    RELATIVE,
    Move,
    agree,
    agree_within,
    masked,
    plain_figure,
    same_numbers,
)

Verdict = Literal["the same", "the same within stated error", "different"]
RULES = (
    f"numbers agree up to {RELATIVE:g} of their size, whole numbers and words exactly; a number with a standard error "
    f"may move by {ERRORS:g} of them, one with an interval within it, by those of the report and by the new ones"
)
SHOWN_IN_ORDER = ("metrics", "tables", "figures", "texts", "cards")


@dataclass
class Comparison:
    """How two results compare."""

    compared: Counter[str] = field(default_factory=Counter)
    """How many parts were compared, by kind."""
    different: list[str] = field(default_factory=list)
    """What differs, one line each."""
    moved: list[str] = field(default_factory=list)
    """Numbers that moved within their stated error, one line each."""
    left_out: list[str] = field(default_factory=list)
    """What was not compared, because the analysis says that it measures time."""
    notes: list[str] = field(default_factory=list)
    """What else a reader should know."""
    exact: bool = False
    """Whether the results are equal to the last bit."""

    @property
    def verdict(self) -> Verdict:
        """What to say in a few words."""
        return "different" if self.different else "the same within stated error" if self.moved else "the same"


def compare(
    before: Result, after: Result, *, timings: Iterable[str] = (), arrays: bool = True, design: bool = True
) -> Comparison:
    """Compare a stored result with one that was computed again.

    Args:
        before: the stored result.
        after: the new one.
        timings: what the analysis declares as measured time, such as `metrics.letters-per-second-*`.
        arrays: whether the stored result has its arrays and artefacts.
        design: whether the layout of figures must agree; another version of the program may have another.

    """
    found = Comparison(exact=arrays and fingerprint(before) == fingerprint(after))
    judge = _Judge(found, tuple(timings), design=design)
    judge.words("title", [before.title], [after.title])
    judge.words("summary", [before.summary], [after.summary])
    judge.words("caveats", before.caveats, after.caveats)
    judge.words("headline", [before.headline or ""], [after.headline or ""])
    judge.pairs("metrics", _metrics(before.metrics), _metrics(after.metrics), judge.metric)
    judge.pairs("tables", before.tables, after.tables, judge.table)
    judge.pairs("texts", before.texts, after.texts, judge.heat_text)
    judge.pairs("cards", before.cards, after.cards, judge.card)
    if arrays:
        judge.pairs("arrays", before.arrays, after.arrays, judge.array)
        judge.pairs("artefacts", before.artefacts, after.artefacts, judge.artefact)
    judge.words("sections", *([f"{one.title} {one.text}" for one in result.all_sections] for result in (before, after)))
    judge.words("labels of trials", *([trial.label for trial in result.trials] for result in (before, after)))
    for kind, parts in (("order of the sections", _order), ("trials", _trials)):
        if parts(before) != parts(after):
            found.different.append(f"{kind}: not the same")
    judge.pairs("figures", before.figures, after.figures, judge.figure)
    judge.settle_words()
    return found


def _metrics(metrics: Sequence[Metric]) -> dict[str, Metric]:
    return {f"{metric.name}@{metric.model}" if metric.model else metric.name: metric for metric in metrics}


def _order(result: Result) -> list[Any]:
    return [(one.name, one.page, *(getattr(one, kind) for kind in KINDS)) for one in result.all_sections]


def _trials(result: Result) -> list[Any]:
    return [(trial.model, encode(trial.state, "a trial")) for trial in result.trials]


class _Judge:
    """Compares parts and notes what it finds."""

    def __init__(self, found: Comparison, timings: tuple[str, ...], *, design: bool) -> None:
        self.found, self.timings, self.design = found, timings, design
        self._moves: list[Move] = []
        """Numbers that moved within their stated error, before and after."""
        self._repeated: list[tuple[str, str, str]] = []
        """Words with other numbers than before: what they are, before, after."""

    def pairs(self, kind: str, before: Mapping[str, Any], after: Mapping[str, Any], check: Callable[..., None]) -> None:
        """Compare the parts of a kind by name."""
        for name in dict.fromkeys([*before, *after]):
            where = f"{kind}.{name.partition('@')[0]}"
            if self._is_timing(where):
                continue
            self.found.compared[kind] += 1
            if name not in before or name not in after:
                self.found.different.append(
                    f"{kind} {name}: only in the {'stored' if name in before else 'new'} result"
                )
            else:
                check(f"{kind[:-1]} {name}", before[name], after[name])
        if before.keys() == after.keys() and [*before] != [*after] and kind in SHOWN_IN_ORDER:
            self.found.different.append(f"order of the {kind}: not the same")

    def words(self, kind: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Compare texts; `settle_words` judges the numbers in them."""
        if self._is_timing(kind):
            return
        for one, other in zip(before, after, strict=False):
            if masked(one) != masked(other):
                self.found.different.append(f"{kind}: {_first_words(one, other, masked)}")
            elif not same_numbers(one, other):
                self._repeated.append((kind, one, other))
        if len(before) != len(after):
            self.found.different.append(f"{kind}: {len(after)} instead of {len(before)}")

    def settle_words(self) -> None:
        """Accept other numbers in words only where each repeats a number that moved within its error."""
        for kind, one, other in self._repeated:
            line = f"{kind}: {_first_words(one, other)}"
            if same_numbers(one, other, self._moves):
                self.found.moved.append(f"{line} (words repeat what moved)")
            else:
                self.found.different.append(line)

    def metric(self, where: str, before: Metric, after: Metric) -> None:
        self.words(f"label of {where}", [before.label, before.unit], [after.label, after.unit])
        if not is_number(before.value) or not is_number(after.value):
            if before.value != after.value:
                self.found.different.append(f"{where}: {before.value!r:.80} before, {after.value!r:.80} now")
            return
        low, high = _range(before, after)
        self._numbers(where, np.array([before.value]), np.array([after.value]), (np.array([low]), np.array([high])))
        spread = min(map(_spread, (before, after)))
        if len(_uncertainty(before)) != len(_uncertainty(after)):
            self.found.different.append(f"{where}: {before} before, {after} now")
        for one, other in zip(_uncertainty(before), _uncertainty(after), strict=False):
            margin = np.array([spread])
            self._numbers(f"uncertainty of {where}", np.array([one]), np.array([other]), (one - margin, one + margin))

    def table(self, where: str, before: Table, after: Table) -> None:
        self.words(f"words of {where}", [before.title, before.caption], [after.title, after.caption])
        if before.columns != after.columns or len(tuple(before.rows)) != len(tuple(after.rows)):
            self.found.different.append(f"{where}: {before!r:.100} before, {after!r:.100} now")
            return
        labels = [[one.label(column) for column in one.columns] for one in (before, after)]
        self.words(f"labels of {where}", *labels)
        cells = [dict(zip(one.columns, zip(*one.rows, strict=True), strict=False)) for one in (before, after)]
        for column in before.columns if before.rows else ():
            if not self._is_timing(f"tables.{where.removeprefix('table ')}.{column}"):
                self._column(f"{where}, column {column}", column, *cells)

    def _column(self, where: str, column: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Compare the cells of a column; those that are not numbers must be equal."""
        pairs = list(zip(before[column], after[column], strict=True))
        numeric = [is_number(one) and is_number(other) for one, other in pairs]
        others = [pair for pair, both in zip(pairs, numeric, strict=True) if not both]
        unequal = [pair for pair in others if masked(pair[0]) != masked(pair[1])]
        for one, other in others:
            if isinstance(one, str) and isinstance(other, str) and masked(one) == masked(other):
                self.words(f"words of {where}", [one], [other])
        if unequal:
            first = f"{unequal[0][0]!r:.60} before, {unequal[0][1]!r:.60} now"
            self.found.different.append(f"{where}: {len(unequal)} of {len(pairs)} cells differ, first {first}")
        if any(numeric):
            old, new = (
                np.array([cell[side] for cell, both in zip(pairs, numeric, strict=True) if both]) for side in (0, 1)
            )
            low, high = _column_range(column, before, after)
            chosen = np.array(numeric)
            self._numbers(where, old, new, (low[chosen], high[chosen]))

    def array(self, where: str, before: Array, after: Array) -> None:
        if before.shape != after.shape or before.dtype.kind != after.dtype.kind:
            now = f"{after.dtype} {after.shape}"
            self.found.different.append(f"{where}: {before.dtype} {before.shape} before, {now} now")
        else:
            self._numbers(where, before.reshape(-1), after.reshape(-1))

    def artefact(self, where: str, before: Mapping[str, Array], after: Mapping[str, Array]) -> None:
        if before.keys() != after.keys():
            self.found.different.append(f"{where}: its tensors have other names")
            return
        for name in before:
            self.array(f"{where}, tensor {name}", before[name], after[name])

    def heat_text(self, where: str, before: HeatText, after: HeatText) -> None:
        self.words(
            f"words of {where}",
            [before.title, before.caption, *before.notes],
            [after.title, after.caption, *after.notes],
        )
        shown = [(one.characters, one.below, one.choices, one.unit) for one in (before, after)]
        if shown[0] != shown[1]:
            self.found.different.append(f"{where}: another text, answer or choice of symbols")
            return
        for symbol, weights in before.by_symbol.items():
            self._numbers(f"{where}, weights {symbol}".rstrip(), np.array(weights), np.array(after.by_symbol[symbol]))
        if before.limit or after.limit:
            self._numbers(f"{where}, full colour", np.array([before.largest]), np.array([after.largest]))

    def card(self, where: str, before: Card, after: Card) -> None:
        self.words(f"words of {where}", [before.title, before.text], [after.title, after.text])
        named = (_metrics(before.metrics), _metrics(after.metrics))
        counts = [(len(one.metrics), len(one.texts)) for one in (before, after)]
        if named[0].keys() != named[1].keys() or counts[0] != counts[1]:
            self.found.different.append(f"{where}: it has other metrics or texts")
            return
        for name, metric in named[0].items():
            self.metric(f"{where}, {name}", metric, named[1][name])
        for number, (one, other) in enumerate(zip(before.texts, after.texts, strict=True), 1):
            self.heat_text(f"{where}, text {number}", one, other)

    def figure(self, where: str, before: Figure, after: Figure) -> None:
        """Compare what a figure draws; its numbers, but nothing else, may repeat what moved within its error."""
        self.words(f"words of {where}", [before.title, before.caption], [after.title, after.caption])
        drawn = [plain_figure(one.json, design=self.design) for one in (before, after)]
        fault = agree(*drawn) or _rows_agree(before, after)
        if fault is None:
            return
        other = agree(*drawn, moves=self._moves) or _rows_agree(before, after, moves=self._moves)
        if other is None:
            self.found.moved.append(f"{where}: it draws what moved ({fault})")
        else:
            self.found.different.append(f"{where}: {other}")

    def _numbers(self, where: str, before: Array, after: Array, allowed: tuple[Array, Array] | None = None) -> None:
        """Compare numbers one by one, and note how many moved and by how much."""
        outside, moved = agree_within(before, after, allowed)
        if moved.any():
            self._moves += [(float(before[place]), float(after[place])) for place in np.flatnonzero(moved)]
        for which, listed, said in (
            (outside, self.found.different, ""),
            (moved, self.found.moved, " within the error"),
        ):
            if which.any():
                first = int(np.flatnonzero(which)[0])
                count = f"{which.sum():,} of {which.size:,} moved{said}, first " if which.size > 1 else ""
                listed.append(
                    f"{where}: {count}{before[first]!s:.40} before, {after[first]!s:.40} now{said if not count else ''}"
                )

    def _is_timing(self, where: str) -> bool:
        if any(fnmatchcase(where, pattern) for pattern in self.timings):
            if where not in self.found.left_out:
                self.found.left_out.append(where)
            return True
        return False


def _rows_agree(before: Figure, after: Figure, *, moves: Sequence[Move] = ()) -> str | None:
    """Return where the tables behind two figures disagree, or None."""
    if before.data is None or after.data is None:
        return None
    return agree(_by_column(before.data), _by_column(after.data), "its table", moves=moves)


def _by_column(table: Table) -> dict[str, list[Any]]:
    return {column: [row[place] for row in table.rows] for place, column in enumerate(table.columns)}


def _range(before: Metric, after: Metric) -> tuple[float | None, float | None]:
    """Return where a metric may move: as far as its uncertainty allows in the report and in the new run alike.

    The report's own uncertainty is not enough: a forged value could come with a forged, larger error.
    """
    value = float(before.value)
    if before.error is not None and after.error is not None:
        margin = ERRORS * min(before.error, after.error)
        return value - margin, value + margin
    if before.interval is not None and after.interval is not None and _within(value, after.interval):
        return before.interval
    return None, None


def _within(value: float, interval: tuple[float, float]) -> bool:
    return interval[0] <= value <= interval[1]


def _uncertainty(metric: Metric) -> tuple[float, ...]:
    return (metric.error,) if metric.error is not None else metric.interval or ()


def _spread(metric: Metric) -> float:
    """Return by how much the uncertainty of a metric may move."""
    low, high = metric.interval or (0.0, 0.0)
    return metric.error if metric.error is not None else (high - low) / 2


def _column_range(column: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Array, Array]:
    """Return where the numbers of a column may move, NaN where they have no error, (row,) each.

    A column `x` has its standard errors in `x_error`, or its interval in `x_low` and `x_high`. Standard errors and ends
    of intervals may themselves move by half of the interval. What the report and the new run state holds in common.
    """

    def numbers(cells: Mapping[str, Sequence[Any]], name: str) -> Array:
        return np.array([float(cell) if is_number(cell) else np.nan for cell in cells[name]])

    def smaller(low: str, high: str = "") -> Array:
        """Return the smaller of both standard errors, or of both widths."""
        sizes = [numbers(cells, high) - numbers(cells, low) if high else numbers(cells, low) for cells in both]
        return np.asarray(np.minimum(*sizes))

    both, values = (before, after), numbers(before, column)
    if f"{column}_error" in before:
        margin = ERRORS * smaller(f"{column}_error")
        return values - margin, values + margin
    if f"{column}_low" in before and f"{column}_high" in before:
        inside = (numbers(after, f"{column}_low") <= values) & (values <= numbers(after, f"{column}_high"))
        low, high = (np.where(inside, numbers(before, f"{column}_{end}"), np.nan) for end in ("low", "high"))
        return low, high
    if column.endswith("_error") and column.removesuffix("_error") in before:
        margin = smaller(column)
        return values - margin, values + margin
    stem = column.removesuffix("_low").removesuffix("_high")
    if stem != column and {stem, f"{stem}_low", f"{stem}_high"} <= before.keys():
        margin = smaller(f"{stem}_low", f"{stem}_high") / 2
        return values - margin, values + margin
    nothing = np.full(len(values), np.nan)
    return nothing, nothing


def _first_words(one: str, other: str, key: Callable[[str], str] = str) -> str:
    """Quote the first words whose keys differ."""
    pairs = zip(one.split(), other.split(), strict=False)
    place = next((number for number, (a, b) in enumerate(pairs) if key(a) != key(b)), 0)
    quoted = [" ".join(text.split()[max(0, place - 2) : place + 5]) for text in (one, other)]
    return f"{quoted[0]!r:.100} before, {quoted[1]!r:.100} now"
