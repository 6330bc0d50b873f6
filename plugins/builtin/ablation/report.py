"""The result of the ablation analysis: losses by part, against kinds of head, and of pairs of heads."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from alice.causal import Recovered, recovered
from alice.plugins.builtin.ablation.measure import ROTATED, WAYS, Measured
from alice.plugins.builtin.ablation.permutations import Correlation, Explained, correlations, explained_by
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import heatmap, slider
from alice.reports.figures.theme import PALETTE, SYMBOLS, template
from alice.statistics import Floats, PairedBootstrap, blank_nan

DRAWS = 2000
"""Weightings of the texts for the intervals of the SER."""
MAIN = "resample"
"""The replacement that kinds and pairs are judged by: it stays among what the model has seen."""
SHOWN = 10
"""Parts in the table of the strongest."""
LABELS = {"zero": "zero", "mean": "its mean", "resample": "its output for another text", ROTATED: "rotated (control)"}
NUMBERING = "L0H3 is head 3 of block 0 (blocks.0)."
LOSS = "loss, %"
CAVEATS = (
    "A part with a small loss may still be used: another one may take over when it is gone. A large loss does not say what "
    "the part does: everything that later parts do with its output is lost with it.",
    "Zero and the mean are outputs that the model never sees; what they cost includes the surprise. The output for "
    "another text is usual, but misleads actively: it argues for the letters of that text.",
    "The loss is not additive. The score has a ceiling near which a first loss costs less than a second, so small "
    "positive interactions are expected without any backup; compare with those of the rotated control.",
    "Kinds of head are clusters, and heads of a kind share blocks: look at the test within blocks, too. It has less power.",
    "Intervals are 95 % of a Bayesian bootstrap over texts, not corrected for the number of parts; they do not cover "
    "other trainings.",
)


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses in percent with their intervals, for the whole report."""

    by_part: dict[str, Recovered]
    """Recovered share of the score by way, (part,)."""
    errors: dict[str, tuple[Floats, Floats]]
    """SER added, in percentage points: means (part,) and intervals (part, 2), by way."""
    pairs: Floats
    """Interaction of pairs with its interval, resampled and rotated, (2, 3, pair): value, low, high."""
    beyond: int
    """Parts that cost more than their rotated control, with a paired 95 % interval."""

    def loss(self, way: str) -> Floats:
        """Return the loss of each part in percent with its interval, (3, part)."""
        found = self.by_part[way]
        return 100 * (1 - np.stack([found.share, found.high, found.low]))


def report(measured: Measured, *, permutations: int, rng: np.random.Generator) -> Result:
    """Build the result."""
    losses = _losses(measured, rng)
    heads = [number for number, part in enumerate(measured.parts) if part.head is not None]
    kinds = [kind for _, kind in sorted(measured.heads.kind_of.items())]
    blocks = np.array([measured.parts[number].block for number in heads])
    tests = {
        (way, grouping): explained_by(losses.loss(way)[0, heads], labels, blocks, rng, permutations=permutations)
        for way in WAYS
        for grouping, labels in (("kind", kinds), ("block", blocks.tolist()))
    }
    related = correlations(losses.loss(MAIN)[0, heads], measured.heads.means, rng, permutations=permutations)
    figures = {
        "loss-by-part": _part_figure(measured, losses),
        "loss-by-statistic": _statistic_figure(measured, losses, heads),
    }
    if measured.pairs:
        figures["pairs"] = _pair_figure(measured, losses)
    return Result(
        title="Ablation",
        summary=_summary(measured, losses, tests, permutations),
        caveats=CAVEATS,
        metrics=_metrics(measured, losses, tests, permutations),
        tables={
            "strongest": _strongest_table(measured, losses),
            "kinds": _kinds_table(measured, losses, heads, kinds),
            "tests": _tests_table(measured.model, tests),
            "statistics": _statistics_table(measured.model, related),
            "pairs": _pairs_table(measured, losses),
            "parts": _parts_table(measured, losses),
        },
        figures={model_key(name, measured.model): figure for name, figure in figures.items()},
        arrays={
            model_key("clean", measured.model): measured.clean,
            model_key("corrupted", measured.model): measured.corrupted,
            model_key("without", measured.model): measured.without,
            model_key("without-pairs", measured.model): measured.without_pairs,
        },
    )


