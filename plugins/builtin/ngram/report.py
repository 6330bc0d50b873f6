"""The result of the n-gram analysis: two panels for each reader, and tables of the last layer and of the gains."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.ngram.measure import DRAWS, MEASURES, Measure, Similarities, Similarity
from alice.plugins.builtin.ngram.readings import READERS
from alice.plugins.builtin.suffixes import suffixes
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import slider
from alice.reports.panels import level_and_change
from alice.statistics import blank_nan

CAVEATS = (
    "Counts forget where an n-gram stood: an answer that is wrong at every place can have the right letters. High "
    "similarity at n = 1 says that frequencies are right, not letters.",
    "Over the whole corpus frequent n-grams outweigh all others and errors in single texts cancel: these similarities "
    "are higher, and not to be compared with means over texts. The paper does not say which of the two it took.",
    "The largest gain is one layer for each n, and neighbouring n share their characters: eight points that hang "
    "together. The interval is over texts alone; other probes or another training of the model may differ by more.",
    "Probes that are trained longer or on more texts read more. The model's head was trained for the last layer only.",
)


def report(compared: Sequence[Similarities], *, letters_only: bool) -> Result:
    """Put what was compared into a result."""
    figures: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for one, suffix in zip(compared, suffixes([one.readings.model for one in compared]), strict=True):
        for reader in READERS:
            figures[f"{READERS[reader].replace(' ', '-')}{suffix}"] = _figure(one, reader)
        for (reader, measure), found in one.found.items():
            name = f"{reader}-{measure}{suffix}"
            arrays |= {f"similarity-{name}": found.cosine, f"error-{name}": found.error, f"gain-{name}": found.layers}
            arrays |= {f"draws-{name}": found.draws}
    return Result(
        title="N-grams by layer",
        summary=_summary(compared, letters_only=letters_only),
        caveats=CAVEATS,
        metrics=_metrics(compared),
        tables={"gains": _gains(compared), "last-layer": _last_layer(compared), "texts": _texts(compared)},
        figures=figures,
        arrays=arrays,
    )


def _summary(compared: Sequence[Similarities], *, letters_only: bool) -> str:
    first = compared[0].readings
    places = "places where the plaintext has a letter" if letters_only else "all characters, spaces and punctuation too"
    lines = []
    for one in compared:
        found = one.found["linear", "texts"]
        lines.append(
            f"Read by linear probes, {one.readings.model} gains most at layers {', '.join(map(str, found.layers))} for "
            f"n = 1 to {len(found.layers)} (mean over texts); Spearman's correlation of n with the layer is "
            f"{found.trend:.2f} ({_interval(found)}{' over texts' if found.trend_interval else ''})."
        )
    return (
        f"N-grams of what each layer says are compared with those of the plaintext, over {first.texts} texts and "
        f"{places}. The probes were trained on {first.trained_on} other texts. {' '.join(lines)}\n\n"
        "The paper's claim is that early layers settle letter frequencies and later ones word-like sequences: then the "
        "layer of the largest gain rises with n, and the correlation is positive."
    )


def _metrics(compared: Sequence[Similarities]) -> dict[str, float | int | str]:
    metrics: dict[str, float | int | str] = {}
    for one in compared:
        of = f" of {one.readings.model}" if len(compared) > 1 else ""
        for reader, title in READERS.items():
            found = one.found[reader, "texts"]
            metrics |= {f"Spearman, {title}{of}": found.trend, f"95 % interval, {title}{of}": _interval(found)}
    return metrics | {"texts": compared[0].readings.texts, "texts to train on": compared[0].readings.trained_on}


def _interval(found: Similarity) -> str:
    if found.trend_interval is None:
        return "a single text has no interval"
    low, high = found.trend_interval
    return f"{low:.2f} to {high:.2f}"


def _figure(one: Similarities, reader: str) -> Figure:
    steps = {
        title: level_and_change(
            {str(n): values for n, values in enumerate(one.found[reader, measure].cosine.T, 1)},
            y_title="cosine similarity",
            legend_title="n",
        )
        for measure, title in MEASURES.items()
    }
    caption = (
        f"{one.readings.model}, {READERS[reader]}: how alike n-grams of each layer's answer and the plaintext's are, "
        "and how much each layer adds. The slider changes between the mean over texts and the counts of all texts "
        "together. Layer 0 is the embedding."
    )
    rows = [row for measure in MEASURES for row in _tidy(one, reader, measure)]
    columns = ("model", "reader", "measure", "layer", "n", "similarity", "standard error", "change")
    drawn = slider(steps, prefix="")
    drawn.layout.sliders[0].update(len=0.4, x=0.02)  # two steps need no more, and the last label has room
    return Figure(drawn, caption, Table(columns, rows))


def _tidy(one: Similarities, reader: str, measure: Measure) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each layer and n."""
    found = one.found[reader, measure]
    for layer, (cosines, errors) in enumerate(zip(found.cosine, found.error, strict=True)):
        before = found.cosine[layer - 1] if layer else [None] * len(cosines)
        for n, (cosine, error, last) in enumerate(zip(cosines, errors, before, strict=True), 1):
            change = None if last is None else float(cosine - last)
            yield one.readings.model, reader, measure, layer, n, float(cosine), blank_nan(error), change


