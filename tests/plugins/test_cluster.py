"""Workers of a Dask cluster share what an analysis reads, and its result is that of one process."""

import os
import signal
from dataclasses import dataclass

import pytest
import torch
from click.testing import CliRunner
from dask_cluster import connected, running_scheduler, wait_for
from tiny import tiny
from workbench import save_checkpoint, save_texts

import alice
from alice.cli import main
from alice.errors import AliceError
from alice.plugins import Metric, Result
from alice.plugins.analysis import can_be_divided
from alice.plugins.conformance import fingerprint, tiny_context, tiny_texts
from alice.plugins.context.cluster import count_workers, divided
from alice.plugins.manager import build
from alice.plugins.runner import AnalysisFailedError, compute
from alice.reports import read_report

pytest.importorskip("distributed")
DIVIDED = sorted(name for name, cls in build(third_party=False).analyses.items() if can_be_divided(cls))
FILE = """
from dataclasses import dataclass
from alice.plugins import Metric, Result, hookimpl

def letters(batch):
    return int(batch.mask.sum())

@dataclass(frozen=True)
class Letters:
    '''Count characters.'''

    name = "letters"
    workers = True

    def run(self, ctx):
        return Result("Letters", metrics=[Metric("letters", sum(ctx.map(letters, ctx.batches, "Counting")))])

@hookimpl
def register_analyses():
    return [Letters]
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler with two workers, and a function that starts another."""
    with running_scheduler(tmp_path_factory.mktemp("dask")) as (address, start_worker):
        for name in ("one", "two"):
            start_worker(name)
        with connected(address, 2):
            yield address, start_worker


@pytest.fixture
def cluster(scheduler):
    with connected(scheduler[0], 2) as client:
        yield client


@pytest.fixture
def ctx():
    return tiny_context(tiny("base"), texts=12)


@pytest.mark.parametrize("name", DIVIDED)
def test_every_analysis_that_can_be_divided_gives_the_same_result_on_a_cluster(cluster, ctx, name):
    analysis = build(third_party=False).analyses[name]()
    alone, spread = (compute(analysis, one) for one in (ctx.divided(1), ctx.divided(2, cluster=cluster)))
    assert fingerprint(spread) == fingerprint(alone)


def test_shares_are_read_on_the_workers_with_one_thread_and_come_in_order(cluster, ctx):
    shared = ctx.divided(2, cluster=cluster)
    found = list(shared.map(lambda number: (number, os.getpid(), torch.get_num_threads()), range(20), "Reading"))
    assert [number for number, _, _ in found] == list(range(20))
    assert os.getpid() not in {place for _, place, _ in found}
    assert {threads for _, _, threads in found} == {1}


def test_activations_are_computed_on_the_workers(cluster, ctx):
    items = ctx.activations("blocks.*.hook_resid_post")

    def norms(item):
        return [float(value.norm()) for value in item[1].values()]

    wanted = list(ctx.divided(1).map(norms, items, "Reading"))
    assert list(ctx.divided(2, cluster=cluster).map(norms, items, "Reading")) == wanted


def test_a_worker_that_is_killed_loses_nothing(scheduler, cluster, ctx, tmp_path):
    _, start_worker = scheduler
    doomed, mark = start_worker("doomed"), tmp_path / "killed"
    wait_for(lambda: count_workers(cluster) == 3)

    def read(number):
        if number == 5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    assert list(ctx.divided(3, cluster=cluster).map(read, range(30), "Reading")) == [n * n for n in range(30)]
    assert mark.exists()
    doomed.kill()
    start_worker("another")
    wait_for(lambda: count_workers(cluster) >= 2)


@dataclass(frozen=True)
class Failing:
    """Fail on a worker."""

    name = "failing"
    workers = True
    raised: Exception = ValueError("no such letter")

    def run(self, ctx):
        raised = self.raised  # the workers cannot import this class

        def read(number):
            raise raised

        return Result("Failing", metrics=[Metric("read", len(list(ctx.map(read, range(4), "Reading"))))])


def test_what_a_worker_raises_arrives(cluster, ctx):
    with pytest.raises(AnalysisFailedError, match="no such letter"):
        compute(Failing(), ctx.divided(2, cluster=cluster))
    with pytest.raises(AliceError, match=r"^the text is empty$"):
        compute(Failing(AliceError("the text is empty")), ctx.divided(2, cluster=cluster))


def test_a_cluster_without_workers_is_one_sentence(tmp_path, ctx):
    with (
        running_scheduler(tmp_path) as (address, _),
        pytest.raises(AliceError, match=r"has no workers; start some with: dask worker tcp://127.0.0.1:\d+"),
        divided(ctx, scheduler=address),
    ):
        pass


def test_the_command_and_python_read_on_a_cluster(scheduler, tmp_path):
    address, _ = scheduler
    arguments = ["--ckpt", save_checkpoint(tmp_path / "model"), "--data", save_texts(tmp_path / "texts.txt")]
    arguments += ["--split", "all", "--device", "cpu"]
    results = []
    for number, place in enumerate([("--workers", 1), ("--scheduler", address), ("--engine", "dask", "--workers", 2)]):
        out = tmp_path / str(number)
        command = ["run", "early-exit", *arguments, *place, "--out", out]
        done = CliRunner().invoke(main, list(map(str, command)), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        results.append(fingerprint(read_report(next(out.glob("early-exit-*"))).result))
    assert results[0] == results[1] == results[2]
    found = alice.run("early-exit", tiny("base"), data=tiny_texts(4), scheduler=address)
    assert fingerprint(found.result) == fingerprint(alice.run("early-exit", tiny("base"), data=tiny_texts(4)).result)
    refused = CliRunner().invoke(main, ["run", "probe", *map(str, arguments), "--scheduler", address])
    assert refused.exit_code == 1
    assert "probe cannot be divided among workers, because" in refused.stderr


def test_a_plugin_that_the_workers_do_not_have_is_one_sentence(scheduler, tmp_path):
    (tmp_path / "letters.py").write_text(FILE)
    command = ["run", "letters", "--ckpt", save_checkpoint(tmp_path / "model"), "--plugin", tmp_path / "letters.py"]
    command += ["--data", save_texts(tmp_path / "texts.txt"), "--split", "all", "--scheduler", scheduler[0]]
    refused = CliRunner().invoke(main, [*map(str, command), "--out", str(tmp_path / "out")])
    assert refused.exit_code == 1
    assert "a worker lacks a module" in refused.stderr
    assert refused.stderr.strip().endswith("install the same packages on all machines, also plugins")
