"""Connections to the workers of a cluster."""

import pytest

from alice import cluster
from alice.cluster import asks_for_workers, check_engine, open_cluster
from alice.errors import AliceError


def test_a_scheduler_that_does_not_answer_is_one_sentence(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.3)
    with (
        pytest.raises(
            AliceError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 .*; start one with: dask"
        ) as caught,
        open_cluster(scheduler="tcp://127.0.0.1:9"),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(AliceError, match=r"run: pip install 'alice-interp\[dask\]'"), open_cluster(workers=2):
        pass


@pytest.mark.parametrize(
    ("engine", "workers", "scheduler", "complaint"),
    [
        (None, None, "", "--scheduler is empty"),
        (None, 2, "tcp://host:1", "leave one out"),
        ("dask", None, None, "--engine dask needs --scheduler with its address, or --workers"),
    ],
)
def test_options_that_contradict_each_other_are_one_sentence(engine, workers, scheduler, complaint):
    with pytest.raises(AliceError, match=complaint):
        check_engine(engine, workers, scheduler)


def test_one_process_is_no_team():
    assert not asks_for_workers()
    assert not asks_for_workers(workers=1)
    assert asks_for_workers(workers=2)
    assert asks_for_workers("dask", 1)
    assert asks_for_workers(scheduler="tcp://host:1")
