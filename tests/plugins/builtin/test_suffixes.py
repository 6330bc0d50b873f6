"""Names of figures by model."""

from alice.plugins.builtin.suffixes import suffixes
from alice.reports import checks


def test_one_model_needs_none_and_several_have_their_own_names():
    assert suffixes(["base"]) == [""]
    assert suffixes(["base", "bijective"]) == ["-base", "-bijective"]
    assert suffixes(["base (1)", "base (2)"]) == ["-base-1", "-base-2"]


def test_any_name_becomes_part_of_a_name_of_a_report_and_none_twice():
    models = [
        "them/a model:v1",
        "them/a model v1",
        "them/a-model-v1",
        "x" * 300,
        "y" + "x" * 300,
        "\u6a21",
        "***",
    ]
    found = suffixes(models)
    assert found[:3] == ["-them-a-model-v1", "-them-a-model-v1--2", "-them-a-model-v1--3"]
    assert len(set(found)) == len(models)
    for suffix in found:
        assert checks.name(f"permutation-example-99999{suffix}", "figures")
