"""Every table and figure of the paper in its order, with the paper's values next to ours, or why there are none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from alice.metrics import SHORT, bin_names
from alice.plugins import paper
from alice.plugins.builtin.ngram.measure import MEASURES
from alice.plugins.reproduce.checks import around_75, pool_name
from alice.plugins.reproduce.claims import link, outcome_of
from alice.plugins.reproduce.findings import Finding, Findings
from alice.plugins.reproduce.page import Check, Claim, Item, Row
from alice.reports import Metric
from alice.reports.number_text import shown
from alice.training import PAPER_SIZES, model_config

NO_NUMBERS = "no numbers printed"
BEAM = ("beam", "beam (solver)")
"""Names of our beam search; the second is used if a model is called `beam`."""
Rows = Iterator[Row]


def medians(found: Finding) -> Rows:
    """Table 1: median error by length."""
    for model in found.models:
        printed = dict(zip(bin_names(), paper.MEDIAN_SER[model.variant], strict=True))
        for row in found.rows("by-length", model=model.name):
            if row["length"] in printed:
                ours = f"{row['median']:.2f} ({row['low']:.2f}-{row['high']:.2f}), {row['texts']:,} texts"
                yield Row(f"{model.name}, {row['length']}, %", str(printed[row["length"]]), ours)


def error_counts(found: Finding) -> Rows:
    """Figure 2: the share of texts with few errors at some lengths, for base models."""
    for model in found.of_variant("base"):
        lengths, errors = found.array("lengths", model), found.array("errors", model)
        what = f"{model.name}, texts of about 75 characters with at most one error"
        yield Row(what, paper.ONE_ERROR_AT_75, _share(errors[around_75(lengths)] <= 1))
        what = f"{model.name}, texts of {paper.PLATEAU} characters or more without an error"
        yield Row(what, paper.SOLVED_FROM_150, _share(errors[lengths >= paper.PLATEAU] == 0))


def means(found: Finding) -> Rows:
    """Table 2: mean error of short and long texts: models, solvers that run here, and figures that the paper quotes."""
    for model in found.models:
        (row,) = found.rows("short-and-long", model=model.name, kind="model", source="measured")
        printed = [str(mean) for mean in paper.MEAN_SER.get(model.variant, ("", ""))]
        yield from _parts(model.name, row, printed, f"Models, on {row['texts']:,} texts; the paper's on its own")
    for row in found.rows("short-and-long", source="measured-first"):
        printed = list(map(str, paper.OTHER_SOLVERS[paper.NUHN])) if row["model"] in BEAM else ["", ""]
        name = f"{row['model']} (paper: {paper.NUHN})" if row["model"] in BEAM else row["model"]
        group = f"Models and searches, on the same first {row['texts']} texts; the paper's figure is for other texts"
        yield from _parts(name, row, printed, group)


def baseline_means(found: Finding) -> Rows:
    """Table 2: the neural solvers, trained with the same data and compute and run on the same texts."""
    rows = found.rows("same-compute")
    for name in dict.fromkeys(row["model"] for row in rows):
        parts = {row["length"]: row for row in rows if row["model"] == name}
        for part in (f"<{SHORT}", f">={SHORT}"):
            if part in parts:
                row = parts[part]
                ours = f"{_with_error(row['ser'], row['ser_error'])}, {row['texts']} texts"
                quoted = "" if row["quoted"] is None else f"{row['quoted']:.2f}"
                group = "Neural solvers of the paper, small, same data and compute; quoted figures are for other texts"
                yield Row(f"{name}, {part} characters, %", quoted, ours, group)


def _parts(what: str, row: dict[str, Any], printed: Sequence[str], group: str) -> Rows:
    """Yield the two columns of Table 2 for one solver."""
    parts = ((f"<{SHORT}", "ser_short"), (f">={SHORT}", "ser_long"))
    for (part, column), figure in zip(parts, printed, strict=True):
        ours = _with_error(row[column], row[f"{column}_error"])
        yield Row(f"{what}, {part} characters, %", figure, ours, group)


def keys(found: Finding) -> Rows:
    """Figure 4: the recovered key."""
    columns = (("key_accuracy", "letters right", "all, in one example"), ("whole_key_right", "keys right", NO_NUMBERS))
    for model in found.of_variant("bijective"):
        (row,) = found.rows("by-length", model=model.name, length="all")
        for column, what, printed in columns:
            yield Row(f"{model.name}, {what}, %", printed, _with_error(row[column], row[f"{column}_error"]))


def layers(found: Finding) -> Rows:
    """Figure 6: error after every layer."""
    for model in found.models:
        rows = found.rows("error-by-layer", model=model.name)
        curve = ", ".join(f"{row['ser']:.1f}" for row in rows)
        yield Row(f"{model.name}, SER in % from the embedding to layer {rows[-1]['layer']}", NO_NUMBERS, curve)


def gains(found: Finding, variant: str, reader: str) -> Rows:
    """Figures 7 and 16 to 18: at which layers n-grams become right."""
    for model in found.of_variant(variant):
        layers = [row["layer"] for row in found.rows("gains", model=model.name, reader=reader, measure="texts")]
        what = f"{model.name}, layer of the largest gain, n = 1 upward"
        yield Row(what, "earlier for small n", ", ".join(map(str, layers)))


def last_layer(found: Finding) -> Rows:
    """Table 5: similarity at the last layer."""
    for model in found.models:
        for (variant, reader), printed in paper.FINAL_SIMILARITY.items():
            for measure, title in MEASURES.items() if variant == model.variant else ():
                rows = found.rows("last-layer", model=model.name, reader=reader, measure=measure)
                if rows:
                    theirs, ours = (
                        ", ".join(f"{value:.3f}" for value in values)
                        for values in (printed, [row["similarity"] for row in rows])
                    )
                    yield Row(f"{model.name}, {reader} probe, n = 1 upward, {title}", theirs, ours)


def slopes(found: Finding) -> Rows:
    """Figure 10: the best-fit line."""
    for row in found.rows("best-fit", frequencies="lewand"):
        if row["slope"] is not None:
            ours = _with_error(row["slope"], row["slope_error"])
            yield Row(f"{row['model']}, slope of the best-fit line", "below zero, no number printed", ours)


def pools(found: Finding) -> Rows:
    """Figure 3: which pools generalise."""
    words = {True: "generalises", False: "does not generalise", None: "not one of its pools"}
    for row in found.rows("paper"):
        if row["accuracy"] is not None:
            ours = f"accuracy {row['accuracy']:.3f} on unseen keys"
            yield Row(f"{pool_name(row['pool'])} keys", words[row["generalises_in_paper"]], ours)


def sizes(found: Finding) -> Rows:
    """Figure 8: error of each size."""
    for row in found.rows("sizes"):
        if row["ser"] is not None:
            what = f"{row['model']} ({row['weights'] / 1e6:.3g}M), {row['flops']:.2g} operations"
            yield Row(what, NO_NUMBERS, f"SER {row['ser']:.1f} %")
    for metric in _named(found, "exponent"):
        ours = _with_error(float(metric), metric.error)
        yield Row("exponent of the power law through the lowest errors", NO_NUMBERS, ours)


def configurations(found: Finding) -> Rows:
    """Table 3: the sizes of the models, which our presets have, with the resulting number of weights."""
    for name, size in PAPER_SIZES.items():
        model = model_config(name)
        printed = f"{name.upper()}: {size.d_model} / {size.n_layers} / {size.n_heads} / {size.d_mlp}"
        ours = f"{model.d_model} / {model.n_blocks} / {model.n_heads} / {model.d_mlp}"
        weights = f"{model.block_weights / 1e6:.3g}M weights in blocks"
        yield Row(f"--preset {name}: dimension / layers / heads / FFN", printed, f"{ours}, {weights}")


def borg(found: Finding) -> Rows:
    """Table 4: the Borg cipher."""
    if "solvers" not in found.report.tables:  # without the plaintext there is no error
        yield from _metric_rows(found, BORG_METRICS)
        return
    printed = f"{paper.BORG_MEAN_SER[paper.BORG_ALICE]:.2f} ({paper.BORG_LOWEST:.2f}-{paper.BORG_HIGHEST:.2f})"
    for source, ending in (("measured", ""), ("measured-vote", ", vote")):
        for row in found.rows("solvers", source=source):
            spread = f" ({row['lowest']:.2f}-{row['highest']:.2f})" if row["lowest"] is not None else ""
            yield Row(f"{row['model']}{ending}, SER, %", printed, f"{row['ser']:.2f}{spread}")


BORG_METRICS = {
    "letters-changed": "letters read differently under relabelling",
    "confidence": "confidence",
    "passages": "passages",
    "symbols": "symbols",
}
RELABELLING_METRICS = {
    "letters-changed": "letters read differently",
    "ser": "SER",
    "ser-vote": "SER of a vote",
    "texts": "texts",
    "relabellings": "relabellings",
}


def relabelling(found: Finding) -> Rows:
    """Appendix F: how much renaming the cipher symbols changes."""
    yield from _metric_rows(found, RELABELLING_METRICS)


def _metric_rows(found: Finding, words: dict[str, str]) -> Rows:
    """Yield a row per metric, in the order of the report, with labels from `words`."""
    for metric in found.report.result.metrics:
        if metric.name in words:
            of = f"{metric.model}, " if metric.model else ""
            unit = f", {metric.unit}" if metric.unit else ""
            yield Row(f"{of}{words[metric.name]}{unit}", "", shown(metric.value))


def speeds(found: Finding) -> Rows:
    """Appendix H: letters per second on one core."""
    printed = {one.variant: one for one in paper.SPEEDS if one.on_cpu}
    variants = {model.name: model.variant for model in found.models}
    for name, how in (("batched", "batches, 1 core"), ("single", "one text, 1 core")):
        for metric in _named(found, f"letters-per-second-{name}"):
            theirs = printed.get(variants.get(metric.model, ""))
            printed_speed = f"{theirs.letters_per_second:,.0f}, 85M, {theirs.hardware}" if theirs else ""
            yield Row(f"letters/s of {metric.model}, {how}", printed_speed, _three_digits(metric))
    for metric in _named(found, "letters-per-second-same-texts"):
        if metric.model not in variants:
            yield Row(f"letters/s of {metric.model}", "", _three_digits(metric))


def _three_digits(metric: Metric) -> str:
    return shown(float(f"{float(metric):.3g}"))


def _named(found: Finding, name: str) -> list[Metric]:
    return [metric for metric in found.report.result.metrics if metric.name == name]


def _share(right: Any) -> str:
    """Return a share in percent with its standard error."""
    if not len(right):
        return "no such texts"
    mean = float(np.mean(right))
    error = (mean * (1 - mean) / len(right)) ** 0.5
    return f"{100 * mean:.1f} ± {100 * error:.1f} % of {len(right):,}"


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "no such texts"
    return f"{value:.3g}" if error is None else f"{value:.3g} ± {error:.2g}"


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper, and where ours comes from."""

    label: str
    title: str
    analysis: str = ""
    """The analysis that gives ours; empty if none does."""
    rows: Callable[[Finding], Iterable[Row]] | None = None
    """Reads values from its report."""
    claim: str = ""
    """Key of the claim that it supports."""
    variant: str = ""
    """Variant of the model that the figure shows; empty for all."""
    reader: str = ""
    """Kind of probe that the figure shows; empty for all."""
    note: str = ""
    absent: str = ""
    """Why the item is missing, if no analysis gives it."""
    figure: str = ""
    """Our figure in the report; after `@` the variant whose first model is meant."""
    evidence: tuple[str, ...] = ()
    """Names of the evidence beside it."""
    more: tuple[str, Callable[[Finding], Iterable[Row]]] | None = None
    """A further analysis and what reads its values."""

    def is_about(self, check: Check, found: Finding) -> bool:
        """Return whether a test is about what this item shows."""
        names = {model.name for model in found.of_variant(self.variant)}
        return (not self.variant or not names.isdisjoint(check.models)) and self.reader in ("", check.reader)


