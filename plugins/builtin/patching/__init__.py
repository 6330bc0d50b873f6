"""Patching: which activations carry the answer from one text to another, by layer, place and part.

Do not take a large share as proof that the model computes the answer there: a patch shows that what it moves suffices
in that run, with everything else as it is. Where two parts hold the same, patching one of them back shows little.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from alice.errors import AliceError, nearest
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, check_samples
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.plugins.verdicts import Verdicts
    from alice.reports import Result


DEFAULT_KINDS = ("other-text", "one-word", "relabel-two")


@dataclass(frozen=True)
class Patching:
    """Which layers, places and parts carry the answer, and where a symbol's name becomes its meaning.

    Activations of a text go into the run of its counterfactual, and back. Label depth: two cipher symbols change names,
    and the residual stream of one run, layer by layer, goes into the other.
    """

    name = "patching"
    workers = True
    grading: ClassVar[dict[str, Any]] = {"samples": 4, "map_samples": 4}
    samples: int = field(default=32, metadata={"help": "Texts to measure the label depth on."})
    map_samples: int = field(
        default=8, metadata={"help": "Texts of the maps by layer, place and part, which take most of the time."}
    )
    kind: tuple[str, ...] = field(
        default=DEFAULT_KINDS,
        metadata={"help": "Counterfactual for the maps; repeatable."},
    )

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_minimum(self, map_samples=1)
        if self.kind != DEFAULT_KINDS:
            _check_kinds(self.kind)

    def run(self, ctx: "RunContext") -> "Result":
        """Patch every layer, place and part in both directions, then every layer of relabelled texts."""
        from alice.plugins.builtin.patching.depth import RELABELLED, measure_depth
        from alice.plugins.builtin.patching.measure import measure_maps
        from alice.plugins.builtin.patching.report import report
        from alice.plugins.builtin.trials import example_pair

        ctx = ctx.sample(self.samples)
        maps = [found for kind in self.kind for found in measure_maps(ctx.sample(self.map_samples), kind)]
        example = example_pair(ctx, RELABELLED)
        return report(ctx.checkpoint, ctx.model.config, maps, measure_depth(ctx), rng=ctx.rng, example=example)

    def findings(self, result: "Result") -> "dict[str, Findings]":
        """Return what each part carries, by counterfactual and direction."""
        from alice.plugins.builtin.patching.report import claims

        return claims(result)

    def verdicts(self, result: "Result") -> "Verdicts":
        """Return which part carries most, by counterfactual and direction."""
        from alice.plugins.builtin.patching.report import verdicts

        return verdicts(result)


def _check_kinds(kinds: tuple[str, ...]) -> None:
    """Raise if there is no such counterfactual, before a model is loaded."""
    from alice.text import KINDS  # imports torch, which the help must not wait for

    for kind in kinds:
        if kind not in KINDS:
            hint = nearest(kind, KINDS) or f"; choose one of {', '.join(KINDS)}"
            raise AliceError(f"there is no counterfactual {kind!r:.60}{hint}")


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Patching]
