"""A reproduction of the paper: what its analyses found becomes one page of claims, tables and figures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from alice.plugins.context import RunContext
from alice.plugins.reproduce.claims import CLAIMS, Tested, decide, link, untested
from alice.plugins.reproduce.found import Found, Model, Ran, name_models
from alice.plugins.reproduce.items import ITEMS, Printed, fill
from alice.reports.reproduce import Claim, Item, Reproduction

T = TypeVar("T")


def models_of(ctx: RunContext) -> tuple[Model, ...]:
    """Return the models of a context."""
    each = [one for one in ctx.each if one.named_model is not None]
    return name_models([(one.checkpoint, one.model.config.variant) for one in each]) if each else ()


def assemble(ran: Sequence[Ran], *, seed: int, about: Mapping[str, Any], time: str) -> tuple[Reproduction, list[str]]:
    """Return the page, and a sentence about each claim or item that a bug kept from it."""
    found = Found(seed, {one.analysis: one for one in ran})
    failed: list[str] = []
    claims = [_claim(tested, found, failed) for tested in CLAIMS]
    items = [_item(printed, found, claims, failed) for printed in ITEMS]
    return Reproduction(claims, items, about, [_run(one) for one in ran], time), failed


def _claim(tested: Tested, found: Found, failed: list[str]) -> Claim:
    return _or_told(
        lambda: decide(tested, found),
        lambda told: untested(tested, f"The test failed: {told}."),
        failed,
        f"the claim {tested.key}",
    )


def _item(printed: Printed, found: Found, claims: Sequence[Claim], failed: list[str]) -> Item:
    return _or_told(
        lambda: fill(printed, found, claims),
        lambda told: Item(printed.label, printed.title, absent=f"It could not be read off the result: {told}."),
        failed,
        printed.label,
    )


def _or_told(make: Callable[[], T], instead: Callable[[str], T], failed: list[str], what: str) -> T:
    """Make a part of the page; a bug in it must not cost the others, which took minutes."""
    try:
        return make()
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        failed.append(f"{what} ({told})")
        return instead(told)


def _run(one: Ran) -> dict[str, Any]:
    duration = one.stored.provenance.get("duration") if one.stored is not None else None
    return {
        "analysis": one.analysis,
        "models": [model.name for model in one.models],
        "report": link(one).address if one.stored is not None else "",
        "error": one.why_absent,
        "seconds": duration,
    }
