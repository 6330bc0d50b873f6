import pytest
import torch
from tiny import tiny

from alice.alphabet import ENGLISH
from alice.cipher import Key
from alice.errors import AliceError
from alice.model import Alice
from alice.solve import UNICITY_DISTANCE, read, solve


def knows_the_key(key: Key) -> Alice:
    """A model without a thought of its own: it decodes every symbol by one fixed key, whatever the text."""
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


def test_layers_begin_with_the_embeddings_and_end_with_the_answer():
    (solution,) = solve(tiny("bijective"), ["SOME TEXT, OR OTHER"], layers=True)
    assert len(solution.layers) == 3
    assert solution.layers[-1] == solution.plaintext


def test_a_text_is_solved_alike_alone_and_in_company(model):
    (alone,) = solve(model, ["THE SAME TEXT EVERYWHERE"])
    together = list(solve(model, ["SOMETHING ELSE ALTOGETHER, AND LONGER", "THE SAME TEXT EVERYWHERE", "X"]))
    assert together[1].plaintext == alone.plaintext


def test_a_text_below_the_unicity_distance_gets_a_note():
    short, enough = solve(MODEL, ["A" * (UNICITY_DISTANCE - 1), "A" * UNICITY_DISTANCE])
    assert "more than one solution" in short.note
    assert enough.note == ""


@pytest.mark.parametrize("text", ["", "123", "...!", "é ß ﬆ"])
def test_a_text_without_letters_is_refused(text):
    with pytest.raises(AliceError, match="no letter to solve"):
        read(text, ENGLISH)


def test_an_over_long_text_is_refused_with_what_to_do():
    with pytest.raises(AliceError, match="has 330 characters and the model reads at most 320; solve a part"):
        list(solve(MODEL, ["A" * 330]))


def test_typographic_marks_are_read_as_plain_ones():
    reading = read("“A’B—C…”", ENGLISH)
    assert ENGLISH.decode(reading.ids) == '"A\'B-C."'
