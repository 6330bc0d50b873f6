"""Claims and items from results that were written by hand."""

import math

import numpy as np
import pytest
from reproductions import MODELS, PAIRED, assembled, ran

from alice.plugins.builtin.key_recovery.measure import COLUMNS
from alice.plugins.builtin.letter_frequency.frequencies import lewand
from alice.plugins.reproduce.claims import CLAIMS
from alice.plugins.reproduce.found import Ran
from alice.plugins.reproduce.items import ITEMS
from alice.plugins.reproduce.plan import READERS
from alice.reports import Table


def early_exit(tmp_path, *means):
    noise = 0.01 * np.random.default_rng(0).standard_normal((200, 3))
    names = ["-base", "-bijective"] if len(means) > 1 else [""]
    rows = [
        (name, layer, one[layer], 0.01) for (name, _), one in zip(MODELS, means, strict=False) for layer in range(3)
    ]
    table = Table(("model", "layer", "SER", "standard error"), rows)
    arrays = {f"errors{end}": np.array(one) + noise for end, one in zip(names, means, strict=True)}
    return ran("early-exit", tmp_path, MODELS[: len(means)], tables={"error-by-layer": table}, arrays=arrays)


def test_a_claim_holds_if_it_does_for_every_model(tmp_path):
    claims, items, failed = assembled(early_exit(tmp_path, (0.9, 0.5, 0.1), (0.9, 0.6, 0.2)))
    assert (claims["layers"].outcome, len(claims["layers"].checks), failed) == ("holds", 2, [])
    assert items["Figure 6"].outcome == "holds"
    assert items["Figure 6"].rows[1].ours == "0.900, 0.600, 0.200"
    assert items["Figure 6"].reports[0].address == "runs/early-exit-base%2Bx/report.html"
    claims, _, _ = assembled(early_exit(tmp_path, (0.9, 0.5, 0.1), (0.9, 0.6, 0.7)))
    assert claims["layers"].outcome == "does not hold"
    assert [check.outcome for check in claims["layers"].checks] == ["holds", "does not hold"]


def keys(one_to_one, consistent):
    columns = np.ones((len(COLUMNS), 1000), dtype=np.int64)
    columns[COLUMNS.index("one-to-one"), one_to_one:] = 0
    columns[COLUMNS.index("consistent"), consistent:] = 0
    return columns


def test_valid_and_consistent_outputs_are_counted(tmp_path):
    arrays = {"keys-base": keys(900, 1000), "keys-bijective": keys(1000, 1000)}
    claims, items, _ = assembled(ran("key-recovery", tmp_path, arrays=arrays))
    assert claims["valid"].outcome == claims["consistent"].outcome == items["Section 2.1"].outcome == "holds"
    assert [check.value for check in claims["valid"].checks] == [pytest.approx(0.1), 1]
    arrays = {"keys-base": keys(1000, 1000), "keys-bijective": keys(1000, 999)}
    claims, _, _ = assembled(ran("key-recovery", tmp_path, arrays=arrays))
    assert claims["valid"].outcome == "undecided"
    assert "cannot be refuted by a sample" in claims["valid"].note
    assert "by construction" in claims["consistent"].note
    assert claims["consistent"].outcome == "does not hold"


def ngram(tmp_path, lead, about=PAIRED, texts=400, interval=(0.8, 1.0)):
    stairs = np.array([[float(layer >= n) for n in range(1, 5)] for layer in range(5)])
    noise = 0.001 * np.random.default_rng(0).standard_normal((50, 5, 4))
    arrays, gains = {}, []
    for name, more in (("base", 0.0), ("bijective", lead)):
        for reader in ("linear", "mlp"):
            found = 0.8 * stairs + more * stairs
            arrays |= {f"similarity-{reader}-texts-{name}": found, f"draws-{reader}-texts-{name}": found + noise}
            gains.append((name, reader, "texts", 1, 2, 1.0, *interval))
    return ran("ngram", tmp_path, about=about, arrays=arrays, tables={
        "gains": Table(("model", "reader", "measure", "n=1", "n=2", "Spearman", "low", "high"), gains),
        "last-layer": Table(("model", "reader", "measure", "n=1"), [("base", "linear", "texts", 0.8)]),
        "texts": Table(("model", "n", "texts counted"), [(name, n, texts) for name, _ in MODELS for n in range(1, 5)]),
    })  # fmt: skip


def test_one_held_out_text_decides_nothing_about_ngrams(tmp_path):
    claims, _, failed = assembled(ngram(tmp_path, 0.1, texts=1, interval=(None, None)))
    assert failed == []
    for key in ("ngrams", "probes"):
        assert {check.outcome for check in claims[key].checks} == {"undecided"}


