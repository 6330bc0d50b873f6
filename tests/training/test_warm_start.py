"""A new model takes the weights that it shares with another one, and only those."""

import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.text.alphabet import Alphabet
from alice.training.warm_start import start_from


def save(folder, variant, **changes):
    """Write a tiny checkpoint and return its weights."""
    model = tiny(variant, **changes)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)  # so that they differ from a new model with the same seed
    model.save_pretrained(folder)
    return model.state_dict()


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_a_model_of_the_same_variant_takes_everything(variant, tmp_path):
    given = save(tmp_path, variant)
    model = tiny(variant)
    assert start_from(model, str(tmp_path)) == f"starting from the weights of {tmp_path}"
    assert all(torch.equal(tensor, given[name]) for name, tensor in model.state_dict().items())


def test_another_renaming_of_letters_is_said(tmp_path):
    save(tmp_path, "base", relabel="frequency")
    line = start_from(tiny("base"), str(tmp_path))
    assert line.endswith(", which it learned with relabel=frequency, not none")


def test_a_bijective_model_takes_the_backbone_of_base_and_computes_its_queries_from_the_embedding(tmp_path):
    given = save(tmp_path, "base")
    model = tiny("bijective")
    line = start_from(model, str(tmp_path))
    assert line.endswith("(base); new in this model: head.query")
    now = model.state_dict()
    assert all(torch.equal(now[name], tensor) for name, tensor in given.items())
    embedding = given["embed.weight"]
    torch.testing.assert_close(now["head.query"], embedding / embedding.square().mean(-1, keepdim=True).sqrt())


def test_a_dynamic_model_takes_the_embedding_into_its_hypernetwork(tmp_path):
    given = save(tmp_path, "base")
    model = tiny("dynamic")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert start_from(model, str(tmp_path)).endswith("new in this model: hypernet")
    now = model.state_dict()
    assert torch.equal(now["hypernet.embed.weight"], given["embed.weight"])
    assert torch.equal(now["hypernet.query"], before["hypernet.query"])
    assert all(torch.equal(now[name], given[name]) for name in given if name.startswith("blocks."))


def test_a_base_model_leaves_a_hypernetwork_behind(tmp_path):
    given = save(tmp_path, "dynamic")
    model = tiny("base")
    start_from(model, str(tmp_path))
    assert torch.equal(model.state_dict()["embed.weight"], given["hypernet.embed.weight"])


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_a_model_of_fewer_symbols_takes_the_rows_of_its_own(variant, tmp_path):
    given = save(tmp_path, variant)
    old, symbols = Alphabet(), " ZYXWVUTSRQPONMLKJIHGFEDCBA"  # in another order, too
    model = tiny(variant, symbols=symbols)
    line = start_from(model, str(tmp_path))
    assert line == f"starting from the weights of {tmp_path}, taking 27 of its 36 symbols"
    rows = {name: tensor for name, tensor in given.items() if tensor.shape[0] == old.size}
    assert {"head.unembed.weight", "head.unembed.bias"} < rows.keys()
    now = model.state_dict()
    for name, tensor in given.items():
        if name not in rows:
            assert torch.equal(now[name], tensor)
            continue
        assert torch.equal(now[name][0], tensor[0])  # padding
        for place, symbol in enumerate(symbols, start=1):
            assert torch.equal(now[name][place], tensor[old.encode(symbol)[0]])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"n_layers": 3}, "missing"),
        ({"d_mlp": 32}, "has shape"),
        ({"symbols": "ABCDEFGHIJKLMNOPQRSTUVWXYZ +#"}, "another alphabet, without '#' '\\+'"),
    ],
)
def test_another_backbone_is_refused(changes, why, tmp_path):
    save(tmp_path, "base")
    with pytest.raises(AliceError, match=why):
        start_from(tiny("bijective", **changes), str(tmp_path))
