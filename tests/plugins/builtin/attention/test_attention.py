"""The attention analysis on heads whose attention is known."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.model.config import VARIANTS
from alice.plugins import RunContext
from alice.plugins.builtin.attention import Attention
from alice.plugins.builtin.attention.measure import measure, read_maps, shown_text
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.plugins.conformance import tiny_context, tiny_texts


def plant(pattern, hook):
    """Make head 0 uniform and head 1 look at its own position; positive weights show where there is text."""
    planted = pattern.clone()
    text = (pattern[:, 0] > 0).float()
    planted[:, 0] = text / text.sum(-1, keepdim=True)
    planted[:, 1] = torch.eye(pattern.shape[-1])
    return planted


PLANTED = [("blocks.0.attn.hook_pattern", plant)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_planted_heads_have_the_expected_statistics(variant):
    model = tiny(variant)
    with model.hooks(fwd_hooks=PLANTED):
        found = measure(tiny_context(model, texts=30))
    assert found.values.shape == (30, 4, len(STATISTICS))
    assert found.values[:, 0] == pytest.approx(found.uniform, rel=1e-5, abs=1e-6)
    itself = np.array([name == "self" for name in STATISTICS], dtype=float)
    assert found.values[:, 1] == pytest.approx(np.tile(itself, (30, 1)), abs=1e-6)
    lengths = np.array([len(text) for text in tiny_texts(30)])
    assert found.uniform[:, 0] == pytest.approx(np.log2(lengths), rel=1e-5)  # texts are in the order of their numbers
    assert found.uniform[:, 2] == pytest.approx(1 / lengths, abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_padding_does_not_change_the_statistics_of_a_text(variant):
    ctx = RunContext.open(tiny(variant), data=tiny_texts(40), split="all")
    assert any(not batch.mask.all() for batch in ctx.batches)
    together = measure(ctx)
    for number in range(0, 40, 13):
        _, batch = shown_text(ctx, number)
        assert batch.mask.all()
        alone = measure(_Only(ctx, replace(batch, index=torch.tensor([0]))))
        assert alone.values[0] == pytest.approx(together.values[number], abs=1e-4)
        assert alone.uniform[0] == pytest.approx(together.uniform[number], rel=1e-5)


class _Only:
    """A context over one batch."""

    def __init__(self, ctx, batch):
        self.model, self.alphabet, self.checkpoint, self.batches = ctx.model, ctx.alphabet, ctx.checkpoint, [batch]

    def map(self, read, items, label):
        return map(read, items)


def test_maps_are_the_models_own_patterns(model):
    ctx = tiny_context(model, texts=9)
    title, batch = shown_text(ctx, 4)
    assert title == "example 4"
    maps = read_maps(ctx, batch, title)
    _, cache = model.run_with_cache(model.to_tokens([maps.text]))
    for block in range(2):
        assert maps.patterns[block] == pytest.approx(cache[f"blocks.{block}.attn.hook_pattern"][0].numpy(), abs=1e-6)
    assert len(maps.text) == len(tiny_texts(9)[4])


def test_the_result_holds_what_was_measured(run_context):
    with run_context.model.hooks(fwd_hooks=PLANTED):
        result = Attention(samples=24).run(run_context)
    assert result.metric("heads", model="base").value == 4
    most = result.metric("most-self")
    assert (str(most), most.label) == ("1", "largest share on itself")
    (largest,) = result.tables["extremes"].records(model="base", statistic="self", extreme="largest")
    assert (largest["block"], largest["head"], largest["mean"]) == (0, 1, pytest.approx(most.value))
    assert len(result.tables["extremes"].rows) == 2 * len(STATISTICS)
    (head,) = result.tables["heads"].records(block=0, head=0)
    (uniform,) = result.tables["heads"].records(block=None)
    assert len(result.tables["heads"].rows) == 5
    columns = [name.replace(" ", "_") for name in STATISTICS]
    assert [head[name] for name in columns] == pytest.approx([uniform[name] for name in columns], rel=1e-5)
    assert head["entropy"] == pytest.approx(result.array("statistics", model="base")[:, 0, 0].mean(), rel=1e-5)
    assert sum(row["heads"] or 0 for row in result.tables["kinds"].records()) == 4
    data = result.figure("heads", model="base").data
    assert len(data.rows) == 4 * len(STATISTICS)
    assert {row["statistic"] for row in data.records()} == set(STATISTICS)


def test_maps_are_drawn_of_the_heads_chosen(run_context):
    def heads(**options):
        return Attention(samples=5, **options).run(run_context).array("map-heads", model="base").tolist()

    assert heads(block=(1,)) == [[1, 0], [1, 1]]
    assert heads(head=(1,)) == [[0, 1], [1, 1]]
    assert heads(block=(1, 0, 1), head=(0,)) == [[0, 0], [1, 0]]
    result = Attention(samples=5).run(run_context)
    typical = [row["typical"] for row in result.tables["kinds"].records()[:-1]]
    assert [f"L{block}H{head}" for block, head in result.array("map-heads", model="base")] == typical


def test_a_given_text_is_drawn(run_context):
    result = Attention(samples=3, text="Uryyb, jbeyq! <b>", block=(0,), head=(0,)).run(run_context)
    (trace,) = result.figure("maps", model="base").figure.data
    assert "".join(place[0] for place in trace.x).replace("\N{OPEN BOX}", " ") == "URYYB, JBEYQ! B"
    maps = result.array("maps", model="base")
    assert maps.shape == (1, 15, 15)
    assert maps.sum(-1) == pytest.approx(np.ones((1, 15)), abs=1e-5)
    encrypted = Attention(samples=3, text="HELLO", encrypt=True, block=(0,)).run(run_context)
    symbols = [place[0] for place in encrypted.figure("maps", model="base").figure.data[0].x]
    assert symbols[2] == symbols[3]
    assert symbols != list("HELLO")


def test_the_figures_of_a_long_text_stay_small(tiny_alice):
    result = Attention(samples=3, text="ABCDE FGH " * 30).run(tiny_context(tiny_alice, texts=3))
    for name in ("all-maps", "maps"):
        assert np.asarray(result.figure(name, model="base").figure.data[0].z).dtype == np.uint8
    rows = result.figure("maps", model="base").data.rows
    assert len(rows) == 300 * len(result.array("map-heads", model="base"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"block": (2,)}, "no block 2; this model has 2"),
        ({"head": (0, -1)}, "no head -1"),
        ({"example": 50}, "no example 50 among 24 texts"),
        ({"text": "A" * 301}, "301 characters, but a map shows 300 at most"),
        ({"text": "123"}, "cannot be used"),
    ],
)
def test_what_the_model_or_the_texts_do_not_have_is_an_error(run_context, options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Attention(**options).run(run_context)


def test_too_many_maps_for_a_page_are_an_error():
    ctx = tiny_context(tiny("base", n_layers=7), texts=3)
    with pytest.raises(AliceError, match="14 maps of 300 characters are too many for one page; choose 12 at most"):
        Attention(samples=3, text="AB " * 100, head=(0, 1)).run(ctx)


def test_texts_without_letters_are_left_out(tiny_alice):
    found = measure(RunContext.open(tiny_alice, data=["ABC", "...", "A B"], split="all"))
    assert len(found.values) == 2
    with pytest.raises(AliceError, match="no text has a letter"):
        measure(RunContext.open(tiny_alice, data=["..."], split="all"))


def test_it_runs_from_the_command_line(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    monkeypatch.chdir(tmp_path)
    data = ["--data", "texts.txt", "--split", "all", "--samples", "9"]
    options = ["--ckpt", "model", *data, "--block", "0", "--head", "1"]
    done = CliRunner().invoke(main, ["run", "attention", *options])
    assert done.exit_code == 0, done.output
    headline, report = done.stdout.splitlines()
    assert headline.startswith("kinds of head")
    stored = json.loads((Path(report).parent / "result.json").read_text())
    assert stored["provenance"]["options"]["block"] == [0]
