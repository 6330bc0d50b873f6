from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, BatchLimit, BatchStream, EncodedTexts, KeySource, plan, text_keys
from alice.text.cipher import encrypt_ids, invert, key_pool

RNG = np.random.default_rng(3)
TEXTS = ["".join(RNG.choice(list(ENGLISH.symbols), size=n)) for n in RNG.integers(15, 301, size=400)]


@pytest.fixture
def encoded() -> EncodedTexts:
    return EncodedTexts(TEXTS, ENGLISH)


def same(left, right):
    values, others = ([value for value in vars(batch).values() if value is not None] for batch in (left, right))
    return all(torch.equal(a, b) for a, b in zip(values, others, strict=True))


@given(
    lengths=st.lists(st.integers(1, 300), max_size=200),
    tokens=st.integers(1, 5000),
    texts=st.none() | st.integers(1, 50),
    shuffled=st.booleans(),
)
def test_a_plan_takes_every_text_once_within_the_limit_and_with_little_padding(lengths, tokens, texts, shuffled):
    array = np.array(lengths, dtype=np.int64)
    groups = plan(array, BatchLimit(tokens, texts), np.random.default_rng(0) if shuffled else None)
    assert sorted(np.concatenate([*groups, np.zeros(0, np.int64)]).tolist()) == list(range(len(lengths)))
    for group in groups:
        room = array[group].max() * len(group)
        assert len(group) == 1 or room <= tokens
        assert texts is None or len(group) <= texts
        assert array[group].sum() >= 0.95 * room


def test_padding_is_less_than_a_twentieth_of_what_is_computed(encoded):
    batches = Batches(encoded, ENGLISH)
    room = sum(batch.cipher_ids.numel() for batch in batches)
    text = sum(int(batch.mask.sum()) for batch in batches)
    assert batches.padding == pytest.approx(1 - text / room)
    assert batches.padding < 0.05


def test_every_text_comes_back_when_its_key_is_undone(encoded):
    seen = {}
    for batch in Batches(encoded, ENGLISH, shuffle=True, seed=(5,)):
        plain = encrypt_ids(batch.cipher_ids.numpy().astype(np.uint8), invert(batch.keys.numpy()), ENGLISH)
        assert (plain == batch.plain_ids.numpy()).all()
        seen |= {int(i): ENGLISH.decode(row) for i, row in zip(batch.index, plain, strict=True)}
    assert seen == dict(enumerate(TEXTS))


def test_iterating_twice_gives_the_same_and_another_seed_does_not(encoded):
    batches = Batches(encoded, ENGLISH, seed=(1,), shuffle=True)
    assert all(same(a, b) for a, b in zip(batches, batches, strict=True))
    other = Batches(encoded, ENGLISH, seed=(2,), shuffle=True)
    assert not all(same(a, b) for a, b in zip(batches, other, strict=False))


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_are_the_same_whatever_the_number_of_workers(encoded, workers):
    batches = Batches(encoded, ENGLISH, seed=(1,), shuffle=True, limit=BatchLimit(20_000))
    loader = DataLoader(batches, batch_size=None, num_workers=workers)
    assert all(same(a, b) for a, b in zip(loader, batches, strict=True))


def test_the_shares_of_all_processes_make_up_the_batch(encoded):
    batch = Batches(encoded, ENGLISH)[3]
    shares = [batch.share(rank, 3) for rank in range(3)]
    assert sorted(torch.cat([share.index for share in shares]).tolist()) == sorted(batch.index.tolist())


def test_keys_come_from_the_pool_or_never_from_it():
    pool = key_pool(3, seed=0)
    drawn = KeySource(pool=pool).draw(200, np.random.default_rng(0))
    assert {key.tobytes() for key in drawn} == {key.tobytes() for key in pool}
    rng_a, rng_b = np.random.default_rng(9), np.random.default_rng(9)
    unlucky = KeySource().draw(4, rng_a)  # what would be drawn next is in the pool
    outside = KeySource(excluded=unlucky).draw(4, rng_b)
    assert not {key.tobytes() for key in outside} & {key.tobytes() for key in unlucky}


