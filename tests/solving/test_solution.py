import re
from dataclasses import replace

import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.model import Alice
from alice.solving.decoding import solve
from alice.solving.solution import UNICITY_DISTANCE, Solution, read, solve_with
from alice.text.alphabet import ENGLISH
from alice.text.cipher import Key


def knows_the_key(key: Key) -> Alice:
    """A model that decodes every text with one fixed key."""
    model = tiny("base", d_model=64, n_heads=2)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        size = ENGLISH.size
        model.embed.weight[:, :size] = torch.eye(size)
        model.ln_final.w.fill_(1.0)
        cipher = ENGLISH.encode(key.encrypt(ENGLISH.symbols)).astype("int64")
        for plain_id, cipher_id in enumerate(cipher, start=1):
            model.head.unembed.weight[plain_id, cipher_id] = 5.0
    return model


KEY = Key("QWERTYUIOPASDFGHJKLZXCVBNM")
MODEL = knows_the_key(KEY)


def test_case_and_foreign_characters_come_back_where_they_were():
    plain = "Dear Zoë, it’s 5 o'clock — the end… of «all» things (I think)!"
    cipher = "".join(KEY.encrypt(c.upper()).lower() if c.islower() and c.isascii() else KEY.encrypt(c) for c in plain)
    (solution,) = solve(MODEL, [cipher])
    assert solution.plaintext == plain
    assert solution.ciphertext == cipher


def test_the_key_names_the_letters_that_occur_with_a_confidence_each():
    (solution,) = solve(MODEL, [KEY.encrypt("A CAB, BAD")])
    assert solution.key == {"Q": "A", "W": "B", "E": "C", "R": "D"}
    assert all(0.5 < share <= 1 for share in solution.confidence.values())


def test_solutions_come_in_the_order_of_the_texts_whatever_their_lengths():
    plain = ["LONG LONG LONG LONG TEXT " * 8, "SHORT", "A MIDDLING TEXT, NO MORE", "SHORT AGAIN"]
    assert [s.plaintext for s in solve(MODEL, [KEY.encrypt(text) for text in plain])] == plain


def test_layers_begin_with_the_embedding_and_end_with_the_answer():
    (solution,) = solve(tiny("bijective"), ["SOME TEXT, OR OTHER"], layers=True)
    assert len(solution.layers) == 3
    assert solution.layers[-1] == solution.plaintext


def test_the_answer_does_not_depend_on_the_other_texts(model):
    (alone,) = solve(model, ["THE SAME TEXT EVERYWHERE"])
    together = list(solve(model, ["SOMETHING ELSE ALTOGETHER, AND LONGER", "THE SAME TEXT EVERYWHERE", "X"]))
    assert together[1].plaintext == alone.plaintext


def test_a_text_below_the_unicity_distance_gets_a_note():
    short, enough = solve(MODEL, ["A" * (UNICITY_DISTANCE - 1), "A" * UNICITY_DISTANCE])
    assert "more than one solution" in short.note
    assert enough.note == ""


@pytest.mark.parametrize("text", ["", "123", "...!", "é ß ﬆ"])
def test_a_text_without_letters_comes_back_with_a_note_and_the_others_are_solved(text):
    unsolved, solved = solve(MODEL, [text, KEY.encrypt("BUT THIS ONE")])
    assert (unsolved.plaintext, unsolved.key) == (text, {})
    assert "no letter to solve" in unsolved.note
    assert solved.plaintext == "BUT THIS ONE"


def test_an_over_long_text_comes_back_with_what_to_do():
    (unsolved,) = solve(MODEL, ["A" * 330])
    assert unsolved.key == {}
    assert "has 330 characters and the model reads at most 320; solve a part" in unsolved.note


@pytest.mark.parametrize("variant", ["base", "dynamic"])
def test_padding_is_never_an_answer(variant):
    model = tiny(variant)
    model.head.unembed.bias.data[0] = 1000.0
    (solution,) = solve(model, ["WHATEVER IT SAYS, IT SAYS SOMETHING"], layers=True)
    assert len(solution.plaintext) == len(solution.ciphertext)
    assert all(len(text) == len(solution.ciphertext) for text in solution.layers)


def test_typographic_marks_are_read_as_plain_ones():
    reading = read("“A’B—C…”", ENGLISH)
    assert ENGLISH.decode(reading.ids) == '"A\'B-C."'


SOLUTION = Solution("Xy, <X>", "Ab, <A>", {"X": "A", "Y": "B"}, {"X": 1.0, "Y": 0.25}, [], "short")


def test_a_solution_prints_plaintext_key_confidence_and_note():
    assert str(SOLUTION).splitlines() == [
        "Ab, <A>",
        "cipher       X   Y",
        "plain        A   B",
        "confidence  **  25  (%, ** = sure)",
        "note: short",
    ]
    assert str(replace(SOLUTION, confidence={}, note="")).splitlines()[1:] == [
        "cipher       X   Y",
        "plain        A   B",
    ]
    assert str(Solution("1", "1", {}, {}, [], "no letter")) == "1\nnot solved: no letter"


def test_a_solution_shows_itself_in_a_notebook():
    page = SOLUTION._repr_html_()
    assert page.count('rgba(46,160,67,0.60)" title="X, 100 %">A</span>') == 3  # twice in the text, once in the key
    assert page.count('rgba(46,160,67,0.15)" title="y, 25 %">b</span>') == 1
    assert re.sub("<[^>]*>", "", page).startswith("Ab, &lt;A&gt;")
    assert page.endswith("<p>note: short</p>")
    assert "rgba" not in replace(SOLUTION, confidence={})._repr_html_()


def test_another_solver_gives_a_key_and_no_confidence():
    unsolved, solved = solve_with(KEY.decrypt, ["5 !", "It’s: " + KEY.encrypt("BAD").lower()])
    assert (unsolved.key, solved.confidence) == ({}, {})
    assert solved.plaintext.endswith(": bad")
    assert solved.key["R"] == "D"


def test_weights_that_make_no_numbers_are_an_error(model):
    with torch.no_grad():
        model.blocks[0].mlp.down.weight.fill_(1e38)
    with pytest.raises(AliceError, match="not finite"):
        list(solve(model, ["SOME TEXT"]))
