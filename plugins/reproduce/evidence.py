"""Evidence beside the paper's claims: what further analyses found, in a sentence, a table and a figure.

It does not change a verdict. Where the analysis behind it was not run, the page says why.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alice.metrics import SHORT
from alice.plugins.builtin.baseline_solvers import REFERENCE
from alice.plugins.builtin.probe.verdict import LEVEL, MOVED
from alice.plugins.reproduce.checks import RANK, early_and_late, layer_words
from alice.plugins.reproduce.claims import link
from alice.plugins.reproduce.findings import Finding, Findings
from alice.plugins.reproduce.page import Evidence
from alice.reports.number_text import shown

Read = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]
"""A sentence, the columns of a table, and its rows."""
TARGETS = {RANK: "frequency rank", "word-length": "word length"}
PARTS = (f"<{SHORT}", f">={SHORT}")
GUIDED = ("guided", "guided (solver)")
"""Names of the guided search; the second is used if a model has the first."""


def erased(found: Finding) -> Read | None:
    """Read what erasing letter frequencies from each layer of the base model does."""
    model = found.first("base")
    rows = found.rows("use", model=model.name) if model is not None and "use" in found.report.tables else []
    by_target = {target: [row for row in rows if row["target"] == target] for target in TARGETS}
    if model is None or not by_target[RANK]:
        return None
    of_rank = by_target[RANK]
    early, late = early_and_late(len(of_rank))
    (moved, random), (moved_late, random_late) = (
        [float(np.mean([of_rank[layer][name] for layer in layers])) for name in ("moved", "moved_random")]
        for layers in (early, late)
    )
    sentence = (
        f"Erasing how frequent a letter is from {layer_words(early)} of {model.name} moves {100 * moved:.1f} % of the "
        f"probability of its answers, and erasing as many random directions {100 * random:.1f} %; from "
        f"{layer_words(late)} it moves {100 * moved_late:.1f} %, and random directions {100 * random_late:.1f} %."
    )
    shown_targets = [(TARGETS[target], by_target[target]) for target in TARGETS if by_target[target]]
    columns = ("layer", *(f"{title}: {what}" for title, _ in shown_targets for what in ("verdict", "moved", "random")))
    table = [
        (str(layer), *(cell for _, of in shown_targets for cell in _erasure_cells(of[layer])))
        for layer in range(len(of_rank))
    ]
    return sentence, columns, table


def _erasure_cells(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["verdict"], f"{100 * row['moved']:.1f} %", f"{100 * row['moved_random']:.1f} %"


def same_compute(found: Finding) -> Read | None:
    """Read the paper's baselines, trained with the same data and operations as an ALICE model."""
    rows = found.rows("same-compute")
    means = {row["model"]: row for row in rows if row["length"] == "all"}
    if REFERENCE not in means:
        return None
    said = [f"{name} {_with_error(row['ser'], row['ser_error'])} %" for name, row in means.items() if name != REFERENCE]
    ours = means[REFERENCE]
    sentence = (
        f"On the same {ours['texts']} texts, and trained on the same data with as many operations, ALICE has a SER of "
        f"{_with_error(ours['ser'], ours['ser_error'])} %; the solvers of table 2 have: {', '.join(said)}."
    )
    columns = (
        "solver",
        *(f"SER {part}, %" for part in PARTS),
        *(f"quoted {part}, %" for part in PARTS),
        "consistent, %",
    )
    table = []
    for name, row in means.items():
        parts = {part: one for one in rows if one["model"] == name and (part := one["length"]) in PARTS}
        cells = [_cell(parts.get(part), "ser") for part in PARTS]
        printed = [parts[part]["quoted"] if part in parts else None for part in PARTS]
        quoted = ["" if figure is None else f"{figure:.2f}" for figure in printed]
        table.append((name, *cells, *quoted, f"{row['consistent']:.0f}"))
    return sentence, columns, table


