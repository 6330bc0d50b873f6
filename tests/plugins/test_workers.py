"""Workers share what an analysis reads, and its result does not depend on their number."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from tiny import tiny
from workbench import save_checkpoint, save_texts

import alice
from alice.cli import main
from alice.errors import AliceError
from alice.plugins import Metric, Result
from alice.plugins.analysis import can_be_divided
from alice.plugins.conformance import check_divided, tiny_context, tiny_texts
from alice.plugins.context.workers import check_device
from alice.plugins.manager import build
from alice.plugins.runner import AnalysisFailedError, compute

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are copies of a process")


@pytest.fixture
def ctx():
    return tiny_context(tiny("base"), texts=12)


@pytest.fixture
def workers():
    """Return the processes started since then that are alive; what other tests left running does not count."""
    before = set(multiprocessing.active_children())
    return lambda: set(multiprocessing.active_children()) - before


def numbers(ctx, read, count=10):
    return list(ctx.map(read, range(count), "Reading"))


@pytest.mark.parametrize("workers", [None, 1, 2, 3, 20])
def test_what_is_read_comes_in_the_order_of_the_items(ctx, workers):
    assert numbers(ctx.divided(workers), lambda number: (number, np.full(2, number).sum())) == [
        (number, 2 * number) for number in range(10)
    ]


def test_each_worker_reads_its_share_in_a_process_of_one_thread(ctx):
    found = numbers(ctx.divided(3), lambda number: (os.getpid(), torch.get_num_threads()))
    places = [place for place, _ in found]
    assert len(set(places)) == 3
    assert os.getpid() not in places
    assert places == places[:3] * 3 + places[:1]
    assert {threads for _, threads in found} == {1}


def test_tensors_and_batches_survive_the_worker_that_made_them(ctx):
    sent = list(ctx.divided(2).map(lambda batch: batch, ctx.batches, "Reading"))
    assert len(sent) > 1
    for batch, again in zip(ctx.batches, sent, strict=True):
        assert all(torch.equal(getattr(batch, name), getattr(again, name)) for name in ("cipher_ids", "keys", "index"))


def test_numbers_arrive_to_the_last_bit(ctx):
    def drawn(number):
        return torch.randn(5, dtype=torch.float32, generator=torch.Generator().manual_seed(number))

    for wanted, found in zip(map(drawn, range(10)), numbers(ctx.divided(2), drawn), strict=True):
        assert torch.equal(found, wanted)


def test_no_texts_need_no_workers(ctx):
    assert numbers(ctx.divided(4), lambda number: number, count=0) == []


class OddError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (AliceError("the text is empty"), AliceError, "the text is empty"),
        (ValueError("not a number"), ValueError, "not a number"),
        (OddError("this", "that"), (RuntimeError, OddError), "this and that"),
    ],
)
def test_what_a_worker_raises_arrives_with_its_traceback(ctx, workers, raised, kind, message):
    def read(number):
        if number == 4:
            raise raised
        return number

    with pytest.raises(kind, match=message) as caught:
        numbers(ctx.divided(2), read)
    # An error that cannot be built again arrives as a RuntimeError, unless an installed package teaches pickle to.
    assert isinstance(caught.value, RuntimeError) or "in read" in caught.value.__notes__[0]
    assert not workers()


def test_a_killed_worker_is_one_sentence(ctx, workers):
    def read(number):
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(AliceError, match=r"a worker process was killed by signal 9; if memory was short"):
        numbers(ctx.divided(2), read)
    assert not workers()


def test_workers_end_when_nobody_reads_on(ctx, workers):
    found = ctx.divided(2).map(lambda number: np.zeros(100_000), range(50), "Reading")
    next(found)
    assert len(workers()) == 2
    found.close()
    assert not workers()


ORPHANS = """
import os, signal, sys, time
import numpy as np
from alice.plugins.context.workers import read_in_workers
def read(number):
    print(os.getpid(), flush=True)
    return np.zeros(100_000)
