"""The short form of the fuzzer: 200 inputs for each target. `run.py` makes any number."""

import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from fuzz.pieces import Choices
from fuzz.run import TARGETS, Hang, fuzz_randomly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SHORT = settings(
    max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_gives_a_traceback_or_a_wrong_answer(name):
    target = import_module(f"fuzz.{name}")
    for seed in target.SEEDS:
        target.try_input(seed)

    @SHORT
    @given(st.binary(max_size=300))
    def try_many(data):
        target.try_input(data)

    try_many()
    fuzz_randomly(name, 100, seed=0)  # hypothesis prefers short and simple inputs


def test_a_finding_names_its_input(capsys, monkeypatch):
    target = import_module("fuzz.text_input")

    def fail(data):
        raise ZeroDivisionError

    monkeypatch.setattr(target, "try_input", fail)
    with pytest.raises(ZeroDivisionError):
        fuzz_randomly("text_input", 5, seed=0)
    assert "text_input: input 0 is b" in capsys.readouterr().err
    for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
        assert signal.getitimer(timer)[0] == 0, "the timer is still set and would end this process later"


def compute_for_ever(data):
    while True:
        pass


@pytest.mark.parametrize("hang", [lambda data: time.sleep(60), compute_for_ever], ids=["waiting", "computing"])
def test_an_input_that_hangs_is_a_finding(capsys, monkeypatch, hang):
    monkeypatch.setattr("fuzz.run.SECONDS_OF_ONE", 0.1)
    monkeypatch.setattr(import_module("fuzz.text_input"), "try_input", hang)
    with pytest.raises(Hang, match=r"no answer within 0\.1 seconds"):
        fuzz_randomly("text_input", 5, seed=0)
    assert "text_input: input 0 is b" in capsys.readouterr().err


def test_an_unknown_target_is_an_error():
    script = Path(__file__).with_name("run.py")
    done = subprocess.run([sys.executable, script, "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no target nothing" in done.stderr


def test_the_same_bytes_give_the_same_choices():
    document = {"a": [1, {"b": 2}], "c": "d"}
    first, second = (Choices(bytes(range(1, 60))) for _ in range(2))
    assert first.damaged_document(document) == second.damaged_document(document)
    assert first.written(document) == second.written(document)
    assert Choices(b"").damaged_document(document) == document
