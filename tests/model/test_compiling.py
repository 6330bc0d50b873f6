"""Compiled and exported models, and other float types, give the answers of the model."""

import copy

import pytest
import torch
from tiny import tiny

EAGER = "eager"
"""Traces and guards as any other backend, and needs no C++ compiler."""


@pytest.fixture(autouse=True)
def no_compiled_code():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_a_model_compiles_as_one_graph(variant, ids):
    model = tiny(variant, n_layers=1)
    compiled = torch.compile(model, backend=EAGER, fullgraph=True)
    with torch.no_grad():
        for soft in (True, False) if variant == "bijective" else (True,):
            torch.testing.assert_close(compiled(ids, soft=soft), model(ids, soft=soft), atol=1e-5, rtol=1e-5)


def test_hooks_work_on_a_compiled_model(ids):
    model = tiny("base", n_layers=1)
    compiled = torch.compile(model, backend=EAGER)
    with torch.no_grad():
        plain = compiled(ids, stop_at_layer=1)
        for factor in (0.0, 2.0):
            hooks = [("blocks.0.mlp.hook_post", lambda value, hook, factor=factor: value * factor)]
            with model.hooks(fwd_hooks=hooks):
                found, expected = (one(ids, stop_at_layer=1) for one in (compiled, model))
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
            assert not torch.allclose(found, plain, atol=1e-3)
        torch.testing.assert_close(compiled(ids, stop_at_layer=1), plain)


def test_a_hook_in_a_whole_graph_is_an_error_that_says_so(ids):
    model = tiny("base", n_layers=1)
    compiled = torch.compile(model, backend=EAGER, fullgraph=True)
    model.add_hook("hook_embed", lambda value, hook: value)
    with torch.no_grad(), pytest.raises(Exception, match="hooks run outside the compiled graph"):
        compiled(ids)


def test_an_exported_model_reads_batches_and_texts_of_any_size(ids):
    model = tiny("bijective", n_layers=1)  # the ONNX files test the other variants
    sizes = {"ids": {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}}
    with torch.no_grad(), model.soft():
        exported = torch.export.export(model, (ids,), dynamic_shapes=sizes, strict=False).module()
        other = model.to_tokens(["ANOTHER TEXT " * 5, "SHORT", "Q"])
        torch.testing.assert_close(exported(other), model(other), atol=1e-5, rtol=1e-5)


TOLERANCE = {torch.bfloat16: 0.3, torch.float16: 0.03, torch.float64: 1e-4}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_every_float_type_gives_the_scores_of_single_precision(model, ids, dtype):
    converted = copy.deepcopy(model).to(dtype)
    with torch.no_grad():
        expected = model(ids, soft=True)
        for found in (converted(ids, soft=True), converted.run_with_cache(ids, soft=True)[0]):
            possible = expected > -1e4
            assert (found[~possible] < -1e4).all()
            assert (found.to(expected.dtype)[possible] - expected[possible]).abs().max() < TOLERANCE[dtype]


def test_a_copy_of_a_model_is_independent(model, ids):
    other = copy.deepcopy(model)
    seen = []
    with other.hooks(fwd_hooks=[("hook_embed", lambda value, hook: seen.append(value))]):
        model(ids)
        assert not seen
        other(ids)
        assert len(seen) == 1


def test_rotary_angles_are_not_rounded(base):
    table = base.blocks[0].attn.rotary.clone()
    for dtype in TOLERANCE:
        assert torch.equal(base.to(dtype).blocks[0].attn.rotary, table)


def test_double_precision_is_used_throughout(base, ids):
    converted = copy.deepcopy(base).double()
    noise = 1e-12 * torch.randn(2, 32, 16, dtype=torch.float64)
    with torch.no_grad():
        plain = converted(ids)
        changed = converted.run_with_hooks(ids, fwd_hooks=[("hook_embed", lambda value, hook: value + noise)])
    assert plain.dtype == torch.float64
    assert 0 < (changed - plain).abs().max() < 1e-9  # single precision would round the change away