def _losses(measured: Measured, rng: np.random.Generator) -> Losses:
    """Compute all losses with the same weightings of the texts, so that they can be subtracted from one another."""
    texts, parts, pairs = len(measured.clean), len(measured.parts), len(measured.pairs)
    scores = [measured.without[..., 0].reshape(texts, -1), measured.without_pairs.reshape(texts, -1)]
    clean, corrupted = measured.clean[:, 0], measured.corrupted[:, 0]
    found = recovered(np.concatenate(scores, axis=1), clean, corrupted, rng)
    columns = {way: slice(number * parts, (number + 1) * parts) for number, way in enumerate(WAYS)}
    by_part = {
        way: Recovered(found.share[here], found.low[here], found.high[here], found.draws[:, here])
        for way, here in columns.items()
    }
    added = 100 * (measured.without[..., 1] - measured.clean[:, None, None, 1])
    errors = {}
    for number, way in enumerate(WAYS):
        drawn = PairedBootstrap(added[:, number], rng, draws=DRAWS)
        errors[way] = drawn.mean, drawn.interval()
    # The interaction: what both cost together, less what each costs alone.
    both = np.concatenate([found.share[None], found.draws])[:, len(WAYS) * parts :].reshape(-1, 2, pairs)
    first, second = np.array(measured.pairs, dtype=np.int64).reshape(-1, 2).T
    interactions = []
    for number, way in enumerate((MAIN, ROTATED)):
        alone = np.concatenate([by_part[way].share[None], by_part[way].draws])
        drawn_pairs = 100 * (alone[:, first] + alone[:, second] - both[:, number] - 1)
        ends = np.percentile(drawn_pairs[1:], [2.5, 97.5], axis=0) if texts > 1 else np.full((2, pairs), np.nan)
        interactions.append(np.concatenate([drawn_pairs[:1], ends]))
    more = by_part[ROTATED].draws - by_part[MAIN].draws
    beyond = int((np.percentile(more, 2.5, axis=0) > 0).sum()) if texts > 1 else 0
    return Losses(by_part, errors, np.stack(interactions), beyond)


def _summary(
    measured: Measured, losses: Losses, tests: dict[tuple[str, str], Explained], permutations: int
) -> str:
    loss, labels = losses.loss(MAIN)[0], [part.label for part in measured.parts]
    order = np.argsort(-loss)
    named = ", ".join(f"{labels[number]} ({loss[number]:.0f} %)" for number in order[:5])
    test = tests[MAIN, "kind"]
    sentences = [
        f"Every head and feed-forward layer of {measured.model} was removed over {len(measured.clean):,} texts. Replaced "
        f"by what they write for another text, these cost most of the way to the answer to that other text: {named}.",
        f"Of {len(labels)} parts, {losses.beyond} cost more than a change of the same size in a rotated direction.",
    ]
    if np.isfinite(test.share):
        sentences.append(
            f"The kinds that `attention` finds explain {100 * test.share:.0f} % of the ranks of the heads' losses, "
            f"{100 * test.chance:.0f} % by chance (p = {test.p:.2g} over all heads, {test.p_within:.2g} within blocks, "
            f"{permutations:,} permutations)."
        )
    if measured.pairs:
        strongest = int(np.argmax(losses.pairs[0, 0]))
        value, low, high = losses.pairs[0, :, strongest]
        sentences.append(
            f"The pair that costs most beyond its two single losses is {_pair_label(measured, strongest)}: {value:.1f} % "
            f"more ({low:.1f} to {high:.1f}; rotated control {losses.pairs[1, 0, strongest]:.1f} %)."
        )
    return " ".join(sentences)


