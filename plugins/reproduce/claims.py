"""The paper's claims, each with its tests on the results of an analysis. docs/reproduce.md gives reasons."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from alice.plugins.reproduce import checks as tests
from alice.plugins.reproduce.found import Found, Ran
from alice.plugins.reproduce.verdicts import combine
from alice.reports.html import REPORT
from alice.reports.reproduce import RUNS, Check, Claim, Link, Outcome

NO_PAIR = "It takes a base and a bijective model with the same alphabet: give both with `--ckpt`."
NO_PROBED = "It takes a base or a bijective model: give one with `--ckpt`."
NO_BASE = "It takes a base model: give one with `--ckpt`."
TOO_FEW = "The runs are too few, or have measured nothing yet."
NO_REFUTING = "cannot be refuted by a sample: one case is enough for it, and without any it stays undecided."


@dataclass(frozen=True)
class Tested:
    """A claim and how it is tested."""

    key: str
    sentence: str
    paper: str
    """The paper's words."""
    analysis: str
    """What its tests read."""
    tests: Callable[[Ran, int], Iterator[Check]]
    """Yields the tests, from the analysis and the seed."""
    needs: str = ""
    """What to give if there is nothing to test."""
    note: str = ""
    """What a verdict can and cannot say."""


CLAIMS = (
    Tested("layers", "Error falls layer by layer", "“the decrease in the error rate at each layer”, section 5",
           "early-exit", tests.layers),
    Tested("ngrams", "1-gram similarity is high early, and higher n rises later",
           "“the similarity of 1-grams (letter frequencies) is high even in early layers, while the similarity for "
           "higher order n-grams … is low until later layers”, section 5", "ngram", tests.ngrams, NO_PROBED),
    Tested("letters", "Frequent letters have lower error than expected",
           "“for the most frequent letters, error rates are consistently lower than expected based on letter frequency "
           "alone”, appendix G", "letter-frequency", tests.letters),
    Tested("valid", "Bijective outputs are always valid, others sometimes are not",
           "“ALICE-Base will sometimes predict a mapping that maps two different letters to the same letter”, "
           "section 2.1",
           "key-recovery", tests.valid, note=f"That others sometimes are not valid {NO_REFUTING}"),
    Tested("worse", "The bijective model errs more than the base model on the shortest texts",
           "“performance that is slightly worse than ALICE-Base, in particular for extremely short sequences (<32 "
           "characters)”, section 3.1", "errors-by-length", tests.worse, NO_PAIR),
    Tested("one-error", "Nine in ten texts of about 75 characters have at most one error",
           "“by ~75 characters, over 90% of sequences contain at most one error”, section 3.2", "errors-by-length",
           tests.one_error, NO_BASE),
    Tested("sigmas", "The bijective model is within 3 standard errors of the base model",
           "“achieves performance that is within 3\N{GREEK SMALL LETTER SIGMA} of ALICE-Base”, section 3.2",
           "errors-by-length", tests.sigmas, NO_PAIR,
           "Standard errors shrink with more texts, so that any true difference exceeds 3 of them in the end."),
    Tested("probes", "Probes of the last layer read more from the bijective model than from the base model",
           "“the cosine similarity achieved by probes trained on representations from the last layer of "
           "ALICE-Bijective is consistently higher”, section 5", "ngram", tests.probes, NO_PAIR),
    Tested("pools", "Few ciphers are memorised, many generalise",
           "“Models trained on fewer unique ciphers achieve lower training error but do not generalize to unseen "
           "ciphers”, figure 3", "generalization", tests.pools, TOO_FEW),
    Tested("compute", "Error falls with compute", "“increased compute leads to lower test error”, appendix E",
           "scaling", tests.compute, TOO_FEW),
    Tested("relabelling", "Other names of the cipher symbols change the answer",
           "“a different ciphertext tokenization mapping results in slightly different outputs from the model”, "
           "appendix F", "relabelling", tests.relabelled, note=f"That an answer changes {NO_REFUTING}"),
    Tested("slower", "The bijective model is slower than the base model",
           "“Even with our bijective model, which at inference time solves a linear assignment problem, we take "
           "0.214±0.001 seconds”, against 0.025±0.001, appendix H", "speed", tests.slower, NO_PAIR,
           "Times are measured, so that this verdict may differ from run to run."),
    Tested("consistent", "Pooled outputs are consistent",
           "“This ensures that repeated symbols are always mapped consistently”, section 2",
           "key-recovery", tests.consistent,
           note="True by construction: all places of a symbol get one output. It checks the code, not the training."),
)  # fmt: skip
"""In the order of the page."""


def untested(tested: Tested, why: str) -> Claim:
    """Return a claim that could not be tested."""
    return Claim(tested.key, tested.sentence, tested.paper, "not tested", absent=why, note=tested.note)


def decide(tested: Tested, found: Found) -> Claim:
    """Carry out the tests of a claim, if what they read is there."""
    ran = found[tested.analysis]
    if ran.stored is None:
        return untested(tested, ran.why_absent)
    checks = tuple(tested.tests(ran, found.seed))
    if not checks:
        return untested(tested, tested.needs or TOO_FEW)
    return replace(untested(tested, ""), outcome=outcome_of(checks), checks=checks, reports=(link(ran),))


def outcome_of(checks: Sequence[Check]) -> Outcome:
    """Return what some tests of a claim say together."""
    if not checks:
        return "not tested"
    return combine(one.outcome for one in checks if one.outcome != "not tested")


def link(ran: Ran) -> Link:
    """Return where the report of an analysis is, seen from the page."""
    return Link(ran.analysis, f"{RUNS}/{quote(ran.run.folder.name)}/{REPORT}")
