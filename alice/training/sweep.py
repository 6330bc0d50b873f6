"""Several runs that differ in one thing, trained one after another: what is finished is skipped, the rest goes on."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from alice.errors import AliceError
from alice.training.folder import ABOUT, BUDGET, CHANGEABLE, Run
from alice.training.recipe import Precision
from alice.training.state import STATE, read_counters

_OF_A_RUN = {
    "model": "another model",
    "data": "other data",
    "text_column": "another text column",
    "init": "other initial weights",
}


@dataclass(frozen=True)
class Member:
    """One run of a sweep, as it stands."""

    run: Run
    """The run, as its folder has it if it was begun."""
    resume: bool = False
    """Whether it was begun."""
    finished: bool = False
    """Whether its budget is used up."""
    step: int = 0
    """Steps that it has done."""

    @property
    def name(self) -> str:
        """What it is called: the name of its folder."""
        return self.run.folder.name

    def __str__(self) -> str:
        if self.finished:
            return f"{self.name}: finished, {self.step:,} steps"
        return f"{self.name}: {f'going on from step {self.step:,}' if self.resume else 'starting'}"


class Train(Protocol):
    """Trains one run."""

    def __call__(self, run: Run, *, resume: bool) -> bool:
        """Return whether its budget was used up."""


def plan(wanted: Iterable[Run], given: Collection[str]) -> list[Member]:
    """See how far each wanted run has come; one that was begun as something else is an error.

    Args:
        wanted: the runs as the user now describes them.
        given: fields of the recipe that the user gave, which may change what only bears on saving and measuring.

    """
    return [_member(run, given) for run in wanted]


def carry_out(members: Iterable[Member], train: Train, *, say: Callable[[str], None] = lambda line: None) -> bool:
    """Train what is not finished, in order, saying of each how it stands; return whether all of it is finished now.

    A run that fails does not keep the others from their turn. The first run that measures which precision is faster
    measures for all, or their curves would differ in more than one thing.
    """
    members = list(members)
    settled: Precision = next((member.run.recipe.precision for member in members if member.resume), "auto")
    failed = []
    for member in members:
        say(str(member))
        if member.finished:
            continue
        run = member.run
        if run.recipe.precision == "auto":
            run = replace(run, recipe=replace(run.recipe, precision=settled))
        try:
            if not train(run, resume=member.resume):
                return False
            settled = Run.open(run.folder, {}).recipe.precision
        except AliceError as error:
            say(f"{member.name} failed: {error}")
            failed.append(f"{member.name} ({error})")
    if failed:
        raise AliceError(f"{len(failed)} of {len(members)} runs failed: {'; '.join(failed)}")
    return True


def _member(wanted: Run, given: Collection[str]) -> Member:
    if not (wanted.folder / ABOUT).exists():
        wanted.check_new()
        return Member(wanted)
    recipe = wanted.recipe.to_dict()
    run = Run.open(
        wanted.folder,
        {name: recipe[name] for name in recipe if name not in CHANGEABLE or name in given or name in BUDGET},
    )
    for field, what in _OF_A_RUN.items():
        if getattr(run, field) != getattr(wanted, field):
            raise AliceError(
                f"{wanted.folder} was started with {what}; call the sweep as before, or choose another folder"
            )
    return _how_far(run)


def _how_far(run: Run) -> Member:
    if not (run.folder / STATE).exists():  # it died before its first checkpoint, and starts over
        return Member(run, resume=True)
    counters = read_counters(run.folder)
    finished = run.recipe.progress(counters.step, counters.seconds) >= 1
    return Member(run, resume=True, finished=finished, step=counters.step)