def _metrics(
    measured: Measured, losses: Losses, tests: dict[tuple[str, str], Explained], permutations: int
) -> list[Metric]:
    model, (loss, low, high) = measured.model, losses.loss(MAIN)
    heads = [number for number, part in enumerate(measured.parts) if part.head is not None]
    first, head = int(np.argmax(loss)), max(heads, key=lambda number: loss[number])
    kind, block = tests[MAIN, "kind"], tests[MAIN, "block"]
    metrics = [
        Metric("strongest-head", measured.parts[head].label, model=model, label="head with the largest loss"),
        _loss_metric("strongest-head-loss", loss[head], low[head], high[head], model, "its loss"),
        Metric("strongest-part", measured.parts[first].label, model=model, label="part with the largest loss"),
        _loss_metric("strongest-part-loss", loss[first], low[first], high[first], model, "loss without that part"),
        Metric("beyond-control", losses.beyond, model=model, label="parts that cost more than their control"),
        Metric("parts", len(loss), model=model),
    ]
    if np.isfinite(kind.share):
        metrics += [
            Metric("kinds-explain", 100 * kind.share, unit="%", model=model, label="of the losses' ranks, by kind"),
            Metric("kinds-chance", 100 * kind.chance, unit="%", model=model, label="the same by chance"),
            Metric("kinds-p", kind.p, model=model, label="p, kinds, over all heads"),
            Metric("kinds-p-within", kind.p_within, model=model, label="p, kinds, within blocks"),
            Metric("blocks-explain", 100 * block.share, unit="%", model=model, label="of the losses' ranks, by block"),
            Metric("blocks-p", block.p, model=model, label="p, blocks"),
        ]
    if measured.pairs:
        strongest = int(np.argmax(losses.pairs[0, 0]))
        label = _pair_label(measured, strongest)
        metrics += [
            Metric("strongest-pair", label, model=model, label="pair with the largest interaction"),
            _loss_metric("strongest-pair-extra", *losses.pairs[0, :, strongest], model, "its interaction"),
        ]
    return [*metrics, Metric("texts", len(measured.clean)), Metric("permutations", permutations)]


def _loss_metric(name: str, value: float, low: float, high: float, model: str, label: str) -> Metric:
    return Metric(name, value, interval=(low, high), unit="%", model=model, label=label)


def _grid(measured: Measured, values: Floats) -> Floats:
    """Arrange a value per part by block, heads first, then the feed-forward layer, (block, head + 1)."""
    return values.reshape(measured.parts[-1].block + 1, -1)


def _part_figure(measured: Measured, losses: Losses) -> Figure:
    """Draw the losses by block and part, a step for each replacement; all steps share the colours."""
    columns = [f"H{head}" for head in range(measured.heads.per_block)] + ["MLP"]
    steps = {}
    for way in WAYS:
        value, low, high = losses.loss(way)
        points = losses.errors[way][0]
        drawn = heatmap(
            _grid(measured, np.clip(value, -100, 100)),
            x_labels=columns,
            y_labels=[f"L{block}" for block in range(measured.parts[-1].block + 1)],
            value_title=LOSS,
            limits=(-100, 100),
            diverging=True,
        )
        details = np.stack([_grid(measured, one) for one in (value, low, high, points)], axis=-1)
        drawn.update_traces(
            customdata=details,
            text=[[f"{cell:.0f}" for cell in row] for row in _grid(measured, value)],
            texttemplate="%{text}",
            hovertemplate="%{y} %{x}<br>loss <b>%{customdata[0]:.1f} %</b> (%{customdata[1]:.1f} to "
            "%{customdata[2]:.1f})<br>SER %{customdata[3]:+.1f} points<extra></extra>",
        )
        steps[LABELS[way]] = drawn.update_layout(height=360)
    caption = (
        "Loss without each head (H0, H1, ...) and feed-forward layer (MLP), by block, in percent of the way to the answer "
        "to another text; 0 is the whole model. The slider changes what replaces the part. In the control the output "
        "changes as much as for another text, in a rotated direction."
    )
    return Figure(slider(steps, prefix="replaced by ", start=WAYS.index(MAIN)), caption, _parts_table(measured, losses))


