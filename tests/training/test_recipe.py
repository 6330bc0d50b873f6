import pytest

from alice.errors import AliceError
from alice.training.recipe import Recipe, rate_factor


def curve(schedule, steps=100, warmup=10, decay=0.5):
    return [
        rate_factor(schedule, step=s, progress=s / steps, warmup_steps=warmup, decay_share=decay)
        for s in range(steps + 1)
    ]


def test_constant_stays_after_the_warm_up():
    rates = curve("constant")
    assert rates[:3] == pytest.approx([0.1, 0.2, 0.3])
    assert set(rates[10:]) == {1.0}


def test_wsd_is_stable_then_decays_to_zero_when_the_budget_ends():
    rates = curve("wsd")
    assert set(rates[10:51]) == {1.0}
    assert rates[75] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.02)
    assert rates[100] == 0.0


def test_cosine_is_half_way_down_in_the_middle_and_ends_at_zero():
    rates = curve("cosine", warmup=0)
    assert rates[0] == 1.0
    assert rates[50] == pytest.approx(0.5)
    assert rates[100] == pytest.approx(0.0)


def test_progress_counts_steps_or_time():
    assert Recipe(steps=200).progress(50, seconds=9e9) == 0.25
    assert Recipe(hours=2.0).progress(10**9, seconds=1800) == 0.25
    assert Recipe(hours=2.0).progress(0, seconds=9e9) == 1.0


@pytest.mark.parametrize(
    ("keep_steps", "kept"),
    [
        ("", []),
        ("300,7", [7, 300]),
        ("log", [0, *(2**n for n in range(9))]),
        ("log:1", [0, 1, 10, 100]),
        ("log:4", [0, 1, 2, 3, 6, 10, 18, 32, 56, 100, 178, 316]),
    ],
)
def test_steps_are_kept_from_a_list_or_log_spaced(keep_steps, kept):
    assert list(filter(Recipe(steps=1000, keep_steps=keep_steps).keeps, range(500))) == kept


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "one budget"),
        ({"steps": 5, "hours": 1.0}, "one budget"),
        ({"steps": 0}, "steps=0 must be greater than 0"),
        ({"steps": 5, "lr": -1.0}, "lr=-1.0 must be greater than 0"),
        ({"steps": 5, "schedule": "cosin"}, "did you mean 'cosine'"),
        ({"steps": 5, "batch_tokens": None}, "a batch needs a limit"),
        ({"steps": 5, "ema": 1.0}, "ema=1.0 must be"),
        ({"steps": 5, "decay_share": 0.0}, "decay_share=0.0"),
        ({"steps": 5, "clip": -1.0}, "clip=-1.0 must be 0 or more"),
        ({"steps": 5, "warmup_steps": -5}, "warmup_steps=-5 must be 0 or more"),
        ({"steps": 5, "seed": -1}, "seed=-1 must be 0 or more"),
        ({"steps": 5, "lr": float("nan")}, "lr=nan must be greater than 0"),
        ({"steps": 10**10}, "steps=10000000000 is too large"),
        ({"steps": 5, "keep_steps": "100;300"}, "keep_steps='100;300' is neither log, nor log:4, nor steps like"),
        ({"steps": 5, "keep_steps": "log:0"}, "keep_steps='log:0' is neither log"),
    ],
)
def test_an_invalid_recipe_is_refused(fields, complaint):
    with pytest.raises(AliceError, match=complaint):
        Recipe(**fields)


def test_a_recipe_from_a_file_refuses_unknown_keys_and_wrong_types():
    with pytest.raises(AliceError, match=r"training.json: unknown key 'stpes'; did you mean 'steps'"):
        Recipe.from_dict({"stpes": 3}, where="training.json")
    with pytest.raises(AliceError, match="steps has the wrong type"):
        Recipe.from_dict({"steps": "many"}, where="training.json")
