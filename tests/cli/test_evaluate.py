"""`evaluate` goes the same way as the analyses: same texts, same keys, same numbers."""

import json

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins import RunContext
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.text import open_corpus, split_of

SEED = 3


@pytest.fixture(scope="module")
def ckpt(tmp_path_factory):
    return str(save_checkpoint(tmp_path_factory.mktemp("evaluate") / "tiny", "bijective"))


@pytest.fixture(scope="module")
def found(ckpt):
    """What evaluate measures on 30 quotes."""
    return json.loads(evaluate(ckpt, "--samples", 30, "--seed", SEED, "--json").stdout)


def evaluate(ckpt, *arguments):
    result = CliRunner().invoke(main, ["evaluate", "--ckpt", ckpt, *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def test_evaluate_and_errors_by_length_agree_to_the_digit(ckpt, found):
    ctx = RunContext.open(ckpt, samples=30, seed=SEED)
    result = ErrorsByLength(samples=30, solver=(), solver_texts=0).run(ctx)
    ser = result.metric("ser", model=ctx.checkpoint)
    assert ser.value == found["mean"]["all"]["mean"]
    assert ser.error == found["mean"]["all"]["error"]
    assert ser.unit == found["unit"] == "%"
    rows = {row["length"]: row for row in result.tables["by-length"].records(model=ctx.checkpoint)}
    for name, row in rows.items():
        assert (row["ser"], row["median"]) == (found["mean"][name]["mean"], found["median"][name]["median"])


def test_the_same_seed_gives_the_same_numbers_and_the_keys_belong_to_the_texts(ckpt, found):
    again = json.loads(evaluate(ckpt, "--samples", 30, "--seed", SEED, "--json", "--device", "cpu").stdout)
    assert again == found
    assert found["texts"] == found["mean"]["all"]["count"] == 30
    assert 0 < found["mean"]["all"]["mean"] <= 100
    other = json.loads(evaluate(ckpt, "--samples", 30, "--seed", SEED + 1, "--json").stdout)
    assert other["mean"] != found["mean"]


def test_both_tables_are_printed_next_to_the_papers_numbers(ckpt):
    shown = evaluate(ckpt, "--samples", 5).stdout
    assert "5 test texts of quotes" in shown
    assert "7.14 (0.00-39.05)" in shown
    assert "1.27 ± 0.08" in shown
    assert "22.00" in shown


def test_both_kinds_of_error_rate_are_offered(ckpt, found):
    rates = found["per_character"]
    assert rates.keys() == found["mean"].keys()
    assert 0 < rates["all"]["mean"] <= 100
    assert rates["all"]["mean"] != found["mean"]["all"]["mean"]
    shown = evaluate(ckpt, "--samples", 30, "--seed", SEED).stdout
    assert "means over texts" in shown
    assert f"{rates['all']['mean']:.2f} ± {rates['all']['error']:.2f}" in shown


def test_lengths_columns_and_splits_are_options(ckpt, tmp_path):
    lines = save_texts(tmp_path / "texts.txt", 30).read_text().splitlines()
    table = tmp_path / "texts.csv"
    table.write_text("".join(f'"{line}"\n' for line in ["motto", *lines]))
    short = sum(15 <= len(line) <= 30 for line in lines)
    found = evaluate(ckpt, "--data", table, "--text-column", "motto", "--max-length", 30, "--split", "all", "--json")
    assert json.loads(found.stdout)["texts"] == short > 0


def test_texts_that_another_split_repeats_are_left_out_of_a_second_row(ckpt, tmp_path):
    texts = list(open_corpus("quotes", max_length=60))[:600]
    test, train = (
        [text for text in texts if split_of(text) == split and len(text) >= 40] for split in ("test", "train")
    )
    assert len(test) > 3
    copied = next(f"{a[:-1]} {test[0]}" for a in train if split_of(f"{a[:-1]} {test[0]}") == "train")
    (tmp_path / "texts.txt").write_text("\n".join([*test, *train, copied]) + "\n")
    found = json.loads(evaluate(ckpt, "--data", tmp_path / "texts.txt", "--json").stdout)
    assert found["apart"]["texts"] <= found["texts"] - 1
    shown = evaluate(ckpt, "--data", tmp_path / "texts.txt").stdout
    assert f"mean over the {found['apart']['texts']:,} texts apart" in shown
    for arguments in (["--no-overlap"], ["--samples", 3], ["--split", "all"]):
        assert (
            json.loads(evaluate(ckpt, "--data", tmp_path / "texts.txt", "--json", *arguments).stdout)["apart"] is None
        )


def test_fewer_texts_than_asked_for_is_said(ckpt, tmp_path):
    data = save_texts(tmp_path / "texts.txt", 30)
    done = evaluate(ckpt, "--data", data, "--split", "all", "--samples", 10_000)
    assert "there are only 30 such texts, fewer than the 10,000 of --samples" in done.stderr
    assert "there are only" not in evaluate(ckpt, "--data", data, "--split", "all", "--samples", 30).stderr


def test_a_model_trained_on_validation_texts_is_named_as_such():
    assert "base was trained on validation texts" in evaluate("base", "--split", "validation", "--samples", 2).stderr
    assert "trained on" not in evaluate("base", "--samples", 2).stderr
