"""Models that rename the letters of their input: exactly invariant to the key, with their own names outside."""

import numpy as np
import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.model import Alice, ModelConfig
from alice.text import ENGLISH, encrypt_ids, random_keys
from alice.text.relabel import relabel

RENAMINGS = ("frequency", "recurrence")
VARIANTS = ("base", "bijective", "dynamic")
BY_SYMBOL = {
    "base": {"pool.hook_out": (1,)},
    "bijective": {"pool.hook_out": (1,), "head.hook_pattern": (2, 3), "head.hook_log_perm": (1,)},
    "dynamic": {"pool.hook_out": (1,), "hypernet.hook_pattern": (1,), "hypernet.hook_table": (1,)},
}
"""Hooks with axes over symbols, and these axes."""
everything = pytest.mark.parametrize("how", RENAMINGS)
all_variants = pytest.mark.parametrize("variant", VARIANTS)


def texts_and_encryptions(count=12, length=40):
    """Return random texts with padding at the end, the same under random keys, and the keys."""
    rng = np.random.default_rng(3)
    ids = rng.choice(np.arange(1, ENGLISH.size), size=(count, length), p=rng.dirichlet(np.full(36, 0.5)))
    ids[np.arange(length) >= rng.integers(1, length + 1, size=(count, 1))] = 0
    keys = random_keys(count, rng)
    encrypted = encrypt_ids(ids.astype("uint8"), keys, ENGLISH)
    return torch.from_numpy(ids), torch.from_numpy(encrypted.astype("int64")), torch.from_numpy(keys.astype("int64"))


@everything
@all_variants
@pytest.mark.parametrize("whole_vocab", [False, True])
def test_answers_are_the_same_bit_for_bit_under_every_key(how, variant, whole_vocab):
    model = tiny(variant, relabel=how, whole_vocab=whole_vocab)
    before, after, _ = texts_and_encryptions()
    with torch.no_grad():
        for soft in (False, True):
            assert torch.equal(model(before, soft=soft), model(after, soft=soft))
        plain = tiny(variant, whole_vocab=whole_vocab)
        assert not torch.equal(plain(before), plain(after))


@everything
@all_variants
def test_answers_are_those_of_the_plain_model_on_a_renamed_text(how, variant):
    model, plain = tiny(variant, relabel=how), tiny(variant)
    _, ids, _ = texts_and_encryptions()
    renamed, _ = relabel(ids, ENGLISH, how)
    with torch.no_grad():
        assert torch.equal(model(ids, soft=True), plain(renamed, soft=True))
        assert torch.equal(model.decode(model.resid(ids), ids), plain(renamed))
        losses = [one(text, "loss", plain=ids) for one, text in ((model, ids), (plain, renamed))]
        assert torch.equal(*losses)


@everything
@all_variants
def test_tables_and_hooks_have_a_row_for_each_symbol_under_its_own_name(how, variant):
    model, plain = tiny(variant, relabel=how), tiny(variant)
    _, ids, _ = texts_and_encryptions()
    renamed, letters = relabel(ids, ENGLISH, how)
    names = torch.arange(ENGLISH.size).repeat(len(ids), 1)
    names[:, ENGLISH.letter_ids] = torch.from_numpy(ENGLISH.letter_ids)[letters]

    def own(table, axes):
        """Index the plain model's table, whose symbols have the new names, by a loop over texts."""
        return torch.stack([_reordered(rows, letters[text] if rows.shape[axes[0] - 1] == 26 else names[text], axes)
                            for text, rows in enumerate(table)])  # fmt: skip

    with torch.no_grad():
        (_, ours), (_, theirs) = (one.run_with_cache(text, soft=True) for one, text in ((model, ids), (plain, renamed)))
        for name, value in theirs.items():
            axes = BY_SYMBOL[variant].get(name)
            assert torch.equal(ours[name], value if axes is None else own(value, axes)), name
        resid = model.resid(ids)
        assert torch.equal(model.decode_symbols(resid, ids), own(plain.decode_symbols(resid, renamed), (1,)))


def _reordered(rows, order, axes):
    for axis in axes:
        rows = rows.index_select(axis - 1, order)
    return rows


@everything
@pytest.mark.parametrize(
    ("variant", "name"), [(variant, name) for variant, hooks in BY_SYMBOL.items() for name in hooks]
)
def test_a_hook_that_changes_one_symbol_changes_that_symbols_answer(how, variant, name):
    model = tiny(variant, relabel=how)
    ids = model.to_tokens("QUITE A TEXT, QUITE")
    letter = model.to_single_token("T") - (1 if name == "head.hook_log_perm" else 0)
    axis = BY_SYMBOL[variant][name][0]

    def change(value, hook):
        value.select(axis, letter).add_(torch.linspace(0, 9, value.shape[-1]))
        return value

    with torch.no_grad():
        differ = (model(ids, soft=True) - model.run_with_hooks(ids, soft=True, fwd_hooks=[(name, change)])).abs()
        same = model.run_with_hooks(ids, soft=True, fwd_hooks=[(name, lambda value, hook: value)])
        assert torch.equal(same, model(ids, soft=True))
    where = ids[0] == model.to_single_token("T")
    assert differ[0, where].sum(-1).min() > 0
    if variant == "base":  # elsewhere attention or normalisation carries it on
        assert not differ[0, ~where].any()


@everything
def test_padding_does_not_matter(how):
    model = tiny("bijective", relabel=how)
    alone = model.to_tokens("WE MEET AT NOON")
    padded = model.to_tokens(["WE MEET AT NOON", "A MUCH LONGER TEXT THAN THE FIRST ONE"])
    with torch.no_grad():
        torch.testing.assert_close(model(padded, soft=True)[:1, :15], model(alone, soft=True), atol=1e-5, rtol=1e-5)


def test_it_compiles_as_one_graph():
    torch.compiler.reset()
    model = tiny("bijective", relabel="frequency", n_layers=1)
    ids = model.to_tokens(["A FIRST TEXT", "ANOTHER"])
    with torch.no_grad():
        found = torch.compile(model, backend="eager", fullgraph=True)(ids)
        torch.testing.assert_close(found, model(ids), atol=1e-5, rtol=1e-5)
    torch.compiler.reset()


def test_a_checkpoint_keeps_it_and_an_older_one_has_none(tmp_path):
    model = tiny("base", relabel="frequency")
    model.save_pretrained(tmp_path / "new")
    assert Alice.from_pretrained(tmp_path / "new").config == model.config
    older = {name: value for name, value in tiny("base").config.to_dict().items() if name != "relabel"}
    assert ModelConfig.from_dict(older).relabel == "none"


def test_an_unknown_renaming_is_refused():
    with pytest.raises(AliceError, match="relabel 'rank' is not one of none, frequency, recurrence"):
        ModelConfig(relabel="rank")