def guided(found: Finding) -> Read | None:
    """Read what a search that a model and a language model make together gains over each of them."""
    if "differences-same-texts" not in found.report.tables:
        return None
    differences = [row for row in found.rows("differences-same-texts", length="all") if row["model"] in GUIDED]
    rows = found.rows("same-texts")
    means = {row["model"]: row for row in rows if row["length"] == "all"}
    name = next((one for one in GUIDED if one in means), None)
    if name is None or not differences:
        return None
    said = "; ".join(
        f"minus {row['other']} {_interval(row['difference'], row['low'], row['high'], '{:+.2f}')} points"
        for row in differences
    )
    sentence = (
        f"On the first {means[name]['texts']} texts the guided search has a SER of "
        f"{_with_error(means[name]['ser'], means[name]['ser_error'])} %: {said}, with 95 % intervals."
    )
    columns = ("model or solver", "texts", *(f"SER {part}, %" for part in PARTS), "SER, %")
    table = []
    for one, row in means.items():
        parts = {of["length"]: of for of in rows if of["model"] == one}
        table.append((one, str(row["texts"]), *(_cell(parts.get(part), "ser") for part in (*PARTS, "all"))))
    return sentence, columns, table


def phases(found: Finding) -> Read | None:
    """Read the claims about generalization along training."""
    if "claims" not in found.report.tables:
        return None
    rows = found.rows("claims")
    outcomes = [row["outcome"] for row in rows]
    counted = ", ".join(f"{name}: {outcomes.count(name)}" for name in dict.fromkeys(outcomes))
    limit = next((row for row in rows if row["name"] == "threshold"), None)
    where = ""
    if limit is not None and limit["value"] is not None:
        size = _interval(limit["value"], limit["low"], limit["high"], "{:,.0f}")
        where = f" Half of the accuracy carries over to new keys from this many keys on: {size}."
    sentence = f"Verdicts on {len(rows)} claims about training on pools of keys: {counted}.{where}"
    columns = ("claim", "statistic", "value (95 % over seeds)", "holds if", "outcome")
    table = [
        (row["claim"], row["statistic"], _interval(row["value"], row["low"], row["high"]), _wanted(row), row["outcome"])
        for row in rows
    ]
    return sentence, columns, table


def _wanted(row: dict[str, Any]) -> str:
    if row["name"] == "threshold":
        return "within the pools"
    return f"{'>' if row['side'] == 'above' else '<'} {shown(row['threshold'])}"


def equal_operations(found: Finding) -> Read | None:
    """Read how models of several sizes compare after the same number of operations."""
    if "equal-operations" not in found.report.tables:
        return None
    rows = found.rows("equal-operations")
    metrics = {metric.name: metric for metric in found.report.result.metrics}
    lead = metrics["larger-minus-smaller"]
    low, high = lead.interval or (-np.inf, np.inf)
    decided = "the larger model wins" if high < 0 else "the smaller model wins"
    verdict = decided if high < 0 or low > 0 else "these seeds do not decide"
    ends = f" ({low:+.2f} to {high:+.2f})" if lead.interval else ""
    sentence = (
        f"After {rows[0]['flops']:.2g} operations each, {rows[-1]['model']} minus {rows[0]['model']} is "
        f"{float(lead):+.2f} percentage points of SER{ends}: {verdict}."
    )
    columns = ("size", "weights in blocks", "seeds", "SER, % (95 % over seeds)")
    table = [
        (row["model"], f"{row['weights']:,}", str(row["seeds"]), _interval(row["ser"], row["low"], row["high"]))
        for row in rows
    ]
    law = {
        "size-exponent": "exponent of the weights",
        "held-out-ser": f"SER of {rows[-1]['model']} by the law of the other sizes",
        "predicted-ser": "SER extrapolated to the paper's 85M model",
    }
    for metric, what in ((metrics[name], what) for name, what in law.items() if name in metrics):
        table.append((what, "", "", _interval(float(metric), *(metric.interval or (None, None)))))
    return sentence, columns, table


def _cell(row: dict[str, Any] | None, name: str) -> str:
    return "" if row is None else _with_error(row[name], row[f"{name}_error"])


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.2f}" if error is None else f"{value:.2f} ± {error:.2f}"


