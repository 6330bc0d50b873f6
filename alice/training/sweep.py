"""Several trainings that differ in one thing, carried out in turn: finished ones are skipped, the others resumed."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from alice.checkpoint import TRAINING
from alice.errors import AliceError
from alice.training.folder import BUDGET, CHANGEABLE, Training
from alice.training.recipe import Precision
from alice.training.state import STATE, read_counters

_FIXED = {
    "model": "another model",
    "data": "other data",
    "text_column": "another text column",
    "init": "other initial weights",
}


@dataclass(frozen=True)
class Member:
    """One training of a sweep and how far it has come."""

    training: Training
    """The training, as its folder describes it if it has been started."""
    resume: bool = False
    """Whether it has been started."""
    finished: bool = False
    """Whether its budget is used up."""
    step: int = 0
    """Steps done."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.training.folder.name

    def __str__(self) -> str:
        if self.finished:
            return f"{self.name}: finished, {self.step:,} steps"
        return f"{self.name}: {f'resuming at step {self.step:,}' if self.resume else 'starting'}"


class Train(Protocol):
    """Carries out one training."""

    def __call__(self, training: Training, *, resume: bool) -> bool:
        """Return whether its budget was used up."""


def plan(wanted: Iterable[Training], given: Collection[str]) -> list[Member]:
    """Return how far each training has come; raise if one was started with other settings or on other texts.

    Args:
        wanted: the trainings as the user describes them now.
        given: fields of the recipe that the user gave; these may change how often a training saves and measures.

    """
    members = [find_member(training, given) for training in wanted]
    _check_texts([member.training for member in members if member.training.data_sha256 is not None])
    return members


def carry_out(members: Iterable[Member], train: Train, *, say: Callable[[str], None] = lambda line: None) -> bool:
    """Carry out the trainings that are not finished, in order; return whether all are finished now.

    One that fails does not stop the others. The precision that the first training measures to be faster is used for
    all, so that they differ in one thing only.
    """
    members = list(members)
    decided: Precision = next((member.training.recipe.precision for member in members if member.resume), "auto")
    failed = []
    for member in members:
        say(str(member))
        if member.finished:
            continue
        training = member.training
        if training.recipe.precision == "auto":
            training = replace(training, recipe=replace(training.recipe, precision=decided))
        try:
            if not train(training, resume=member.resume):
                return False
            decided = Training.open(training.folder, {}).recipe.precision
        except AliceError as error:
            say(f"{member.name} failed: {error}")
            failed.append(f"{member.name} ({error})")
    raise_failures(failed, len(members))
    return True


def raise_failures(failed: Collection[str], count: int) -> None:
    """Raise one error for all of `count` trainings that failed, if any did."""
    if failed:
        raise AliceError(f"{len(failed)} of {count} trainings failed: {'; '.join(failed)}")


def find_member(wanted: Training, given: Collection[str]) -> Member:
    """Return how far a training has come; raise if it was started with other settings."""
    if not (wanted.folder / TRAINING).exists():
        wanted.check_new()
        return Member(wanted)
    recipe = wanted.recipe.to_dict()
    kept = CHANGEABLE | {"held_out"}  # a sweep of an earlier version goes on as it began
    started = Training.open(
        wanted.folder,
        {name: recipe[name] for name in recipe if name not in kept or name in given or name in BUDGET},
    )
    for field, what in _FIXED.items():
        if getattr(started.located(), field) != getattr(wanted.located(), field):
            raise AliceError(
                f"{wanted.folder} was started with {what}; repeat the sweep with its first options, "
                "or choose another folder"
            )
    return _how_far(started)


def _check_texts(started: Iterable[Training]) -> None:
    """Raise if the corpus has changed since a training was started on it: the sweep would compare other texts."""
    found: dict[tuple[object, ...], str] = {}
    for training in started:
        read = (training.data, training.text_column, training.model.symbols, training.recipe.max_length)
        found[read] = found.get(read) or training.corpus().fingerprint()
        if found[read] != training.data_sha256:
            raise AliceError(
                f"{training.data} is not what {training.folder} was trained on before; restore it, "
                "or choose another folder"
            )


def _how_far(training: Training) -> Member:
    if not (training.folder / STATE).exists():  # killed before its first checkpoint: starts over
        return Member(training, resume=True)
    counters = read_counters(training.folder)
    finished = training.recipe.progress(counters.step, counters.seconds) >= 1
    return Member(training, resume=True, finished=finished, step=counters.step)
