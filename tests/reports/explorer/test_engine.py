"""The engine of the explorer page in a real browser, held to the PyTorch model: logits, answers and interventions."""

import numpy as np
import pytest
import torch
from tiny import tiny

from alice.bench.browser import BrowserModel, compute, hook_of, hooks_of
from alice.causal import Part, Patch, Replacements
from alice.checkpoint import bundled
from alice.checkpoint.packed import pack
from alice.model import Alice
from alice.plugins.conformance import trained_model, trained_texts
from alice.reports.explorer.write import write
from alice.text import Batches, Counterfactuals, EncodedTexts, Words

TEXT = "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ MRAF."
OTHER = "XW YXLI, QI ZEBI RPI GILR HIOXLXAWL QI OEW FXBI, ZI"
LARGEST_DIFFERENCE = 1e-3
VARIANTS = {
    "base": {"variant": "base"},
    "base, whole vocabulary": {"variant": "base", "whole_vocab": True},
    "base, renamed by frequency": {"variant": "base", "relabel": "frequency"},
    "bijective": {"variant": "bijective", "sinkhorn_tau": 1.5},
    "bijective, two heads and a skip": {"variant": "bijective", "cross_heads": 2, "cross_skip": True},
    "bijective, whole vocabulary": {"variant": "bijective", "whole_vocab": True},
    "bijective, renamed by recurrence": {"variant": "bijective", "relabel": "recurrence"},
    "dynamic": {"variant": "dynamic"},
    "dynamic, other options": {"variant": "dynamic", "hyper_skip": True, "hyper_rope_truncated": True, "hyper_mlp": 24},
}
HEAD = {"part": "head", "block": 1, "head": 1}
INTERVENTIONS = {
    "a head off": [{"kind": "scale", **HEAD, "factor": 0}],
    "a head scaled": [{"kind": "scale", **HEAD, "factor": -2.5}],
    "an MLP off": [{"kind": "scale", "part": "mlp", "block": 0, "factor": 0}],
    "a head patched": [{"kind": "patch", **HEAD, "positions": None}],
    "an MLP patched at places": [{"kind": "patch", "part": "mlp", "block": 0, "positions": [0, 5, 47, 400]}],
    "the embedding patched": [{"kind": "patch", "part": "resid", "layer": 0, "positions": [3, 4]}],
    "a layer patched": [{"kind": "patch", "part": "resid", "layer": 2, "positions": None}],
    "patched and scaled": [{"kind": "scale", **HEAD, "factor": 3}, {"kind": "patch", **HEAD, "positions": None}],
}
ATTENTION = """
const { header } = window.parityModel;
const result = window.parityModel.run(arguments[0]);
return Array.from(AliceEngine.attention(result, header, arguments[1], arguments[2]));
"""
BESIDE = """
const done = arguments[arguments.length - 1];
if (arguments[2] === "page") window.Worker = undefined;
const runner = ExplorerRunner.start(document);
const outdated = runner.run(arguments[0]).then(() => "finished", (error) => error.name);
const wanted = window.parityModel.run(arguments[1]);
const same = (result) => JSON.stringify(result.scores) === JSON.stringify(wanted.scores);
runner.run(arguments[1]).then(
  async (result) => done({ where: runner.where(), outdated: await outdated, same: same(result) }),
  (error) => done(error.message),
);
"""


@pytest.fixture
def both(driver, tmp_path):
    """Return a function that stores a model in half precision and opens it in PyTorch and in the browser."""

    def make(model):
        folder = tmp_path / "model"
        model.save_pretrained(folder, dtype=torch.float16)
        packed = pack(folder)
        write(tmp_path / "explore.html", packed.header, packed.weights)
        return Alice.from_pretrained(folder, device="cpu"), BrowserModel(driver, tmp_path / "explore.html")

    return make


def assert_same(found, wanted, ids):
    present = sorted(set(ids))
    assert found.scores.shape == wanted.scores.shape
    assert np.abs(found.scores - wanted.scores)[:, present].max() < LARGEST_DIFFERENCE
    assert np.abs(found.key - wanted.key).max() < LARGEST_DIFFERENCE
    assert (found.letters == wanted.letters)[:, present].all()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_layer_answers_as_in_pytorch(both, name):
    model, page = both(tiny(**VARIANTS[name]))
    for text in (TEXT, "QUIZ", "E", "A" * 70 + TEXT):
        ids = model.alphabet.encode(text)
        assert_same(page.run(ids), compute(model, ids), ids)


def test_a_trained_model_answers_as_in_pytorch(both):
    model, page = both(trained_model())
    for text in trained_texts()[:3]:
        ids = model.alphabet.encode(text)
        assert_same(page.run(ids), compute(model, ids), ids)


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_interventions_do_what_hooks_do(both, variant):
    model, page = both(tiny(variant))
    ids, second = model.alphabet.encode(TEXT), model.alphabet.encode(OTHER)
    clean = compute(model, ids).scores
    for name, interventions in INTERVENTIONS.items():
        wanted = compute(model, ids, hooks_of(model, interventions, second))
        assert np.abs(wanted.scores - clean).max() > 10 * LARGEST_DIFFERENCE, name  # so that it can fail
        assert_same(page.run(ids, interventions, second), wanted, ids)


