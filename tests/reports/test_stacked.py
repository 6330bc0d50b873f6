import numpy as np
import pytest

from alice.errors import AliceError
from alice.reports.stacked import stacked_shares


def test_bars_add_up_to_one_and_say_how_many_there_are():
    drawn = stacked_shares(
        np.array([[1, 3], [0, 0], [2, 0]]), starts=np.array([0, 5, 10]), width=5, names=["few", "many"]
    )
    few, many = drawn.data
    assert few.x.tolist() == [2.5, 12.5]  # an empty bin is left out
    assert few.y.tolist() == [0.25, 1]
    assert (few.y + many.y).tolist() == [1, 1]
    assert many.text == ("0 to 4: 3 of 4 (75%)", "10 to 14: 0 of 2 (0%)")


def test_the_first_group_is_the_lightest():
    drawn = stacked_shares(np.ones((1, 4)), starts=np.zeros(1), width=5, names=list("abcd"))
    shades = [sum(map(int, trace.marker.color[4:-1].split(","))) for trace in drawn.data]
    assert shades == sorted(shades, reverse=True)


def test_counts_must_fit_bins_and_groups():
    with pytest.raises(AliceError, match="3 bins and 1 groups"):
        stacked_shares(np.ones((2, 1)), starts=np.zeros(3), width=5, names=["a"])