def _statistic_figure(measured: Measured, losses: Losses, heads: list[int]) -> Figure:
    """Draw the loss of each head against what `attention` says of it, a colour per kind and a step per statistic."""
    loss, means = losses.loss(MAIN)[:, heads], measured.heads.means
    steps = {}
    for column, statistic in enumerate(STATISTICS):
        drawn = go.Figure(layout={"template": template(), "height": 420, "showlegend": True})
        for number, kind in enumerate(measured.heads.kinds):
            members = list(kind.heads)
            value, low, high = loss[:, members]
            drawn.add_trace(
                go.Scatter(
                    x=means[members, column],
                    y=value,
                    error_y={"array": high - value, "arrayminus": value - low, "thickness": 1, "width": 0},
                    mode="markers",
                    name=kind.name,
                    text=[measured.heads.label(head) for head in members],
                    hovertemplate="%{text}: <b>%{y:.1f} %</b>, %{x:.3g}<extra>" + kind.name + "</extra>",
                    marker={"size": 9, "color": PALETTE[number % len(PALETTE)], "symbol": SYMBOLS[number % len(SYMBOLS)]},
                )
            )
        drawn.update_yaxes(title={"text": LOSS}).update_xaxes(rangemode="tozero")
        steps[statistic] = drawn
    rows = [
        (measured.heads.label(head), measured.heads.kind_of[head], name, float(means[head, column]), *loss[:, head].tolist())
        for head in range(len(heads))
        for column, name in enumerate(STATISTICS)
    ]
    caption = (
        "Loss of each head, replaced by its output for another text, against the statistics of `attention`: entropy in "
        "bits, distance in characters, the rest shares of the attention. Colours are kinds of head; bars are 95 % intervals."
    )
    columns = ("head", "kind", "statistic", "value", "loss", "low", "high")
    return Figure(slider(steps, prefix="", start=STATISTICS.index("same symbol")), caption, Table(columns, rows))


def _pair_figure(measured: Measured, losses: Losses) -> Figure:
    """Draw the interactions as a matrix: those of removed heads above the diagonal, the control below."""
    numbers = sorted({number for pair in measured.pairs for number in pair})
    labels = [measured.parts[number].label for number in numbers]
    values = np.full((len(numbers), len(numbers)), np.nan)
    hover = np.full(values.shape, "", dtype=object)
    for place, (one, other) in enumerate(measured.pairs):
        row, column = numbers.index(one), numbers.index(other)
        for way, (i, j) in enumerate(((row, column), (column, row))):
            value, low, high = losses.pairs[way, :, place]
            values[i, j] = value
            name = "control" if way else "interaction"
            hover[i, j] = f"{_pair_label(measured, place)}, {name}: <b>{value:.1f} %</b> ({low:.1f} to {high:.1f})"
    drawn = heatmap(values, x_labels=labels, y_labels=labels, value_title="interaction, %", diverging=True)
    shown = [["" if np.isnan(cell) else f"{cell:.1f}" for cell in row] for row in values]
    drawn.update_traces(customdata=hover, hovertemplate="%{customdata}<extra></extra>", text=shown, texttemplate="%{text}")
    drawn.update_layout(height=440)
    caption = (
        "Loss without two heads, less the sum of the losses without each: above zero, one stands in for the other. Above "
        f"the diagonal the heads are replaced by their output for another text, below it is the rotated control. {NUMBERING}"
    )
    return Figure(drawn, caption, _pairs_table(measured, losses))


def _pair_label(measured: Measured, place: int) -> str:
    return " + ".join(measured.parts[number].label for number in measured.pairs[place])


def _kind_of(measured: Measured, number: int) -> str | None:
    """Return the kind of a part that is a head."""
    part = measured.parts[number]
    return None if part.head is None else measured.heads.kind_of[part.block * measured.heads.per_block + part.head]


def _strongest_table(measured: Measured, losses: Losses) -> Table:
    ways = {way: losses.loss(way) for way in WAYS}
    rows = [
        (
            measured.model,
            measured.parts[number].label,
            _kind_of(measured, number),
            *(float(ways[way][0, number]) for way in WAYS),
            *(blank_nan(end) for end in ways[MAIN][1:, number]),
            float(losses.errors[MAIN][0][number]),
        )
        for number in np.argsort(-ways[MAIN][0])[:SHOWN].tolist()
    ]
    labels = {"resample": "another text", "low": "from", "high": "to", "ser_added": "SER, points"}
    caption = (
        f"The parts that cost most, in percent, by what replaces them; from and to are the 95 % interval for another text, "
        f"and so is the SER that it adds, in percentage points. {NUMBERING}"
    )
    return Table(("model", "part", "kind", *WAYS, "low", "high", "ser_added"), rows, caption, labels)