def _interval(value: float | None, low: float | None, high: float | None, form: str = "{:.3g}") -> str:
    if value is None:
        return "no statistic"
    known = low is not None and high is not None
    return f"{form.format(value)} ({form.format(low)} to {form.format(high)})" if known else form.format(value)


@dataclass(frozen=True)
class PlannedEvidence:
    """Evidence, the claims that it stands beside, and where it comes from."""

    name: str
    title: str
    analysis: str
    claims: tuple[str, ...]
    read: Callable[[Finding], Read | None]
    control: str
    figures: tuple[str, ...] = ()
    """Figures of the report; after `@` the variant whose first model is meant."""
    absent: str = ""
    """What is missing if the report has nothing to read, and which command makes it."""


EVIDENCE = (
    PlannedEvidence("erasure", "What layers use: letter frequencies erased", "probe", ("frequencies", "ngrams"), erased,
        "Control: as many random directions of the stream, others for each text. `used` means that a linear probe "
        f"reads the target and that erasing it moves over {100 * MOVED:g} % of the probability more than the control; "
        f"`unused` that only the first was shown; `absent` that the first was not (p ≤ {LEVEL}, "
        "Bonferroni over all rows). Where a target is absent, erasing still removes chance correlations with the "
        "symbol, so what moves there is no use of it.",
        ("erasure-1@base",), "It needs a base model and linear probes."),
    PlannedEvidence("same-compute", "The solvers of table 2, run: same data, same compute", "baselines",
        ("baselines",), same_compute,
        "Control: an ALICE model of the same size and budget, trained beside them. Quoted figures are those of the "
        "paper's table 2, for larger networks on other texts. Consistent: answers in which equal cipher letters have "
        "equal plain letters.",
        ("same-compute",), "None of the solvers could be run."),
    PlannedEvidence("guided", "Guided solving: the network and a language model together", "errors-by-length",
        ("baselines", "one-error"), guided,
        "Control: the network alone, and the same search with the language model alone (`beam`), on the same texts "
        "under the same keys. The language model counts n-grams of the training split.",
        ("same-texts",), "It needs the solver `guided`, which could not be run on these texts."),
    PlannedEvidence("phases", "Pools of keys along training: phase diagram and claims", "generalization",
        ("pools", "decay"), phases,
        "Control: two ideal solvers, one that knows the pool of keys and one that knows none. Intervals are bootstraps "
        "over seeds, too narrow for few of them.",
        ("phase-diagram",),
        "The trainings have no measures along training: keep checkpoints with `alice-interp sweep generalization "
        "--keep-steps log:4 --seeds 0,1,2 --out DIR`, then run `alice-interp sweep measure DIR`."),
    PlannedEvidence("equal-operations", "Sizes of model at equal operations", "scaling", ("compute",), equal_operations,
        "Control: the same seeds, so the same texts in the same order, for every size. The extrapolation spans orders "
        "of magnitude and covers no error of the law itself.",
        ("error-by-size",),
        "It needs two sizes with the same seeds: train them with `alice-interp sweep scaling --presets mini,small "
        "--out DIR`, then give `--scaling-trainings DIR`."),
)  # fmt: skip
"""In the order of the page."""


def gather(planned: PlannedEvidence, findings: Findings) -> Evidence:
    """Read one piece of evidence, or say why there is none."""
    found, bare = findings[planned.analysis], Evidence(planned.name, planned.title, control=planned.control)
    if found.stored is None:
        return replace(bare, absent=found.why_absent)
    if (read := planned.read(found)) is None:
        return replace(bare, absent=planned.absent, reports=(link(found),))
    sentence, columns, rows = read
    return replace(
        bare,
        sentence=sentence,
        columns=columns,
        rows=tuple(rows),
        figures=found.figure_names(planned.figures),
        reports=(link(found),),
    )


def beside(claim: str, planned: Iterable[PlannedEvidence] = EVIDENCE) -> tuple[str, ...]:
    """Return the names of the evidence beside a claim."""
    return tuple(one.name for one in planned if claim in one.claims)
