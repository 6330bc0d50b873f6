"""`grade` runs analyses on planted models, names those that cannot be graded, and ranks honest ones above controls."""

from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner

from alice import planted
from alice.cli import main
from alice.errors import AliceError
from alice.plugins.analysis import check_class
from alice.plugins.findings import Findings
from alice.plugins.grade import grade
from alice.plugins.grade.measure import Graded, standings
from alice.plugins.grade.scores import MEASURES
from alice.plugins.manager import build
from alice.reports import Metric, Result, read_report

TEXTS = ["THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG AND SLEEPS IN THE SHADE OF THE OLD TREE.", "TO BE OR NOT TO BE."]


WORSE, BETTER = np.full(100, 0.1), np.where(np.arange(100) < 25, 0.8, 0.4)
"""Draws of two controls."""


@dataclass(frozen=True)
class Informed:
    """Knows the planted mechanism of the frequency matcher."""

    name = "informed"
    turned: bool = False

    def run(self, ctx):
        """Read nothing."""
        return Result(title="Informed", metrics=[Metric("texts", 2)])

    def findings(self, result):
        """Return the truth, or its opposite."""
        true = planted.build("frequency").truth
        labels = [*true.nodes, *(f"L{block}H{head}" for block in (1, 2) for head in range(4))]
        return {"": Findings(nodes={label: float((label in true.nodes) != self.turned) for label in labels})}


@dataclass(frozen=True)
class Silent:
    """Claims nothing."""

    name = "silent"

    def run(self, ctx):
        """Read nothing."""
        return Result(title="Silent", metrics=[Metric("texts", 2)])


def graded(*analyses, **options):
    """Grade on the frequency matcher."""
    return grade(list(analyses), build(third_party=False), planted=["frequency"], data=TEXTS, **options)


def test_the_truth_wins_and_its_opposite_loses():
    assert graded(Informed(), trials=1).metric("nodes-auroc").value == 1.0
    turned = graded(Informed(turned=True), trials=1)
    assert turned.metric("nodes-auroc").value < 0.5
    (row, *_) = turned.tables["league"].records(measure="nodes-auroc")
    assert row["beats_controls"] is False
    assert "Not better than chance: informed" in turned.summary


def test_the_report_names_what_cannot_be_graded_and_how_it_was_made(tmp_path):
    stored = graded(Informed(), Silent(), trials=2).save(tmp_path)
    again = read_report(stored.folder)
    assert "they have no findings: silent" in again.summary
    assert [one["name"] for one in again.provenance["checkpoints"]] == ["planted:frequency"]
    assert again.provenance["options"]["trials"] == 2
    assert {row["seed"] for row in again.tables["details"].records()} == {0, 1}


def test_nothing_to_grade_is_one_sentence():
    with pytest.raises(AliceError, match="nothing can be graded: silent cannot say what a result claims"):
        graded(Silent())


def test_an_unknown_planted_model_is_one_sentence():
    with pytest.raises(AliceError, match="there is no planted model 'frequenzy'; did you mean 'frequency'"):
        grade([Informed()], build(third_party=False), planted=["frequenzy"])


def test_findings_of_another_type_are_one_sentence():
    class Wrong(Informed):
        def findings(self, result):
            return [1.0]

    with pytest.raises(AliceError, match="findings of informed returned list; return "):
        graded(Wrong(), trials=1)


def test_a_standing_has_the_extremes_over_seeds_of_the_mean_over_models():
    nothing = {measure.name: float("nan") for measure in MEASURES}
    values = {("a", 0): 0.8, ("a", 1): 0.6, ("b", 0): 1.0, ("b", 1): 0.8}
    (found,) = standings(
        [
            Graded("x", "", model, seed, nothing | {"kinds": value}, {"kinds": WORSE}, {"kinds": BETTER})
            for (model, seed), value in values.items()
        ]
    )
    assert (found.measure, found.planted) == ("kinds", 2)
    assert np.allclose((found.value, found.low, found.high, found.random, found.shuffled), (0.8, 0.7, 0.9, 0.1, 0.5))
    assert found.p == pytest.approx((1 + 25) / (1 + 100))  # a quarter of the draws of one control is as good
    assert not found.beats_controls


def test_the_command_prints_the_league_and_where_the_page_is(tmp_path):
    asked = ["attention", "--planted", "frequency", "--trials", "1", "--samples", "4"]
    done = CliRunner().invoke(main, ["grade", *asked, "--out", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "kinds of attention, agreement: attention" in done.output
    assert done.output.strip().endswith("report.html")


def test_a_bug_in_findings_is_one_sentence():
    class Broken(Informed):
        def findings(self, result):
            return {}["missing"]

    with pytest.raises(AliceError, match=r"the analysis informed failed \(KeyError: 'missing'\)"):
        graded(Broken(), trials=1)


def test_claiming_nothing_is_one_sentence():
    class Empty(Informed):
        def findings(self, result):
            return Findings()

    with pytest.raises(AliceError, match="informed claims nothing that can be compared with a planted model"):
        graded(Empty(), trials=1)


def test_an_analysis_that_fails_does_not_lose_the_others():
    class Failing(Informed):
        name = "failing"

        def run(self, ctx):
            ctx.model.embed.weight.data.zero_()  # the next analysis must not see this
            raise ValueError("broken")

    found = graded(Failing(), Informed(), trials=1)
    assert found.metric("nodes-auroc").value == 1.0
    assert any("the analysis failing failed (ValueError: broken)" in caveat for caveat in found.result.caveats)
    with pytest.raises(AliceError, match="the analysis failing failed"):
        graded(Failing(), trials=1)


@pytest.mark.parametrize("grading", [3, {"nothing": 1}])
def test_options_for_grading_must_be_fields(grading):
    with pytest.raises(AliceError, match="has grading="):
        check_class(dataclass(frozen=True)(type("Odd", (Informed,), {"__doc__": "Odd.", "grading": grading})))
