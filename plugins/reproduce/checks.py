"""The tests of the paper's claims, each on the result of one analysis. docs/reproduce.md gives reasons."""

from collections.abc import Iterator

import numpy as np

from alice.metrics import LENGTH_BINS, SHORT
from alice.plugins.builtin.key_recovery.measure import COLUMNS
from alice.plugins.builtin.ngram.readings import PROBES, READERS
from alice.plugins.reproduce import verdicts_texts as claims_texts
from alice.plugins.reproduce import verdicts_trainings as claims_runs
from alice.plugins.reproduce.found import Model, Ran
from alice.plugins.reproduce.paper import MOSTLY_RIGHT
from alice.plugins.reproduce.rows import around_75
from alice.plugins.reproduce.verdicts import Verdict, judge_always, judge_share, judge_sometimes
from alice.reports.reproduce import Check
from alice.statistics import Floats

PROBED = ("base", "bijective")
"""Variants that the paper has probes for."""
Checks = Iterator[Check]


def check(subject: str, measure: str, verdict: Verdict) -> Check:
    """Put a verdict into words."""
    return Check(subject=subject, measure=measure, **vars(verdict))


def layers(ran: Ran, seed: int) -> Checks:
    """Test that the error falls at every layer."""
    for model in ran.models:
        verdict = claims_texts.error_falls(ran.array("errors", model), np.random.default_rng(seed))
        yield check(model.name, "smallest drop of the SER at a layer", verdict)


def probe_subject(model: Model, reader: str) -> str:
    """Return what a test on a probe is called."""
    return f"{model.name}, {READERS[reader]}"


def ngrams(ran: Ran, seed: int) -> Checks:
    """Test when n-grams of which length come about."""
    for model in ran.models:
        for reader in PROBES if model.variant in PROBED else ():
            subject = probe_subject(model, reader)
            found = ran.array(f"similarity-{reader}-texts", model), ran.array(f"draws-{reader}-texts", model)
            counts, layers = _texts_by_n(ran, model), found[0].shape[0] - 1
            after = f"after layer {claims_texts.early_layer(layers)} of {layers}, share of the last value"
            yield check(
                subject, f"1-gram similarity {after}", claims_texts.short_is_high_early(*found, texts=counts[0])
            )
            if (longest := len(counts)) > 1:
                low = claims_texts.long_is_low_early(*found, texts=counts[-1])
                yield check(subject, f"{longest}-gram similarity {after}", low)
                measure = f"Spearman's correlation of n with the layer where it gains most; {longest} values of n, "
                yield check(subject, f"{measure}whose number is no part of the interval", _trend(ran, model, reader))


def _texts_by_n(ran: Ran, model: Model) -> list[int]:
    """Return how many texts have n-grams, for n = 1 upward."""
    return [row["texts counted"] for row in ran.rows("texts") if row["model"] == model.name]


def _trend(ran: Ran, model: Model, reader: str) -> Verdict:
    of = (model.name, reader, "texts")
    (row,) = (row for row in ran.rows("gains") if (row["model"], row["reader"], row["measure"]) == of)
    fewest = min(_texts_by_n(ran, model))
    return claims_texts.long_rises_later(row["Spearman"], (row["low"], row["high"]), texts=fewest)


def letters(ran: Ran, seed: int) -> Checks:
    """Test which letters have the errors."""
    for model in ran.models:
        rates = ran.array("error-rates", model), ran.array("error-rate-draws", model)
        measure = "slope of the excess share of errors over frequency in English"
        yield check(model.name, measure, claims_texts.frequent_letters_err_less(*rates, texts=ran.texts))


def valid(ran: Ran, seed: int) -> Checks:
    """Test that keys are one-to-one where they must be, and not always where they need not."""
    for model in ran.models:
        one_to_one = ran.array("keys", model)[COLUMNS.index("one-to-one")] == 1
        wrong, texts = int((~one_to_one).sum()), len(one_to_one)
        if model.variant == "bijective":
            yield check(model.name, f"share of {texts} texts whose key is valid", judge_always(wrong, texts))
        else:
            yield check(model.name, f"share of {texts} texts whose key is not valid", judge_sometimes(wrong, texts))


def consistent(ran: Ran, seed: int) -> Checks:
    """Test that a symbol has one answer in a text."""
    for model in ran.models:
        consistent = ran.array("keys", model)[COLUMNS.index("consistent")] == 1
        wrong, texts = int((~consistent).sum()), len(consistent)
        measure = f"share of {texts} texts in which each symbol has one answer"
        yield check(model.name, measure, judge_always(wrong, texts))


