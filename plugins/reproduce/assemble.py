"""Puts the findings of all analyses on one page of claims, tables and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from alice.errors import one_line
from alice.plugins.reproduce.claims import CLAIMS, PaperClaim, decide, link, untested
from alice.plugins.reproduce.evidence import EVIDENCE, PlannedEvidence, beside, gather
from alice.plugins.reproduce.findings import Finding, Findings
from alice.plugins.reproduce.items import ITEMS, PaperItem, fill
from alice.plugins.reproduce.page import Claim, Evidence, Item, Reproduction, figure_names

T = TypeVar("T")


def assemble(
    findings: Sequence[Finding], *, seed: int, about: Mapping[str, Any], time: str
) -> tuple[Reproduction, list[str]]:
    """Return the page, and a message for each claim or item that could not be computed."""
    own, alike = ({one.analysis: one for one in findings if one.alike is which} for which in (False, True))
    found = Findings(seed, own, alike)
    failed: list[str] = []
    claims = [replace(_claim(tested, found, failed), evidence=beside(tested.key)) for tested in CLAIMS]
    items = [_item(printed, found, claims, failed) for printed in ITEMS]
    evidence = [_evidence(planned, found, failed) for planned in EVIDENCE]
    drawn = {name: figure for one in own.values() if one.stored is not None for name, figure in one.figures.items()}
    figures = {name: drawn[name] for name in figure_names(evidence, items)}
    analyses = [_analysis(one) for one in findings]
    return Reproduction(claims, items, about, analyses, time, evidence, figures), failed


def _claim(tested: PaperClaim, found: Findings, failed: list[str]) -> Claim:
    return _or_else(
        lambda: decide(tested, found),
        lambda problem: untested(tested, f"The test failed: {problem}."),
        failed,
        f"the claim {tested.key}",
    )


def _item(printed: PaperItem, found: Findings, claims: Sequence[Claim], failed: list[str]) -> Item:
    return _or_else(
        lambda: fill(printed, found, claims),
        lambda problem: Item(printed.label, printed.title, absent=f"The result could not be read: {problem}."),
        failed,
        printed.label,
    )


def _evidence(planned: PlannedEvidence, found: Findings, failed: list[str]) -> Evidence:
    return _or_else(
        lambda: gather(planned, found),
        lambda problem: Evidence(planned.name, planned.title, absent=f"It could not be read: {problem}."),
        failed,
        f"the evidence {planned.name}",
    )


def _or_else(make: Callable[[], T], instead: Callable[[str], T], failed: list[str], what: str) -> T:
    """Make a part of the page; a bug in one part must not cost the others, which took minutes to compute."""
    try:
        return make()
    except Exception as error:
        problem = one_line(error)
        failed.append(f"{what} ({problem})")
        return instead(problem)


def _analysis(one: Finding) -> dict[str, Any]:
    duration = one.stored.provenance.get("duration") if one.stored is not None else None
    return {
        "analysis": one.analysis,
        "models": [model.name for model in one.models],
        "report": link(one).address if one.stored is not None else "",
        "error": one.why_absent,
        "seconds": duration,
    }
