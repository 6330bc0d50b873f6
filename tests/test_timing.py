import pytest
import torch

from alice import timing
from alice.timing import Stopwatch, using_threads


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless its hand is moved."""
    hand = [100.0]
    monkeypatch.setattr(timing, "now", lambda: hand[0])
    return hand


def test_a_stopwatch_adds_up_what_happens_inside_and_nothing_else(clock):
    watch = Stopwatch()
    for inside, outside in [(2.0, 10.0), (0.5, 20.0)]:
        with watch:
            clock[0] += inside
        clock[0] += outside
    assert watch.seconds == 2.5


def test_a_watched_function_does_the_same_and_its_time_counts_even_if_it_fails(clock):
    watch = Stopwatch()

    def work(number, *, seconds):
        clock[0] += seconds
        return 10 // number

    watched = watch.watching(work)
    assert watched(5, seconds=3.0) == 2
    with pytest.raises(ZeroDivisionError):
        watched(0, seconds=1.0)
    assert watch.seconds == 4.0


def test_threads_are_as_before_afterwards_even_after_an_error():
    before = torch.get_num_threads()
    with using_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError), using_threads(before + 1):
        _ = 1 / 0
    assert torch.get_num_threads() == before


def test_there_is_at_least_one_core_and_no_more_than_the_machine_has(monkeypatch):
    assert 1 <= timing.cores() <= timing.os.cpu_count()
    monkeypatch.delattr(timing.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(timing.os, "cpu_count", lambda: 7)
    assert timing.cores() == 7
