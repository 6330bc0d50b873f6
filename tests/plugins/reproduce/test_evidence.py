"""The causal test, the baselines run and the evidence beside claims, from results written by hand."""

import numpy as np
import pytest

from alice.plugins.reproduce.assemble import assemble
from alice.plugins.reproduce.findings import Finding, Model
from alice.reports import Metric, Report, Result, Table

BASE = Model("base", "base")


def finding(analysis, folder, models=(), **parts):
    return Finding(analysis, tuple(models), Report(Result("By hand", **parts), {}, folder / analysis))


def assembled(*findings):
    """Return the claims and the evidence by name; nothing may fail."""
    found, failed = assemble(findings, seed=0, about={}, time="")
    assert failed == []
    return {claim.key: claim for claim in found.claims}, {one.name: one for one in found.evidence}


def probe(folder, moved, readable=0.3, texts=50):
    """Return a model of 8 layers in which erasing the rank moves so much at each layer, and random directions 0.02."""
    noise = 0.01 * np.random.default_rng(0).standard_normal((9, 2, texts, 3))
    without = noise + np.stack([np.asarray(moved), np.full(9, 0.02)], 1)[:, :, None, None]
    accuracy = np.full((1, 9, texts), 0.15 + readable) + 0.01 * np.random.default_rng(1).standard_normal((1, 9, texts))
    arrays = {
        "without-rank@base": without,
        "accuracy-linear-rank@base": accuracy,
        "most-frequent-linear-rank@base": np.full((1, texts), 0.15),
    }
    rows = [("base", "rank", layer, "used", of, 0.02) for layer, of in enumerate(moved)]
    use = Table(("model", "target", "layer", "verdict", "moved", "moved_random"), rows)
    return finding("probe", folder, [BASE], arrays=arrays, tables={"use": use})


EARLY = (0.0, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("moved", "readable", "outcomes"),
    [
        (EARLY, 0.3, ["holds", "holds", "holds"]),
        ((*EARLY[3:], 0.3, 0.3, 0.3), 0.3, ["holds", "holds", "does not hold"]),  # used early, but late even more
        ((0.02,) * 9, 0.3, ["holds", "does not hold", "undecided"]),  # readable, but as unused as random directions
        (EARLY, 0.0, ["does not hold", "holds", "holds"]),
    ],
)
def test_early_layers_use_frequencies_if_erasing_them_moves_more_than_random_directions(
    tmp_path, moved, readable, outcomes
):
    claims, evidence = assembled(probe(tmp_path, moved, readable))
    checks = claims["frequencies"].checks
    assert [check.name for check in checks] == ["present", "used", "more-than-late"]
    assert [check.outcome for check in checks] == outcomes
    assert claims["frequencies"].evidence == claims["ngrams"].evidence == ("erasure",)
    assert len(evidence["erasure"].rows) == 9


def test_the_evidence_of_erasing_names_early_and_late_layers(tmp_path):
    _, evidence = assembled(probe(tmp_path, EARLY))
    assert evidence["erasure"].sentence == (
        "Erasing how frequent a letter is from layers 1 to 2 of base moves 30.0 % of the probability of its answers, "
        "and erasing as many random directions 2.0 %; from layers 7 to 8 it moves 10.0 %, and random directions 2.0 %."
    )
    assert evidence["erasure"].rows[1] == ("1", "used", "30.0 %", "2.0 %")


def test_few_held_out_texts_decide_nothing_about_use(tmp_path):
    claims, _ = assembled(probe(tmp_path, EARLY, texts=29))
    assert {check.outcome for check in claims["frequencies"].checks} == {"undecided"}


