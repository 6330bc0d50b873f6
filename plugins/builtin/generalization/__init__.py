"""Generalization: how many keys a model must be trained on before it solves texts under keys it has never seen.

It reads the logs of trainings, which `alice-interp sweep generalization` makes, and the measures of their checkpoints
along training, which `alice-interp sweep measure` makes. Do not trust the exact threshold: there are few seeds, and a
pool that fails after few steps may succeed after many.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, trainings_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Generalization:
    """Training loss, and accuracy on unseen keys, of trainings on pools of different size.

    A model that sees few keys may memorise them: its loss is low, and it fails under any other key. Where checkpoints
    along training were measured, with `alice-interp sweep measure`, it also draws a phase diagram and tests claims
    about what decides between the two.
    """

    name = "generalization"
    checkpoints = "none"
    needs = ("trainings",)
    trainings: tuple[Path, ...] = trainings_field("alice-interp sweep generalization", "bundled:pools")
    window: int = field(
        default=51, metadata={"help": "Logged losses to smooth over at most; fewer in a short training."}
    )
    threshold: float = field(default=0.9, metadata={"help": "Accuracy on unseen keys that counts as generalising."})

    def __post_init__(self) -> None:
        check_minimum(self, window=1)
        if not 0 < self.threshold <= 1:
            raise AliceError(f"threshold={self.threshold} is not an accuracy; give more than 0 and at most 1")

    def run(self, ctx: "RunContext") -> "Result":
        """Read the trainings and compare their pools."""
        from alice.plugins.builtin.generalization.account import gather
        from alice.plugins.builtin.generalization.claims import check_claims, mixture_controls
        from alice.plugins.builtin.generalization.measure import measure
        from alice.plugins.builtin.generalization.report import report
        from alice.training import read_trainings

        found = read_trainings(self.trainings)
        account, notes = gather(found)
        claims = check_claims(account, ctx.rng) if account is not None else []
        controls = mixture_controls(account, ctx.rng) if account is not None else []
        pools = measure(replace(found, notes=(*found.notes, *notes)), window=self.window)
        return report(pools, self.threshold, window=self.window, account=account, claims=claims, controls=controls)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Generalization]
