"""A sweep on the workers of a Dask cluster ends as one in this process, also if a worker is killed."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from dask_cluster import connected, running_scheduler, wait_for
from trainings import carry_out, same_weights, small_training

from alice.cluster import open_cluster
from alice.errors import AliceError
from alice.training import engine, sweep
from alice.training.folder import FolderBusyError, latest_rows, read_metrics
from alice.training.state import STATE, read_counters

KilledWorker = pytest.importorskip("distributed").KilledWorker
SETTINGS = engine.Settings(device="cpu")
FIELDS = {"steps": 250, "log_every": 1, "eval_every": 75, "eval_texts": 4, "save_minutes": 0.002, "batch_tokens": 128}


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler on loopback, and a function that starts a worker."""
    with running_scheduler(tmp_path_factory.mktemp("dask")) as started:
        yield started


def pools(folder, corpus, **changes):
    folder.mkdir()
    fields = FIELDS | changes
    return [
        small_training(folder / f"pool-{size or 'all'}", corpus, cipher_pool=size, **fields) for size in (3, 5, None)
    ]


def step_of(training):
    return read_counters(training.folder).step if (training.folder / STATE).exists() else 0


def rows(folder):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_metrics(folder)]


def test_trainings_start_in_the_order_of_the_sweep(scheduler, corpus, tmp_path):
    address, start_worker = scheduler
    only, names, said = start_worker("only"), ["e", "b", "d", "a", "c"], []
    wanted = [small_training(tmp_path / name, corpus, steps=2, eval_texts=4) for name in names]
    with connected(address, 1) as client:
        assert engine.carry_out_on_workers(sweep.plan(wanted, ()), client, SETTINGS, say=said.append)
    only.kill()
    only.wait()
    assert said[len(names) :] == [f"{name}: finished" for name in names]


def test_a_sweep_survives_a_killed_worker_and_ends_as_without(scheduler, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "SECONDS_BETWEEN_LOOKS", 0.05)
    address, start_worker = scheduler
    doomed, _ = start_worker("doomed"), start_worker("other")
    whole, spread = pools(tmp_path / "whole", corpus)[:2], pools(tmp_path / "spread", corpus)[:2]
    for training in whole:
        carry_out(training)
    said, killed = [], {}
    with connected(address, 2) as client:
        places = {about["name"]: place for place, about in client.scheduler_info()["workers"].items()}

        def kill_in_the_middle():
            given = {key.rpartition("-")[0] for key in client.processing().get(places["doomed"], ())}
            begun = {one.folder.name: step_of(one) for one in spread if one.folder.name in given}
            if not killed and any(10 <= step < 150 for step in begun.values()):
                doomed.kill()
                doomed.wait()
                killed.update(begun)

        plan = sweep.plan(spread, ())
        assert engine.carry_out_on_workers(plan, client, SETTINGS, say=said.append, look=kill_in_the_middle)
    assert killed
    names = [training.folder.name for training in spread]
    assert said[:2] == [f"{name}: waiting for a worker" for name in names]
    assert sorted(said[2:]) == [f"{name}: finished" for name in names]
    for left, right in zip(whole, spread, strict=True):
        assert same_weights(left.folder, right.folder)
        assert rows(left.folder) == rows(right.folder)


def test_one_training_that_fails_does_not_stop_the_others(scheduler, corpus, tmp_path):
    address, start_worker = scheduler
    start_worker("third")
    first, second, third = pools(tmp_path / "sweep", corpus, steps=4)
    elsewhere = small_training(tmp_path / "gone" / "pool-5", corpus, steps=4)
    with connected(address, 1) as client, pytest.raises(AliceError) as caught:
        engine.carry_out_on_workers(sweep.plan([first, elsewhere, third], ()), client, SETTINGS)
    assert str(caught.value).startswith("1 of 3 trainings failed: pool-5 (the Dask worker tcp://127.0.0.1:")
    assert "choose one that all machines share" in str(caught.value)
    assert [step_of(training) for training in (first, second, third)] == [4, 0, 4]


def test_a_stop_does_not_wait_for_workers_that_never_come(corpus, tmp_path):
    training, said, looks = small_training(tmp_path / "base", corpus, steps=4), [], []
    with open_cluster(workers=0) as client:
        finished = engine.carry_out_on_workers(
            sweep.plan([training], ()),
            client,
            SETTINGS,
            stop=lambda: len(looks) > 1,
            say=said.append,
            look=lambda: looks.append(None),
        )
    assert not finished
    assert said[1:] == ["base: waiting for a worker", "base: stopped before a worker had it"]
    assert not training.folder.exists()


