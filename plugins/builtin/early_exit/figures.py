"""The figures of single models and texts: when letters settle, and texts and keys with a slider over the layers."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.plugins.builtin.early_exit.measure import Measured
from alice.plugins.builtin.traces import Trace
from alice.reports import Figure, Table
from alice.reports.figures import heatmap, slider
from alice.reports.figures.maps import Marks, key_matrix
from alice.reports.figures.theme import template
from alice.solving import NO_SYMBOL
from alice.statistics import Ints
from alice.text import LETTERS

COLUMNS = 40
"""Characters in a line of the text figure; more would overlap on a phone."""
CELL = 26
"""Height of a line in pixels at most."""
CELL_RATIO = 1.75
"""Height of a cell divided by its width, on a page of any width."""
STATES = {
    "unchanged": "rgba(0,0,0,0)",
    "changed": "rgba(240,190,40,0.55)",
    "wrong": "rgba(217,96,26,0.22)",
    "changed and wrong": "rgba(217,96,26,0.6)",
}
"""States of a character and their colours; the first is not in the legend."""
UNCHANGED, CHANGED = "#111111", "#189b74"


def settling_figure(found: Measured) -> Figure:
    """Draw the share of texts in which each letter is right from a layer on."""
    seen = found.settled.sum(1, keepdims=True)
    share = np.cumsum(found.settled[:, :-1], axis=1) / np.maximum(seen, 1)
    share[seen[:, 0] == 0] = np.nan
    drawn = heatmap(
        share,
        y_labels=list(LETTERS),
        x_title="layer",
        y_title="plain letter",
        value_title="share of texts",
        limits=(0, 1),
    )
    drawn.update_layout(height=560)
    caption = f"{found.model}: share of the texts with a letter in which it is right at a layer and at all later ones."
    return Figure(drawn, caption)


def text_figure(found: Measured, trace: Trace) -> Figure:
    """Draw the text after each layer, with a slider; changes are marked as in the paper."""
    before = np.concatenate([trace.cipher_ids[None], trace.texts[:-1]])
    changed = trace.texts != before
    wrong = np.zeros_like(changed) if trace.plain_ids is None else trace.texts != trace.plain_ids
    states = changed + 2 * wrong  # (layer, pos): an index into STATES
    steps = {str(layer): _page_of_text(trace, trace.texts[layer], states[layer]) for layer in range(len(states))}
    known = "" if trace.plain_ids is None else "; orange: wrong"
    caption = f"{found.model}, {trace.title}: the answer after each layer. Yellow: changed at this layer{known}."
    return Figure(slider(steps, start=len(steps) - 1), caption, _text_data(trace, changed))


def permutation_figure(found: Measured, trace: Trace) -> Figure:
    """Draw the key after each layer as a permutation matrix, with a slider."""
    letter_ids = trace.alphabet.letter_ids
    number = np.full(trace.alphabet.size, -1)
    number[letter_ids] = np.arange(len(LETTERS))
    # (exit, 26): number of the plain letter for each cipher letter; -1 if the answer is not a letter (`whole_vocab`).
    keys = number[trace.answers[:, letter_ids]]
    changed = np.concatenate([np.ones((1, len(LETTERS)), bool), keys[1:] != keys[:-1]])
    steps = {str(layer): _matrix(trace, keys[layer], changed[layer]) for layer in range(len(keys))}
    marks = "squares are right, circles wrong" if trace.key is not None else "the true key is not known"
    caption = (
        f"{found.model}, {trace.title}: the key after each layer. Black: unchanged, green: changed at this layer; "
        f"{marks}. Shaded rows are letters that the text does not contain."
    )
    return Figure(slider(steps, start=len(steps) - 1), caption, _key_data(trace, keys, changed))


def _page_of_text(trace: Trace, ids: Ints, states: Ints) -> go.Figure:
    """Draw a text in lines of cells, (lines, columns)."""
    symbols = np.array([NO_SYMBOL, *trace.alphabet.symbols])
    lines = _lines(trace.alphabet.decode(trace.cipher_ids))
    text = np.full((len(lines), COLUMNS), "", dtype=symbols.dtype)
    values = np.full((len(lines), COLUMNS), np.nan)
    for row, line in enumerate(lines):
        text[row, : line.stop - line.start] = symbols[ids[line]]
        values[row, : line.stop - line.start] = states[line]
    # Each state takes a quarter of the scale, so that colours do not blend.
    scale = [[(state + end) / 4, color] for state, color in enumerate(STATES.values()) for end in (0, 1)]
    cells = go.Heatmap(
        z=values,
        text=text,
        texttemplate="%{text}",
        textfont={"family": "ui-monospace, Menlo, Consolas, monospace", "size": 13},
        zmin=-0.5,
        zmax=3.5,
        colorscale=scale,
        showscale=False,
        hovertemplate="%{text}<extra></extra>",
    )
    axis = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout = {
        "template": template(),
        "height": 100 + CELL * len(lines),
        "margin": {"l": 8, "r": 8},
        "showlegend": True,
        "xaxis": {**axis, "range": [-0.5, COLUMNS - 0.5], "constraintoward": "left"},
        "yaxis": {
            **axis,
            "range": [len(lines) - 0.5, -0.5],
            "constraintoward": "top",
            "scaleanchor": "x",
            "scaleratio": CELL_RATIO,
        },
    }
    return go.Figure([cells, *_legend(known=trace.plain_ids is not None)], layout)


def _legend(*, known: bool) -> list[go.Scatter]:
    """Return traces without points, whose markers are the legend; only `changed` if the plaintext is not known."""
    shown = list(STATES.items())[1:] if known else list(STATES.items())[1:2]
    return [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"symbol": "square", "size": 12, "color": color},
            name=state,
            hoverinfo="skip",
        )
        for state, color in shown
    ]


def _lines(text: str) -> list[slice]:
    """Cut a text into lines of at most COLUMNS characters, after spaces where possible."""
    lines, start = [], 0
    while start < len(text):
        end = min(start + COLUMNS, len(text))
        if end < len(text):
            end = text.rfind(" ", start, end) + 1 or end
        lines.append(slice(start, end))
        start = end
    return lines


def _matrix(trace: Trace, key: Ints, changed: Any) -> go.Figure:
    """Draw one key: a marker where the row of a cipher letter meets the column of its plain letter."""
    kinds = _kinds(trace, key)
    marks = []
    for is_changed, color in ((False, UNCHANGED), (True, CHANGED)):
        for kind, symbol in (("right", "square"), ("wrong", "circle"), ("unknown", "diamond")):
            rows = np.flatnonzero((changed == is_changed) & (kinds == kind) & (key >= 0))
            name = f"{'changed' if is_changed else 'unchanged'}, {kind}"
            marks.append(Marks(name, rows, key[rows], symbol, color))
    return key_matrix(marks, LETTERS, shaded=np.flatnonzero(~trace.seen))


def _kinds(trace: Trace, key: Ints) -> Any:
    """Return for each cipher letter whether its answer is right, (26,)."""
    if trace.key is None:
        return np.full(len(key), "unknown")
    return np.where(key == trace.key, "right", "wrong")


def _text_data(trace: Trace, changed: Any) -> Table:
    symbols = ["", *trace.alphabet.symbols]
    plain = trace.cipher_ids * 0 if trace.plain_ids is None else trace.plain_ids
    rows = [
        (layer, place, symbols[cipher], symbols[answer], symbols[truth], bool(changed[layer, place]))
        for layer, answers in enumerate(trace.texts.tolist())
        for place, (cipher, answer, truth) in enumerate(zip(trace.cipher_ids, answers, plain, strict=True))
    ]
    return Table(("layer", "position", "cipher", "answer", "plain", "changed"), rows)


def _key_data(trace: Trace, keys: Ints, changed: Any) -> Table:
    truth = [None] * len(LETTERS) if trace.key is None else [LETTERS[plain] for plain in trace.key]
    letters = [*LETTERS, None]  # the last for -1
    rows = [
        (layer, LETTERS[cipher], letters[plain], truth[cipher], bool(trace.seen[cipher]), bool(changed[layer, cipher]))
        for layer, key in enumerate(keys.tolist())
        for cipher, plain in enumerate(key)
    ]
    return Table(("layer", "cipher", "answer", "plain", "observed", "changed"), rows)
