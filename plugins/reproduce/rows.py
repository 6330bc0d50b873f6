"""Values of the paper beside ours, read off the results of the analyses: a function for each table or figure."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from alice.metrics import bin_names
from alice.plugins.reproduce import paper
from alice.plugins.reproduce.found import Ran
from alice.reports.number_text import shown
from alice.reports.reproduce import Row
from alice.training.presets import PAPER_SIZES, model_config

NO_NUMBERS = "no numbers printed"
BEAM, NUHN = ("beam", "beam (solver)"), "Beam + 6-gram (Nuhn et al. 2013)"
"""Names of our beam search over n-grams, the second beside a model of the first, and what Table 2 calls its like."""
Rows = Iterator[Row]


def medians(ran: Ran) -> Rows:
    """Table 1: median error by length."""
    for model in ran.models:
        for row in ran.rows("by-length", model):
            if row["length"] in bin_names():
                ours = f"{row['median']:.2f} ({row['16th']:.2f}-{row['84th']:.2f}), {row['texts']:,} texts"
                yield Row(f"{model.name}, {row['length']}, %", row["paper's median"], ours)


def error_counts(ran: Ran) -> Rows:
    """Figure 2: how many errors texts of some lengths have, for base models."""
    said = [("texts of about 75 characters with at most one error", paper.ONE_ERROR_AT_75), ("texts of 150 characters or more without an error", paper.SOLVED_FROM_150)]
    for model in ran.models:
        if model.variant == "base":
            lengths, errors = ran.array("lengths", model), ran.array("errors", model)
            middle = around_75(lengths)
            long = lengths >= paper.PLATEAU
            for (what, printed), right in zip(said, (errors[middle] <= 1, errors[long] == 0), strict=True):
                yield Row(f"{model.name}, {what}", printed, _share(right))


def around_75(lengths: Any) -> Any:
    """Say which texts have "about 75 characters", (text,)."""
    start, end = paper.AROUND_75
    return (lengths >= start) & (lengths < end)


def means(ran: Ran) -> Rows:
    """Table 2: mean error of short and long texts, of the models and of the solver that the paper names too."""
    names = [model.name for model in ran.models]
    measured = {row["solver"]: row for row in ran.rows("short-and-long") if row["from"] == "measured here"}
    for model in ran.models:
        yield from _parts(model.name, measured[model.name], paper.MEAN_SER.get(model.variant, ("", "")))
    for row in ran.rows("short-and-long"):
        first = row["from"].removeprefix("measured here, ")
        if first.startswith("first ") and row["solver"] not in names and row["solver"] in BEAM:
            printed = [f"{figure} ({NUHN}, its own texts)" for figure in paper.OTHER_SOLVERS[NUHN]]
            yield from _parts(f"{row['solver']}, {first} texts", row, printed)


def _parts(what: str, row: dict[str, Any], printed: Sequence[str]) -> Rows:
    """Return the two columns of Table 2 for one solver."""
    for part, figure in zip(("<128", ">=128"), printed, strict=True):
        yield Row(f"{what}, {part} characters, %", str(figure), _with_error(row[f"{part}, %"], row[f"± {part}"]))


def keys(ran: Ran) -> Rows:
    """Figure 4: the key is recovered."""
    for model in ran.models:
        if model.variant == "bijective":
            (row,) = (row for row in ran.rows("by-length") if (row["model"], row["characters"]) == (model.name, "all"))
            for what in ("letters right", "keys right"):
                printed = "all, in one example" if what == "letters right" else NO_NUMBERS
                yield Row(f"{model.name}, {what}, %", printed, _with_error(row[f"{what}, %"], row[f"± {what}"]))


def layers(ran: Ran) -> Rows:
    """Figure 6: error at every exit."""
    for model in ran.models:
        errors = [row for row in ran.rows("error-by-layer") if row["model"] == model.name]
        curve = ", ".join(f"{row['SER']:.3f}" for row in errors)
        yield Row(f"{model.name}, SER from the embedding to layer {errors[-1]['layer']}", NO_NUMBERS, curve)


def gains(ran: Ran, variant: str, reader: str) -> Rows:
    """Figures 7 and 16 to 18: at which layers n-grams come about."""
    for row in ran.rows("gains"):
        if (row["reader"], row["measure"]) == (reader, "texts") and _variant(ran, row["model"]) == variant:
            found = ", ".join(str(value) for name, value in row.items() if name.startswith("n=") and value is not None)
            yield Row(f"{row['model']}, layer of the largest gain, n = 1 upward", "earlier for small n", found)


def last_layer(ran: Ran) -> Rows:
    """Table 5: similarity at the last layer."""
    for row in ran.rows("last-layer"):
        variant = _variant(ran, row["model"])
        if printed := paper.FINAL_SIMILARITY.get((variant, row["reader"])):
            ours = ", ".join(
                f"{value:.3f}" for name, value in row.items() if name.startswith("n=") and value is not None
            )
            measure = "mean over texts" if row["measure"] == "texts" else "whole corpus"
            theirs = ", ".join(f"{value:.3f}" for value in printed)
            yield Row(f"{row['model']}, {row['reader']} probe, n = 1 upward, {measure}", theirs, ours)


def slopes(ran: Ran) -> Rows:
    """Figure 10: the best-fit line."""
    for row in ran.rows("best-fit"):
        if row["frequencies"].startswith("English") and row["slope"] is not None:
            ours = _with_error(row["slope"], row["standard error"])
            yield Row(f"{row['model']}, slope of the best-fit line", "below zero, no number printed", ours)


def pools(ran: Ran) -> Rows:
    """Figure 3: which pools generalise."""
    for row in ran.rows("paper"):
        printed = {"yes": "generalises", "no": "does not", None: "not trained"}[row["generalises in the paper"]]
        if row["our accuracy"] is not None:
            yield Row(f"{row['pool']} keys", printed, f"accuracy {row['our accuracy']:.3f} on unseen keys")


def sizes(ran: Ran) -> Rows:
    """Figure 8: error of each size."""
    for row in ran.rows("sizes"):
        if row["final SER"] is not None:
            yield Row(f"{row['size']}, {row['FLOPs']:.2g} operations", NO_NUMBERS, f"SER {row['final SER']:.3f}")
    if "exponent" in ran.metrics:
        ours = _with_error(ran.metrics["exponent"], ran.metrics["standard error of the exponent"])
        yield Row("exponent of the power law through the lowest errors", NO_NUMBERS, ours)


def configurations() -> Rows:
    """Table 3: sizes of the models, which our presets have, with the weights that come of them."""
    for name, size in PAPER_SIZES.items():
        model = model_config(name)
        printed = f"{name.upper()}: {size.d_model} / {size.n_layers} / {size.n_heads} / {size.d_mlp}"
        ours = f"{model.d_model} / {model.n_blocks} / {model.n_heads} / {model.d_mlp}"
        yield Row(
            f"--preset {name}: dimension / layers / heads / FFN",
            printed,
            f"{ours}, {model.block_weights / 1e6:.3g}M weights in blocks",
        )


def borg(ran: Ran) -> Rows:
    """Table 4: the Borg cipher."""
    if "solvers" not in ran.run.result.tables:
        yield from metrics(ran)
        return
    printed = f"{paper.BORG_MEAN_SER[paper.BORG_ALICE]:.2f} ({paper.BORG_LOWEST:.2f}-{paper.BORG_HIGHEST:.2f})"
    for row in ran.rows("solvers"):
        if row["from"] == "measured here":
            spread = f" ({row['lowest']:.2f}-{row['highest']:.2f})" if row["lowest"] is not None else ""
            yield Row(f"{row['solver']}, SER, %", printed, f"{row['SER, %']:.2f}{spread}")


def speeds(ran: Ran) -> Rows:
    """Appendix H: letters per second on one core."""
    printed = {"bijective" if "bijective" in one.solver else "base": one for one in paper.SPEEDS if "core" in one.hardware}
    for name, value in ran.metrics.items():
        if name.startswith("letters/s"):
            variant = next((model.variant for model in ran.models if f" of {model.name}," in name), None)
            if variant is None and len(ran.models) == 1 and " of " not in name:
                variant = ran.models[0].variant
            theirs = printed.get(variant or "")
            told = f"{theirs.letters_per_second:,.0f}, 85M, {theirs.hardware}" if theirs else ""
            yield Row(name, told, shown(float(f"{value:.3g}")))


def metrics(ran: Ran) -> Rows:
    """Return the metrics as they are."""
    for name, value in ran.metrics.items():
        yield Row(name, "", shown(value))


def _variant(ran: Ran, name: str) -> str:
    return next((model.variant for model in ran.models if model.name == name), "")


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
