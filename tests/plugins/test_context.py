import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.reports.names import model_slug
from alice.text.alphabet import LETTERS
from alice.text.batches import text_keys
from alice.text.cipher import key_pool
from alice.text.corpus import open_corpus
from alice.text.split import is_test


def ciphertexts(ctx):
    return {int(i): row.tolist() for batch in ctx.batches for i, row in zip(batch.index, batch.cipher_ids, strict=True)}


def test_one_line_opens_a_checkpoint_folder_over_a_file(tmp_path):
    folder, file = save_checkpoint(tmp_path / "mine"), save_texts(tmp_path / "texts.txt", 30)
    ctx = RunContext.open(folder, data=str(file), split="all", samples=4)
    assert ctx.checkpoint == "mine"
    assert sum(len(batch) for batch in ctx.batches) == 4
    assert ctx.alphabet is ctx.model.alphabet
    assert ctx.device == torch.device("cpu")
    assert not ctx.model.training


def test_batches_are_the_same_each_time_and_another_seed_gives_other_keys(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=20)
    assert ciphertexts(ctx) == ciphertexts(ctx)
    assert ciphertexts(ctx) == ciphertexts(tiny_context(tiny_alice, texts=20))
    other = RunContext.open(tiny_alice, data=tiny_texts(20), split="all", seed=1)
    assert ciphertexts(ctx) != ciphertexts(other)


def test_the_key_of_a_text_does_not_depend_on_the_others(tiny_alice):
    def keys(ctx):
        return {int(i): key.tolist() for batch in ctx.batches for i, key in zip(batch.index, batch.keys, strict=True)}

    ctx = tiny_context(tiny_alice, texts=200)
    every = keys(ctx)
    assert len({tuple(key) for key in every.values()}) == 200
    for count in (1, 7, 130):
        assert keys(ctx.sample(count)) == {number: every[number] for number in range(count)}
    assert list(every.values()) == [text_keys(200, ctx.seed)[number].tolist() for number in every]
    assert every[0] != key_pool(1, ctx.seed)[0].tolist()  # nor is it in the key pool of a training with this seed


@pytest.mark.parametrize("kind", [str, Path, list])
def test_by_default_a_corpus_is_read_in_its_test_split_and_a_list_in_full(tiny_alice, tmp_path, kind):
    file = save_texts(tmp_path / "texts.txt", 400)
    texts = list(open_corpus(str(file)))
    held_out = [text for text in texts if is_test(text)]
    assert 1 <= len(held_out) < 40
    ctx = RunContext.open(tiny_alice, data=texts if kind is list else kind(file))
    plain = {tiny_alice.alphabet.decode(row.numpy()) for batch in ctx.batches for row in batch.plain_ids}
    assert plain == set(texts if kind is list else held_out)
    assert ctx.texts.split == ("all" if kind is list else "test")


def test_a_sample_is_the_first_texts_and_never_grows(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=20)
    small = ctx.sample(3)
    assert sorted(ciphertexts(small)) == [0, 1, 2]
    assert sorted(ciphertexts(small.sample(10))) == [0, 1, 2]
    with pytest.raises(AliceError, match="a sample of 0 texts"):
        ctx.sample(0)


def test_only_as_many_texts_are_read_as_are_needed(tiny_alice):
    taken = []
    ctx = tiny_context(tiny_alice, texts=20)
    ctx.texts.pool._open = lambda: (taken.append(text) or text for text in tiny_texts(20))
    assert not taken
    assert len(ciphertexts(ctx.sample(5))) == 5
    assert len(taken) == 5
    assert len(ciphertexts(ctx.sample(7))) == 7
    assert len(taken) == 7


def test_a_source_that_fails_in_the_middle_does_not_seem_to_end_there(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=20)
    failing = [True]

    def texts():
        yield from tiny_texts(5)
        if failing:
            raise AliceError("the disk is gone")
        yield from tiny_texts(20)[5:]

    ctx.texts.pool._open = texts
    with pytest.raises(AliceError, match="disk is gone"):
        _ = ctx.batches
    failing.clear()
    assert len(ciphertexts(ctx)) == 20


def test_texts_that_the_model_cannot_read_are_left_out_and_having_none_is_an_error(tiny_alice):
    ctx = RunContext.open(tiny_alice, data=["A" * 400, "SHORT"], split="all")
    assert len(ciphertexts(ctx)) == 1
    with pytest.raises(AliceError, match="can read is in the test split; the split 'all' has every text"):
        _ = RunContext.open(tiny_alice, data=["A"], split="test").batches
    with pytest.raises(AliceError, match="no text of the given list that this model can read was found"):
        _ = RunContext.open(tiny_alice, data=["A" * 400]).batches


