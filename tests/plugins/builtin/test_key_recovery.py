"""The key-recovery analysis on models whose key is known."""

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
from alice.solving.decoding import solve
from alice.text.alphabet import LETTERS

A, B = LETTERS.index("A"), LETTERS.index("B")


def context(*models, texts=("ABBA", "BEE. E", "CE CE")):
    return RunContext.open(*models, data=list(texts), split="all")


def by_length(result, length="[0,32)"):
    (row,) = result.tables["by-length"].records(length=length)
    return row


def value(result, name):
    return result.metric(name).value


def lines_of(table):
    return {row["line"]: row["content"] for row in table.records()}


def test_only_letters_of_the_text_count_and_all_texts_have_the_same_weight(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = KeyRecovery().run(context(reader(B="A")))
    # Of A and B one is right, of B and E one, of C and E both; A and B collide in the first text only.
    row = by_length(result)
    assert row["texts"] == 3
    assert row["key_accuracy"] == pytest.approx(100 * (1 / 2 + 1 / 2 + 1) / 3)
    assert row["whole_key_right"] == pytest.approx(100 / 3)
    assert row["not_one_to_one"] == pytest.approx(100 / 3)
    assert result.metric("key-accuracy").value == row["key_accuracy"]
    assert result.metric("key-accuracy").error == by_length(result, "all")["key_accuracy_error"]
    assert result.tables["collisions"].rows == (("base", "A", "A", "B", 1, 100.0),)
    lines = lines_of(result.tables["collision-example"])
    assert lines["ciphertext"] == "ABBA"
    assert lines["answer"] == "AAAA"
    assert lines["collisions"] == "A and B (really A and B) are read as A"


def test_a_letter_read_as_a_mark_is_not_a_collision_and_not_one_to_one(monkeypatch):
    leave_letters_alone(monkeypatch)
    found = measure(context(reader(B=".", E="!")))
    assert found.collisions.sum() == 0
    assert found.keys.one_to_one.tolist().count(False) == 3
    assert found.collided is None
    assert np.sort(found.keys.accuracy).tolist() == [0, 1 / 2, 1 / 2]


def test_the_bijective_key_is_a_permutation_and_the_report_says_so(monkeypatch):
    leave_letters_alone(monkeypatch)
    every_letter = "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG."
    result = KeyRecovery().run(context(reader("bijective"), texts=[every_letter]))
    assert value(result, "key-accuracy") == value(result, "key-accuracy-of-26") == 100
    result = KeyRecovery().run(context(reader("bijective")))
    assert value(result, "key-accuracy") == value(result, "whole-key-right") == 100
    assert value(result, "key-accuracy-of-26") < 100  # the text does not determine the others
    assert str(result.metric("not-one-to-one")) == "0 %"  # an error of 0 would mislead
    assert result.array("one-to-one", model="bijective").tolist() == [True] * 3
    assert result.array("key-accuracy", model="bijective").tolist() == [100] * 3
    assert "None of its keys gives two letters one meaning" in result.summary
    assert not {"collisions", "collision-example"} & result.tables.keys()
    assert "not-one-to-one" not in result.figures


def test_a_bijective_model_that_collides_is_counted_and_named_in_the_first_caveat(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader("bijective")

    def collide(perm, hook):
        perm = perm.clone()
        perm[:, B] = perm[:, A]
        return perm

    with model.hooks(fwd_hooks=[("head.hook_perm", collide)]):
        result = KeyRecovery().run(context(model))
    assert value(result, "not-one-to-one") == pytest.approx(100 / 3)
    assert "gives two letters one answer in 1 of 3 texts" in result.caveats[0]
    assert "None of its keys" not in result.summary
    assert {"collisions", "collision-example"} <= result.tables.keys()
    assert "not-one-to-one" in result.figures


def test_a_bijective_model_over_all_symbols_may_take_a_letter_for_a_mark():
    result = KeyRecovery().run(tiny_context(tiny("bijective", whole_vocab=True), texts=9))
    assert value(result, "not-one-to-one") > 0
    assert "None of its keys gives two letters one meaning" in result.summary


def test_an_answer_that_is_not_a_symbol_is_a_dot(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader()
    model.head.whole_vocab = True
    with torch.no_grad():
        model.head.unembed.bias[0] = 9.0
    lines = lines_of(KeyRecovery().run(context(model, texts=["ABBA"])).tables["example"])
    assert lines["answer"] == "\N{MIDDLE DOT}" * 4


def test_margins_are_what_the_probabilities_say(monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader(B="A")
    ctx = context(model, texts=["ABBA"])
    (batch,) = ctx.batches
    with torch.inference_mode():
        best, second = model(batch.cipher_ids)[0, 0].softmax(-1).topk(2).values.tolist()
    found = measure(ctx)
    # A is right and B is wrong, with the same margin: each vector has one direction.
    margin = pytest.approx(best - second)
    assert found.mean_margins == (margin, margin)
    place = 1 + int((best - second) * 10)
    assert found.margins.whole[place] == found.margins.whole.sum() == 2
    assert found.margins.ratio[place] == 0.5
    rows = KeyRecovery().run(ctx).tables["margins"].records(model="base")
    assert [(row["letters"], row["right"]) for row in rows] == [(2, 50.0)]


def test_probabilities_are_those_of_solve(bijective):
    text = "URYYB JBEYQ, GUVF VF N GRFG"
    shown = KeyRecovery(text=text).run(tiny_context(bijective, texts=3)).figure("key", model="bijective").data.records()
    (solution,) = solve(bijective, [text])
    assert {row["cipher"]: row["probability"] for row in shown if row["characters"]} == pytest.approx(
        solution.confidence
    )


def test_texts_are_kept_in_the_order_of_their_numbers(tiny_alice):
    found = measure(tiny_context(tiny_alice, texts=12))
    assert found.keys.numbers.tolist() == list(range(12))
    assert found.keys.lengths.tolist() == [len(text) for text in tiny_texts(12)]


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
    drawn = result.figure("key", model="base")
    ground, *traces = drawn.figure.data
    assert np.asarray(ground.z).shape == (26, 26)
    cells = {trace.name: list(zip(trace.y, trace.x, strict=True)) for trace in traces}
    assert cells == {
        "true key": [("B", "B"), ("E", "E")],
        "right, colliding": [("E", "E")],
        "wrong, colliding": [("B", "E")],
    }
    assert len(drawn.figure.layout.shapes) == 24  # letters that the text does not contain
    (row,) = drawn.data.records(cipher="B")
    assert (row["characters"], row["answer"], row["plain"], row["collides"]) == (1, "E", "B", True)


def test_a_given_text_is_judged_only_if_we_encrypted_it(bijective):
    ctx = tiny_context(bijective, texts=3)
    unknown = KeyRecovery(text="URYYB JBEYQ").run(ctx).figure("key", model="bijective")
    assert {trace.name for trace in unknown.figure.data[1:]} == {"found"}
    known = KeyRecovery(text="HELLO WORLD", encrypt=True).run(ctx)
    assert {row["plain"] for row in known.figure("key", model="bijective").data.records()} == set(LETTERS)
    assert known.tables["example"].rows[0] == ("bijective", "given text", "plaintext", "hello world")


def test_pairs_are_all_pairs():
    assert PAIRS.shape == (2, 26 * 25 // 2)
    assert (PAIRS[0] < PAIRS[1]).all()


def test_texts_without_letters_have_no_key(tiny_alice):
    with pytest.raises(AliceError, match="no text has a letter"):
        KeyRecovery().run(context(tiny_alice, texts=["...", "?!"]))


def test_it_runs_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variant in ("base", "bijective"):
        save_checkpoint(tmp_path / variant[:2], variant)
    save_texts(tmp_path / "texts.txt")
    arguments = ["--ckpt", "ba", "--ckpt", "bi", "--data", "texts.txt", "--split", "all", "--samples", "7"]
    done = CliRunner().invoke(main, ["run", "key-recovery", *arguments])
    assert done.exit_code == 0, done.output
    headline, report = done.stdout.splitlines()
    assert headline.startswith("key letters right")
    stored = read_report(Path(report).parent).result
    assert stored.metric("texts").value == 7
    assert {"key@ba", "key@bi", "accuracy", "margins", "not-one-to-one"} <= stored.figures.keys()
