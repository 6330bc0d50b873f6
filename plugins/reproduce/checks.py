"""Tests of the paper's claims, each on the report of one analysis. docs/reproduce.md gives reasons."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.metrics import LENGTH_BINS, SHORT
from alice.plugins import paper
from alice.plugins.builtin.baseline_solvers import BASELINES, REFERENCE
from alice.plugins.builtin.ngram.measure import PROBES, READERS, Reader
from alice.plugins.builtin.probe.verdict import MOVED, READABLE
from alice.plugins.reproduce import verdicts
from alice.plugins.reproduce.findings import Finding, Model
from alice.plugins.reproduce.page import Check
from alice.plugins.reproduce.verdicts import Verdict
from alice.statistics import Floats

PROBED = ("base", "bijective")
"""Variants that the paper has probes for."""
DIFFERENT = 2.0
"""Trainings are compared by their operations only if the largest has this many times those of the smallest."""
RANK = "rank"
"""The target of `probe` that is about letter frequencies."""
Checks = Iterator[Check]


def check(
    name: str,
    models: Sequence[Model],
    measure: str,
    verdict: Verdict,
    *,
    subject: str = "",
    reader: Reader | None = None,
) -> Check:
    """Describe a verdict; the subject is the names of the models, and the reader if there is one, unless given."""
    names = tuple(model.name for model in models)
    read_by = f", {READERS[reader]}" if reader else ""
    subject = subject or f"{' against '.join(names)}{read_by}"
    return Check(name, names, subject, measure, reader=reader or "", **vars(verdict))


def error_by_layer(found: Finding, seed: int) -> Checks:
    """Test that the error falls at every layer."""
    for model in found.models:
        verdict = verdicts.error_falls(found.array("ser", model), np.random.default_rng(seed))
        yield check("smallest-drop", [model], "smallest drop of the SER at a layer, percentage points", verdict)


def ngrams(found: Finding, seed: int) -> Checks:
    """Test at which layers short and long n-grams become right, compared with null models of the same accuracy."""
    for model in found.models:
        for reader in PROBES if model.variant in PROBED else ():
            by_text = [found.array(f"{name}-{reader}-texts", model) for name in ("by-text", "null-by-text")]
            counts, layers = _texts_by_n(found, model), by_text[0].shape[1] - 1
            after = f"similarity after layer {verdicts.early_layer(layers)} of {layers}, share of the last value"
            beyond = "smallest lead over a null model of the same accuracy"
            rng = np.random.default_rng(seed)
            verdict = verdicts.short_is_high_early(*by_text, texts=counts[0], rng=rng)
            yield check("early-1-grams", [model], f"1-gram {after}: {beyond}", verdict, reader=reader)
            if (longest := len(counts)) > 1:
                verdict = verdicts.long_is_low_early(*by_text, texts=counts[-1], rng=rng)
                behind = "smallest lag behind a null model of the same accuracy"
                yield check("early-long-ngrams", [model], f"{longest}-gram {after}: {behind}", verdict, reader=reader)
                measure = (
                    f"Spearman's correlation of n with the layer where it gains most, {beyond}; the interval does not "
                    f"cover that there are only {longest} values of n"
                )
                rows = found.rows("trend-excess", model=model.name, reader=reader, measure="texts")
                excess = [(row["excess"], row["low"], row["high"]) for row in rows]
                yield check(
                    "trend", [model], measure, verdicts.long_rises_later(excess, texts=min(counts)), reader=reader
                )


def _texts_by_n(found: Finding, model: Model) -> list[int]:
    """Return the number of texts that have n-grams, for n = 1 upward."""
    return [row["texts"] for row in found.rows("texts", model=model.name)]


def frequencies(found: Finding, seed: int) -> Checks:
    """Test by erasing whether early layers use the frequency rank of a letter, and more than the last layers do."""
    for model in found.of_variant("base"):
        readable, moved = readable_rank(found, model), moved_beyond(found, model, RANK)
        early, late = early_and_late(moved.shape[1])
        rng = np.random.default_rng(seed)
        where, lasts = layer_words(early), layer_words(late)
        measure = f"{where}: smallest lead of a linear probe for the frequency rank over the most frequent answer"
        yield check("present", [model], measure, verdicts.all_exceed(readable[:, early], READABLE, rng))
        measure = f"{where}: smallest share of probability that erasing the rank moves beyond random directions"
        yield check("used", [model], measure, verdicts.all_exceed(moved[:, early], MOVED, rng))
        measure = f"the same share, mean over {where} minus mean over {lasts}"
        lead = moved[:, early].mean(1) - moved[:, late].mean(1)
        yield check("more-than-late", [model], measure, verdicts.judge_mean(lead))


def early_and_late(layers: int) -> tuple[list[int], list[int]]:
    """Return the first and the last quarter of the layers, which count from the embedding, layer 0."""
    count = verdicts.early_layer(layers - 1)
    return list(range(1, count + 1)), list(range(layers - count, layers))


def layer_words(layers: Sequence[int]) -> str:
    """Return neighbouring layers in words: `layer 1`, or `layers 1 to 3`."""
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]} to {layers[-1]}"


def readable_rank(found: Finding, model: Model) -> Floats:
    """Return the accuracy of the linear probe beyond the most frequent answer, a mean over splits, (text, layer)."""
    accuracy, usual = (found.array(f"{name}-linear-{RANK}", model) for name in ("accuracy", "most-frequent"))
    lead = accuracy - usual[:, None]  # (split, layer, text), NaN where a split does not hold a text out
    tested = ~np.isnan(lead)
    means = np.where(tested, lead, 0).sum(0) / np.maximum(tested.sum(0), 1)  # (layer, text)
    return np.asarray(means[:, tested.any((0, 1))].T, dtype=np.float64)


def moved_beyond(found: Finding, model: Model, target: str) -> Floats:
    """Return how much of the probability erasing a target moves beyond random directions, (text, layer)."""
    without = found.array(f"without-{target}", model)  # (layer, way, text, score), the last score is what moved
    return np.asarray((without[:, 0, :, -1] - without[:, 1, :, -1]).T, dtype=np.float64)


def letters(found: Finding, seed: int) -> Checks:
    """Test which letters have the errors."""
    for model in found.models:
        rates = found.array("error-rates", model), found.array("error-rate-draws", model)
        verdict = verdicts.frequent_letters_err_less(*rates, texts=found.texts)
        yield check("slope", [model], "slope of the excess share of errors over frequency in English", verdict)


def valid(found: Finding, seed: int) -> Checks:
    """Test that keys are always one-to-one from bijective models, and not always from others."""
    for model in found.models:
        wrong, texts = _exceptions(found, model, "one-to-one")
        if model.variant == "bijective":
            verdict = verdicts.judge_always(wrong, texts)
            yield check("valid", [model], f"share of {texts} texts whose key is valid", verdict)
        else:
            verdict = verdicts.judge_sometimes(wrong, texts)
            yield check("not-valid", [model], f"share of {texts} texts whose key is not valid", verdict)


def consistent(found: Finding, seed: int) -> Checks:
    """Test that each symbol has one answer in a text."""
    for model in found.models:
        wrong, texts = _exceptions(found, model, "consistent")
        measure = f"share of {texts} texts in which each symbol has one answer"
        yield check("consistent", [model], measure, verdicts.judge_always(wrong, texts))


def _exceptions(found: Finding, model: Model, name: str) -> tuple[int, int]:
    """Return the number of texts whose key lacks a property, and of all texts."""
    has = found.array(name, model)
    return int((~has).sum()), len(has)


def probes(found: Finding, seed: int) -> Checks:
    """Test what probes of the last layer read from two models."""
    if found.pair is None:
        return
    bijective, base = found.pair
    fewest = min(_texts_by_n(found, base))
    for reader in PROBES:
        ours, theirs = (found.array(f"by-text-{reader}-texts", model)[:, -1] for model in found.pair)
        verdict = verdicts.always_higher(ours, theirs, texts=fewest, rng=np.random.default_rng(seed))
        measure = f"smallest lead in similarity over n = 1 to {ours.shape[1]}"
        subject = f"{bijective.name} over {base.name}, {READERS[reader]}"
        yield check("smallest-lead", found.pair, measure, verdict, subject=subject, reader=reader)


def pools(found: Finding, seed: int) -> Checks:
    """Test what few and many keys in training do, over the seeds of the smallest and of the largest pool.

    Where the analysis has measures along training, its own claims are used: they compare keys of the pool with new ones
    for the same network, so that one that has not been trained to the end may generalise, too.
    """
    if judged := list(_claims_of_the_analysis(found, "memorised", "generalised")):
        yield from judged
        return
    rows = [row for row in found.rows("pools") if row["accuracy"] is not None]
    if len({row["pool"] for row in rows}) < 2:
        return
    (few, short, smallest), (many, long, largest) = (_pool_end(rows, row["pool"]) for row in (rows[0], rows[-1]))
    tests = (
        ("memorised", f"{few} keys, {short}", "exp(-training loss) minus accuracy on unseen keys",
         verdicts.few_memorise(smallest)),
        ("lead", f"{many} over {few} keys", "lead in accuracy on unseen keys",
         verdicts.many_do_better(smallest, largest)),
        ("accuracy", f"{many} keys, {long}", "accuracy on unseen keys", verdicts.many_generalise(largest)),
    )  # fmt: skip
    for name, subject, measure, verdict in tests:
        yield check(name, (), measure, verdict, subject=subject)


def _pool_end(rows: Sequence[dict[str, Any]], pool: int | None) -> tuple[str, str, verdicts.PoolEnd]:
    """Return the size of a pool, its steps and seeds in words, and its end, a mean over trainings."""
    own = [row for row in rows if row["pool"] == pool]
    loss, accuracy = (float(np.mean([row[name] for row in own])) for name in ("training_loss", "accuracy"))
    seeds = f", mean of {len(own)} trainings" if len(own) > 1 else ""
    trained = f"{own[0]['steps']:,} steps{seeds}"
    return pool_name(pool), trained, verdicts.PoolEnd(loss, accuracy, min(row["texts"] for row in own))


def decay(found: Finding, seed: int) -> Checks:
    """Test that accuracy on new keys rises and decays in a pool, as the analysis of several seeds has found."""
    yield from _claims_of_the_analysis(found, "decay")


def _claims_of_the_analysis(found: Finding, *names: str) -> Checks:
    """Return claims that the analysis of generalization has tested itself, over the seeds of measured trainings."""
    outcomes: dict[str, verdicts.Outcome] = {"holds": "holds", "does not hold": "does not hold"}
    rows = found.rows("claims") if "claims" in found.report.tables else ()
    for row in (row for row in rows if row["name"] in names):
        value, low, high = (math.nan if row[name] is None else row[name] for name in ("value", "low", "high"))
        outcome = outcomes.get(row["outcome"], "undecided")
        verdict = Verdict(outcome, value, low, high, row["threshold"], row["side"])
        yield check(row["name"], (), row["statistic"], verdict, subject="limited pools, several seeds")


def pool_name(pool: int | None) -> str:
    """Return the size of a pool in words; None is an unlimited pool."""
    return "all" if pool is None else f"{pool:,}"


def compute(found: Finding, seed: int) -> Checks:
    """Test what more operations do, within trainings, and between them if they differ in operations."""
    sizes = [Model(row["model"], "") for row in found.rows("sizes")]
    curves = [np.stack([found.array("flops", size), found.array("ser", size)]) for size in sizes]
    subject = f"{len(curves)} trainings"
    measure = "more training lowers the error: slope of log SER over log training operations, all measurements"
    yield check("slope-within", (), measure, verdicts.training_lowers_error(curves), subject=subject)
    spent = [curve[0, -1] for curve in curves if curve.shape[1]]
    if spent and max(spent) < DIFFERENT * min(spent):
        return
    measure = "larger trainings end lower: slope of the last log SER of a training over its log training operations"
    yield check("slope-between", (), measure, verdicts.larger_trainings_end_lower(curves), subject=subject)


def worse(found: Finding, seed: int) -> Checks:
    """Test that the bijective model errs more on the shortest texts."""
    if found.pair is not None:
        lengths, ours, theirs = _errors(found, *found.pair)
        short = lengths < LENGTH_BINS[1]
        measure = f"lead in mean SER, percentage points, {short.sum():,} texts below {LENGTH_BINS[1]} characters"
        yield check("lead-in-ser", found.pair, measure, verdicts.errs_more(ours[short], theirs[short]))


def sigmas(found: Finding, seed: int) -> Checks:
    """Test that the bijective model is close to the base model, below and above 128 characters."""
    if found.pair is not None:
        lengths, ours, theirs = _errors(found, *found.pair)
        parts = (("short", f"below {SHORT}", lengths < SHORT), ("long", f"from {SHORT}", lengths >= SHORT))
        for name, part, which in parts:
            measure = f"distance of the mean SER in standard errors, {which.sum():,} texts {part} characters"
            verdict = verdicts.within_sigmas(ours[which], theirs[which])
            yield check(f"distance-{name}", found.pair, measure, verdict)


def _errors(found: Finding, ours: Model, theirs: Model) -> tuple[Floats, Floats, Floats]:
    """Return the lengths of the texts that two models read, and the SER of each in percent, (text,) each."""
    return found.array("lengths", ours), found.array("ser", ours), found.array("ser", theirs)


def same_compute(found: Finding, seed: int) -> Checks:
    """Test that each baseline errs more than the ALICE model that was trained beside it, on the same texts."""
    ran = {row["model"] for row in found.rows("same-compute")}
    for name in BASELINES if REFERENCE in ran else ():
        if name in ran and name != REFERENCE:
            theirs, ours = (found.report.array("ser-same-compute", model=one) for one in (name, REFERENCE))
            measure = f"mean SER of the solver minus that of ALICE, percentage points, {len(ours)} texts"
            verdict = verdicts.errs_more(theirs, ours)
            yield check("lead-in-ser", (), measure, verdict, subject=f"{REFERENCE} against {name}")


def one_error(found: Finding, seed: int) -> Checks:
    """Test that texts of about 75 characters have at most one error, for base models."""
    for model in found.of_variant("base"):
        right = found.array("errors", model)[around_75(found.array("lengths", model))] <= 1
        verdict = verdicts.judge_share(int(right.sum()), len(right), threshold=paper.MOSTLY_RIGHT)
        yield check("at-most-one-error", [model], f"share of {len(right):,} texts of about 75 characters", verdict)


def around_75(lengths: Floats) -> NDArray[np.bool_]:
    """Return which texts have "about 75 characters", (text,)."""
    start, end = paper.AROUND_75
    return (lengths >= start) & (lengths < end)


def relabelled(found: Finding, seed: int) -> Checks:
    """Test that renaming the cipher letters changes an answer."""
    for model in found.models:
        changed = found.array("letters-changed", model) > 0
        verdict = verdicts.judge_sometimes(int(changed.sum()), len(changed))
        yield check("changed", [model], f"share of {len(changed):,} texts that are ever read differently", verdict)


def slower(found: Finding, seed: int) -> Checks:
    """Test that the bijective model takes longer, in batches on one core, with the models taking turns."""
    if found.pair is not None:
        ours, theirs = (_batched_seconds(found, model) for model in found.pair)
        measure = f"mean log ratio of the seconds in batches on one core, rounds: {len(ours)}"
        yield check("log-ratio", found.pair, measure, verdicts.takes_longer(ours, theirs))


def _batched_seconds(found: Finding, model: Model) -> Floats:
    """Return the seconds of each round in the largest batches on one core, (round,)."""
    rows = found.rows("models", model=model.name)
    settings = [(row["texts_per_call"], number) for number, row in enumerate(rows) if row["threads"] == 1]
    seconds: Floats = found.array("seconds", model)[max(settings)[1]]
    return seconds