class Ended:
    """A future that has ended."""

    def __init__(self, result=None, error=None, cancelled=False):
        self.done, self.cancelled = (lambda: True), (lambda: cancelled)
        self.result, self.exception = (lambda: result), (lambda: error)


class Client:
    """A client whose tasks have ended as given, with a number of steps done meanwhile."""

    def __init__(self, training, *outcomes):
        self.training, self.outcomes = training, list(outcomes)

    def submit(self, task, *arguments, **options):
        steps, future = self.outcomes.pop(0)
        carry_out(replace(self.training, recipe=replace(self.training.recipe, steps=steps)), resume=True)
        return future


@pytest.mark.parametrize(
    ("second_steps", "said"),
    [
        (4, ["base: its workers died, going on at step 3", "base: its worker lost the scheduler, going on at step 4"]),
        (3, ["base: its workers died, going on at step 3", "base failed: its worker lost the scheduler; repeat"]),
    ],
)
def test_a_training_goes_on_as_long_as_it_advances(corpus, tmp_path, monkeypatch, second_steps, said):
    monkeypatch.setattr("distributed.Event", lambda name, client: None)
    training = small_training(tmp_path / "base", corpus, steps=20)
    training.describe()
    died, lost = Ended(error=KilledWorker("task", None, 3)), Ended(result=False)
    client, lines = Client(training, (3, died), (second_steps, lost), (6, Ended(result=True))), []
    runs = engine._Runs(client, SETTINGS, lines.append)
    monkeypatch.setattr(runs, "_halt", SimpleNamespace(name="halt"))
    runs.submit(sweep.find_member(training, ()))
    while runs.members:
        runs.collect()
    assert [line[: len(expected)] for line, expected in zip(lines, said, strict=False)] == said
    assert lines[len(said) :] == (["base: finished"] if second_steps == 4 else [])
    assert len(runs.failed) == (second_steps == 3)


def test_a_folder_that_another_process_has_is_waited_for(corpus, tmp_path):
    training = small_training(tmp_path / "busy", corpus)
    program = "import sys, time; from pathlib import Path; from alice.files import held\n"
    program += "with held(Path(sys.argv[1])): print(flush=True); time.sleep(60)"
    training.folder.mkdir()
    other = subprocess.Popen([sys.executable, "-c", program, str(training.folder)], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        with pytest.raises(FolderBusyError, match="another process is training in"), training.claimed(new=True):
            pass
    finally:
        other.kill()
        other.communicate()


def test_a_worker_with_several_threads_is_refused(scheduler, corpus, tmp_path, monkeypatch):
    class Worker:
        address = "tcp://here:1"
        state = type("State", (), {"nthreads": 4})

    monkeypatch.setattr("distributed.get_worker", Worker)
    with pytest.raises(AliceError, match=r"tcp://here:1 has 4 threads, .* start it with: dask worker --nthreads 1"):
        engine._check_worker(small_training(tmp_path, corpus))


STARTING = """
import os, signal
from alice.cli import main
from distributed import Nanny
start = Nanny.start_unsafe
async def interrupted(self):
    os.killpg(0, signal.SIGINT)  # as a terminal does: to all processes, of which some start just then
    return await start(self)
Nanny.start_unsafe = interrupted
main()
"""


def test_ctrl_c_while_workers_start_is_one_line(corpus, tmp_path):
    arguments = ["sweep", "generalization", "--pools", "3", "--preset", "tiny", "--data", str(corpus)]
    process = subprocess.Popen(
        [sys.executable, "-c", STARTING, *arguments, "--out", str(tmp_path / "out"), "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job may ignore it
    )
    _, said = process.communicate(timeout=600)
    assert (process.returncode, said.split()) == (130, ["alice-interp:", "interrupted"])


def test_ctrl_c_lets_local_workers_save(corpus, tmp_path):
    fields = (
        "--log-every",
        "1",
        "--eval-texts",
        "4",
        "--batch-tokens",
        "256",
        "--precision",
        "fp32",
        "--compile",
        "no",
    )
    arguments = ("--pools", "3,5", "--preset", "tiny", "--data", corpus, "--out", tmp_path, "--steps", 5000, *fields)
    command = ["-m", "alice.cli", "sweep", "generalization", *arguments, "--workers", 2, "--device", "cpu"]
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    folders = [tmp_path / "pool-3", tmp_path / "pool-5"]
    try:
        wait_for(lambda: all(latest_rows(folder) for folder in folders) or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
        _, said = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == f"stopped and saved in {tmp_path}; repeat the command to continue"
    assert "Traceback" not in said
    for folder in folders:
        assert read_counters(folder).step == latest_rows(folder)[-1]["step"] > 0
