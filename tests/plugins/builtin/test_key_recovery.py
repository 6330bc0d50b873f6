"""Recovered keys against models whose key is known."""

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from handmade import leave_letters_alone, reader
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.model.config import VARIANTS
from alice.plugins import RunContext
from alice.plugins.builtin.answers import answer
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.builtin.key_recovery.measure import PAIRS, measure
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.reports.archive import read_report
from alice.solving.solve import solve
from alice.text.alphabet import LETTERS

A, B = LETTERS.index("A"), LETTERS.index("B")


def context(*models, texts=("ABBA", "BEE. E", "CE CE")):
    return RunContext.open(*models, data=list(texts), split="all")


def by_length(result, length="[0,32)"):
    (row,) = [row for row in result.tables["by-length"].rows if row[1] == length]
    return dict(zip(result.tables["by-length"].columns, row, strict=True))


def test_only_letters_of_the_text_count_and_each_text_counts_alike(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = KeyRecovery().run(context(reader(B="A")))
    # Of A and B one is right, of B and E one, of C and E both; A and B collide in the first text only.
    row = by_length(result)
    assert row["texts"] == 3
    assert row["letters right, %"] == pytest.approx(100 * (1 / 2 + 1 / 2 + 1) / 3)
    assert row["keys right, %"] == pytest.approx(100 / 3)
    assert row["not 1-to-1, %"] == pytest.approx(100 / 3)
    assert result.metrics["key accuracy, %"] == row["letters right, %"]
    assert result.tables["collisions"].rows == (("A", "A and B", 1, 100.0),)
    lines = dict(result.tables["collision-example"].rows)
    assert lines["ciphertext"] == "ABBA"
    assert lines["answer"] == "AAAA"
    assert lines["collisions"] == "A and B (truly A and B) are read as A"


def test_a_letter_read_as_a_mark_is_no_collision_but_no_key_either(monkeypatch):
    leave_letters_alone(monkeypatch)
    found = measure(context(reader(B=".", E="!")), 0)
    assert found.collisions.sum() == 0
    assert found.one_to_one.tolist().count(False) == 3
    assert found.collided is None
    assert np.sort(found.accuracy).tolist() == [0, 1 / 2, 1 / 2]


def test_the_bijective_key_is_a_permutation_and_the_report_says_so(monkeypatch):
    leave_letters_alone(monkeypatch)
    every_letter = "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG."
    result = KeyRecovery().run(context(reader("bijective"), texts=[every_letter]))
    assert result.metrics["key accuracy, %"] == result.metrics["key accuracy over all 26 letters, %"] == 100
    result = KeyRecovery().run(context(reader("bijective")))
    assert result.metrics["key accuracy, %"] == result.metrics["whole key right, %"] == 100
    assert result.metrics["key accuracy over all 26 letters, %"] < 100  # nobody can know the others
    assert result.metrics["not one-to-one, %"] == 0
    assert "None of its keys gives two letters one meaning" in result.summary
    assert not {"collisions", "collision-example"} & result.tables.keys()
    assert "not-one-to-one" not in result.figures


def test_a_bijective_model_that_collides_is_counted_and_told_of_first(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader("bijective")

    def collide(perm, hook):
        perm = perm.clone()
        perm[:, B] = perm[:, A]
        return perm

    with model.hooks(fwd_hooks=[("head.hook_perm", collide)]):
        result = KeyRecovery().run(context(model))
    assert result.metrics["not one-to-one, %"] == pytest.approx(100 / 3)
    assert "gives two letters one answer in 1 of 3 texts" in result.caveats[0]
    assert "None of its keys" not in result.summary
    assert {"collisions", "collision-example"} <= result.tables.keys()
    assert "not-one-to-one" in result.figures


def test_a_bijective_model_over_all_symbols_may_take_a_letter_for_a_mark():
    result = KeyRecovery().run(tiny_context(tiny("bijective", whole_vocab=True), texts=9))
    assert result.metrics["not one-to-one, %"] > 0
    assert "None of its keys gives two letters one meaning" in result.summary


def test_an_answer_that_is_no_symbol_is_a_dot(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader()
    model.head.whole_vocab = True
    with torch.no_grad():
        model.head.unembed.bias[0] = 9.0
    lines = dict(KeyRecovery().run(context(model, texts=["ABBA"])).tables["text"].rows)
    assert lines["answer"] == "\N{MIDDLE DOT}" * 4


def test_margins_are_what_the_probabilities_say(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader(B="A")
    ctx = context(model, texts=["ABBA"])
    (batch,) = ctx.batches
    with torch.inference_mode():
        best, second = model(batch.cipher_ids)[0, 0].softmax(-1).topk(2).values.tolist()
    found = measure(ctx, 0)
    # A is right and B is wrong, with the same margin: each vector has one direction.
    margin = pytest.approx(best - second)
    assert found.mean_margins == (margin, margin)
    place = 1 + int((best - second) * 10)
    assert found.margins.whole[place] == found.margins.whole.sum() == 2
    assert found.margins.ratio[place] == 0.5
    table = KeyRecovery().run(ctx).tables["margins"].rows
    assert [(row[2], row[4]) for row in table] == [(2, 50.0)]


def test_a_probability_is_the_same_here_and_where_a_text_is_solved(bijective):
    text = "URYYB JBEYQ, GUVF VF N GRFG"
    shown = KeyRecovery(text=text).run(tiny_context(bijective, texts=3)).figures["key"].data.rows
    (solution,) = solve(bijective, [text])
    assert {row[0]: row[4] for row in shown if row[1]} == pytest.approx(solution.confidence)


def test_texts_are_kept_in_the_order_of_their_numbers(tiny_alice):
    found = measure(tiny_context(tiny_alice, texts=12), 0)
    assert found.columns[:2].tolist() == [list(range(12)), [len(text) for text in tiny_texts(12)]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_answers_are_those_of_the_model(variant):
    ctx = tiny_context(tiny(variant), texts=9)
    for batch in ctx.batches:
        found = answer(ctx.model, batch, probabilities=True)
        output = ctx.model(batch.cipher_ids).argmax(-1)
        claims, counts, margins = found.claims, found.counts, found.margins
        for row, plain in enumerate(batch.plain_ids):
            for place in torch.nonzero(plain).flatten().tolist():
                number = int(plain[place]) - 1
                if number < 26:
                    assert claims[row, number] == min(int(output[row, place]) - 1, 26)
            assert counts[row].sum() == int(((plain > 0) & (plain <= 26)).sum())
        assert (margins <= 1).all()
        if variant != "bijective":
            assert (margins[counts > 0] >= 0).all()
        else:
            assert all(sorted(row) == list(range(26)) for row in claims.tolist())


def test_the_matrix_shows_the_key_over_the_true_one(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = KeyRecovery(example=1).run(context(reader(B="E")))
    ground, *traces = result.figures["key"].figure.data
    assert np.asarray(ground.z).shape == (26, 26)
    cells = {trace.name: list(zip(trace.y, trace.x, strict=True)) for trace in traces}
    assert cells == {
        "true key": [("B", "B"), ("E", "E")],
        "right, colliding": [("E", "E")],
        "wrong, colliding": [("B", "E")],
    }
    assert len(result.figures["key"].figure.layout.shapes) == 24  # letters that the text does not have
    rows = {row[0]: row for row in result.figures["key"].data.rows}
    assert rows["B"][1:4] == (1, "E", "B")
    assert rows["B"][5] is True


def test_a_text_of_the_user_is_shown_with_a_verdict_only_if_it_was_encrypted(bijective):
    ctx = tiny_context(bijective, texts=3)
    unknown = KeyRecovery(text="URYYB JBEYQ").run(ctx).figures["key"]
    assert {trace.name for trace in unknown.figure.data[1:]} == {"found"}
    known = KeyRecovery(text="HELLO WORLD", encrypt=True).run(ctx)
    assert {row[3] for row in known.figures["key"].data.rows} == set(LETTERS)
    assert known.tables["text"].rows[0] == ("plaintext", "hello world")


def test_pairs_are_all_pairs():
    assert PAIRS.shape == (2, 26 * 25 // 2)
    assert (PAIRS[0] < PAIRS[1]).all()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 0}, "leaves no text"),
        ({"samples": 2, "example": 2}, "no example 2 among 2 samples"),
        ({"example": -1}, "no example -1"),
        ({"encrypt": True}, "nothing to encrypt"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        KeyRecovery(**options)


def test_an_example_beyond_the_corpus_is_an_error(run_context):
    with pytest.raises(AliceError, match="no example 50 among 24 texts"):
        KeyRecovery(example=50).run(run_context)


def test_texts_without_letters_have_no_key(tiny_alice):
    with pytest.raises(AliceError, match="no text has a letter"):
        KeyRecovery().run(context(tiny_alice, texts=["...", "?!"]))


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis(KeyRecovery)


def test_it_runs_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variant in ("base", "bijective"):
        save_checkpoint(tmp_path / variant[:2], variant)
    save_texts(tmp_path / "texts.txt")
    arguments = ["--ckpt", "ba", "--ckpt", "bi", "--data", "texts.txt", "--split", "all", "--samples", "7"]
    done = CliRunner().invoke(main, ["run", "key-recovery", *arguments])
    assert done.exit_code == 0, done.output
    headline, report = done.stdout.splitlines()
    assert headline.startswith("key accuracy of ba, %: ")
    stored = read_report(Path(report).parent).result
    assert stored.metrics["texts"] == 7
    assert {"key-ba", "key-bi", "accuracy", "margins", "not-one-to-one"} <= stored.figures.keys()
