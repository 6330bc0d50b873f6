"""Hands the trainings of a sweep to the workers of a Dask cluster: processes of this machine, or of many.

A worker has one training at a time and writes to its folder, which all machines share. The folder is all that the
others need to know: progress is read from its log, and if a worker dies, Dask gives the training to another, which
resumes it from its last saved state.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alice.errors import AliceError, one_line
from alice.training.folder import FolderBusyError, Training
from alice.training.recipe import Precision
from alice.training.sweep import Member, find_member, raise_failures

if TYPE_CHECKING:
    from distributed import Client, Future

SECONDS_BETWEEN_LOOKS = 0.5
"""How often progress is looked at, and how often a worker asks whether to stop."""
SECONDS_FOR_LAST_OWNER = 60.0
"""How long a training waits for a worker that lost its connection and still has the folder."""


@dataclass(frozen=True)
class Settings:
    """How a worker trains."""

    threads: int = 1
    """CPU threads."""
    device: str | None = None
    """Where to compute; the accelerator if there is one."""
    trackers: tuple[str, ...] = ()
    """Services to log to as well."""
    given: frozenset[str] = frozenset()
    """Fields of the recipe that the user gave, as in `plan`."""


def carry_out_on_workers(
    members: Iterable[Member],
    client: "Client",
    settings: Settings,
    *,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda line: None,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Carry out the trainings that are not finished, as many at a time as there are workers.

    One that fails does not stop the others. All use the precision that a worker measures to be faster, so that they
    differ in one thing only.

    Args:
        members: the trainings and how far each has come.
        client: the connection to the cluster.
        settings: how a worker trains.
        stop: called now and then; true lets all workers save and stop.
        say: called with a sentence about each training that starts or ends.
        look: called now and then, to show progress.

    Returns:
        Whether all trainings are finished now.

    """
    if not client.scheduler_info()["workers"]:
        say(f"{client.scheduler.address} has no workers yet; waiting for the first")
    members = _with_precision(list(members), client, settings.device)
    runs = _Runs(client, settings, say)
    for member in members:
        say(str(member) if member.finished or member.resume else f"{member.name}: waiting for a worker")
        if not member.finished:
            runs.submit(member)
    try:
        while runs.members:
            look()
            if stop():
                runs.halt()
            runs.collect()
            time.sleep(SECONDS_BETWEEN_LOOKS)
        look()
    finally:
        with suppress(Exception):  # the scheduler may be gone
            runs.halt()
    raise_failures(runs.failed, len(members))
    return not runs.stopped


def _with_precision(members: list[Member], client: "Client", device: str | None) -> list[Member]:
    """Replace `auto` by one precision for all: that of a training that has been started, or measured by a worker."""
    decided: Precision = next((member.training.recipe.precision for member in members if member.resume), "auto")
    undecided = [not member.finished and member.training.recipe.precision == "auto" for member in members]
    if any(undecided) and decided == "auto":
        first = members[undecided.index(True)].training
        decided = client.submit(_faster_precision, first, device, pure=False).result()
    return [_at(member, decided) if auto else member for member, auto in zip(members, undecided, strict=True)]


def _at(member: Member, precision: Precision) -> Member:
    training = member.training
    return replace(member, training=replace(training, recipe=replace(training.recipe, precision=precision)))


