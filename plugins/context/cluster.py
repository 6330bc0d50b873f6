"""Divides the items that an analysis reads among the workers of a Dask cluster, on any number of machines.

The function that reads an item is sent to the workers with its model and its texts, once for all of them; they import
the modules that it uses. Results come back in the order of the items, so the caller adds up the same numbers in the
same order as in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from alice.cluster import open_cluster
from alice.errors import AliceError, one_line
from alice.timing import using_threads

if TYPE_CHECKING:
    from distributed import Client

    from alice.plugins.context import RunContext
    from alice.plugins.context.workers import Items

Item = TypeVar("Item")
T = TypeVar("T")
SHARES = 4
"""Shares for each worker: a quick one then reads more than a slow one, and one that dies leaves little to do again."""
_READING = Lock()
"""A worker may have several threads; a model's hooks allow one reader at a time."""


@contextmanager
def divided(
    ctx: RunContext, *, engine: str | None = None, workers: int | None = None, scheduler: str | None = None
) -> Iterator[RunContext]:
    """Yield a context whose texts are shared by processes of this machine, or by the workers of a Dask cluster."""
    if not (engine or scheduler):
        yield ctx.divided(workers)
        return
    with open_cluster(workers=workers, scheduler=scheduler) as cluster:
        yield ctx.divided(count_workers(cluster), cluster=cluster)


def count_workers(cluster: Client) -> int:
    """Return how many workers a cluster has; raise if there are none."""
    if not (found := len(cluster.nthreads())):
        raise AliceError(
            f"{cluster.scheduler.address} has no workers; start some with: dask worker {cluster.scheduler.address} "
            "--nthreads 1"
        )
    return found


def read_on_cluster(read: Callable[[Item], T], items: Items[Item], cluster: Client) -> Iterator[T]:
    """Yield what `read` returns for each item, in their order."""
    count = len(items)  # reads the texts before they are sent
    shares = np.array_split(np.arange(count), min(count, SHARES * count_workers(cluster)))
    with _one_sentence():
        sent = cluster.scatter(_Reading(read, items), broadcast=True, hash=False)
    futures = [cluster.submit(_read_share, sent, share.tolist(), pure=False) for share in shares]
    try:
        for future in futures:
            with _one_sentence():
                found = future.result()
            yield from found
            future.release()
    finally:
        cluster.cancel([future for future in futures if not future.done()])


@dataclass(frozen=True, eq=False)
class _Reading:
    """What a worker needs to read items; Dask sends it and takes it apart again."""

    read: Callable[[Any], Any]
    items: Items[Any]


def _read_share(reading: _Reading, numbers: list[int]) -> list[Any]:
    """Read the items of some numbers, on a worker."""
    with _READING, using_threads(1):
        return [reading.read(reading.items[number]) for number in numbers]


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Say in a sentence what went wrong with the workers; what the analysis raised there arrives as it is."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker:
        raise AliceError("several workers died over the same texts; if memory was short, use fewer of them") from None
    except CancelledError:
        raise AliceError("the cluster has lost what was read; run the analysis again") from None
    except Exception as error:  # Dask replaces the type of some errors
        if "ModuleNotFoundError" not in repr(error):
            raise
        raise AliceError(
            f"a worker lacks a module ({one_line(error):.200}); install the same packages on all machines, also plugins"
        ) from error