def test_the_key_of_a_text_depends_on_the_seed_and_its_number_only():
    assert np.array_equal(text_keys(3, seed=5), text_keys(9, seed=5)[:3])
    assert not np.array_equal(text_keys(3, seed=5), text_keys(3, seed=6))
    assert np.array_equal(np.sort(text_keys(9, seed=5), axis=1), np.tile(np.arange(26), (9, 1)))


def test_a_stream_goes_on_where_another_one_stopped():
    def stream():
        return BatchStream(lambda: iter(TEXTS), ENGLISH, limit=BatchLimit(3000), seed=4, keys=KeySource())

    unbroken = stream().start()
    batches = [next(unbroken) for _ in range(60)]  # more than one epoch
    resumed = stream().start(37)
    assert all(same(batch, next(resumed)) for batch in batches[37:])


def test_a_corpus_larger_than_the_window_is_read_in_windows_and_loses_nothing():
    reads = []

    def texts():
        reads.append(1)
        return iter(TEXTS)

    stream = BatchStream(texts, ENGLISH, limit=BatchLimit(3000), seed=4, keys=KeySource(), window=150)
    batches = stream.start()
    seen: list[str] = []
    while len(seen) < len(TEXTS):
        batch = next(batches)
        seen += [ENGLISH.decode(row) for row in batch.plain_ids.numpy()]
    assert sorted(seen) == sorted(TEXTS)
    next(batches)
    assert len(reads) == 2  # the next epoch reads again


def test_a_corpus_that_fits_into_the_window_is_read_once():
    reads = []

    def texts():
        reads.append(1)
        return iter(TEXTS)

    batches = BatchStream(texts, ENGLISH, limit=BatchLimit(90_000), seed=4, keys=KeySource()).start()
    for _ in range(10):
        next(batches)
    assert reads == [1]


def test_nothing_to_train_on_is_said():
    stream = BatchStream(lambda: iter(()), ENGLISH, limit=BatchLimit(), seed=0, keys=KeySource())
    with pytest.raises(AliceError, match="no text to train on"):
        next(stream.start())


def test_an_empty_text_is_refused():
    with pytest.raises(AliceError, match="empty text"):
        EncodedTexts(["FINE", ""], ENGLISH)


@given(
    lengths=st.lists(st.integers(1, 300), max_size=200),
    tokens=st.none() | st.integers(1, 5000),
    texts=st.integers(1, 50),
)
def test_a_mixed_plan_takes_the_texts_in_order_and_fills_every_batch_but_the_last(lengths, tokens, texts):
    array = np.array(lengths, dtype=np.int64)
    groups = plan(array, BatchLimit(tokens, texts), mixed=True)
    assert np.concatenate([*groups, np.zeros(0, np.int64)]).tolist() == list(range(len(lengths)))
    for group, following in pairwise(groups):
        longest = max(array[group].max(), array[following[0]])
        assert not BatchLimit(tokens, texts).allows(len(group) + 1, longest)
        assert len(group) == 1 or BatchLimit(tokens, texts).allows(len(group), array[group].max())


def test_mixed_batches_are_shuffled_texts_of_many_lengths():
    stream = BatchStream(lambda: iter(TEXTS), ENGLISH, limit=BatchLimit(None, 40), seed=4, keys=KeySource(), mixed=True)
    batches = stream.start()
    epoch = [next(batches) for _ in range(10)]
    assert sorted(torch.cat([batch.index for batch in epoch]).tolist()) == list(range(400))
    assert epoch[0].index.tolist() != sorted(epoch[0].index.tolist())
    assert all(batch.mask.sum(1).unique().numel() > 20 for batch in epoch)


def test_weights_belong_to_the_texts_and_are_shared_with_them(encoded):
    batches = Batches(encoded, ENGLISH, weigh=lambda lengths, count: lengths / count)
    for batch in (batches[2], batches[2].share(1, 2)):
        assert batch.weights.tolist() == pytest.approx((batch.mask.sum(1) / len(batches)).tolist())
    assert Batches(encoded, ENGLISH)[0].weights is None
