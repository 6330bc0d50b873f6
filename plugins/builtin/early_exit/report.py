"""The result of the early-exit analysis: curves, tables and arrays, for one model or several."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.early_exit.figures import permutation_figure, settled_figure, text_figure
from alice.plugins.builtin.early_exit.measure import Exits
from alice.plugins.builtin.suffixes import suffixes
from alice.plugins.builtin.traces import Trace
from alice.reports import Figure, Result, Table
from alice.reports.figures import layer_curve
from alice.solving.solve import NO_SYMBOL
from alice.statistics import Floats, bayesian_bootstrap, blank_nan
from alice.text.alphabet import LETTERS

CAVEATS = (
    "The head was trained to read the last layer only: an earlier layer may know more than it shows here. "
    "A probe trained on that layer tells.",
    "SER counts every character, spaces and punctuation too. The texts are the first ones of the source.",
    "The band is one standard error from a Bayesian bootstrap over texts; it says nothing about other training runs.",
)


def report(measured: Sequence[Exits], traces: Sequence[Sequence[Trace]], *, rng: np.random.Generator) -> Result:
    """Put what was measured into a result."""
    errors = {found.model: _estimates(found.errors, rng) for found in measured}  # (2, exit) each: mean and its error
    tables = {"error-by-layer": _error_table(errors)}
    figures: dict[str, Any] = {"error-by-layer": _error_figure(errors)}
    arrays: dict[str, Any] = {}
    names = suffixes([found.model for found in measured])
    for suffix, found, followed in zip(names, measured, traces, strict=True):
        tables[f"settling{suffix}"] = _settled_table(found)
        figures[f"settling{suffix}"] = settled_figure(found)
        arrays |= {f"errors{suffix}": found.errors, f"settled{suffix}": found.settled}
        for trace in followed:
            which = trace.title.replace(" ", "-") + suffix  # such as example-0-base
            tables[f"text-{which}"] = _text_table(found, trace)
            figures[f"text-{which}"] = text_figure(found, trace)
            arrays[f"answers-{which}"] = trace.answers
            if found.bijective:
                figures[f"permutation-{which}"] = permutation_figure(found, trace)
    return Result(
        title="Early exit",
        summary=_summary(measured, errors),
        caveats=CAVEATS,
        metrics=_metrics(measured, errors),
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _estimates(errors: Floats, rng: np.random.Generator) -> Floats:
    estimates = [bayesian_bootstrap(errors[:, exit_], rng) for exit_ in range(errors.shape[1])]
    return np.array([[found.mean for found in estimates], [found.error for found in estimates]])


def _summary(measured: Sequence[Exits], errors: dict[str, Floats]) -> str:
    lines = [
        f"{name} starts at a symbol error rate of {means[0]:.3f} after its embedding and ends at {means[-1]:.4f} "
        f"after layer {len(means) - 1}; its error falls most at layer {1 + int(np.argmin(np.diff(means)))}."
        for name, (means, _) in errors.items()
    ]
    texts = len(measured[0].errors)
    return (
        f"Every layer's residual stream is decoded with the model's own head, over {texts} texts, from one pass "
        f"through the model. {' '.join(lines)} The exit after the last layer was checked to be the model's own answer."
    )


def _metrics(measured: Sequence[Exits], errors: dict[str, Floats]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for name, (means, spread) in errors.items():
        of = f" of {name}" if len(errors) > 1 else ""
        metrics[f"SER{of}"] = float(means[-1])
        if not np.isnan(spread[-1]):
            metrics[f"standard error{of}"] = float(spread[-1])
        metrics |= {f"SER of the embedding{of}": float(means[0]), f"layers{of}": len(means) - 1}
    return metrics | {"texts": len(measured[0].errors)}


def _error_figure(errors: dict[str, Floats]) -> Figure:
    named = {name: means for name, (means, _) in errors.items()}
    bands = {name: spread for name, (_, spread) in errors.items()}
    caption = (
        "Mean symbol error rate of the exit after each layer; layer 0 is the embedding, layer 1 comes after the first "
        "block (blocks.0). Band: one standard error."
    )
    return Figure(layer_curve(named, errors=bands, y_title="SER"), caption)


def _error_table(errors: dict[str, Floats]) -> Table:
    rows = [
        (name, layer, float(mean), blank_nan(spread))
        for name, estimates in errors.items()
        for layer, (mean, spread) in enumerate(estimates.T)
    ]
    return Table(("model", "layer", "SER", "standard error"), rows, caption="Error of the exit after each layer.")


def _settled_table(found: Exits) -> Table:
    rows = []
    for letter, counts in zip(LETTERS, found.settled, strict=True):
        seen, reached = int(counts.sum()), np.cumsum(counts[:-1])
        median = int(np.searchsorted(reached, reached[-1] / 2)) if reached[-1] else None
        rows.append((letter, seen, median, float(counts[-1] / seen) if seen else None))
    caption = f"{found.model}: the layer from which each letter stays right, over the texts that have it."
    return Table(
        ("letter", "texts", "median layer where it ends right", "share wrong at the end"), rows, caption=caption
    )


def _text_table(found: Exits, trace: Trace) -> Table:
    """Show the text of every exit; what changed is in capitals, and said symbol by symbol beside it."""
    before = trace.cipher_ids
    rows: list[tuple[Any, ...]] = [("input", None, trace.alphabet.decode(before), "")]
    identity = np.arange(trace.alphabet.size)
    keys = np.concatenate([identity[None], trace.answers])
    for layer, now in enumerate(trace.texts):
        wrong = None if trace.plain_ids is None else float((now != trace.plain_ids).mean())
        rows.append((str(layer), wrong, _marked(trace, now, before), _changes(trace, keys[layer], keys[layer + 1])))
        before = now
    caption = (
        f"{found.model}, {trace.title}: the answer after each layer. CAPITALS changed from the line before; "
        "beside it, each cipher symbol whose meaning changed."
    )
    return Table(("layer", "SER", "text", "changed"), rows, caption=caption, monospace=("text", "changed"))


def _marked(trace: Trace, now: Any, before: Any) -> str:
    symbols = NO_SYMBOL + trace.alphabet.symbols
    text = (symbols[answer] for answer in now)
    return "".join(symbol if changed else symbol.lower() for symbol, changed in zip(text, now != before, strict=True))


def _changes(trace: Trace, before: Any, now: Any) -> str:
    symbols = NO_SYMBOL + trace.alphabet.symbols
    changed = [symbol for symbol in np.unique(trace.cipher_ids) if before[symbol] != now[symbol]]
    return " ".join(f"{symbols[cipher]}:{symbols[before[cipher]]}>{symbols[now[cipher]]}" for cipher in changed)
