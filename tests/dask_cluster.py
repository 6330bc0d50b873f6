"""A real Dask scheduler on loopback, with workers that tests start and kill."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

from alice.cluster import open_cluster


def wait_for(found, seconds=600):
    """Wait until a function returns something, and return it; the limit is for tests that hang."""
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return value


@contextmanager
def running_scheduler(folder):
    """Start a scheduler; yield its address and a function that starts a worker."""
    file, processes = folder / "scheduler.json", []

    def start_worker(name):
        options = ("--name", name, "--nthreads", 1, "--no-nanny", "--local-directory", folder)
        processes.append(_started("dask_worker", "--scheduler-file", file, *options))
        return processes[-1]

    processes.append(_started("dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file))
    try:
        about = wait_for(lambda: file.exists() and file.read_text())  # Dask creates the file, then writes to it
        yield json.loads(about)["address"], start_worker
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def connected(scheduler, workers):
    """Connect to a scheduler once it has some workers."""
    with open_cluster(scheduler=scheduler) as client:
        wait_for(lambda: len(client.scheduler_info()["workers"]) >= workers)
        yield client


def _started(module, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, arguments), "--no-dashboard"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
