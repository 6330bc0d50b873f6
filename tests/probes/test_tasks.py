"""Labels of a text that can be worked out by hand."""

import numpy as np
import pytest
import torch

from alice.probes.layers import IGNORED
from alice.probes.tasks import LENGTHS, POSITIONS, RANKS, control, is_letter, tasks
from alice.text.alphabet import ENGLISH, LETTERS_AND_SPACE
from alice.text.batches import Batch, Batches, EncodedTexts

TEXT = "SEE BEE, DON'T."
X = IGNORED


def batch_of(*texts, alphabet=ENGLISH, seed=0):
    return Batches(EncodedTexts(texts, alphabet), alphabet, seed=(seed,))[0]


def unencrypted(*texts):
    """Return a batch whose ciphertext is its plaintext."""
    batch = batch_of(*texts)
    return Batch(batch.plain_ids, batch.plain_ids, batch.keys, batch.index)


def labels(name, batch, alphabet=ENGLISH):
    return tasks(alphabet)[name].labels(batch).tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        #          S  E  E     B  E  E  ,     D  O  N  '  T  .
        ("position", [0, 1, 2, X, 0, 1, 2, X, X, 0, 1, 2, X, 0, X]),
        ("word-length", [2, 2, 2, X, 2, 2, 2, X, X, 2, 2, 2, X, 0, X]),
        ("vowel", [0, 1, 1, X, 0, 1, 1, X, X, 0, 1, 0, X, 0, X]),
        ("rank", [1, 0, 0, X, 1, 0, 0, X, X, 1, 1, 1, X, 1, X]),
        ("symbol", [18, 4, 4, X, 1, 4, 4, X, X, 3, 14, 13, X, 19, X]),
    ],
)
def test_labels_of_a_text(name, expected):
    assert labels(name, unencrypted(TEXT)) == [expected]


def test_neighbours_include_spaces_and_end_with_the_text():
    ids = dict(zip("ABC .", ENGLISH.encode("ABC .").tolist(), strict=True))
    batch = unencrypted("AB CA.")
    assert labels("previous", batch) == [[X, ids["A"], X, ids[" "], ids["C"], X]]
    assert labels("next", batch) == [[ids["B"], ids[" "], X, ids["A"], ids["."], X]]
    padded = unencrypted("ABCDEFGHIJKLMNOPQRSTU", "ABCDEFGHIJKLMNOPQRST")
    ends = [int(row.sum()) - 1 for row in padded.mask]
    assert sorted(ends) == [19, 20]
    assert [row[end] for row, end in zip(labels("next", padded), ends, strict=True)] == [X, X]  # padding is none


def test_the_letter_task_includes_spaces_and_punctuation():
    batch = batch_of("AB C.", "AB CD")
    rows = labels("letter", batch)
    assert sorted(rows) == sorted([ENGLISH.encode("AB C.").tolist(), ENGLISH.encode("AB CD").tolist()])


def test_only_cipher_symbols_depend_on_the_key():
    one, other = batch_of(TEXT, seed=1), batch_of(TEXT, seed=2)
    assert one.cipher_ids.tolist() != other.cipher_ids.tolist()
    for name in tasks(ENGLISH):
        follows_the_key = name in ("symbol", "previous", "next")
        assert (labels(name, one) == labels(name, other)) != follows_the_key


def test_padding_is_left_out_by_every_task():
    batch = unencrypted("ABCDEFGHIJKLMNOPQRSTU", "ABCDEFGHIJKLMNOPQRST")
    assert not batch.mask.all()
    for task in tasks(ENGLISH).values():
        assert (task.labels(batch)[~batch.mask] == IGNORED).all()
        inside = batch.mask.clone()
        if task.name in ("previous", "next"):
            inside[:, 0], inside[:, 19:] = False, False  # the ends of the texts
        assert (task.labels(batch)[inside] != IGNORED).all()


def test_the_last_class_is_open_ended():
    long = unencrypted("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert labels("position", long)[0] == [min(place, POSITIONS - 1) for place in range(26)]
    assert set(labels("word-length", long)[0]) == {LENGTHS - 1}
    steps = "".join(letter * (26 - number) for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))[:300]
    ranks = labels("rank", unencrypted(steps))[0]
    assert (ranks[0], ranks[26], max(ranks)) == (0, 1, RANKS - 1)


@pytest.mark.parametrize("alphabet", [ENGLISH, LETTERS_AND_SPACE])
def test_labels_are_below_the_number_of_classes(alphabet):
    batch = batch_of("THE QUICK BROWN FOX", "JUMPS OVER THE LAZY", alphabet=alphabet)
    for task in tasks(alphabet).values():
        found = task.labels(batch)
        found = found[found != IGNORED]
        assert 0 <= found.min() <= found.max() < task.classes


def test_a_control_task_gives_each_cipher_symbol_one_label_of_the_tasks_distribution():
    task = tasks(ENGLISH)["rank"]
    counts = np.zeros(RANKS, np.int64)
    counts[[2, 5]] = 30, 70
    batch = batch_of("THE QUICK BROWN FOX JUMPS", "OVER THE LAZY DOGS, HENCE", seed=3)
    found = control(task, counts, ENGLISH, np.random.default_rng(0)).labels(batch)
    assert torch.equal(found == IGNORED, task.labels(batch) == IGNORED)
    by_symbol = {}
    for symbol, label in zip(batch.cipher_ids.flatten().tolist(), found.flatten().tolist(), strict=True):
        by_symbol.setdefault(symbol, set()).add(label)
    assert all(len(given) == 1 for given in by_symbol.values())
    assert set.union(*by_symbol.values()) == {2, 5, IGNORED}
    again = control(task, counts, ENGLISH, np.random.default_rng(0)).labels(batch)
    assert torch.equal(found, again)


def test_letters_are_distinguished_from_other_characters():
    assert is_letter(unencrypted("A B."), ENGLISH).tolist() == [[True, False, True, False]]