def test_the_trend_over_n_says_what_its_interval_leaves_out_and_is_that_of_ngram(tmp_path):
    claims, _, _ = assembled(ngram(tmp_path, 0.1, interval=(-1.0, -0.7)))
    trends = [check for check in claims["ngrams"].checks if "Spearman" in check.measure]
    assert {(check.low, check.high, check.outcome) for check in trends} == {(-1.0, -0.7, "does not hold")}
    assert all(check.measure.endswith("4 values of n, whose number is no part of the interval") for check in trends)


def test_ngrams_and_probes_are_tested_on_the_same_texts(tmp_path):
    claims, items, failed = assembled(ngram(tmp_path, 0.1))
    assert (claims["ngrams"].outcome, len(claims["ngrams"].checks), failed) == ("holds", 12, [])
    assert (claims["probes"].outcome, items["Table 5"].outcome) == ("holds", "holds")
    assert items["Figure 7"].rows[0].ours == "1, 2"
    assert items["Table 5"].rows[0].ours == "0.800"
    claims, _, _ = assembled(ngram(tmp_path, -0.1))
    assert claims["probes"].outcome == "does not hold"
    claims, _, _ = assembled(ngram(tmp_path, 0.1, about={"data": {"base": {}, "bijective": {}}}))
    assert (claims["probes"].outcome, claims["ngrams"].outcome) == ("not tested", "holds")
    assert "--ckpt" in claims["probes"].absent


def pools(tmp_path, accuracies):
    columns = ("pool", "run", "steps", "training loss", "accuracy", "texts")
    rows = [(str(place), "run", 1000, 0.01, accuracy, 500) for place, accuracy in enumerate(accuracies)]
    paper = Table(("pool", "generalises in the paper", "generalises here", "our accuracy"), [("10", "no", "no", 0.2)])
    return ran("generalization", tmp_path, [], tables={"pools": Table(columns, rows), "paper": paper})


@pytest.mark.parametrize(
    ("accuracies", "outcome"),
    [((0.2, 0.98), "holds"), ((0.2, 0.7), "does not hold"), ((0.2, 0.9), "undecided"), ((0.2, None), "not tested")],
)
def test_pools_are_judged_by_the_smallest_and_the_largest(tmp_path, accuracies, outcome):
    claims, items, failed = assembled(pools(tmp_path, accuracies))
    assert (claims["pools"].outcome, items["Figure 3"].outcome, failed) == (outcome, outcome, [])


def test_what_was_not_run_names_the_command_everywhere():
    absent = Ran("scaling", absent="make them with `alice-interp sweep scaling --out DIR`")
    claims, items, failed = assembled(absent, Ran("early-exit", error="no text"))
    assert claims["compute"].outcome == items["Figure 8"].outcome == "not tested"
    assert claims["compute"].absent == items["Figure 8"].absent == absent.absent
    assert items["Figure 6"].absent == "early-exit failed: no text"
    assert failed == []


def test_a_result_that_lacks_something_costs_only_its_own_place(tmp_path):
    claims, items, failed = assembled(early_exit(tmp_path, (0.9, 0.5, 0.1)), ran("scaling", tmp_path, []))
    assert claims["layers"].outcome == "holds"
    assert "KeyError" in items["Figure 8"].absent
    assert [told.partition(" (")[0] for told in failed] == ["Figure 8"]
    assert math.isnan(claims["compute"].checks[0].low)


def test_letters_of_few_texts_decide_nothing(tmp_path):
    rates = 0.01 * lewand().mean() / lewand()
    draws = rates * (1 + 0.1 * np.random.default_rng(0).standard_normal((50, 26)))
    table = Table(("model", "frequencies", "slope", "standard error"), [])
    for texts, outcome in ((100, "holds"), (29, "undecided")):
        arrays, metrics = {"error-rates": rates, "error-rate-draws": draws}, {"texts": texts}
        parts = {"arrays": arrays, "metrics": metrics, "tables": {"best-fit": table}}
        claims, _, _ = assembled(ran("letter-frequency", tmp_path, MODELS[:1], **parts))
        assert claims["letters"].outcome == outcome


def test_every_claim_and_item_has_an_analysis_that_is_planned_and_every_plan_an_item():
    used = {printed.analysis for printed in ITEMS if printed.analysis}
    assert used == set(READERS)
    assert {tested.analysis for tested in CLAIMS} <= used
    assert {tested.key for tested in CLAIMS} == {printed.claim for printed in ITEMS if printed.claim}
    assert all(printed.absent or printed.rows for printed in ITEMS if not printed.analysis)
    labels = [printed.label for printed in ITEMS]
    assert {f"Figure {number}" for number in range(1, 19)} | {f"Table {number}" for number in range(1, 6)} <= set(
        labels
    )
    assert len(set(labels)) == len(labels)
