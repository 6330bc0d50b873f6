"""Claims and items read what the analyses really return, and read it by name."""

from dataclasses import replace

import pytest
from tiny import tiny
from training_folders import write_training

from alice.plugins import RunContext
from alice.plugins.builtin.borg import Borg
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.builtin.letter_frequency import LetterFrequency
from alice.plugins.builtin.ngram import Ngram
from alice.plugins.builtin.probe import Probe
from alice.plugins.builtin.relabelling import Relabelling
from alice.plugins.builtin.scaling import Scaling
from alice.plugins.builtin.speed import Speed
from alice.plugins.conformance import tiny_texts
from alice.plugins.reproduce.assemble import assemble
from alice.plugins.reproduce.findings import Finding, models_of
from alice.plugins.reproduce.plan import ANALYSES, OPTIONS
from alice.reports import Figure, Report

FEW = {"samples": 6}
ON_MODELS = (
    EarlyExit(**FEW),
    KeyRecovery(**FEW),
    ErrorsByLength(**FEW, solver=("beam",), solver_texts=1),
    LetterFrequency(**FEW),
    Ngram(**FEW, longest=2, epochs=1, hidden=4),
    Relabelling(**FEW, relabellings=2),
    Speed(**FEW, rounds=2, classical=0),
)
NOT_READ = {"attention"}
"""Linked, but no number is read from it."""


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """One report of each analysis, on two tiny models."""
    place = tmp_path_factory.mktemp("reports")
    for size, (d_mlp, pool) in enumerate(((24, 10), (48, 1000)), start=1):
        errors = [(step, 0.9 / (step * size)) for step in (1, 2, 3)]
        model = {"d_mlp": d_mlp}
        write_training(place / "trainings" / f"t{size}", losses=[(3, 1.0)], errors=errors, pool=pool, model=model)
    (place / "cipher.txt").write_text("ABCDE FGHAB CDEFG\n")
    (place / "plain.txt").write_text("THERE ISATH ERESI\n")
    trainings = {"trainings": (place / "trainings",)}
    page = Borg(place / "cipher.txt", place / "plain.txt", relabellings=2, length=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALICE_INTERP_CACHE", str(place / "cache"))
        models = RunContext.open(tiny("base"), tiny("bijective"), data=tiny_texts(8), split="all")
        results = {analysis.name: analysis.run(models) for analysis in ON_MODELS}
        first = replace(models, others=())
        results["borg"] = page.run(first)
        results["probe"] = Probe(**FEW, **OPTIONS["probe"]).run(first)
        results["baselines"] = ErrorsByLength(**FEW, solver_texts=1, **OPTIONS["baselines"]).run(first)
        results |= {one.name: one.run(RunContext()) for one in (Generalization(**trainings), Scaling(**trainings))}
    about = {"data": [{"model": name, "sha256": "0"} for name in ("base", "bijective")]}
    return [Finding(name, models_of(models), Report(result, about, place / name)) for name, result in results.items()]


def test_evidence_and_figures_come_from_the_reports(findings):
    page, _ = assemble(findings, seed=0, about={}, time="")
    said = {one.name: one for one in page.evidence}
    assert {name for name, one in said.items() if one.sentence} == {"erasure", "same-compute"}
    assert "sweep measure" in said["phases"].absent  # the trainings have no measures
    assert {name for one in (*page.evidence, *page.items) for name in one.figures} == set(page.figures)
    assert {"probe-erasure-1@base", "baselines-same-compute", "early-exit-error-by-layer"} <= set(page.figures)


def assembled(findings):
    page, failed = assemble(findings, seed=0, about={}, time="")
    return page.claims, page.items, failed


def test_every_claim_is_tested_and_every_item_is_read(findings):
    claims, items, failed = assembled(findings)
    assert failed == []
    assert {one.analysis for one in findings} == set(ANALYSES) - NOT_READ
    assert all(claim.checks for claim in claims if claim.key != "decay")  # which needs measures of checkpoints
    empty = {item.label for item in items if not item.rows and not item.absent}
    sections = {"Abstract", "Section 2", "Section 2.1", "Section 3.2", "Section 4"}
    assert empty == sections | {*(f"Figure {number}" for number in (5, 11, 12, 13))}


def reworded(report):
    """Return a report in which everything that people read says something else."""
    result = report.result
    tables = {
        name: replace(table, caption="Zebra", labels=dict.fromkeys(table.columns, "zebra"))
        for name, table in result.tables.items()
    }
    figures = {name: Figure(figure.figure, "Zebra", figure.data) for name, figure in result.figures.items()}
    metrics = [replace(metric, label="zebra") for metric in result.metrics]
    said = {"title": "Zebra", "summary": "Zebra.", "caveats": ("Zebra.",)}
    return replace(report, result=replace(result, tables=tables, figures=figures, metrics=metrics, **said))


def test_rewording_labels_and_captions_changes_nothing_that_is_read(findings):
    changed = [replace(one, stored=reworded(one.report)) for one in findings]
    assert repr(assembled(changed)) == repr(assembled(findings))  # unlike ==, repr takes NaN for equal to NaN
