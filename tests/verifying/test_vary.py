"""Repeats with other seeds, texts and methods, and the verdicts that flip."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from alice.errors import AliceError
from alice.plugins import Metric, Result
from alice.plugins.analysis import check_class
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.plugins.verdicts import OWN, verdicts_of
from alice.reports import Table
from alice.verifying.inputs import Inputs, Places, open_inputs
from alice.verifying.vary import repeats, vary


@dataclass(frozen=True)
class Says:
    """Says something that depends on one thing only."""

    name = "says"
    methods: ClassVar[dict[str, tuple[str, ...]]] = {"way": ("mean", "zero")}
    way: str = "mean"
    samples: int = 4

    def run(self, ctx):
        texts = ctx.sample(self.samples).plaintexts
        table = Table(["model", "layer", "verdict"], [["tiny", 1, "used"], ["tiny", 2, str(ctx.seed)]])
        metrics = [
            Metric("first", texts[0]),
            Metric("zero", self.way == "zero"),
            Metric("steady", True),
            Metric("n", 1),
        ]
        return Result("Says", metrics=metrics, tables={"use": table})

    def verdicts(self, result):
        return {OWN: {"more": "a"}, "other": {"more": "b", "steady": True}}


@pytest.fixture
def inputs(tiny_alice):
    return Inputs(Says(), None, tiny_context(tiny_alice, texts=40))


def test_each_repeat_differs_in_one_thing(inputs):
    made = list(repeats(inputs, 2, 4))
    assert [one.label for one in made] == ["seed 1", "seed 2", "texts from 4", "texts from 8", "way zero"]
    assert [one.ctx.seed for one in made] == [1, 2, 0, 0, 0]
    assert [one.ctx.sample(4).plaintexts == tiny_texts(40)[:4] for one in made] == [True, True, False, False, True]
    assert made[3].ctx.sample(4).plaintexts == tiny_texts(40)[8:12]
    assert [one.analysis.way for one in made] == ["mean"] * 4 + ["zero"]


def test_verdicts_that_flip_are_marked_with_how_many_agree(inputs):
    result = Says().run(inputs.ctx)
    found = vary(inputs, result, list(repeats(inputs, 2, 4)), texts=4)
    by_name = {one.name: one for one in found.verdicts}
    assert set(by_name) == {"first", "zero", "steady", "use: 1", "use: 2", "more"}
    assert {one.name for one in found.flipped} == {"first", "zero", "use: 2", "more"}
    agree = {name: (one.agree, len(one.others)) for name, one in by_name.items()}
    assert agree == {
        "first": (3, 5),
        "zero": (4, 5),
        "steady": (6, 6),
        "use: 1": (5, 5),
        "use: 2": (3, 5),
        "more": (5, 6),
    }
    assert by_name["more"].others["other"] == "b"


def test_verdicts_of_several_models_are_kept_apart_and_measured_numbers_are_no_part_of_a_name():
    columns, rows = ("model", "layer", "accuracy", "verdict"), [("base", 1, 0.83, "used"), ("other", 1, 0.31, "absent")]
    several = Result("Says", tables={"use": Table(columns, rows)})
    one = Result("Says", tables={"use": Table(columns, rows[:1])})
    assert verdicts_of(None, several)[OWN] == {"use: base 1": "used", "use: other 1": "absent"}
    assert verdicts_of(None, one)[OWN] == {"use: 1": "used"}


def test_a_verdict_of_which_no_repeat_says_anything_does_not_count_as_tried(inputs):
    result = Result("Says", metrics=[Metric("steady", True), Metric("gone", "L3H2")])
    found = vary(inputs, result, list(repeats(inputs, 1, 4)), texts=4)
    assert [one.name for one in found.untried] == ["gone"]


def test_a_repeat_that_cannot_be_made_is_named(inputs):
    made = list(repeats(inputs, 1, 60))
    found = vary(inputs, Says().run(inputs.ctx), made, texts=60)
    assert found.failed == ["texts from 60: the data have too few texts for another sample"]


def test_the_built_in_causal_analyses_say_what_they_claim_by_each_method(ablation, plugins):
    inputs = open_inputs(ablation, plugins, Places())
    found = verdicts_of(inputs.analysis, ablation.result)
    assert set(found) == {OWN, "mean", "zero"}
    assert found[OWN]["strongest-head"] == ablation.metric("strongest-head").value
    assert found[OWN]["strongest-part"] == ablation.metric("strongest-part").value
    assert all({"strongest-head", "kinds-explain"} <= set(named) for named in found.values())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("circuit", {"steps": 1, "samples": 8}),
        ("patching", {"samples": 4, "map_samples": 2}),
        ("evidence", {"samples": 2, "steps": 2, "draws": 1}),
    ],
)
def test_other_causal_analyses_have_verdicts_and_methods(name, options, make_report, plugins):
    report = make_report(name, **options)
    found = verdicts_of(plugins.analyses[name](**options), report.result)
    assert found[OWN]
    for verdict in ("strongest-part",) if name == "patching" else ():
        assert found[OWN][verdict] == report.metric(verdict).value
    assert bool(getattr(plugins.analyses[name], "methods", {})) or len(found) > 1


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"methods": {"strange": (1,)}}, "has methods="),
        ({"methods": {"way": "ab"}}, "has methods="),
        ({"timings": "all"}, "has timings="),
    ],
)
def test_declarations_that_verify_cannot_use_are_refused(attribute, message):
    with pytest.raises(AliceError, match=message):
        check_class(type("Wrong", (Says,), {"__doc__": "Words.", **attribute}))
