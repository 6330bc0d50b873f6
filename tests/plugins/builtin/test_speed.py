"""The speed analysis with a fake clock, so that every figure is known."""

from itertools import count

import pytest
import torch
from tiny import tiny

from alice import timing
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.solver_scores import ciphertexts, solve_all
from alice.plugins.builtin.speed import Speed
from alice.plugins.builtin.speed.measure import Timing, compare, read_once, time_models
from alice.plugins.builtin.speed.report import cores_of, share_of, speeds_of
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.reports.archive import fingerprint
from alice.solving.evaluate import score
from alice.text.alphabet import LETTERS

NO_TIME = {"training": None, "climbs": 1, "seconds": 0}
QUICK = {"rounds": 1, "classical": 2, "climbs": 1, "training_texts": 20}


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second on every reading, with half a second of CPU time."""
    ticks, half_ticks = count(), count()
    monkeypatch.setattr(timing, "now", lambda: float(next(ticks)))
    monkeypatch.setattr(timing, "processor_now", lambda: next(half_ticks) / 2)
    monkeypatch.setattr(timing, "cores", lambda: 1)


def letters_in(texts):
    return sum(letter in LETTERS for text in texts for letter in text)


@pytest.mark.parametrize("variant", ["base", "dynamic"])
def test_letters_per_second_are_letters_over_the_seconds_of_the_calls(clock, variant):
    texts = tiny_texts(7)
    ctx = RunContext.open(tiny(variant), data=texts, split="all")
    one_by_one, batches = Timing(ctx, True, 1), Timing(ctx, False, 1)
    for found in (one_by_one, batches):
        found.take_turn()
        found.take_turn()
    # A call without an assignment reads the clock twice: it takes one second.
    assert speeds_of(one_by_one).median == letters_in(texts) / 7
    assert speeds_of(batches).median == letters_in(texts) / len(ctx.batches)
    assert one_by_one.last.characters == sum(map(len, texts))
    assert share_of(one_by_one) is None
    assert cores_of(one_by_one) == 0.5


def test_the_share_of_the_assignment_times_the_function_that_the_head_calls(clock, monkeypatch):
    calls, model = [], tiny("bijective")
    assign = model.head.assign
    monkeypatch.setattr(model.head, "assign", lambda scores: calls.append(len(scores)) or assign(scores))
    found = Timing(tiny_context(model, texts=5), True, 1)
    found.take_turn()
    # The watch of the whole starts, that of the assignment starts and stops, that of the whole stops: 1 of 3 seconds.
    assert found.seconds == [15.0]
    assert share_of(found) == pytest.approx(1 / 3)
    assert calls == [1] * 5


def test_assignment_and_threads_are_restored_even_if_a_model_fails(monkeypatch):
    model = tiny("bijective")
    before = model.head.assign, torch.get_num_threads()
    monkeypatch.setattr(model, "forward", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Timing(tiny_context(model, texts=2), True, before[1] + 1).take_turn()
    assert (model.head.assign, torch.get_num_threads()) == before


def test_one_text_at_a_time_and_batches_give_the_models_own_errors(model):
    ctx = tiny_context(model, texts=9)
    expected = sorted(score(model, ctx.batches).errors)
    for single in (True, False):
        assert sorted(read_once(ctx, single=single).errors) == pytest.approx(expected)


def test_all_settings_take_turns_and_no_round_starts_after_the_time_limit(clock, monkeypatch):
    monkeypatch.setattr(timing, "cores", lambda: 2)
    turns = []
    monkeypatch.setattr(
        Timing, "take_turn", lambda self: turns.append((self.ctx.checkpoint, self.single, self.threads))
    )
    ctx = tiny_context(tiny("base"), tiny("bijective"), texts=2)
    time_models(ctx, rounds=2, seconds=100)
    order = [(name, single, n) for name in ("base", "bijective") for single in (True, False) for n in (1, 2)]
    assert turns == order * 2
    turns.clear()
    time_models(ctx, rounds=9, seconds=0)
    assert turns == order


def test_a_round_that_would_take_too_long_has_fewer_texts(clock):
    ctx = RunContext.open(tiny("base"), data=["ABC DEF."] * 20, split="all")
    # One by one a text takes a second and all of them 20; the one batch takes 1.
    whole, part, least = (time_models(ctx, rounds=1, seconds=seconds) for seconds in (21, 10.5, 0))
    assert [len(found[0].last.errors) for found in (whole, part, least)] == [20, 10, 1]
    assert all(len(found[0].last.errors) == len(found[1].last.errors) for found in (whole, part, least))
    caveat = Speed(rounds=1, seconds=0, classical=0).run(ctx).caveats[0]
    assert caveat.startswith("The models read 1 of 20 texts")


def test_a_solver_starts_no_text_after_its_time_limit(clock):
    texts = [("ABC D.", "XYZ W."), ("AB", "XY"), ("A", "X"), ("B", "Y")]
    whole = solve_all(lambda text: "XYZ Q."[: len(text)], texts, name="mine")
    assert whole.errors.tolist() == [1 / 6, 0, 0, 1]
    assert whole.letters.tolist() == [4, 2, 1, 1]
    assert whole.speed == 8 / 4
    short = solve_all(lambda text: text, texts, name="mine", seconds=1)
    assert len(short.errors) == 2


def test_all_solvers_read_the_ciphertexts_of_the_context_in_order():
    texts = tiny_texts(6)
    ctx = RunContext.open(tiny("base"), data=texts, split="all")
    pairs = ciphertexts(ctx)
    assert [plain for _, plain in pairs] == texts
    assert all(cipher != plain and len(cipher) == len(plain) for cipher, plain in pairs)
    model, *_ = compare(ctx, ctx, **NO_TIME).solved
    assert model.errors == pytest.approx(score(ctx.model, ctx.batches).errors)


def test_the_comparison_names_the_solvers_that_are_missing(monkeypatch):
    monkeypatch.setattr("alice.solving.hill_climbing.has_subbreaker", lambda: False)
    ctx = RunContext.open(tiny("base"), data=tiny_texts(2), split="all")  # no texts to learn from
    found = compare(ctx, ctx, **NO_TIME)
    assert [one.kind for one in found.solved] == ["model"]
    for name, missing in zip(("guided", "beam", "hill-climbing"), found.missing, strict=False):
        assert f"{name} is left out: no text of the training split is left" in missing
    assert "pip install 'alice-interp[solvers]'" in found.missing[3]


def test_a_model_of_another_alphabet_is_left_out_of_the_comparison():
    ctx = tiny_context(tiny("base"), tiny("bijective", symbols=LETTERS + " ."), texts=2)
    found = compare(ctx, ctx, **NO_TIME)
    assert [one.solver for one in found.solved if one.kind == "model"] == ["base"]
    assert "bijective is left out of the comparison: its alphabet differs" in found.missing[0]


def test_the_report_has_a_row_for_each_setting_and_solver(clock):
    result = Speed(samples=12, seconds=1000, **QUICK).run(tiny_context(tiny("base"), tiny("bijective"), texts=60))
    rows = result.tables["models"].records()
    assert [row["model"] for row in rows] == ["base", "base", "bijective", "bijective"]
    assert [row["assignment_share"] for row in rows] == [None, None, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    solvers = result.tables["solvers"].records()[:5]
    assert [row["model"] for row in solvers] == ["base", "bijective", "guided", "beam", "hill-climbing"]
    assert [row["kind"] for row in solvers] == ["model", "model", "solver", "solver", "solver"]
    assert [row["training_texts"] for row in solvers] == [None, None, 20, 20, 20]
    assert any("one thread got only 0.50 of a core" in caveat for caveat in result.caveats)
    assert "make at most 1 climb per text" in result.tables["solvers"].caption


def test_every_speed_has_a_name_for_its_setting(clock):
    solvers = {"base": lambda setup: str, "mine": lambda setup: str}
    ctx = RunContext.open(tiny("base"), tiny("bijective"), data=tiny_texts(8), split="all", solvers=solvers)
    result = Speed(rounds=2, seconds=1e6, classical=3).run(ctx)
    assert result.headline_metric().name == "letters-per-second-batched"
    for row, name in zip(result.tables["models"].records(model="base"), ("single", "batched"), strict=True):
        metric = result.metric(f"letters-per-second-{name}", model="base")
        assert (metric.value, metric.interval) == (row["letters_per_second"], (row["low"], row["high"]))
        assert str(metric).endswith("letters/s")
    assert result.metric("assignment-share").model == "bijective"
    same = {m.model: m.value for m in result.metrics if m.name == "letters-per-second-same-texts"}
    assert same == {row["model"]: row["letters_per_second"] for row in result.tables["solvers"].records()}
    assert list(same) == ["base", "bijective", "base (solver)", "mine"]
    assert result.array("seconds", model="base").shape == (2, 2)
    assert (
        result.array("ser-same-texts", model="mine").shape == result.array("seconds-same-texts", "mine").shape == (3,)
    )
    assert (result.metric("texts").value, result.metric("rounds").value) == (8, 2)


def test_texts_can_be_joined_to_ciphers_of_one_length(clock):
    result = Speed(samples=24, length=100, seconds=1000, **{**QUICK, "classical": 0}).run(
        tiny_context(tiny("base"), texts=24)
    )
    whole = " ".join(tiny_texts(24))
    assert result.metric("texts").value == len(whole) // 100
    assert set(result.tables) == {"models", "paper"}
    assert result.tables["models"].records()[1]["texts_per_call"] == len(whole) // 100  # one batch for one length


def test_a_length_that_a_model_cannot_read_is_refused(run_context):
    with pytest.raises(AliceError, match="base reads at most 320 characters"):
        Speed(length=321).run(run_context)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 0}, "samples=0 is too small; give 1 or more"),
        ({"rounds": 0}, "rounds=0 is too small"),
        ({"training_texts": 0}, "training_texts=0 is too small"),
        ({"seconds": -1.0}, "give 0 or more"),
        ({"seconds": float("nan")}, "seconds=nan is too small"),
        ({"length": 0}, "length=0 is too small"),
        ({"classical": -1}, "classical=-1 is too small"),
        ({"climbs": 0}, "climbs=0 is too small"),
        ({"climbs": 10_001}, "too large"),
    ],
)
def test_invalid_options_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Speed(**options)


def test_with_a_fake_clock_the_result_is_reproducible(clock):
    ctx = tiny_context(tiny("bijective"), texts=30)
    first, second = (fingerprint(Speed(samples=5, **QUICK).run(ctx)) for _ in range(2))
    assert first == second