def _each(compared: Sequence[Similarities]) -> Iterator[tuple[tuple[str, str, str], Similarity]]:
    """Yield everything that was found, with the cells that say what it is of."""
    for one in compared:
        for (reader, measure), found in one.found.items():
            yield (one.readings.model, reader, measure), found


def _gains(compared: Sequence[Similarities]) -> Table:
    rows = [(*of, *_row(compared, found.layers), round(found.trend, 3), *_ends(found)) for of, found in _each(compared)]
    columns = ("model", "reader", "measure", *_sizes(compared), "Spearman", "low", "high")
    caption = (
        "The layer at which each n gains most, and Spearman's correlation of n with it: 1 if it rises with every n. "
        f"95 % of {DRAWS} reweightings of the texts lie from low to high, which are empty for a single text. If all n "
        "gain most at one layer it is 0."
    )
    return Table(columns, rows, caption=caption)


def _ends(found: Similarity) -> tuple[float | None, float | None]:
    if found.trend_interval is None:
        return None, None
    low, high = found.trend_interval
    return round(low, 3), round(high, 3)


def _last_layer(compared: Sequence[Similarities]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for one in compared:
        for reader in READERS:
            for measure in MEASURES:
                cosines = one.found[reader, measure].cosine[-1]
                rows.append((one.readings.model, reader, measure, *_row(compared, cosines.round(3))))
            if printed := paper.FINAL_SIMILARITY.get((one.readings.variant, reader)):
                rows.append((f"paper's {one.readings.variant}", reader, "not said", *_row(compared, np.array(printed))))
    caption = (
        "Similarity at the last layer: the mean over texts, or of the whole corpus together. The paper's models have "
        "12 layers and 85M parameters, and read other texts."
    )
    return Table(("model", "reader", "measure", *_sizes(compared)), rows, caption=caption)


def _texts(compared: Sequence[Similarities]) -> Table:
    rows = [
        (one.readings.model, n, texts, one.readings.texts - texts)
        for one in compared
        for n, texts in enumerate(one.texts, 1)
    ]
    return Table(("model", "n", "texts counted", "too short"), rows, caption="Texts shorter than n have no n-grams.")


def _sizes(compared: Sequence[Similarities]) -> list[str]:
    """Return a heading for every n that any model has."""
    return [f"n={n}" for n in range(1, max(len(one.texts) for one in compared) + 1)]


def _row(compared: Sequence[Similarities], values: NDArray[Any]) -> list[Any]:
    """Return a cell for every n, an empty one where there is no value."""
    columns = len(_sizes(compared))
    return [*values.tolist(), *[None] * columns][:columns]