def _ngram(label: str, title: str, variant: str, reader: str) -> PaperItem:
    rows = partial(gains, variant=variant, reader=reader)
    figure = f"{reader}-probe@{variant}"
    return PaperItem(label, title, "ngram", rows, "ngrams", variant=variant, reader=reader, figure=figure)


_CHAT = "A conversation with a chat service; there is nothing to run here."
_EXAMPLES = "The report follows examples through the layers; `alice-interp run early-exit --text` takes the paper's."
_PERMUTATIONS = "In the report of early-exit."
_SIZES = "The paper's models have 85M parameters, and its texts are others."
_TRAININGS = f"The paper trained a model of 85M parameters for {paper.GENERALIZATION_STEPS:,} steps on each pool."
ITEMS = (
    PaperItem("Abstract", "Early layers use letter frequencies", "probe", claim="frequencies", evidence=("erasure",)),
    PaperItem("Figure 1", "Overview of the architecture", absent="A drawing; there is nothing to compute."),
    PaperItem("Section 2", "Pooling makes outputs consistent", "key-recovery", claim="consistent",
              note="Measured on the outputs at every position of every text."),
    PaperItem("Section 2.1", "Structurally valid outputs", "key-recovery", claim="valid"),
    PaperItem("Table 1", "Median error by length of the text", "errors-by-length", medians, "worse", note=_SIZES,
              figure="means"),
    PaperItem("Figure 2", "Number of errors by length of the text", "errors-by-length", error_counts, "one-error",
              figure="errors@base", evidence=("guided",)),
    PaperItem("Table 2", "Mean error of short and long texts", "errors-by-length", means, "sigmas", note=_SIZES,
              evidence=("same-compute", "guided"), more=("baselines", baseline_means)),
    PaperItem("Section 3.2", "ALICE and the neural solvers of table 2, with the same data and compute", "baselines",
              claim="baselines", note="Its figures are in table 2.", evidence=("same-compute", "guided")),
    PaperItem("Figure 3", "Training loss and accuracy on unseen ciphers", "generalization", pools, "pools",
              note=_TRAININGS, figure="training", evidence=("phases",)),
    PaperItem("Section 4", "Accuracy that rises and decays with a middle number of ciphers", "generalization",
              claim="decay", note=_TRAININGS, evidence=("phases",)),
    PaperItem("Figure 4", "The key, recovered by the bijective head", "key-recovery", keys, figure="key@bijective"),
    PaperItem("Figure 5", "Texts after every layer of the base model", "early-exit", note=_EXAMPLES,
              figure="text-example-0@base"),
    PaperItem("Figure 6", "Error after every layer", "early-exit", layers, "layers", figure="error-by-layer"),
    _ngram("Figure 7", "N-grams by layer, linear probes, base", "base", "linear"),
    PaperItem("Table 3", "Configurations for scaling", rows=configurations,
              note="The presets of this package, compared with the models that they give."),
    PaperItem("Figure 8", "Error against training operations", "scaling", sizes, "compute",
              figure="error-by-operations", evidence=("equal-operations",)),
    PaperItem("Table 4", "The historical Borg cipher", "borg", borg),
    PaperItem("Appendix F", "Renaming the cipher symbols changes the answer", "relabelling", relabelling,
              "relabelling", figure="changes-by-length",
              note="The paper claims it for its multilingual model on the Borg cipher; here it is measured on these "
                   "texts."),
    PaperItem("Figure 9", "Attention maps", "attention", note="The paper prints maps without numbers.",
              figure="maps@base"),
    PaperItem("Figure 10", "Error of each letter against its frequency", "letter-frequency", slopes, "letters",
              figure="excess-lewand@base"),
    PaperItem("Figure 11", "Texts after every layer of the bijective model", "early-exit", note=_EXAMPLES,
              figure="text-example-0@bijective"),
    PaperItem("Figure 12", "Permutations after every layer, first part", "early-exit", note=_PERMUTATIONS,
              figure="permutation-example-0@bijective"),
    PaperItem("Figure 13", "Permutations after every layer, second part", "early-exit",
              note="The slider of the figure above shows every layer."),
    PaperItem("Appendix H", "Decoding speed", "speed", speeds, "slower",
              note="The paper's CPU and models (85M parameters) differ: compare only models within one report."),
    PaperItem("Figure 14", "A chat model fails, short reasoning", absent=_CHAT),
    PaperItem("Figure 15", "A chat model fails, long reasoning", absent=_CHAT),
    _ngram("Figure 16", "N-grams by layer, MLP probes, base", "base", "mlp"),
    _ngram("Figure 17", "N-grams by layer, linear probes, bijective", "bijective", "linear"),
    _ngram("Figure 18", "N-grams by layer, MLP probes, bijective", "bijective", "mlp"),
    PaperItem("Table 5", "Similarity of n-grams at the last layer", "ngram", last_layer, "probes",
              note="The paper does not say whether it takes the mean over texts or counts all texts together."),
)  # fmt: skip


