"""`run all` needs as much memory for many texts as for few."""

import sys

import pytest
from robustness.killing import LONG, start
from robustness.long_reading import read_all, watch

FEW, MANY = (2_000, 20_000) if LONG else (100, 500)
pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")]


def peak(place, count):
    """Return the peak memory in bytes while all analyses read `count` texts."""
    place.mkdir()
    process = start(read_all, place, count)
    most = max(watch(process))
    process.join()
    assert process.exitcode == 0
    read = (place / "read.txt").read_text()
    assert read.count(f": {count} texts") >= 8, read
    return most


def test_memory_does_not_grow_with_the_number_of_texts(tmp_path):
    few, many = peak(tmp_path / "few", FEW), peak(tmp_path / "many", MANY)
    print(f"{FEW} texts: {few / 2**20:.0f} MB, {MANY} texts: {many / 2**20:.0f} MB")
    assert many <= 1.2 * few
