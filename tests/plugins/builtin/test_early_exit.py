"""The early-exit analysis on models whose answers are known."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from handmade import reader
from tiny import tiny

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import VARIANTS
from alice.plugins import RunContext
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.builtin.early_exit.measure import follow_text, measure
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.solving.evaluate import score
from alice.text.alphabet import LETTERS


def cut_after(model, layers):
    """Return the model with its first `layers` blocks only, or with one block that adds nothing for 0."""
    config = {**model.config.to_dict(), "n_layers": max(layers, 1)}
    short = Alice(type(model.config)(**config)).eval()
    wanted = short.state_dict()
    short.load_state_dict({name: tensor for name, tensor in model.state_dict().items() if name in wanted})
    if layers == 0:
        with torch.no_grad():
            for weight in short.blocks[0].parameters():
                weight.zero_()
    return short


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_exit_says_what_the_model_cut_off_there_says(variant):
    model = tiny(variant, n_layers=3)
    ctx = tiny_context(model, texts=12)
    errors = measure(ctx, ()).errors
    assert errors.shape == (12, 4)
    for layers in range(4):
        assert np.array_equal(errors[:, layers], score(cut_after(model, layers), ctx.batches).errors)


def test_a_model_that_repeats_the_ciphertext_is_wrong_wherever_the_key_changes_a_letter():
    ctx = tiny_context(reader(n_layers=3), texts=9)
    found = measure(ctx, [4])
    wrong = np.zeros(9)
    for batch in ctx.batches:
        wrong[batch.index.numpy()] = ((batch.cipher_ids != batch.plain_ids) & batch.mask).sum(1) / batch.mask.sum(1)
    assert found.errors == pytest.approx(np.repeat(wrong[:, None], 4, axis=1))
    trace = found.traces[0]
    assert np.array_equal(trace.texts, np.repeat(trace.cipher_ids[None], 4, axis=0))
    # A letter that its key leaves alone is right from the embedding on; any other is never right.
    right = found.settled[:, 0].sum()
    assert found.settled[:, 1:-1].sum() == 0
    assert right + found.settled[:, -1].sum() == sum(len(set(text) & set(LETTERS)) for text in tiny_texts(9))


def test_a_letter_settles_at_the_layer_from_which_it_stays_right():
    model = reader(n_layers=3)
    ctx = RunContext.open(model, data=["EEEE"], split="all")
    (batch,) = ctx.batches
    cipher, plain = int(batch.cipher_ids[0, 0]), model.to_single_token("E")
    assert cipher != plain

    def answer(symbol):
        return lambda resid, hook: torch.eye(37, 64)[symbol].expand_as(resid)

    # Right after layer 1, wrong after layer 2, right after layer 3: it stays right from 3 on.
    hooks = [(f"blocks.{block}.hook_resid_post", answer(plain if block != 1 else cipher)) for block in range(3)]
    with model.hooks(fwd_hooks=hooks):
        found = measure(ctx, [0])
    assert found.errors.tolist() == [[1, 0, 1, 0]]
    row = found.settled[LETTERS.index("E")]
    assert row.tolist() == [0, 0, 0, 1, 0]
    assert found.settled.sum() == 1


def test_the_last_exit_is_the_models_own_error(run_context):
    result = EarlyExit(samples=24, examples=(0,)).run(run_context)
    assert float(result.metric("ser")) == pytest.approx(
        100 * score(run_context.model, run_context.batches).errors.mean()
    )
    assert result.metric("texts").value == 24
    assert result.array("ser", model="base").shape == (24, 3)
    assert result.array("ser", model="base").mean(0) == pytest.approx(
        [row["ser"] for row in result.tables["error-by-layer"].records(model="base")]
    )


class Liar(Alice):
    """A model whose answer is not what its last layer decodes to."""

    def forward(self, ids, *, soft=None):
        return super().forward(ids, soft=soft).roll(1, dims=-1)


def test_it_fails_where_the_last_layer_does_not_give_the_models_answer(tiny_alice):
    liar = Liar(tiny_alice.config).eval()
    with pytest.raises(AliceError, match=r"the answer at the last layer differs .* so the exits do not describe"):
        EarlyExit(samples=5, examples=()).run(tiny_context(liar, texts=5))


def test_several_models_share_one_figure():
    ctx = tiny_context(tiny("base"), tiny("bijective", n_layers=3), texts=6)
    result = EarlyExit(samples=6, examples=(1, 5)).run(ctx)
    curves = [trace for trace in result.figures["error-by-layer"].figure.data if trace.mode == "lines+markers"]
    assert [(trace.name, len(trace.y)) for trace in curves] == [("base", 3), ("bijective", 4)]
    assert [metric.model for metric in result.metrics if metric.name == "ser"] == ["base", "bijective"]
    followed = [f"text-example-{number}@{model}" for model in ("base", "bijective") for number in (1, 5)]
    assert [name for name in result.figures if name.startswith("text")] == followed
    keys = [name for name in result.figures if name.startswith("permutation")]
    assert keys == ["permutation-example-1@bijective", "permutation-example-5@bijective"]
    rows = result.tables["error-by-layer"].rows
    assert [row[:2] for row in rows] == [("base", n) for n in range(3)] + [("bijective", n) for n in range(4)]


def test_the_text_table_counts_what_changed():
    model = reader(n_layers=3)
    ctx = RunContext.open(model, data=["THE CAT."], split="all")
    (batch,) = ctx.batches
    first = int(batch.cipher_ids[0, 0])

    def rename(resid, hook):
        return torch.where(batch.cipher_ids[..., None] == first, torch.eye(37, 64)[model.to_single_token("T")], resid)

    with model.hooks(fwd_hooks=[("blocks.2.hook_resid_post", rename)]):
        tables = EarlyExit(samples=1, examples=(0,)).run(ctx).tables
    rows = {row["layer"]: row for row in tables["texts"].records(model="base", text="example 0")}
    cipher = model.alphabet.decode(batch.cipher_ids[0].numpy())
    assert tables["ciphertexts"].rows == (("base", "example 0", cipher, "THE CAT."),)
    assert (rows[2]["answer"], rows[2]["changed"]) == (cipher, 0)
    assert (rows[3]["answer"], rows[3]["changed"]) == (cipher.replace(cipher[0], "T"), cipher.count(cipher[0]))


def test_the_text_figure_breaks_lines_between_words():
    text = "ONE OR TWO WORDS TOO MANY FOR A LINE OF FORTY CHARACTERS. " + "A" * 60
    result = EarlyExit(samples=1, text=text).run(RunContext.open(reader(n_layers=3), data=["THE CAT."], split="all"))
    cells, *legend = result.figure("text-given-text", model="base").figure.data[:2]
    lines = ["".join(row) for row in cells.text]
    assert "".join(lines) == text
    assert [len(line) for line in lines] == [40, 18, 40, 20]
    assert lines[0].endswith("OF ")
    assert [trace.name for trace in legend] == ["changed"]  # the plaintext is not known


def test_the_permutation_is_black_where_it_stays_and_square_where_it_is_right(bijective):
    ctx = RunContext.open(bijective, data=tiny_texts(3), split="all")
    result = EarlyExit(samples=3, examples=(2,)).run(ctx)
    permutation = result.figure("permutation-example-2", model="bijective")
    by_layer = [{row["cipher"]: row for row in permutation.data.records(layer=layer)} for layer in range(3)]
    assert all(sorted(row["answer"] for row in key.values()) == list(LETTERS) for key in by_layer)
    assert all(row["changed"] for row in by_layer[0].values())
    for before, now in pairwise(by_layer):
        assert all(now[letter]["changed"] == (now[letter]["answer"] != before[letter]["answer"]) for letter in LETTERS)
    drawn = permutation.figure
    for trace in drawn.data:
        key = by_layer[int(trace.meta["step"])]
        for plain, cipher in zip(trace.x, trace.y, strict=True):
            assert key[cipher]["answer"] == plain
            assert (trace.marker.color == "#111111") == (not key[cipher]["changed"])
            assert trace.marker.symbol == ("square" if key[cipher]["plain"] == plain else "circle")
    unseen = sum(not row["observed"] for row in by_layer[0].values())
    assert len(drawn.layout.shapes) == unseen > 0


def test_a_given_ciphertext_has_no_error_rate(run_context):
    result = EarlyExit(samples=3, text="Uryyb, jbeyq! <b>").run(run_context)
    rows = result.tables["texts"].records()
    assert result.tables["ciphertexts"].rows == (("base", "given text", "URYYB, JBEYQ! B", None),)
    assert {(row["text"], row["ser"]) for row in rows} == {("given text", None)}
    assert "text-given-text@base" in result.figures


def test_one_text_has_no_standard_error(tiny_alice):
    result = EarlyExit(samples=1).run(tiny_context(tiny_alice, texts=1))
    assert {row["ser_error"] for row in result.tables["error-by-layer"].records()} == {None}
    assert result.metric("ser").error is None


def test_a_given_plaintext_is_encrypted_with_a_key_drawn_by_seed(bijective):
    ctx = tiny_context(bijective, texts=3)
    trace = follow_text(ctx, "HELLO, WORLD", encrypt=True)
    assert bijective.alphabet.decode(trace.plain_ids) == "HELLO, WORLD"
    cipher = bijective.alphabet.decode(trace.cipher_ids)
    assert cipher != "HELLO, WORLD"
    assert "".join(LETTERS[trace.key[LETTERS.index(c)]] if c in LETTERS else c for c in cipher) == "HELLO, WORLD"
    assert cipher == bijective.alphabet.decode(follow_text(ctx, "HELLO, WORLD", encrypt=True).cipher_ids)


def test_with_fewer_texts_than_examples_all_texts_are_followed(tiny_alice):
    result = EarlyExit(samples=2).run(tiny_context(tiny_alice, texts=9))
    assert {row["text"] for row in result.tables["texts"].records()} == {"example 0", "example 1"}
