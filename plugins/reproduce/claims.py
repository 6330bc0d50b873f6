"""The paper's claims, in its words and in ours, and how each is decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from alice.plugins.reproduce import checks
from alice.plugins.reproduce.findings import Finding, Findings
from alice.plugins.reproduce.page import REPORTS, Check, Claim, Link, Outcome
from alice.plugins.reproduce.verdicts import combine
from alice.reports.html import REPORT

NO_PAIR = "It needs a base and a bijective model with the same alphabet: give both with `--ckpt`."
NO_PROBED = "It needs a base or a bijective model: give one with `--ckpt`."
NO_BASE = "It needs a base model: give one with `--ckpt`."
TOO_FEW = "There are too few trainings, or they have measured nothing yet."
EQUAL = (
    "Only models of equal training (texts, recipe, steps) are compared, which the bundled `base` and `bijective` are "
    "not."
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
    tests: Callable[[Finding, int], checks.Checks]
    """Yields the tests, from the finding and the seed."""
    needs: str = ""
    """What to give if there is nothing to test."""
    note: str = ""
    """What a verdict can and cannot say."""
    compares: bool = False
    """Whether it compares variants, so that their training must be equal."""


CLAIMS = (
    PaperClaim("layers", "Error falls layer by layer", "“the decrease in the error rate at each layer”, section 5",
           "early-exit", checks.error_by_layer),
    PaperClaim("ngrams", "1-gram similarity is high early, and higher n rises later",
           "“the similarity of 1-grams (letter frequencies) is high even in early layers, while the similarity for "
           "higher order n-grams … is low until later layers”, section 5", "ngram", checks.ngrams, NO_PROBED,
           "Any answer that becomes more accurate shows such curves, so the tests ask for more than null models with "
           "as many wrong letters show."),
    PaperClaim("frequencies", "Early layers use letter frequencies, and more than late layers do",
           "“early layers place greater emphasis on letter frequencies, while later layers form word-level "
           "structures”, abstract", "probe", checks.frequencies, NO_BASE,
           "The causal test: how frequent a letter is in the text is erased from the stream of a layer, and the model "
           "runs on without it. What it uses may be something that correlates with the frequency."),
    PaperClaim("letters", "Frequent letters have lower error than expected",
           "“for the most frequent letters, error rates are consistently lower than expected based on letter frequency "
           "alone”, appendix G", "letter-frequency", checks.letters),
    PaperClaim("valid", "Bijective outputs are always valid, others sometimes are not",
           "“ALICE-Base will sometimes predict a mapping that maps two different letters to the same letter”, "
           "section 2.1",
           "key-recovery", checks.valid, note=f"That others sometimes are not valid {NO_REFUTING}"),
    PaperClaim("worse", "The bijective model errs more than the base model on the shortest texts",
           "“performance that is slightly worse than ALICE-Base, in particular for extremely short sequences (<32 "
           "characters)”, section 3.1", "errors-by-length", checks.worse, NO_PAIR,
           "The bundled corpus has 26 such test texts and a verdict needs 30: give a larger one with `--data`. "
           + EQUAL, compares=True),
    PaperClaim("one-error", "Nine in ten texts of about 75 characters have at most one error",
           "“by ~75 characters, over 90% of sequences contain at most one error”, section 3.2", "errors-by-length",
           checks.one_error, NO_BASE),
    PaperClaim("sigmas", "The bijective model is within 3 standard errors of the base model",
           "“achieves performance that is within 3\N{GREEK SMALL LETTER SIGMA} of ALICE-Base”, section 3.2",
           "errors-by-length", checks.sigmas, NO_PAIR,
           "Standard errors shrink with more texts, so with enough texts any true difference exceeds 3 of them. "
           + EQUAL, compares=True),
    PaperClaim("baselines", "With the same data and compute, ALICE errs less than each neural solver of table 2",
           "“it outperforms specialized frequency- and recurrence-based models despite using no handcrafted encoding … "
           "significantly outperforms all prior baselines”, section 3.2", "baselines", checks.same_compute,
           "None of the solvers could be run.",
           "The paper compares with published figures, each on texts of its own. Here small networks are trained alike "
           "and read the same texts; what holds under this small budget need not hold under a large one."),
    PaperClaim("probes", "Probes of the last layer read more from the bijective model than from the base model",
           "“the cosine similarity achieved by probes trained on representations from the last layer of "
           "ALICE-Bijective is consistently higher”, section 5", "ngram", checks.probes, NO_PAIR,
           "A more accurate model has a higher similarity at every n, so this is about accuracy, not about n-grams. "
           + EQUAL, compares=True),
    PaperClaim("pools", "Few ciphers are memorised, many generalise",
           "“Models trained on fewer unique ciphers achieve lower training error but do not generalize to unseen "
           "ciphers”, figure 3", "generalization", checks.pools, TOO_FEW),
    PaperClaim("decay", "With a middle number of ciphers, accuracy on unseen ones rises and decays",
           "“models trained on intermediate numbers of ciphers (750 and 1000) show initially high validation accuracy "
           "that quickly decays before recovering partially, but never fully”, section 4", "generalization",
           checks.decay,
           "It needs several seeds and measures of their checkpoints, which `alice-interp sweep measure` makes.",
           "Whether the accuracy recovers is not tested."),
    PaperClaim("compute", "Error falls with compute", "“increased compute leads to lower test error”, appendix E",
           "scaling", checks.compute, TOO_FEW),
    PaperClaim("relabelling", "Renaming the cipher symbols changes the answer",
           "“a different ciphertext tokenization mapping results in slightly different outputs from the model”, "
           "appendix F", "relabelling", checks.relabelled, note=f"That an answer changes {NO_REFUTING}"),
    PaperClaim("slower", "The bijective model is slower than the base model",
           "“Even with our bijective model, which at inference time solves a linear assignment problem, we take "
           "0.214±0.001 seconds”, against 0.025±0.001, appendix H", "speed", checks.slower, NO_PAIR,
           "Times vary, so this verdict may differ from one reproduction to the next."),
    PaperClaim("consistent", "Pooled outputs are consistent",
           "“This ensures that repeated symbols are always mapped consistently”, section 2",
           "key-recovery", checks.consistent,
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