def fill(printed: PaperItem, findings: Findings, claims: Iterable[Claim]) -> Item:
    """Set our values next to the paper's."""
    found = findings[printed.analysis]
    claim = next((claim for claim in claims if claim.key == printed.claim), None)
    bare = Item(
        printed.label,
        printed.title,
        claim=printed.claim,
        note=printed.note,
        outcome="not tested" if claim else None,
        evidence=printed.evidence,
    )
    if not printed.analysis:
        return replace(bare, rows=tuple(printed.rows(found)) if printed.rows else (), absent=printed.absent)
    if found.stored is None:
        return replace(bare, absent=found.why_absent)
    if printed.variant and found.first(printed.variant) is None:
        return replace(bare, absent=f"It needs a {printed.variant} model: give one with `--ckpt`.")
    if claim is not None:
        bare = replace(bare, outcome=outcome_of([check for check in claim.checks if printed.is_about(check, found)]))
    figures = found.figure_names([printed.figure] if printed.figure else [])
    rows = tuple(printed.rows(found)) if printed.rows else ()
    filled = replace(bare, rows=rows, figures=figures, reports=(link(found),))
    if printed.more is None or (further := findings[printed.more[0]]).stored is None:
        return filled
    return replace(filled, rows=(*filled.rows, *printed.more[1](further)), reports=(*filled.reports, link(further)))
