"""The texts of the training split, and texts joined and cut to one length."""

import pytest
from workbench import save_texts

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.conformance import tiny_context, tiny_model, tiny_texts
from alice.text.corpus import open_corpus
from alice.text.split import select, split_of


def plaintexts(ctx):
    return {ctx.alphabet.decode(row.numpy()) for batch in ctx.batches for row in batch.plain_ids}


@pytest.mark.parametrize("as_file", [True, False])
def test_training_texts_are_the_first_of_the_training_split(tiny_alice, tmp_path, as_file):
    texts = tiny_texts(300)
    data = str(save_texts(tmp_path / "texts.txt", 300)) if as_file else texts
    ctx = RunContext.open(tiny_alice, data=data, split="test")
    learnt = ctx.sample(2).training_texts(200)
    cleaned = list(open_corpus(data)) if as_file else texts
    assert learnt == list(select(cleaned, "train"))[:200]
    assert not set(learnt) & plaintexts(ctx)


@pytest.mark.parametrize("split", ["train", "all"])
def test_training_texts_exclude_those_of_the_context(tiny_alice, split):
    texts = tiny_texts(60)
    ctx = RunContext.open(tiny_alice, data=texts, split=split)
    small = ctx.sample(10)
    learnt = small.training_texts(20)
    assert len(learnt) == 20
    assert not set(learnt) & plaintexts(small)
    assert {split_of(text) for text in learnt} == {"train"}
    assert ctx.training_texts(20) == []


def test_training_texts_exclude_other_versions_of_those_of_the_context(tiny_alice):
    first, *others = select(tiny_texts(12), "train")
    versions = [first.replace(" ", ", "), first.replace(" ", "; "), first + "!", first + "?"]
    ctx = RunContext.open(tiny_alice, data=[first, *versions, *others], split="all").sample(1)
    assert ctx.training_texts(2) == others[:2]  # and no fewer than there are
    assert ctx.training_texts(100) == others


def test_a_training_context_reads_the_training_texts_under_keys_of_its_own(tiny_alice):
    ctx = RunContext.open(tiny_alice, data=tiny_texts(300), split="test").sample(2)
    training = ctx.training(20)
    assert plaintexts(training) == set(ctx.training_texts(20))
    assert training.sample(5).texts.texts == ctx.training_texts(5)
    keys = [{tuple(key) for batch in one.batches for key in batch.keys.tolist()} for one in (ctx, training)]
    assert not keys[0] & keys[1]
    assert training.texts.fingerprint != RunContext.open(tiny_alice, data=ctx.training_texts(20)).texts.fingerprint
    assert training.model is ctx.model
    assert len(training.store("hook_embed")) == len(training.batches)


def test_what_a_training_context_reads_is_in_the_provenance(tiny_alice):
    ctx = RunContext.open(tiny_alice, data=tiny_texts(300), split="test").sample(2)
    training = ctx.training(7)
    assert ctx.batches
    assert "training_texts" not in ctx.texts.provenance(), "nothing has been read yet"
    assert training.batches
    assert ctx.texts.provenance()["training_texts"] == 7


def test_without_training_texts_reading_them_is_one_sentence(tiny_alice):
    ctx = RunContext.open(tiny_alice, data=tiny_texts(5))
    with pytest.raises(AliceError, match="no training texts besides those that are analysed"):
        _ = ctx.training(3).batches
    with pytest.raises(AliceError, match="ask for 1 or more"):
        ctx.training(0)


def test_every_model_has_its_training_context(tiny_alice):
    ctx = tiny_context(tiny_alice, tiny_model("bijective"), texts=4).training(6)
    assert [plaintexts(one) for one in ctx.each] == [plaintexts(ctx)] * 2


def test_provenance_records_how_many_training_texts_were_read(tiny_alice):
    ctx = RunContext.open(tiny_alice, data=tiny_texts(300), split="test").sample(2)
    assert ctx.batches
    alone = ctx.texts.provenance()
    assert "training_texts" not in alone
    ctx.training_texts(7)
    both = ctx.texts.provenance()
    assert both["training_texts"] == 7
    assert {name: both[name] for name in alone} == alone
    ctx.training_texts(9)
    assert ctx.texts.provenance()["training_sha256"] != both["training_sha256"]


def test_joined_texts_are_cut_to_one_length_and_the_originals_count_as_read(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=5)
    joined = ctx.joined(30)
    whole = " ".join(tiny_texts(5))
    assert plaintexts(joined) == {whole[at : at + 30] for at in range(0, len(whole) - 29, 30)}
    assert {batch.cipher_ids.shape[1] for batch in joined.batches} == {30}
    assert ctx.texts.provenance()["texts"] == 5
    assert joined.training_texts(5) == []


def test_too_few_texts_to_join_are_an_error(tiny_alice):
    with pytest.raises(AliceError, match="too few for 300; take more texts"):
        tiny_context(tiny_alice, texts=1).joined(300)
