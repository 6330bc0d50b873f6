"""The result of the ablation analysis: losses by part, against kinds of head, and of pairs of heads."""

from typing import Any

import numpy as np

from alice.plugins.builtin.ablation.figures import (
    LOSS,
    NUMBERING,
    pair_figure,
    pair_label,
    part_figure,
    statistic_figure,
)
from alice.plugins.builtin.ablation.losses import MAIN, Losses
from alice.plugins.builtin.ablation.measure import ROTATED, WAYS, Measured
from alice.plugins.builtin.ablation.permutations import Correlation, Explained, correlations, explained_by
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.plugins.builtin.trials import State, part_entry
from alice.plugins.verdicts import OWN, Outcome, Verdicts
from alice.reports import Metric, Result, Table, Trial, model_key
from alice.reports.names import listed
from alice.statistics import Floats, blank_nan

LEVEL = 0.05
"""p below which kinds of head count as an explanation."""
SHOWN, TRIED = 10, 3
"""Parts in the table of the strongest, and to try in the explorer."""
CAVEATS = (
    "A part with a small loss may still be used: another one may take over when it is gone. A large loss does not say "
    "what the part does: everything that later parts do with its output is lost with it.",
    "Zero and the mean are outputs that the model never sees; what they cost includes the surprise. The output for "
    "another text is usual, but misleads actively: it argues for the letters of that text.",
    "The loss is not additive. The score has a ceiling near which a first loss costs less than a second, so small "
    "positive interactions are expected without any backup; compare with those of the rotated control.",
    "Kinds of head are clusters, and heads of a kind share blocks: look at the test within blocks, too. It "
    "has less power.",
    "Intervals are 95 % of a Bayesian bootstrap over texts, not corrected for the number of parts; they do not cover "
    "other trainings.",
)


def report(measured: Measured, *, permutations: int, rng: np.random.Generator, example: State) -> Result:
    """Build the result; `example` is a text to try in the explorer."""
    losses = Losses.of(measured, rng)
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
        "loss-by-part": part_figure(measured, losses, _parts_table(measured, losses)),
        "loss-by-statistic": statistic_figure(measured, losses, heads),
    }
    if measured.pairs:
        figures["pairs"] = pair_figure(measured, losses, _pairs_table(measured, losses))
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
        trials=_trials(measured, losses, example),
    )


def _trials(measured: Measured, losses: Losses, example: State) -> list[Trial]:
    """Return the strongest parts to switch off in the explorer, one by one and together."""
    strongest = [measured.parts[number] for number in np.argsort(-losses.loss(MAIN)[0])[:TRIED]]
    groups = [*([part] for part in strongest), *([strongest] if len(strongest) > 1 else [])]
    return [
        Trial(
            f"Switch off {listed(part.label for part in group)}",
            measured.model,
            {**example, "off": [part_entry(part) for part in group]},
        )
        for group in groups
    ]


def _summary(measured: Measured, losses: Losses, tests: dict[tuple[str, str], Explained], permutations: int) -> str:
    loss, labels = losses.loss(MAIN)[0], [part.label for part in measured.parts]
    order = np.argsort(-loss)
    named = ", ".join(f"{labels[number]} ({loss[number]:.0f} %)" for number in order[:5])
    test = tests[MAIN, "kind"]
    sentences = [
        f"Every head and feed-forward layer of {measured.model} was removed over {len(measured.clean):,} texts. "
        f"Replaced by what they write for another text, these cost most of the way to the answer to that other "
        f"text: {named}.",
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
            f"The pair that costs most beyond its two single losses is {pair_label(measured, strongest)}: {value:.1f} "
            f"% more ({low:.1f} to {high:.1f}; rotated control {losses.pairs[1, 0, strongest]:.1f} %)."
        )
    return " ".join(sentences)


