"""Divides the items that an analysis reads among processes, and returns what was read in the order of the items.

Item by item the same is computed as in one process, and the caller adds it up in the same order, so the result is the
same to the last digit.
"""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol, TypeVar

import torch

from alice.errors import AliceError, one_line

Item = TypeVar("Item", covariant=True)
T = TypeVar("T")
SECONDS_TO_END = 5.0


class Items(Protocol[Item]):
    """Items with a number, such as batches, activations or pairs."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, number: int) -> Item:
        """Return the item of a number, from 0."""


def read_in_workers(read: Callable[[Item], T], items: Items[Item], workers: int) -> Iterator[T]:
    """Yield what `read` returns for each item, in their order.

    Each of the processes reads every `workers`-th item. They are copies of this one, so that models, texts and
    functions need not be sent to them, and start at once.
    """
    count = len(items)  # reads the texts before they are shared
    team: list[tuple[ForkProcess, Connection]] = []
    try:
        for rank in range(min(workers, count)):
            team.append(_start(read, items, range(rank, count, min(workers, count)), [one for _, one in team]))
        for number in range(count):
            yield _received(*team[number % len(team)])
    finally:
        for process, connection in team:
            connection.close()
            process.terminate()
        for process, _ in team:
            process.join(SECONDS_TO_END)


def check_can_fork() -> None:
    """Raise if this process cannot be copied."""
    if sys.platform != "linux":
        raise AliceError("processes can share the texts of an analysis on Linux only", hint="leave out --workers")


def check_device(device: torch.device) -> None:
    """Raise if workers could not compute on a device."""
    if device.type != "cpu":
        raise AliceError(f"workers compute on the CPU, not on {device}", hint="add --device cpu")


def _start(
    read: Callable[[Item], T], items: Items[Item], numbers: range, others: list[Connection]
) -> tuple[ForkProcess, Connection]:
    """Start a process that reads the items of some numbers."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(read, items, numbers, sender, [*others, receiver]), daemon=True)
    with warnings.catch_warnings():
        # Python 3.12 warns that locks of other threads stay locked in the copy. Those of torch are not used there,
        # because it computes with one thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()
    return process, receiver


def _work(
    read: Callable[[Item], T], items: Items[Item], numbers: range, sender: Connection, unused: list[Connection]
) -> None:
    """Read items and send the results, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for connection in unused:  # otherwise this process would never notice that the first one is gone
        connection.close()
    torch.set_num_threads(1)
    ForkingPickler.register(torch.Tensor, _as_array)
    with suppress(BrokenPipeError):
        try:
            for number in numbers:
                sender.send((read(items[number]), None))
        except BrokenPipeError:
            raise
        except BaseException as error:
            error.add_note(traceback.format_exc())
            sender.send((None, error if _can_be_sent(error) else RuntimeError(one_line(error))))


def _as_array(tensor: torch.Tensor) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Send a tensor by its values; torch would send a place in memory that ends with the process."""
    return torch.from_numpy, (tensor.detach().cpu().numpy(),)


def _can_be_sent(error: BaseException) -> bool:
    try:
        return isinstance(ForkingPickler.loads(ForkingPickler.dumps(error)), type(error))
    except Exception:  # whatever a plugin's error raises when it is built again
        return False


def _received(process: ForkProcess, connection: Connection) -> Any:
    """Return the next result of a process; raise what it raised."""
    try:
        found, error = connection.recv()
    except EOFError:
        process.join(SECONDS_TO_END)
        code = process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        raise AliceError(f"a worker process {how}; if memory was short, use fewer workers") from None
    if error is not None:
        raise error
    return found
