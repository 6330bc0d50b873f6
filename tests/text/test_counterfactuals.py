import numpy as np
import pytest
import torch

from alice.errors import AliceError
from alice.text import ENGLISH, KINDS, Batch, Batches, Counterfactuals, EncodedTexts, Key, Words, text_keys
from alice.text.counterfactuals import pattern

TEXTS = ["THE CAT SAW A DOG.", "IT'S NOON, AND THAT IS ALL!"]
WORDS = Words(["DOG CAT HEN THAT NOON DEED AND SAW I A IS IT ALL BEE THE S"])


def batch_of(texts: list[str], seed: int = 3) -> Batch:
    """Return all texts as one padded batch."""
    encoded = EncodedTexts(texts, ENGLISH)
    batches = [
        Batches(EncodedTexts([text], ENGLISH), ENGLISH, keys=text_keys(len(texts), seed)[n : n + 1])[0]
        for n, text in enumerate(texts)
    ]
    width = int(encoded.lengths.max())
    rows = {
        name: torch.cat(
            [torch.nn.functional.pad(getattr(one, name), (0, width - one.cipher_ids.shape[1])) for one in batches]
        )
        for name in ("cipher_ids", "plain_ids")
    }
    return Batch(**rows, keys=torch.cat([one.keys for one in batches]), index=torch.arange(len(texts)))


def texts_of(ids: torch.Tensor) -> list[str]:
    return [ENGLISH.decode(row) for row in ids.numpy()]


@pytest.mark.parametrize(("word", "expected"), [("THAT", "ABCA"), ("NOON", "ABBA"), ("A", "A"), ("BEE", "ABB")])
def test_a_pattern_numbers_letters_by_first_appearance(word, expected):
    assert pattern(word) == expected


def test_words_are_drawn_as_often_as_they_occur_and_never_themselves():
    words = Words(["CAT CAT CAT DOG THE THE THE THE"])
    drawn = [words.like("THE", np.random.default_rng(seed)) for seed in range(400)]
    assert set(drawn) == {"CAT", "DOG"}
    assert drawn.count("CAT") / 400 == pytest.approx(0.75, abs=0.07)
    assert words.like("QQQQQ", np.random.default_rng(0)) is None
    assert Words(["THE"]).like("THE", np.random.default_rng(0)) is None


def test_words_of_one_pattern_are_drawn_for_it_alone():
    assert {WORDS.like("NOON", np.random.default_rng(seed), same_pattern=True) for seed in range(9)} == {"DEED"}
    assert WORDS.like("THAT", np.random.default_rng(0), same_pattern=True) is None


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_word_lengths_padding_and_punctuation_stay(kind):
    batch = batch_of(TEXTS)
    pair = Counterfactuals(kind, ENGLISH, WORDS).pair(batch)
    assert pair.usable.all()
    for before, after in zip(texts_of(batch.cipher_ids), texts_of(pair.corrupted.cipher_ids), strict=True):
        assert [c if not c.isalpha() else "x" for c in before] == [c if not c.isalpha() else "x" for c in after]
    assert torch.equal(batch.mask, pair.corrupted.mask)
    for row in range(len(batch)):  # the key of the counterfactual decrypts it
        key = Key.from_array(pair.corrupted.keys[row].numpy())
        assert key.decrypt(texts_of(pair.corrupted.cipher_ids)[row]) == texts_of(pair.corrupted.plain_ids)[row]


def test_relabelling_two_swaps_two_symbols_and_no_answer():
    batch = batch_of(["ABBA CC"])
    pair = Counterfactuals("relabel-two", ENGLISH, WORDS).pair(batch)
    (before,), (after,) = texts_of(batch.cipher_ids), texts_of(pair.corrupted.cipher_ids)
    swapped = sorted({x for x, y in zip(before, after, strict=True) if x != y})
    assert len(swapped) == 2
    assert after == before.translate(str.maketrans(swapped[0] + swapped[1], swapped[1] + swapped[0]))
    assert torch.equal(pair.corrupted.plain_ids, batch.plain_ids)
    assert ENGLISH.decode(pair.scored[0].nonzero().flatten().numpy()) == "".join(swapped)
    assert torch.equal(pair.reader, pair.corrupted.cipher_ids)


def test_relabelling_all_gives_every_symbol_present_another_name():
    batch = batch_of(TEXTS[:1])
    pair = Counterfactuals("relabel-all", ENGLISH, WORDS).pair(batch)
    letters = batch.plain_ids[0] <= 26
    assert (batch.cipher_ids[0] != pair.corrupted.cipher_ids[0])[letters].all()
    assert set(batch.cipher_ids[0].tolist()) == set(pair.corrupted.cipher_ids[0].tolist())


@pytest.mark.parametrize("kind", ["one-word", "one-pattern"])
def test_one_word_changes_and_the_key_stays(kind):
    batch = batch_of(["A CAT, A DEED"])
    pair = Counterfactuals(kind, ENGLISH, WORDS).pair(batch)
    words = zip(texts_of(batch.plain_ids)[0].split(), texts_of(pair.corrupted.plain_ids)[0].split(), strict=True)
    changed = [(before, after) for before, after in words if before != after]
    assert len(changed) == 1
    assert torch.equal(pair.corrupted.keys, batch.keys)
    if kind == "one-pattern":
        assert pattern(changed[0][0].strip(",")) == pattern(changed[0][1].strip(","))
    assert torch.equal(pair.reader, batch.cipher_ids)


def test_a_text_without_a_counterfactual_is_not_usable():
    batch = batch_of(["A CAT", "A I"])
    assert Counterfactuals("one-word", ENGLISH, WORDS).pair(batch).usable.tolist() == [True, False]


def test_another_text_has_other_words_under_another_key():
    batch = batch_of(TEXTS)
    pair = Counterfactuals("other-text", ENGLISH, WORDS).pair(batch)
    assert (batch.keys != pair.corrupted.keys).any(1).all()
    for before, after in zip(texts_of(batch.plain_ids), texts_of(pair.corrupted.plain_ids), strict=True):
        assert all(x != y for x, y in zip(before.split(), after.split(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_depends_on_seed_and_text_number_not_on_the_batch(kind):
    batch = batch_of(TEXTS)
    make = Counterfactuals(kind, ENGLISH, WORDS, seed=5)
    whole, second = make.pair(batch), make.pair(batch.share(1, 2))
    assert torch.equal(whole.corrupted.cipher_ids[1:], second.corrupted.cipher_ids)
    other = Counterfactuals("other-text", ENGLISH, WORDS, seed=6).pair(batch)
    assert not torch.equal(whole.corrupted.cipher_ids, other.corrupted.cipher_ids)


def test_a_misspelt_kind_names_the_nearest():
    with pytest.raises(AliceError, match=r"no counterfactual 'relable-two'; did you mean 'relabel-two'"):
        Counterfactuals("relable-two", ENGLISH, WORDS)
    with pytest.raises(AliceError, match="no words"):
        Words(["1 2 3"])
