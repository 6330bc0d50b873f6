"""The paper's claims, each with its tests on the report of one analysis. docs/reproduce.md gives reasons."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from alice.metrics import LENGTH_BINS, SHORT
from alice.plugins import paper
from alice.plugins.builtin.ngram.measure import PROBES, READERS, Reader
from alice.plugins.reproduce import verdicts
from alice.plugins.reproduce.findings import Finding, Findings, Model
from alice.plugins.reproduce.page import REPORTS, Check, Claim, Link, Outcome
from alice.plugins.reproduce.verdicts import Verdict, combine
from alice.reports.html import REPORT
from alice.statistics import Floats

PROBED = ("base", "bijective")
"""Variants that the paper has probes for."""
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
    """Test what few and many keys in training do."""
    rows = [row for row in found.rows("pools") if row["accuracy"] is not None]
    ends = [verdicts.PoolEnd(row["training_loss"], row["accuracy"], row["texts"]) for row in rows]
    if len(ends) < 2:
        return
    (few, short), (many, long) = ((pool_name(row["pool"]), f"{row['steps']:,} steps") for row in (rows[0], rows[-1]))
    tests = (
        ("memorised", f"{few} keys, {short}", "exp(-training loss) minus accuracy on unseen keys",
         verdicts.few_memorise(ends[0])),
        ("lead", f"{many} over {few} keys", "lead in accuracy on unseen keys",
         verdicts.many_do_better(ends[0], ends[-1])),
        ("accuracy", f"{many} keys, {long}", "accuracy on unseen keys", verdicts.many_generalise(ends[-1])),
    )  # fmt: skip
    for name, subject, measure, verdict in tests:
        yield check(name, (), measure, verdict, subject=subject)


def decay(found: Finding, seed: int) -> Checks:
    """Test that accuracy on new keys rises and decays in a pool, as the analysis of several seeds has found."""
    outcomes: dict[str, verdicts.Outcome] = {"holds": "holds", "does not hold": "does not hold"}
    for row in found.rows("claims", name="decay") if "claims" in found.report.tables else ():
        value, low, high = (math.nan if row[name] is None else row[name] for name in ("value", "low", "high"))
        outcome = outcomes.get(row["outcome"], "undecided")
        verdict = Verdict(outcome, value, low, high, row["threshold"], row["side"])
        yield check("decay", (), row["statistic"], verdict, subject="limited pools, several seeds")


def pool_name(pool: int | None) -> str:
    """Return the size of a pool in words; None is an unlimited pool."""
    return "all" if pool is None else f"{pool:,}"


def compute(found: Finding, seed: int) -> Checks:
    """Test what more operations do, within trainings and between them."""
    sizes = [Model(row["model"], "") for row in found.rows("sizes")]
    curves = [np.stack([found.array("flops", size), found.array("ser", size)]) for size in sizes]
    subject = f"{len(curves)} trainings"
    measure = "more training lowers the error: slope of log SER over log training operations, all measurements"
    yield check("slope-within", (), measure, verdicts.training_lowers_error(curves), subject=subject)
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


NO_PAIR = "It needs a base and a bijective model with the same alphabet: give both with `--ckpt`."
NO_PROBED = "It needs a base or a bijective model: give one with `--ckpt`."
NO_BASE = "It needs a base model: give one with `--ckpt`."
TOO_FEW = "There are too few trainings, or they have measured nothing yet."
EQUAL = (
    "Only models of equal training (texts, recipe, steps) are compared; the bundled `bijective` is `base` with more "
    "training."
)
NO_REFUTING = "cannot be refuted by a sample: one case is enough to show it, and without any it stays undecided."


@dataclass(frozen=True)
class PaperClaim:
    """A claim and how it is tested."""

    key: str
    sentence: str
    paper: str
    """The paper's words."""
    analysis: str
    """The analysis whose report its tests read."""
    tests: Callable[[Finding, int], Checks]
    """Yields the tests, from the finding and the seed."""
    needs: str = ""
    """What to give if there is nothing to test."""
    note: str = ""
    """What a verdict can and cannot say."""
    compares: bool = False
    """Whether it compares variants, so that their training must be equal."""