def baselines(folder, texts=32):
    rng, columns = np.random.default_rng(0), ("model", "length", "texts", "ser", "ser_error", "quoted", "consistent")
    means = {"beam-nlm": 2.0, "causal-freq": 48.0, "alice-same-compute": 16.0}
    arrays = {f"ser-same-compute@{name}": mean + rng.standard_normal(texts) for name, mean in means.items()}
    quoted = {"beam-nlm": 10.89, "causal-freq": 10.56}
    rows = [
        (name, part, texts // 2, mean, 1.0, quoted.get(name) if part != "all" else None, 100.0)
        for name, mean in means.items()
        for part in ("<128", ">=128", "all")
    ]
    return finding("baselines", folder, [BASE], arrays=arrays, tables={"same-compute": Table(columns, rows)})


def test_each_baseline_is_compared_with_the_model_of_the_same_compute(tmp_path):
    claims, evidence = assembled(baselines(tmp_path))
    found = {check.subject: check.outcome for check in claims["baselines"].checks}
    assert found == {
        "alice-same-compute against beam-nlm": "does not hold",
        "alice-same-compute against causal-freq": "holds",
    }
    assert claims["baselines"].outcome == "does not hold"
    row = evidence["same-compute"].rows[0]
    assert row == ("beam-nlm", "2.00 ± 1.00", "2.00 ± 1.00", "10.89", "10.89", "100")
    claims, _ = assembled(baselines(tmp_path, texts=29))
    assert claims["baselines"].outcome == "undecided"


def test_guided_solving_is_compared_with_the_model_and_with_the_language_model(tmp_path):
    errors = {"base": 2.1, "guided": 0.0, "beam": 0.2}
    means = [(name, length, 100, ser, 0.1) for name, ser in errors.items() for length in ("<128", "all")]
    differences = [("guided", "base", "all", -2.1, -3.9, -1.4), ("beam", "base", "all", -1.9, -2.0, -1.0),
                   ("guided", "beam", "all", -0.2, None, None)]  # fmt: skip
    tables = {
        "same-texts": Table(("model", "length", "texts", "ser", "ser_error"), means),
        "differences-same-texts": Table(("model", "other", "length", "difference", "low", "high"), differences),
    }
    tables |= {"short-and-long": Table(("model", "source"), []), "by-length": Table(("model",), [])}
    found = finding("errors-by-length", tmp_path, tables=tables)
    _, evidence = assembled(found)
    assert evidence["guided"].sentence == (
        "On the first 100 texts the guided search has a SER of 0.00 ± 0.10 %: minus base -2.10 (-3.90 to -1.40) "
        "points; minus beam -0.20 points, with 95 % intervals."
    )
    assert evidence["guided"].rows[0] == ("base", "100", "2.10 ± 0.10", "", "2.10 ± 0.10")


def test_sizes_at_equal_operations_say_whether_the_larger_wins(tmp_path):
    columns = ("model", "weights", "flops", "seeds", "ser", "low", "high")
    table = Table(
        columns, [("mini", 200_000, 1e13, 3, 20.0, 19.0, 21.0), ("small", 1_700_000, 1e13, 3, 22.0, 21.0, 23.0)]
    )
    for lead, verdict in (((1.0, 3.0), "the smaller model wins"), ((-1.0, 3.0), "these seeds do not decide")):
        metrics = [
            Metric("larger-minus-smaller", 2.0, interval=lead),
            Metric("size-exponent", 0.1),
            Metric("held-out-ser", 60.0, interval=(56.0, 62.0)),
            Metric("predicted-ser", 3.0),
        ]
        sizes = Table(("model", "weights", "flops", "ser"), [])
        found = finding("scaling", tmp_path, tables={"equal-operations": table, "sizes": sizes}, metrics=metrics)
        _, evidence = assembled(found)
        assert evidence["equal-operations"].sentence.endswith(f": {verdict}.")
        rows = evidence["equal-operations"].rows
        assert rows[0] == ("mini", "200,000", "3", "20 (19 to 21)")
        assert ("SER of small by the law of the other sizes", "", "", "60 (56 to 62)") in rows


def test_evidence_that_is_missing_names_its_command():
    absent = Finding("generalization", absent="make them with `alice-interp sweep generalization --out DIR`")
    _, evidence = assembled(absent)
    assert evidence["phases"].absent == absent.absent
    assert evidence["erasure"].absent == "This version has no analysis probe."
