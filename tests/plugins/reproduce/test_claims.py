"""Claims and items from results written by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from handmade import leave_letters_alone, reader

from alice.checkpoint import read_config
from alice.plugins import RunContext
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.reproduce.assemble import assemble
from alice.plugins.reproduce.claims import CLAIMS
from alice.plugins.reproduce.evidence import EVIDENCE
from alice.plugins.reproduce.findings import Finding, Model
from alice.plugins.reproduce.items import ITEMS
from alice.plugins.reproduce.plan import ANALYSES, run_set
from alice.reports import Metric, Report, Result, Table, model_key
from alice.text import lewand
from alice.training import training_differences

BASE, BIJECTIVE = Model("base", "base"), Model("bijective", "bijective")
PAIR = (BASE, BIJECTIVE)
PAIRED = {"data": [{"model": name, "sha256": "0", "texts": 400} for name in ("base", "bijective")], "duration": 1.5}


def finding(analysis, folder, models=PAIR, about=PAIRED, **parts):
    """Return an analysis that found what is given."""
    return of_result(analysis, folder, Result("By hand", **parts), models, about)


def of_result(analysis, folder, result, models=PAIR, about=PAIRED):
    return Finding(analysis, tuple(models), Report(result, about, folder / f"{analysis}-base+x"))


def assembled(*findings):
    """Return the claims by key, the items by label, and what failed."""
    found, failed = assemble(findings, seed=0, about={}, time="")
    return {claim.key: claim for claim in found.claims}, {item.label: item for item in found.items}, failed


def early_exit(folder, *means):
    noise = np.random.default_rng(0).standard_normal((200, 3))
    models = PAIR[: len(means)]
    rows = [
        (model.name, layer, one[layer], 1.0) for model, one in zip(models, means, strict=True) for layer in range(3)
    ]
    table = Table(("model", "layer", "ser", "ser_error"), rows)
    arrays = {model_key("ser", model.name): np.array(one) + noise for model, one in zip(models, means, strict=True)}
    return finding("early-exit", folder, models, tables={"error-by-layer": table}, arrays=arrays)


def test_a_claim_holds_if_it_holds_for_every_model(tmp_path):
    claims, items, failed = assembled(early_exit(tmp_path, (90, 50, 10), (90, 60, 20)))
    assert (claims["layers"].outcome, len(claims["layers"].checks), failed) == ("holds", 2, [])
    assert items["Figure 6"].outcome == "holds"
    assert items["Figure 6"].rows[1].ours == "90.0, 60.0, 20.0"
    assert items["Figure 6"].reports[0].address == "runs/early-exit-base%2Bx/report.html"
    claims, _, _ = assembled(early_exit(tmp_path, (90, 50, 10), (90, 60, 70)))
    assert claims["layers"].outcome == "does not hold"
    assert [check.outcome for check in claims["layers"].checks] == ["holds", "does not hold"]
    assert [check.models for check in claims["layers"].checks] == [("base",), ("bijective",)]


def key_recovery(folder, base, bijective):
    """Return 1000 texts per model, of which (one-to-one, consistent) have these properties."""
    arrays, rows = {}, []
    for model, (one_to_one, consistent) in zip(PAIR, (base, bijective), strict=True):
        arrays[model_key("one-to-one", model.name)] = np.arange(1000) < one_to_one
        arrays[model_key("consistent", model.name)] = np.arange(1000) < consistent
        rows.append((model.name, "all", 95.0, 1.0, 70.0, 5.0))
    columns = ("model", "length", "key_accuracy", "key_accuracy_error", "whole_key_right", "whole_key_right_error")
    return finding("key-recovery", folder, arrays=arrays, tables={"by-length": Table(columns, rows)})


def test_valid_and_consistent_outputs_are_counted(tmp_path):
    claims, items, _ = assembled(key_recovery(tmp_path, (900, 1000), (1000, 1000)))
    assert claims["valid"].outcome == claims["consistent"].outcome == items["Section 2.1"].outcome == "holds"
    assert [check.value for check in claims["valid"].checks] == [pytest.approx(0.1), 1]
    assert [row.ours for row in items["Figure 4"].rows] == ["95 ± 1", "70 ± 5"]
    claims, _, _ = assembled(key_recovery(tmp_path, (1000, 1000), (1000, 999)))
    assert claims["valid"].outcome == "undecided"
    assert "cannot be refuted by a sample" in claims["valid"].note
    assert "by construction" in claims["consistent"].note
    assert claims["consistent"].outcome == "does not hold"


def test_a_bijective_head_that_collides_refutes_the_claim(tmp_path, monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader("bijective")

    def collide(perm, hook):
        perm = perm.clone()
        perm[:, 1] = perm[:, 0]
        return perm

    with model.hooks(fwd_hooks=[("head.hook_perm", collide)]):
        ctx = RunContext.open(model, data=["ABBA", "BEE"], split="all")
        result = KeyRecovery().run(ctx)
    collided = of_result("key-recovery", tmp_path, result, [Model(ctx.checkpoint, "bijective")])
    claims, items, failed = assembled(collided)
    assert (claims["valid"].outcome, claims["valid"].checks[0].value, failed) == ("does not hold", 0.5, [])
    assert items["Section 2.1"].outcome == "does not hold"


def ngram(folder, lead, about=PAIRED, texts=400, interval=(0.8, 1.0)):
    stairs = np.array([[float(layer >= n) for n in range(1, 5)] for layer in range(5)])
    noise = 0.001 * np.random.default_rng(0).standard_normal((texts, 5, 4))
    ramp = np.linspace(0.2, 0.8, 5)[:, None] * np.ones(4)  # all n gain at the same layers
    arrays, trends, gains, last = {}, [], [], []
    for model, more in zip(PAIR, (0.0, lead), strict=True):
        for probe in ("linear", "mlp"):
            found, of = 0.8 * stairs + more * stairs, (model.name, probe, "texts")
            arrays[model_key(f"by-text-{probe}-texts", model.name)] = found + noise
            arrays[model_key(f"null-by-text-{probe}-texts", model.name)] = np.stack([ramp + noise[::-1]] * 2)
            trends += [(*of, null, 1.0, *interval) for null in ("independent", "rare")]
            gains += [(*of, 1, 1), (*of, 2, 3)]
            last += [(*of, n, float(found[-1, n - 1])) for n in (1, 2)]
    keys = ("model", "reader", "measure")
    return finding("ngram", folder, about=about, arrays=arrays, tables={
        "trend-excess": Table((*keys, "null", "excess", "low", "high"), trends),
        "gains": Table((*keys, "n", "layer"), gains),
        "last-layer": Table((*keys, "n", "similarity"), last),
        "texts": Table(("model", "n", "texts"), [(model.name, n, texts) for model in PAIR for n in range(1, 5)]),
    })  # fmt: skip


def test_one_held_out_text_decides_nothing_about_ngrams(tmp_path):
    claims, _, failed = assembled(ngram(tmp_path, 0.1, texts=1, interval=(None, None)))
    assert failed == []
    for key in ("ngrams", "probes"):
        assert {check.outcome for check in claims[key].checks} == {"undecided"}


def test_the_trend_over_n_has_the_interval_of_ngram_and_says_what_it_does_not_cover(tmp_path):
    claims, _, _ = assembled(ngram(tmp_path, 0.1, interval=(-1.0, -0.7)))
    trends = [check for check in claims["ngrams"].checks if check.name == "trend"]
    assert {(check.low, check.high, check.outcome) for check in trends} == {(-1.0, -0.7, "does not hold")}
    assert {check.measure.partition("; ")[2] for check in trends} == {
        "the interval does not cover that there are only 4 values of n"
    }


def test_ngrams_and_probes_are_tested_on_the_same_texts(tmp_path):
    claims, items, failed = assembled(ngram(tmp_path, 0.1))
    assert (claims["ngrams"].outcome, len(claims["ngrams"].checks), failed) == ("holds", 12, [])
    assert (claims["probes"].outcome, items["Table 5"].outcome) == ("holds", "holds")
    assert items["Figure 7"].rows[0].ours == "1, 3"
    assert items["Table 5"].rows[0].ours == "0.800, 0.800"
    claims, _, _ = assembled(ngram(tmp_path, -0.1))
    assert claims["probes"].outcome == "does not hold"
    claims, _, _ = assembled(ngram(tmp_path, 0.1, about={"data": [{"model": "base"}, {"model": "bijective"}]}))
    assert (claims["probes"].outcome, claims["ngrams"].outcome) == ("not tested", "holds")
    assert "--ckpt" in claims["probes"].absent


def test_a_figure_of_one_model_and_one_probe_has_the_outcome_of_their_tests(tmp_path):
    good = ngram(tmp_path, 0.1)
    rows = [
        (*row[:5], -1.0, -0.5) if row[:2] == ("bijective", "mlp") else row
        for row in good.report.tables["trend-excess"].rows
    ]
    tables = {**good.report.tables, "trend-excess": Table(good.report.tables["trend-excess"].columns, rows)}
    claims, items, _ = assembled(of_result("ngram", tmp_path, replace(good.report.result, tables=tables)))
    outcomes = [items[f"Figure {number}"].outcome for number in (7, 16, 17, 18)]
    assert outcomes == ["holds", "holds", "holds", "does not hold"]
    assert claims["ngrams"].outcome == "does not hold"


def generalization(folder, accuracies, **tables):
    columns = ("model", "pool", "steps", "training_loss", "accuracy", "texts")
    rows = [("a", 10**place, 1000, 0.01, accuracy, 500) for place, accuracy in enumerate(accuracies, 3)]
    paper = Table(("pool", "generalises_in_paper", "generalises", "accuracy"), [(1000, False, False, 0.2)])
    return finding("generalization", folder, (), tables={"pools": Table(columns, rows), "paper": paper, **tables})


@pytest.mark.parametrize(
    ("accuracies", "outcome"),
    [((0.2, 0.98), "holds"), ((0.2, 0.7), "does not hold"), ((0.2, 0.9), "undecided"), ((0.2, None), "not tested")],
)
def test_pools_are_judged_by_the_smallest_and_the_largest(tmp_path, accuracies, outcome):
    claims, items, failed = assembled(generalization(tmp_path, accuracies))
    assert (claims["pools"].outcome, items["Figure 3"].outcome, failed) == (outcome, outcome, [])
    (row,) = items["Figure 3"].rows
    assert (row.what, row.paper) == ("1,000 keys", "does not generalise")


def test_the_seeds_of_a_pool_are_judged_together(tmp_path):
    columns = ("model", "pool", "steps", "training_loss", "accuracy", "texts")
    rows = [(f"{pool}-{seed}", pool, 1000, 0.01, accuracy + 0.01 * seed, 500)
            for pool, accuracy in ((10, 0.2), (100, 0.5), (None, 0.95)) for seed in (0, 1, 2)]  # fmt: skip
    claims, _, failed = assembled(generalization(tmp_path, (), pools=Table(columns, rows)))
    lead = next(check for check in claims["pools"].checks if check.name == "lead")
    assert (lead.value, lead.subject, failed) == (pytest.approx(0.75), "all over 10 keys", [])
    assert "mean of 3 trainings" in claims["pools"].checks[0].subject


@pytest.mark.parametrize(
    ("found", "outcome"), [("holds", "holds"), ("does not hold", "does not hold"), ("not decidable", "undecided")]
)
def test_pools_with_measures_are_judged_by_what_carries_over_to_new_keys(tmp_path, found, outcome):
    columns = ("name", "claim", "statistic", "value", "low", "high", "side", "threshold", "outcome")
    rows = [
        ("memorised", "x", "y", 0.9, 0.8, 1.0, "above", 0.5, "holds"),
        ("generalised", "x", "y", 0.9, 0.8, 1.0, "above", 0.9, found),
    ]
    claims, _, failed = assembled(generalization(tmp_path, (0.2, 0.7), claims=Table(columns, rows)))
    assert (claims["pools"].outcome, failed) == (outcome, [])
    assert [check.name for check in claims["pools"].checks] == ["memorised", "generalised"]


@pytest.mark.parametrize(
    ("found", "outcome"), [("holds", "holds"), ("does not hold", "does not hold"), ("not decidable", "undecided")]
)
def test_the_decay_of_middle_pools_is_what_the_analysis_of_several_seeds_found(tmp_path, found, outcome):
    columns = ("name", "claim", "statistic", "value", "low", "high", "side", "threshold", "outcome")
    rows = [
        ("other", "x", "y", 1.0, 1.0, 1.0, "above", 0.5, "holds"),
        ("decay", "x", "y", 0.1, None, None, "above", 0.02, found),
    ]
    claims, items, failed = assembled(generalization(tmp_path, (0.2, 0.98), claims=Table(columns, rows)))
    assert (claims["decay"].outcome, items["Section 4"].outcome, failed) == (outcome, outcome, [])
    assert math.isnan(claims["decay"].checks[0].low)


def test_without_measures_the_decay_is_not_tested(tmp_path):
    claims, _, failed = assembled(generalization(tmp_path, (0.2, 0.98)))
    assert (claims["decay"].outcome, failed) == ("not tested", [])
    assert "sweep measure" in claims["decay"].absent


def letter_frequency(folder, texts=100):
    rates = 0.01 * lewand().mean() / lewand()
    draws = rates * (1 + 0.1 * np.random.default_rng(0).standard_normal((50, 26)))
    arrays = {"error-rates@base": rates, "error-rate-draws@base": draws}
    rows = [("base", "lewand", -1.16, 0.24), ("base", "corpus", -9.0, 0.1)]
    table = Table(("model", "frequencies", "slope", "slope_error"), rows)
    parts = {"arrays": arrays, "metrics": [Metric("texts", texts)], "tables": {"best-fit": table}}
    return finding("letter-frequency", folder, (BASE,), **parts)


def test_letters_of_few_texts_decide_nothing(tmp_path):
    for texts, outcome in ((100, "holds"), (29, "undecided")):
        claims, items, _ = assembled(letter_frequency(tmp_path, texts))
        assert claims["letters"].outcome == outcome
        assert [row.ours for row in items["Figure 10"].rows] == ["-1.16 ± 0.24"]


def errors_by_length(folder, more_of=0, length=30, wrong=None):
    """Return texts of one length in which base has no to five errors, and the bijective model some more."""
    errors = np.random.default_rng(0).integers(0, 6, 400) if wrong is None else np.full(400, wrong)
    more = np.random.default_rng(1).integers(0, 2, 400) * more_of
    arrays = {}
    for model, wrong_characters in zip(PAIR, (errors, errors + more), strict=True):
        arrays[model_key("lengths", model.name)] = np.full(400, length)
        arrays[model_key("errors", model.name)] = wrong_characters
        arrays[model_key("ser", model.name)] = 100 * wrong_characters / length
    rows = [
        ("base", "model", "measured", 400, 1.0, 0.1, None, None),
        ("bijective", "model", "measured", 400, 2.0, 0.2, None, None),
        ("base", "model", "measured-first", 100, 1.5, 0.3, None, None),
        ("beam", "solver", "measured-first", 100, 20.0, 3.0, 0.5, 0.1),
        ("Beam + 6-gram (Nuhn et al. 2013)", "solver", "paper", None, 22.0, None, 0.0, None),
    ]
    columns = ("model", "kind", "source", "texts", "ser_short", "ser_short_error", "ser_long", "ser_long_error")
    by_length = Table(("model", "length", "texts", "median", "low", "high"), [("base", "[0,32)", 400, 8.0, 2.0, 14.0)])
    tables = {"short-and-long": Table(columns, rows), "by-length": by_length}
    return finding("errors-by-length", folder, arrays=arrays, tables=tables)


@pytest.mark.parametrize(("more", "outcome"), [(1, "holds"), (-1, "does not hold"), (0, "undecided")])
def test_table_1_says_whether_bijective_is_worse_on_short_texts(tmp_path, more, outcome):
    claims, items, failed = assembled(errors_by_length(tmp_path, more))
    assert (claims["worse"].outcome, items["Table 1"].outcome, failed) == (outcome, outcome, [])
    (row,) = items["Table 1"].rows
    assert (row.paper, row.ours) == ("5.88 (0.00-29.29)", "8.00 (2.00-14.00), 400 texts")
    claims, _, _ = assembled(errors_by_length(tmp_path, more, length=40))
    assert claims["worse"].outcome == "undecided"  # there is no text below 32 characters


def test_table_2_says_whether_bijective_is_within_three_sigma(tmp_path):
    for more, outcome in ((0, "holds"), (5, "does not hold")):
        claims, _, _ = assembled(errors_by_length(tmp_path, more))
        short, long = claims["sigmas"].checks
        assert (short.outcome, long.outcome) == (outcome, "undecided")


def test_table_2_has_our_beam_search_next_to_the_papers(tmp_path):
    _, items, _ = assembled(errors_by_length(tmp_path))
    rows = {row.what: row for row in items["Table 2"].rows}
    beam = "beam (paper: Beam + 6-gram (Nuhn et al. 2013))"
    short = rows[f"{beam}, <128 characters, %"]
    assert (short.ours, short.paper) == ("20 ± 3", "22.00")
    assert rows[f"{beam}, >=128 characters, %"].ours == "0.5 ± 0.1"
    groups = {name: [row.ours for row in rows] for name, rows in items["Table 2"].groups}
    assert [ours[0] for ours in groups.values()] == ["1 ± 0.1", "1.5 ± 0.3"]  # the same model on all and on few texts
    assert ["400 texts" in name or "first 100 texts" in name for name in groups] == [True, True]


@pytest.mark.parametrize(
    ("wrong", "length", "outcome"), [(1, 75, "holds"), (2, 75, "does not hold"), (1, 69, "undecided")]
)
def test_figure_2_says_whether_texts_of_75_characters_have_one_error_at_most(tmp_path, wrong, length, outcome):
    claims, items, _ = assembled(errors_by_length(tmp_path, length=length, wrong=wrong))
    assert (claims["one-error"].outcome, items["Figure 2"].outcome) == (outcome, outcome)


def test_without_a_pair_or_a_base_model_the_claims_say_what_to_give(tmp_path):
    claims, _, _ = assembled(finding("errors-by-length", tmp_path, [Model("dynamic", "dynamic")]))
    for key in ("worse", "sigmas", "one-error"):
        assert (claims[key].outcome, "`--ckpt`" in claims[key].absent) == ("not tested", True)
    assert "a bijective" not in claims["one-error"].absent


def relabelling(folder, changed=1):
    letters = np.zeros(50)
    letters[:changed] = 10.0
    metrics = [Metric("letters-changed", 1.394, unit="%", model="base"), Metric("texts", 50)]
    return finding("relabelling", folder, (BASE,), arrays={"letters-changed@base": letters}, metrics=metrics)


@pytest.mark.parametrize(("changed", "outcome"), [(1, "holds"), (0, "undecided")])
def test_one_changed_answer_shows_that_names_matter(tmp_path, changed, outcome):
    claims, items, _ = assembled(relabelling(tmp_path, changed))
    assert (claims["relabelling"].outcome, items["Appendix F"].outcome) == (outcome, outcome)
    assert "cannot be refuted by a sample" in claims["relabelling"].note
    assert [row.what for row in items["Appendix F"].rows] == ["base, letters read differently, %", "texts"]


def speed(folder, factor=1.5):
    rounds = np.array([1.0, 1.1, 0.9, 1.0])
    noise = 0.01 * np.array([1, -1, 1, -1])
    arrays = {"seconds@base": np.array([9 * rounds, rounds, 5 * rounds])}
    arrays |= {"seconds@bijective": np.array([9 * rounds, factor * (rounds + noise), rounds])}
    rows = [(model.name, texts, threads) for model in PAIR for texts, threads in ((1.0, 1), (9.0, 1), (9.0, 2))]
    tables = {"models": Table(("model", "texts_per_call", "threads"), rows)}
    metrics = [Metric("letters-per-second-batched", 3567.8, model=model.name) for model in PAIR]
    metrics += [Metric("letters-per-second-same-texts", 652.0, model=name) for name in ("base", "beam")]
    return finding("speed", folder, arrays=arrays, tables=tables, metrics=metrics)


@pytest.mark.parametrize(("factor", "outcome"), [(1.5, "holds"), (0.7, "does not hold"), (1.0, "undecided")])
def test_speed_says_whether_bijective_is_slower_in_batches_on_one_core(tmp_path, factor, outcome):
    claims, items, _ = assembled(speed(tmp_path, factor))
    assert (claims["slower"].outcome, items["Appendix H"].outcome) == (outcome, outcome)
    rows = [(row.what, row.paper.partition(",")[0], row.ours) for row in items["Appendix H"].rows]
    assert rows[1:] == [("letters/s of bijective, batches, 1 core", "4", "3570"), ("letters/s of beam", "", "652")]


def scaling(folder, ends=(4, 2, 1.1, 0.5)):
    arrays = {}
    for number, end in enumerate(ends):
        arrays[f"flops@{number}"] = np.geomspace(1e6, 1e9 * 2**number, 9)
        arrays[f"ser@{number}"] = np.geomspace(100.0, end, 9)
    rows = [(str(number), 2e6, 1e9, end) for number, end in enumerate(ends)]
    sizes = Table(("model", "weights", "flops", "ser"), rows)
    metrics = [Metric("exponent", -0.5, 0.1)]
    return finding("scaling", folder, (), arrays=arrays, tables={"sizes": sizes}, metrics=metrics)


@pytest.mark.parametrize(("ends", "outcome"), [((4, 2, 1.1, 0.5), "holds"), ((0.5, 1, 2, 4.1), "does not hold")])
def test_compute_is_also_judged_by_the_ends_of_the_trainings(tmp_path, ends, outcome):
    claims, items, failed = assembled(scaling(tmp_path, ends))
    within, between = claims["compute"].checks
    assert (within.name, between.name) == ("slope-within", "slope-between")
    assert (within.outcome, between.outcome, claims["compute"].outcome) == ("holds", outcome, outcome)
    assert (items["Figure 8"].outcome, failed) == (outcome, [])
    assert items["Figure 8"].rows[-1].ours == "-0.5 ± 0.1"


def test_trainings_of_equal_operations_are_not_compared_by_their_operations(tmp_path):
    report = scaling(tmp_path)
    arrays = {name: np.geomspace(1e6, 1e9, 9) if name.startswith("flops") else values
              for name, values in report.report.arrays.items()}  # fmt: skip
    claims, _, _ = assembled(of_result("scaling", tmp_path, replace(report.report.result, arrays=arrays), ()))
    assert [check.name for check in claims["compute"].checks] == ["slope-within"]


def borg(folder):
    rows = [("m", "measured", 2.5, 1.0, 4.0), ("m", "measured-vote", 2.0, None, None), ("x", "paper", 2.8, 0.0, 6.25)]
    table = Table(("model", "source", "ser", "lowest", "highest"), rows)
    return finding("borg", folder, [Model("m", "base")], tables={"solvers": table})


def test_the_borg_cipher_is_shown_with_its_spread_or_without_errors(tmp_path):
    _, items, _ = assembled(borg(tmp_path))
    rows = [(row.what, row.paper, row.ours) for row in items["Table 4"].rows]
    assert rows == [
        ("m, SER, %", "2.80 (0.00-6.25)", "2.50 (1.00-4.00)"),
        ("m, vote, SER, %", "2.80 (0.00-6.25)", "2.00"),
    ]
    blind = finding("borg", tmp_path, metrics=[Metric("confidence", 90.0, unit="%", model="m")])
    _, items, _ = assembled(blind)
    assert [(row.what, row.ours) for row in items["Table 4"].rows] == [("m, confidence, %", "90")]


def test_an_analysis_that_was_not_run_names_the_command_everywhere():
    absent = Finding("scaling", absent="make them with `alice-interp sweep scaling --out DIR`")
    claims, items, failed = assembled(absent, Finding("early-exit", error="no text"))
    assert claims["compute"].outcome == items["Figure 8"].outcome == "not tested"
    assert claims["compute"].absent == items["Figure 8"].absent == absent.absent
    assert items["Figure 6"].absent == "early-exit failed: no text"
    assert failed == []


def test_a_result_that_lacks_something_costs_only_its_own_parts(tmp_path):
    claims, items, failed = assembled(early_exit(tmp_path, (90, 50, 10)), finding("scaling", tmp_path, ()))
    assert "there is no table 'sizes'" in items["Figure 8"].absent
    assert [problem.partition(" (")[0] for problem in failed] == ["the claim compute", "Figure 8"]
    assert claims["layers"].outcome == "holds"


def test_trainings_without_measurements_decide_nothing(tmp_path):
    claims, _, failed = assembled(scaling(tmp_path, ()))
    assert math.isnan(claims["compute"].checks[0].low)
    assert failed == []


def test_what_has_no_claim_is_known():
    without = {printed.label for printed in ITEMS if not printed.claim}
    assert "Table 4" in without
    assert not {"Table 1", "Table 2", "Figure 2", "Appendix F", "Appendix H"} & without


def test_every_claim_and_item_has_an_analysis_that_is_planned_and_every_planned_one_an_item():
    used = {printed.analysis for printed in ITEMS if printed.analysis}
    assert used == set(ANALYSES)
    assert {one.analysis for one in EVIDENCE} <= used
    names = {one.name for one in EVIDENCE}
    assert {name for printed in ITEMS for name in printed.evidence} == names
    assert {key for one in EVIDENCE for key in one.claims} <= {tested.key for tested in CLAIMS}
    assert {tested.analysis for tested in CLAIMS} <= used
    assert {tested.key for tested in CLAIMS} == {printed.claim for printed in ITEMS if printed.claim}
    assert all(printed.absent or printed.rows for printed in ITEMS if not printed.analysis)
    labels = [printed.label for printed in ITEMS]
    assert len(set(labels)) == len(labels)
    assert {f"Figure {number}" for number in range(1, 19)} <= set(labels)
    assert {f"Table {number}" for number in range(1, 6)} <= set(labels)


def test_variants_of_unequal_training_are_not_compared(tmp_path):
    own = replace(errors_by_length(tmp_path, 1), unequal="base: 10 steps; bijective: 20 steps")
    claims, items, _ = assembled(own)
    for key in ("worse", "sigmas"):
        assert claims[key].outcome == "not tested"
        assert (
            claims[key].absent == "Not testable: the models differ in training (base: 10 steps; bijective: 20 steps)."
        )
    assert claims["one-error"].checks
    assert items["Table 1"].rows
    alike = replace(errors_by_length(tmp_path, -1), alike=True)
    claims, _, _ = assembled(own, alike)
    assert claims["worse"].outcome == "does not hold"  # the verdict is about the run set
    claims, _, _ = assembled(replace(own, unequal=""), alike)
    assert claims["worse"].outcome == "holds"


def test_the_shipped_run_set_was_trained_alike():
    folders = run_set()
    assert [read_config(folder).variant for folder in folders] == ["base", "bijective"]
    assert training_differences({folder.name: folder for folder in folders}) == ""
    assert all((folder / "model.safetensors").stat().st_size < 1e6 for folder in folders)