CLAIMS = (
    PaperClaim("layers", "Error falls layer by layer", "“the decrease in the error rate at each layer”, section 5",
           "early-exit", error_by_layer),
    PaperClaim("ngrams", "1-gram similarity is high early, and higher n rises later",
           "“the similarity of 1-grams (letter frequencies) is high even in early layers, while the similarity for "
           "higher order n-grams … is low until later layers”, section 5", "ngram", ngrams, NO_PROBED,
           "Any answer that becomes more accurate shows such curves, so the tests ask for more than null models with "
           "as many wrong letters show."),
    PaperClaim("letters", "Frequent letters have lower error than expected",
           "“for the most frequent letters, error rates are consistently lower than expected based on letter frequency "
           "alone”, appendix G", "letter-frequency", letters),
    PaperClaim("valid", "Bijective outputs are always valid, others sometimes are not",
           "“ALICE-Base will sometimes predict a mapping that maps two different letters to the same letter”, "
           "section 2.1",
           "key-recovery", valid, note=f"That others sometimes are not valid {NO_REFUTING}"),
    PaperClaim("worse", "The bijective model errs more than the base model on the shortest texts",
           "“performance that is slightly worse than ALICE-Base, in particular for extremely short sequences (<32 "
           "characters)”, section 3.1", "errors-by-length", worse, NO_PAIR,
           "The bundled corpus has 26 such test texts and a verdict needs 30: give a larger one with `--data`. "
           + EQUAL, compares=True),
    PaperClaim("one-error", "Nine in ten texts of about 75 characters have at most one error",
           "“by ~75 characters, over 90% of sequences contain at most one error”, section 3.2", "errors-by-length",
           one_error, NO_BASE),
    PaperClaim("sigmas", "The bijective model is within 3 standard errors of the base model",
           "“achieves performance that is within 3\N{GREEK SMALL LETTER SIGMA} of ALICE-Base”, section 3.2",
           "errors-by-length", sigmas, NO_PAIR,
           "Standard errors shrink with more texts, so with enough texts any true difference exceeds 3 of them. "
           + EQUAL, compares=True),
    PaperClaim("probes", "Probes of the last layer read more from the bijective model than from the base model",
           "“the cosine similarity achieved by probes trained on representations from the last layer of "
           "ALICE-Bijective is consistently higher”, section 5", "ngram", probes, NO_PAIR,
           "A more accurate model has a higher similarity at every n, so this is about accuracy, not about n-grams. "
           + EQUAL, compares=True),
    PaperClaim("pools", "Few ciphers are memorised, many generalise",
           "“Models trained on fewer unique ciphers achieve lower training error but do not generalize to unseen "
           "ciphers”, figure 3", "generalization", pools, TOO_FEW),
    PaperClaim("decay", "With a middle number of ciphers, accuracy on unseen ones rises and decays",
           "“models trained on intermediate numbers of ciphers (750 and 1000) show initially high validation accuracy "
           "that quickly decays before recovering partially, but never fully”, section 4", "generalization", decay,
           "It needs several seeds and measures of their checkpoints, which `alice-interp sweep measure` makes.",
           "Whether the accuracy recovers is not tested."),
    PaperClaim("compute", "Error falls with compute", "“increased compute leads to lower test error”, appendix E",
           "scaling", compute, TOO_FEW),
    PaperClaim("relabelling", "Renaming the cipher symbols changes the answer",
           "“a different ciphertext tokenization mapping results in slightly different outputs from the model”, "
           "appendix F", "relabelling", relabelled, note=f"That an answer changes {NO_REFUTING}"),
    PaperClaim("slower", "The bijective model is slower than the base model",
           "“Even with our bijective model, which at inference time solves a linear assignment problem, we take "
           "0.214±0.001 seconds”, against 0.025±0.001, appendix H", "speed", slower, NO_PAIR,
           "Times vary, so this verdict may differ from one reproduction to the next."),
    PaperClaim("consistent", "Pooled outputs are consistent",
           "“This ensures that repeated symbols are always mapped consistently”, section 2",
           "key-recovery", consistent,
           note="True by construction: all positions of a symbol get one output. It tests the code, not the training."),
)  # fmt: skip
"""In the order of the page."""


def untested(tested: PaperClaim, why: str) -> Claim:
    """Return a claim that could not be tested."""
    return Claim(tested.key, tested.sentence, tested.paper, "not tested", absent=why, note=tested.note)


def decide(tested: PaperClaim, findings: Findings) -> Claim:
    """Carry out the tests of a claim, if there is a report to read."""
    found = findings.comparing(tested.analysis) if tested.compares else findings[tested.analysis]
    if found.stored is None:
        return untested(tested, found.why_absent)
    checks = tuple(tested.tests(found, findings.seed))
    if not checks:
        return untested(tested, tested.needs or TOO_FEW)
    return replace(untested(tested, ""), outcome=outcome_of(checks), checks=checks, reports=(link(found),))


def outcome_of(checks: Sequence[Check]) -> Outcome:
    """Return the joint outcome of some tests of a claim."""
    if not checks:
        return "not tested"
    return combine(one.outcome for one in checks if one.outcome != "not tested")


def link(found: Finding) -> Link:
    """Return a link from the page to the report of an analysis."""
    return Link(found.analysis, f"{REPORTS}/{quote(found.report.stored_in.name)}/{REPORT}")