class _Runs:
    """The trainings that workers have or will have."""

    def __init__(self, client: "Client", settings: Settings, say: Callable[[str], None]) -> None:
        from distributed import Event

        self.client, self.settings, self.say = client, settings, say
        self.members: dict[Future, Member] = {}
        self.failed: list[str] = []
        """What failed and why."""
        self.stopped = False
        """Whether a training was stopped before its budget was used up."""
        self._halt, self._halted = Event(f"alice-interp-{secrets.token_hex(8)}", client=client), False

    def submit(self, member: Member) -> None:
        """Give a training to the next free worker."""
        training = replace(member.training.located(), folder=member.training.folder.absolute())
        key = f"{member.name}-{secrets.token_hex(4)}"
        order = -len(self.members)  # without it, Dask does not keep the order of tasks submitted at once
        future = self.client.submit(
            _train, training, self.settings, self._halt.name, key=key, pure=False, priority=order
        )
        self.members[future] = member

    def halt(self) -> None:
        """Ask all workers to save and stop; take back trainings that none of them has, since no worker may come."""
        self._halted = True
        self._halt.set()
        given = {key for keys in self.client.processing().values() for key in keys}
        self.client.cancel([future for future in self.members if future.key not in given and not future.done()])

    def collect(self) -> None:
        """Remove the trainings that have ended."""
        from distributed import KilledWorker

        for future in [future for future in self.members if future.done()]:
            member = self.members.pop(future)
            error = None if future.cancelled() else future.exception()
            if future.cancelled() and self._halted:
                self.stopped = True
                self.say(f"{member.name}: stopped before a worker had it")
            elif future.cancelled():
                self._fail(member, "the scheduler has lost it; repeat the command to continue")
            elif isinstance(error, KilledWorker):
                self._go_on(member, "its workers died")
            elif error is not None:
                self._fail(member, one_line(error))
            elif future.result():
                self.say(f"{member.name}: finished")
            elif self._halted:
                self.stopped = True
                self.say(f"{member.name}: stopped and saved")
            else:
                self._go_on(member, "its worker lost the scheduler")

    def _fail(self, member: Member, reason: str) -> None:
        self.say(f"{member.name} failed: {reason}")
        self.failed.append(f"{member.name} ({reason})")

    def _go_on(self, member: Member, reason: str) -> None:
        """Submit a training again if it has come further since the last time.

        Dask gives up a task whose workers have died four times, which can happen to any long training; one that kills
        its worker every time does not advance.
        """
        now = find_member(member.training, self.settings.given)
        if now.step <= member.step:
            self._fail(member, f"{reason}; repeat the command to continue")
            return
        self.say(f"{member.name}: {reason}, going on at step {now.step:,}")
        self.submit(now)


def _faster_precision(training: Training, device: str | None) -> str:
    """Return the number format that is faster on this worker."""
    from alice.model import choose_device
    from alice.training import precision

    return precision.choose(training.model, str(choose_device(device)), training.recipe.batch_tokens or 4096).precision


def _train(training: Training, settings: Settings, halt: str) -> bool:
    """Start or resume a training on this worker; return whether its budget was used up."""
    import torch

    from alice.training.setup import train

    _check_worker(training)
    stop = _Stop(halt)
    torch.set_num_threads(settings.threads)
    until = time.monotonic() + SECONDS_FOR_LAST_OWNER
    while not stop():
        member = find_member(training, settings.given)
        if member.finished:
            return True
        try:
            return train(
                member.training, resume=member.resume, device=settings.device, trackers=settings.trackers, stop=stop
            )
        except FolderBusyError:
            if time.monotonic() > until:
                raise
            time.sleep(1)
    return False


def _check_worker(training: Training) -> None:
    """Raise if this worker cannot train: all trainings of a process would share torch's state."""
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads != 1:
        raise AliceError(
            f"the Dask worker {worker.address} has {worker.state.nthreads} threads, but can carry out one training at "
            "a time; start it with: dask worker --nthreads 1"
        )
    if not training.folder.parent.is_dir():
        raise AliceError(
            f"the Dask worker {worker.address} does not have the folder {training.folder.parent}; "
            "choose one that all machines share"
        )


class _Stop:
    """Asks the scheduler now and then whether to stop; if it does not answer, that is a yes."""

    def __init__(self, name: str) -> None:
        from distributed import Event

        self._event, self._asked, self._answer = Event(name), 0.0, False

    def __call__(self) -> bool:
        if time.monotonic() - self._asked >= SECONDS_BETWEEN_LOOKS:
            try:
                self._answer = bool(self._event.is_set())
            except Exception:  # the worker has lost the scheduler: save, so that another can go on
                self._answer = True
            self._asked = time.monotonic()
        return self._answer