def test_names_of_models_are_distinct_also_in_the_keys_of_a_result(tiny_alice, tmp_path):
    folders = [save_checkpoint(tmp_path / place) for place in ("a/x y", "b/x-y", "c/x y", "d/x-y-1", "e/" + "z" * 60)]
    folders.append(save_checkpoint(tmp_path / "f" / ("q" + "z" * 60)))
    names = [one.checkpoint for one in RunContext.open(*folders, data=["A TEXT"], split="all").each]
    assert names[:4] == ["x y (2)", "x-y (3)", "x y (4)", "x-y-1"]
    assert len({model_slug(name) for name in names}) == len(names)


def test_several_models_share_texts_and_have_names_of_their_own(tiny_alice):
    bijective = tiny("bijective")
    ctx = tiny_context(tiny_alice, bijective, tiny("base"), texts=10)
    assert [one.checkpoint for one in ctx.each] == ["base (1)", "bijective", "base (2)"]
    assert ctx.each[1].model is bijective
    assert all(ciphertexts(one) == ciphertexts(ctx) for one in ctx.each)
    assert [len(ciphertexts(one)) for one in ctx.sample(2).each] == [2, 2, 2]


def test_models_of_other_alphabets_and_lengths_get_texts_they_can_read(tiny_alice):
    letters = tiny("base", symbols=LETTERS + " ", n_ctx=40)
    data = ["SO, THIS HAS A COMMA", "THIS HAS NONE", "A" * 100]
    with pytest.raises(AliceError, match="outside the alphabet"):
        _ = RunContext.open(letters, data=data, split="all").batches
    ctx = RunContext.open(tiny_alice, letters, data=data[1:], split="all")
    assert [len(ciphertexts(one)) for one in ctx.each] == [1, 1]


def test_the_generator_starts_again_at_each_use(tiny_alice):
    ctx = tiny_context(tiny_alice, texts=5)
    assert ctx.rng.integers(1000, size=5).tolist() == np.random.default_rng(0).integers(1000, size=5).tolist()
    assert ctx.rng.random() == ctx.rng.random()


def test_progress_yields_every_item_and_knows_how_many_there_are(tiny_alice):
    seen = []

    def tracker(items, label, *, total=None):
        seen.append((label, total))
        return iter(items)

    ctx = RunContext.open(tiny_alice, data=tiny_texts(5), split="all", tracker=tracker)
    assert list(ctx.progress([1, 2, 3], "Going")) == [1, 2, 3]
    list(ctx.progress(iter([1]), "Counting", 7))
    list(ctx.progress(ctx.activations("hook_embed"), "Reading"))
    assert seen == [("Going", 3), ("Counting", 7), ("Reading", len(ctx.batches))]


def test_a_context_without_a_model_says_so():
    with pytest.raises(AliceError, match="reads no checkpoint, so there is no model"):
        _ = RunContext().model
    with pytest.raises(AliceError, match="has no texts"):
        RunContext().sample(3)
    with pytest.raises(AliceError, match="no model to run on"):
        RunContext.open()


def test_the_corpus_of_a_plugin_comes_before_files_and_built_ins(tiny_alice):
    opened = []

    def mine(alphabet):
        opened.append(alphabet)
        return ["FROM A PLUGIN", "TOO LONG" * 100]

    ctx = RunContext.open(tiny_alice, data="mine", split="all", corpora={"mine": mine})
    assert len(ciphertexts(ctx)) == 1
    assert opened == [tiny_alice.alphabet]


@pytest.mark.parametrize(("written", "meant"), [("limericks", "limerick"), ("quots", "quotes")])
def test_a_misspelt_corpus_is_answered_with_the_nearest_of_plugins_and_built_ins(tiny_alice, written, meant):
    corpora = {"limerick": lambda alphabet: ["FROM A PLUGIN"], "proverbs": lambda alphabet: []}
    with pytest.raises(AliceError, match=f"there is no corpus '{written}', .*; did you mean '{meant}'\\?"):
        RunContext.open(tiny_alice, data=written, corpora=corpora)


def test_an_unfinished_corpus_is_closed_before_the_program_ends():
    program = (
        "from alice.text.alphabet import ENGLISH; from alice.plugins.context.sample import open_pool\n"
        "pool = open_pool('quotes', alphabet=ENGLISH, longest=300, split='test', corpora={}); print(len(pool.first(3)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_importing_the_plugin_room_loads_nothing_heavy():
    program = (
        "import sys, alice.plugins, alice.plugins.manager, alice.plugins.testing, alice.plugins.builtin.early_exit\n"
        "print(sorted({'torch', 'transformer_lens', 'plotly', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
