"""Divides the items that an analysis reads among the workers of a Dask cluster, on any number of machines.

The function that reads an item is sent to the workers with its model and its texts, once for all of them. Results come
back in the order of the items, so the caller adds up the same numbers in the same order as in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from alice.cluster import open_cluster
from alice.errors import AliceError
from alice.plugins.discovery import FILE_MODULE
from alice.timing import using_threads

if TYPE_CHECKING:
    from distributed import Client, Future

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
    sent = cluster.scatter(_packed(read, items), broadcast=True, hash=False)
    futures = [cluster.submit(_read_share, sent, share.tolist(), pure=False) for share in shares]
    try:
        for future in futures:
            yield from _result_of(future)
            future.release()
    finally:
        cluster.cancel([future for future in futures if not future.done()])


def _packed(read: Callable[[Item], T], items: Items[Item]) -> bytes:
    """Return the function and its items for other machines; plugins that are single files go along."""
    import cloudpickle

    files = [module for name, module in list(sys.modules.items()) if name.startswith(FILE_MODULE)]
    for module in files:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps((read, items)))
    finally:
        for module in files:
            cloudpickle.unregister_pickle_by_value(module)


def _read_share(sent: bytes, numbers: list[int]) -> list[Any]:
    """Read the items of some numbers, on a worker."""
    with _READING, using_threads(1):
        read, items = _unpacked(sent)
        return [read(items[number]) for number in numbers]


@lru_cache(maxsize=1)
def _unpacked(sent: bytes) -> Any:
    """Return what was sent; it is kept, because a worker reads several shares."""
    import cloudpickle

    return cloudpickle.loads(sent)


def _result_of(future: Future) -> Any:
    """Return what a worker has read; raise what it raised."""
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        raise AliceError("several workers died over the same texts; if memory was short, use fewer of them") from None
    except CancelledError:
        raise AliceError("the cluster has lost what was read; run the analysis again") from None
