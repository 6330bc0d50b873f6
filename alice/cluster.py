"""Connects to the workers of a Dask cluster: processes of this machine, or of many.

`sweep` hands them trainings (`alice.training.engine`), and `run` the texts of an analysis
(`alice.plugins.context.cluster`).
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from multiprocessing.resource_tracker import ensure_running
from typing import TYPE_CHECKING

from alice.errors import AliceError, one_line

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

SECONDS_TO_CONNECT = 10.0


def check_engine(engine: str | None, workers: int | None, scheduler: str | None) -> None:
    """Raise if the options that name the workers contradict each other."""
    if scheduler == "":
        raise AliceError("--scheduler is empty; give the address of a Dask scheduler, such as tcp://HOST:8786")
    if workers and scheduler:
        raise AliceError("--workers starts workers here, and --scheduler names one that has its own; leave one out")
    if engine and not (workers or scheduler):
        raise AliceError(f"--engine {engine} needs --scheduler with its address, or --workers to start some here")


def asks_for_workers(engine: str | None = None, workers: int | None = None, scheduler: str | None = None) -> bool:
    """Return whether valid options ask for more than one process."""
    check_engine(engine, workers, scheduler)
    return bool(engine or scheduler) or (workers or 1) > 1


@contextmanager
def open_cluster(*, workers: int | None = None, scheduler: str | None = None) -> Iterator["Client"]:
    """Start `workers` processes on this machine, or connect to a scheduler; end both after the block."""
    if find_spec("distributed") is None:
        raise AliceError("workers of a cluster need Dask, which is missing; run: pip install 'alice-interp[dask]'")
    from distributed import Client

    if scheduler is None:
        with _local_cluster(workers) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise AliceError(
            f"no Dask scheduler answers at {scheduler} ({one_line(error):.200}); start one with: dask scheduler"
        ) from error
    with client:
        yield client


@contextmanager
def _local_cluster(workers: int | None) -> Iterator["LocalCluster"]:
    """Start workers on this machine."""
    from distributed import LocalCluster

    with ExitStack() as stack:
        with _ctrl_c_held_back():
            try:
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=0,  # a training checks its memory itself
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # or a second sweep would warn about 8787
                    security=True,  # or every user of this machine could run code as this one
                    silence_logs=logging.CRITICAL,
                )
            except (OSError, RuntimeError) as error:
                raise AliceError(
                    f"the workers did not start ({one_line(error):.200}); try fewer, or wait until the machine is less "
                    "busy"
                ) from error
            stack.enter_context(cluster)
        yield cluster


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Block SIGINT in this thread and in all processes that are started meanwhile; this thread gets it afterwards.

    A terminal sends Ctrl-C to all processes. Workers must not see it, because the first process asks them to save and
    stop, and Dask prints a traceback for each if it is interrupted while they start.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    ensure_running()  # starting it later would unblock SIGINT in the thread that starts the first worker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