def _metrics(
    measured: Measured, losses: Losses, tests: dict[tuple[str, str], Explained], permutations: int
) -> list[Metric]:
    model, cells = measured.model, losses.loss(MAIN)
    loss = cells[0]
    heads = [number for number, part in enumerate(measured.parts) if part.head is not None]
    first, head = int(np.argmax(loss)), max(heads, key=lambda number: loss[number])
    kind, block = tests[MAIN, "kind"], tests[MAIN, "block"]
    metrics = [
        Metric("strongest-head", measured.parts[head].label, model=model, label="head with the largest loss"),
        _loss_metric("strongest-head-loss", cells[:, head], model, "its loss"),
        Metric("strongest-part", measured.parts[first].label, model=model, label="part with the largest loss"),
        _loss_metric("strongest-part-loss", cells[:, first], model, "loss without that part"),
        Metric("beyond-control", losses.beyond, model=model, label="parts that cost more than their control"),
        Metric("parts", len(loss), model=model),
    ]
    if np.isfinite(kind.share):
        metrics += [
            Metric("kinds-explain", 100 * kind.share, unit="%", model=model, label="explained by kinds of head"),
            Metric("kinds-chance", 100 * kind.chance, unit="%", model=model, label="explained by random kinds"),
            Metric("kinds-p", kind.p, model=model, label="p of the kinds, over all heads"),
            Metric("kinds-p-within", kind.p_within, model=model, label="p of the kinds, within blocks"),
            Metric("blocks-explain", 100 * block.share, unit="%", model=model, label="explained by blocks"),
            Metric("blocks-p", block.p, model=model, label="p of the blocks"),
        ]
    if measured.pairs:
        strongest = int(np.argmax(losses.pairs[0, 0]))
        label = pair_label(measured, strongest)
        metrics += [
            Metric("strongest-pair", label, model=model, label="pair with the largest interaction"),
            _loss_metric("strongest-pair-extra", losses.pairs[0, :, strongest], model, "its interaction"),
        ]
    return [*metrics, Metric("texts", len(measured.clean)), Metric("permutations", permutations)]


def _loss_metric(name: str, cells: Floats, model: str, label: str) -> Metric:
    value, low, high = map(float, cells)
    return Metric(name, value, interval=(low, high), unit="%", model=model, label=label)


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
        f"The parts that cost most, in percent, by what replaces them; from and to are the 95 % interval for another "
        f"text, and so is the SER that it adds, in percentage points. {NUMBERING}"
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
        rows.append(
            (measured.model, kind, len(members), *(float(values[way].mean()) for way in WAYS), *ends, strongest)
        )
    labels = {"resample": "another text", "low": "from", "high": "to", "strongest": "strongest head"}
    caption = "Mean loss of the heads of each kind, in percent, by what replaces them; 95 % interval for another text."
    return Table(("model", "kind", "heads", *WAYS, "low", "high", "strongest"), rows, caption, labels)


def _tests_table(model: str, tests: dict[tuple[str, str], Explained]) -> Table:
    rows = [
        (model, way, grouping, *map(blank_nan, (100 * test.share, 100 * test.chance, test.p, test.p_within)))
        for (way, grouping), test in tests.items()
    ]
    labels = {
        "share": "explained, %",
        "chance": "by chance, %",
        "p_within": "p within blocks",
        "grouping": "grouped by",
    }
    caption = (
        "Share of the variance of the ranks of the heads' losses that lies between kinds, or between blocks, and how "
        "often permuted losses reach it. Within blocks only heads of the same block change places."
    )
    return Table(("model", "replacement", "grouping", "share", "chance", "p", "p_within"), rows, caption, labels)


def _statistics_table(model: str, related: list[Correlation]) -> Table:
    rows = [
        (model, name, blank_nan(found.rho), blank_nan(found.p)) for name, found in zip(STATISTICS, related, strict=True)
    ]
    caption = (
        "Rank correlation of the heads' losses (another text) with the statistics of `attention`. p is corrected for "
        "the number of statistics: it compares with the largest correlation of each permutation."
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
        for place in np.argsort(-losses.pairs[0, 0]).tolist()
        for pair in [measured.pairs[place]]
    ]
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
    labels = {
        "loss": LOSS,
        "low": "from",
        "high": "to",
        "ser_added": "SER, points",
        "ser_low": "from ",
        "ser_high": "to ",
    }
    caption = (
        "Every part under every replacement: loss in percent of the way to the answer to another text, and SER added "
        "in percentage points, with 95 % intervals."
    )
    return Table(columns, rows, caption, labels)


def verdicts(result: Result) -> Verdicts:
    """Return the strongest head and part, and whether kinds explain the losses, by replacement, without the control."""
    found: dict[str, dict[str, Outcome]] = {}
    for way in WAYS:
        parts = [row for row in result.tables["parts"].records(replacement=way) if row["loss"] is not None]
        heads = [row for row in parts if row["kind"] is not None]
        if way == ROTATED or not heads:
            continue
        (test,) = result.tables["tests"].records(replacement=way, grouping="kind")
        found[OWN if way == MAIN else way] = {
            "strongest-head": str(max(heads, key=_loss)["part"]),
            "strongest-part": str(max(parts, key=_loss)["part"]),
            "kinds-explain": test["p"] is not None and float(test["p"]) <= LEVEL,
            "kinds-explain-within-blocks": test["p_within"] is not None and float(test["p_within"]) <= LEVEL,
        }
    return found


def _loss(row: dict[str, Any]) -> float:
    return float(row["loss"])