found = read_in_workers(read, range(1000), 2)
next(found)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_the_first_process_is_killed():
    done = subprocess.run([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL  # and the pipe of the workers' output is closed: they have ended
    assert len(set(done.stdout.split())) == 2


INTERRUPTED = """
import sys, time
from alice.cli.signals import interrupt
import signal
signal.signal(signal.SIGINT, interrupt)
from alice.plugins.context.workers import read_in_workers
def read(number):
    if number > 1:
        time.sleep(60)
    return number
for number in read_in_workers(read, range(10), 2):
    print(number, flush=True)
"""


def test_ctrl_c_ends_all_of_them_without_a_word():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate(timeout=30)  # until the workers, too, have closed their output
    assert said.count("Traceback") == 1  # of the first process; the command line catches it


@dataclass(frozen=True)
class Order:
    """The sum of numbers that floating-point arithmetic does not add up the same in every order."""

    name = "order"
    workers = True
    samples: int = 5

    def run(self, ctx):
        total = 0.0
        for part in ctx.map(lambda number: [1e16, 1.0, -1e16, 0.1][number % 4], range(101), "Adding"):
            total += part
        return Result("Order", metrics=[Metric("total", total)])


def test_sums_that_depend_on_their_order_stay_the_same(ctx):
    totals = {workers: compute(Order(), ctx.divided(workers)).metric("total") for workers in (None, 1, 2, 3, 7)}
    assert len({found.value for found in totals.values()}) == 1


def test_the_kit_catches_an_analysis_that_depends_on_the_worker(ctx):
    @dataclass(frozen=True)
    class Bad(Order):
        """Return what depends on the process."""

        def run(self, ctx):
            seen = []
            counts = list(ctx.map(lambda number: seen.append(number) or len(seen), range(6), "Counting"))
            return Result("Bad", metrics=[Metric("total", sum(counts))])

    check_divided(Order(), ctx)
    with pytest.raises(AssertionError, match="order: two workers give another result than one"):
        check_divided(Bad(), ctx)


def test_an_analysis_that_cannot_be_divided_says_so():
    plugins = build(third_party=False).analyses
    divided = {name for name, cls in plugins.items() if can_be_divided(cls)}
    assert {"early-exit", "letter-frequency", "key-recovery", "errors-by-length", "attention"} <= divided
    assert {"ablation", "patching", "evidence", "relabelling"} <= divided
    reasons = {name: getattr(cls, "workers", "") for name, cls in plugins.items() if name not in divided}
    assert all(reasons[name] for name in ("probe", "lens", "features", "ngram", "circuit", "speed", "disagreement"))


def test_the_docs_list_the_analyses_that_can_be_divided():
    text = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
    listed = text.partition("add up in a different order.")[2].partition(" can be divided")[0]
    divided = {name for name, cls in build(third_party=False).analyses.items() if can_be_divided(cls)}
    assert set(re.findall("`([a-z-]+)`", listed)) == divided


@pytest.mark.parametrize(
    ("workers", "complaint"),
    [
        ("its probes learn", "order cannot be divided among workers, because its probes learn$"),
        (False, "because it does not say how what they read adds up$"),
    ],
)
def test_workers_are_refused_where_they_cannot_help(ctx, workers, complaint):
    cls = dataclass(frozen=True)(type("Alone", (Order,), {"workers": workers, "__doc__": "Alone."}))
    with pytest.raises(AliceError, match=complaint):
        compute(cls(), ctx.divided(2))
    assert compute(cls(), ctx.divided(1)).metric("total")


def test_python_divides_as_the_command_does():
    found = alice.run(Order(), tiny("base"), data=tiny_texts(4), workers=2)
    assert found.metric("total").value == compute(Order(), tiny_context(tiny("base"), texts=4)).metric("total").value
    assert found.provenance["machine"]["threads"] == 2


def test_workers_are_refused_on_an_accelerator():
    with pytest.raises(AliceError, match="workers compute on the CPU, not on cuda:1"):
        check_device(torch.device("cuda:1"))


def test_a_bug_in_a_worker_is_a_failed_analysis(ctx):
    cls = dataclass(frozen=True)(
        type(
            "Failing", (Order,), {"run": lambda self, ctx: list(ctx.map(lambda n: 1 / n, range(3), "")), "__doc__": "x"}
        )
    )
    with pytest.raises(AnalysisFailedError, match="ZeroDivisionError"):
        compute(cls(), ctx.divided(2))


def test_the_command_divides_and_gives_the_same_result(tmp_path):
    model, texts = save_checkpoint(tmp_path / "model"), save_texts(tmp_path / "texts.txt")
    arguments = ["--ckpt", str(model), "--data", str(texts), "--split", "all", "--device", "cpu"]
    results = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        done = CliRunner().invoke(
            main, ["run", "early-exit", *arguments, "--workers", workers, "--out", str(out)], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        results.append(json.loads(next(out.glob("*/result.json")).read_text()))
    for found in results:
        assert found["provenance"].pop("machine")["threads"] in (1, 2)
        del found["provenance"]["time"], found["provenance"]["duration"]
    assert results[0] == results[1]
    refused = CliRunner().invoke(main, ["run", "probe", *arguments, "--workers", "2", "--out", str(tmp_path / "no")])
    assert refused.exit_code == 1
    expected = "probe cannot be divided among workers, because its probes learn from all texts; run it without workers"
    assert refused.stderr.strip().endswith(expected)
    assert not (tmp_path / "no").exists()