def probes(ran: Ran, seed: int) -> Checks:
    """Test what probes of the last layer read from two models."""
    if ran.pair is None:
        return
    bijective, base = ran.pair
    fewest = min(_texts_by_n(ran, base))
    for reader in PROBES:
        ours, theirs = (ran.array(f"similarity-{reader}-texts", model)[-1] for model in ran.pair)
        draws = [ran.array(f"draws-{reader}-texts", model)[:, -1] for model in ran.pair]
        measure = f"smallest lead in similarity over n = 1 to {len(ours)}"
        subject = f"{bijective.name} over {base.name}, {READERS[reader]}"
        yield check(subject, measure, claims_texts.always_higher(ours, theirs, *draws, texts=fewest))


def pools(ran: Ran, seed: int) -> Checks:
    """Test what few and many keys in training do."""
    rows = [row for row in ran.rows("pools") if row["accuracy"] is not None]
    ends = [claims_runs.PoolEnd(row["training loss"], row["accuracy"], row["texts"]) for row in rows]
    if len(ends) < 2:
        return
    few, many = (f"{row['pool']} keys, {row['steps']:,} steps" for row in (rows[0], rows[-1]))
    yield check(few, "exp(-training loss) less accuracy on unseen keys", claims_runs.few_memorise(ends[0]))
    verdict = claims_runs.many_do_better(ends[0], ends[-1])
    yield check(f"{rows[-1]['pool']} over {rows[0]['pool']} keys", "lead in accuracy on unseen keys", verdict)
    yield check(many, "accuracy on unseen keys", claims_runs.many_generalise(ends[-1]))


def compute(ran: Ran, seed: int) -> Checks:
    """Test what more operations do, within runs and between them."""
    names = sorted(name for name in ran.run.result.arrays if name.startswith("curve-"))
    curves = [ran.array(name) for name in names]
    runs = f"{len(curves)} runs"
    measure = "more training lowers the error: slope of log SER over log training operations, all measurements"
    yield check(runs, measure, claims_runs.training_lowers_error(curves))
    measure = "larger runs end lower: slope of the last log SER of a run over its log training operations"
    yield check(runs, measure, claims_runs.larger_runs_end_lower(curves))


def worse(ran: Ran, seed: int) -> Checks:
    """Test that the bijective model errs more on the shortest texts."""
    if ran.pair is not None:
        lengths, ours, theirs = _errors(ran, *ran.pair)
        short = lengths < LENGTH_BINS[1]
        measure = f"lead in mean SER, {short.sum():,} texts below {LENGTH_BINS[1]} characters"
        yield check(_against(*ran.pair), measure, claims_texts.errs_more(ours[short], theirs[short]))


def sigmas(ran: Ran, seed: int) -> Checks:
    """Test that the bijective model is not far from the base model, below and above 128 characters."""
    if ran.pair is not None:
        lengths, ours, theirs = _errors(ran, *ran.pair)
        for part, which in ((f"below {SHORT}", lengths < SHORT), (f"from {SHORT}", lengths >= SHORT)):
            measure = f"distance of the mean SER in standard errors, {which.sum():,} texts {part} characters"
            yield check(_against(*ran.pair), measure, claims_texts.within_sigmas(ours[which], theirs[which]))


def _errors(ran: Ran, ours: Model, theirs: Model) -> tuple[Floats, Floats, Floats]:
    """Return the lengths of the texts that two models have read, and the error rates of each, (text,)."""
    lengths = ran.array("lengths", ours)
    return lengths, ran.array("errors", ours) / lengths, ran.array("errors", theirs) / lengths


def _against(ours: Model, theirs: Model) -> str:
    return f"{ours.name} against {theirs.name}"


def one_error(ran: Ran, seed: int) -> Checks:
    """Test that texts of about 75 characters have at most one error, for base models."""
    for model in ran.models:
        if model.variant == "base":
            right = ran.array("errors", model)[around_75(ran.array("lengths", model))] <= 1
            verdict = judge_share(int(right.sum()), len(right), threshold=MOSTLY_RIGHT)
            yield check(model.name, f"share of {len(right):,} texts of about 75 characters", verdict)


def relabelled(ran: Ran, seed: int) -> Checks:
    """Test that other names of the cipher letters change an answer."""
    for model in ran.models:
        changed = ran.array("letters-changed", model) > 0
        verdict = judge_sometimes(int(changed.sum()), len(changed))
        yield check(model.name, f"share of {len(changed):,} texts that are ever read differently", verdict)


def slower(ran: Ran, seed: int) -> Checks:
    """Test that the bijective model takes longer, in batches on one core, in which the models took turns."""
    if ran.pair is not None:
        rows = ran.rows("models")
        ours, theirs = (
            [number for number, row in enumerate(rows) if (row["model"], row["threads"]) == (model.name, 1)][-1]
            for model in ran.pair  # one text at a time comes before batches
        )
        seconds = ran.array("model-seconds")
        measure = f"mean log ratio of the seconds in batches on one core, {seconds.shape[1]} rounds"
        yield check(_against(*ran.pair), measure, claims_runs.takes_longer(seconds[ours], seconds[theirs]))