def test_switching_off_and_patching_are_the_replacements_of_the_analyses(both):
    model, page = both(tiny("base"))
    ids, second = model.alphabet.encode(TEXT), model.alphabet.encode(OTHER[: len(TEXT)])
    zero = compute(model, ids, Replacements("zero", {}).hooks([Part(1, 1)]))
    assert_same(page.run(ids, INTERVENTIONS["a head off"]), zero, ids)
    _, cache = model.run_with_cache(torch.tensor(second[None].astype("int64")))
    other = compute(model, ids, Replacements("resample", {Part(1).hook: cache[Part(1).hook]}).hooks([Part(1)]))
    patch = {"kind": "patch", "part": "mlp", "block": 1, "positions": None}
    assert_same(page.run(ids, [patch], second), other, ids)


@pytest.mark.parametrize("part", [{"part": "resid", "layer": 1}, {"part": "head", "block": 0, "head": 1}])
def test_a_patch_by_symbol_is_that_of_relabelled_texts(both, part):
    model, page = both(tiny("base"))
    batch = Batches(EncodedTexts(["THE CAT SAW A DOG AND THE DOG SAW IT."], model.alphabet), model.alphabet)[0]
    pair = Counterfactuals("relabel-two", model.alphabet, Words(["DOG HEN SAT A IT BEE"])).pair(batch)
    _, cache = model.run_with_cache(pair.corrupted.cipher_ids)
    name, patch = hook_of(part), Patch(pair, model.alphabet, "clean")
    ids, second = pair.clean.cipher_ids[0].tolist(), pair.corrupted.cipher_ids[0].tolist()

    def carry(activation, hook):
        carried = patch.carried(activation, cache[name])
        if part["part"] == "head":
            return torch.stack([activation[:, :, 0], carried[:, :, 1]], 2)
        return carried

    wanted = compute(model, ids, [(name, carry)])
    assert np.abs(wanted.scores - compute(model, ids).scores).max() > 10 * LARGEST_DIFFERENCE
    assert_same(page.run(ids, [{"kind": "patch", **part, "positions": None, "by": "symbol"}], second), wanted, ids)


def test_attention_is_that_of_the_pattern_hook(both):
    model, page = both(tiny("base"))
    ids = model.alphabet.encode(TEXT)
    _, cache = model.run_with_cache(torch.tensor(ids[None].astype("int64")))
    found = page.driver.execute_script(ATTENTION, ids.tolist(), 1, 0)
    wanted = cache["blocks.1.attn.hook_pattern"][0, 0].numpy()
    np.testing.assert_allclose(np.reshape(found, wanted.shape), wanted, atol=1e-6)


def test_a_pinned_letter_stays_and_no_other_letter_takes_its_place(both):
    for variant in ("base", "bijective"):
        model, page = both(tiny(variant))
        ids = model.alphabet.encode(TEXT)
        free = page.run(ids).letters[-1]
        taken = int(free[ids[0]]) - 1 if free[ids[0]] <= 26 else 0
        pinned = page.run(ids, [{"kind": "pin", "cipher": 5, "plain": taken}])
        assert pinned.letters[:, 6].tolist() == [taken + 1] * len(pinned.letters)
        assert (np.delete(pinned.letters[:, 1:27], 5, axis=1) != taken + 1).all()
        np.testing.assert_allclose(pinned.key[:, 5, taken], 1, atol=1e-3)
        if variant == "bijective":
            assert all(sorted(row) == list(range(1, 27)) for row in pinned.letters[:, 1:27].tolist())


@pytest.mark.parametrize("where", ["worker", "page"])
def test_a_run_beside_the_page_computes_the_same_and_replaces_an_outdated_one(both, where):
    model, page = both(tiny("bijective"))
    one, other = (model.alphabet.encode(text).tolist() for text in (TEXT, OTHER))
    found = page.driver.execute_async_script(BESIDE, one, other, where)
    assert found == {"where": where, "outdated": "AbortError", "same": True}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ids": []}, "There is no text yet"),
        ({"ids": [1] * 2000}, "The text has 2000 characters, and the model reads at most"),
        ({"ids": [0]}, "characters that are not in the model's alphabet"),
        ({"interventions": [{"kind": "scale", "part": "head", "block": 9, "head": 0, "factor": 0}]}, "has no part"),
        ({"interventions": INTERVENTIONS["a head patched"]}, "A patch needs a second text"),
        ({"interventions": INTERVENTIONS["a head patched"], "second": [1] * 2000}, "The second text has 2000"),
        ({"interventions": [{"kind": "pin", "cipher": 0, "plain": 26}]}, "A pin joins two letters"),
        ({"interventions": [{"kind": "pin", "cipher": c, "plain": 4} for c in (0, 1)]}, "A and B are both pinned to E"),
    ],
)
def test_what_cannot_be_computed_is_a_sentence(both, options, sentence):
    _, page = both(tiny("base"))
    program = "try { window.parityModel.run(...arguments); } catch (error) { return error.message; }"
    found = page.driver.execute_script(program, options.get("ids", [1, 2, 3]), {"interventions": [], **options})
    assert sentence in found


def test_the_page_of_the_largest_bundled_model_has_less_than_seven_megabytes(tmp_path):
    packed = max((pack(name) for name in bundled()), key=lambda packed: len(packed.weights))
    write(tmp_path / "explore.html", packed.header, packed.weights)
    assert (tmp_path / "explore.html").stat().st_size < 7e6