def _kinds_table(measured: Measured, losses: Losses, heads: list[int], kinds: list[str]) -> Table:
    rows = []
    for kind in dict.fromkeys(kind.name for kind in measured.heads.kinds):
        members = [number for number, name in zip(heads, kinds, strict=True) if name == kind]
        drawn = losses.by_part[MAIN]
        mean = 100 * (1 - drawn.draws[:, members].mean(1))
        low, high = np.percentile(mean, [2.5, 97.5])
        values = {way: losses.loss(way)[0, members] for way in WAYS}
        strongest = measured.parts[members[int(np.argmax(values[MAIN]))]].label
        ends = (blank_nan(low), blank_nan(high))
        rows.append((measured.model, kind, len(members), *(float(values[way].mean()) for way in WAYS), *ends, strongest))
    labels = {"resample": "another text", "low": "from", "high": "to", "strongest": "strongest head"}
    caption = "Mean loss of the heads of each kind, in percent, by what replaces them; 95 % interval for another text."
    return Table(("model", "kind", "heads", *WAYS, "low", "high", "strongest"), rows, caption, labels)


def _tests_table(model: str, tests: dict[tuple[str, str], Explained]) -> Table:
    rows = [
        (model, way, grouping, *map(blank_nan, (100 * test.share, 100 * test.chance, test.p, test.p_within)))
        for (way, grouping), test in tests.items()
    ]
    labels = {"share": "explained, %", "chance": "by chance, %", "p_within": "p within blocks", "grouping": "grouped by"}
    caption = (
        "Share of the variance of the ranks of the heads' losses that lies between kinds, or between blocks, and how often "
        "permuted losses reach it. Within blocks only heads of the same block change places."
    )
    return Table(("model", "replacement", "grouping", "share", "chance", "p", "p_within"), rows, caption, labels)


def _statistics_table(model: str, related: list[Correlation]) -> Table:
    rows = [
        (model, name, blank_nan(found.rho), blank_nan(found.p)) for name, found in zip(STATISTICS, related, strict=True)
    ]
    caption = (
        "Rank correlation of the heads' losses (another text) with the statistics of `attention`. p is corrected for the "
        "number of statistics: it compares with the largest correlation of each permutation."
    )
    return Table(("model", "statistic", "rho", "p"), rows, caption, labels={"rho": "Spearman"})


def _pairs_table(measured: Measured, losses: Losses) -> Table:
    alone = losses.loss(MAIN)[0]
    rows = [
        (
            measured.model,
            *(measured.parts[number].label for number in pair),
            float(alone[list(pair)].sum()),
            *map(blank_nan, losses.pairs[0, :, place]),
            float(losses.pairs[1, 0, place]),
        )
        for place, pair in enumerate(measured.pairs)
    ]
    rows.sort(key=lambda row: -(row[4] or 0))
    labels = {"low": "from", "high": "to", "alone": "sum of single losses, %", "interaction": "interaction, %"}
    caption = (
        "Pairs of the heads with the largest losses, replaced by their output for another text: the sum of the single "
        "losses, the interaction (what both cost together beyond it) with its 95 % interval, and the rotated control."
    )
    columns = ("model", "first", "second", "alone", "interaction", "low", "high", "control")
    return Table(columns, rows, caption, labels)


def _parts_table(measured: Measured, losses: Losses) -> Table:
    rows = []
    for way in WAYS:
        loss, (points, ends) = losses.loss(way), losses.errors[way]
        for number, part in enumerate(measured.parts):
            values = (*loss[:, number], points[number], *ends[number])
            rows.append((measured.model, way, part.label, _kind_of(measured, number), *map(blank_nan, values)))
    columns = ("model", "replacement", "part", "kind", "loss", "low", "high", "ser_added", "ser_low", "ser_high")
    labels = {"loss": LOSS, "low": "from", "high": "to", "ser_added": "SER, points", "ser_low": "from ", "ser_high": "to "}
    caption = (
        "Every part under every replacement: loss in percent of the way to the answer to another text, and SER added in "
        "percentage points, with 95 % intervals."
    )
    return Table(columns, rows, caption, labels)
