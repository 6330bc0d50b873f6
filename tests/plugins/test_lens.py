"""Lenses from stored artefacts, in the context and in the analyses that read layers."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from workbench import save_checkpoint

import alice
from alice.errors import AliceError
from alice.model import AffineLens, PlainExit
from alice.plugins import Report, Result, RunContext
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.builtin.ngram import Ngram
from alice.plugins.conformance import tiny_texts
from alice.reports.archive import fingerprint

EARLY, LATE = "blocks.0.hook_resid_post", "blocks.1.hook_resid_post"


@pytest.fixture
def ctx(tmp_path):
    save_checkpoint(tmp_path / "model")
    return RunContext.open(tmp_path / "model", data=tiny_texts(12), device="cpu")


def store(ctx, folder, *, name="translators", scale=1.0, sha256=None):
    """Store a lens for the first block that multiplies by a number, and return its report."""
    tensors = {f"{EARLY}.A": scale * torch.eye(16), f"{EARLY}.b": torch.zeros(16)}
    checkpoints = [{"name": ctx.checkpoint, "sha256": sha256 or ctx.named_model.fingerprint}]
    provenance = {"analysis": "lens", "checkpoints": checkpoints}
    return Report(Result("Lens", artefacts={name: tensors}), provenance).save(folder / "runs")


def test_without_a_path_the_lens_is_the_plain_exit(ctx):
    assert isinstance(ctx.lens(), PlainExit)


@pytest.mark.parametrize("name", ["translators", "translators@model"])
@pytest.mark.parametrize("as_file", [True, False])
def test_a_lens_is_loaded_from_a_report_or_a_file(ctx, tmp_path, name, as_file):
    folder = store(ctx, tmp_path, name=name, scale=2).folder
    lens = ctx.lens(folder / f"{name}.safetensors" if as_file else folder)
    assert isinstance(lens, AffineLens)
    assert torch.equal(lens.translators[EARLY][0], 2 * torch.eye(16))


@pytest.mark.parametrize(
    "analysis",
    [EarlyExit(samples=12), KeyRecovery(samples=12, layer=1), Ngram(samples=12, longest=2, epochs=1, hidden=4)],
    ids=lambda analysis: analysis.name,
)
def test_an_analysis_reads_the_same_through_an_identity(ctx, tmp_path, analysis):
    plain = analysis.run(ctx)
    lensed = type(analysis)(**vars(analysis) | {"lens": store(ctx, tmp_path).folder}).run(ctx)
    assert any("lens in `" in caveat for caveat in lensed.caveats)
    for name, array in plain.arrays.items():
        assert np.allclose(array, lensed.arrays[name], atol=1e-6, equal_nan=True), name
    assert [metric.value for metric in plain.metrics] == [metric.value for metric in lensed.metrics]


def test_a_lens_changes_only_the_layers_that_it_translates(ctx, tmp_path):
    plain = EarlyExit(samples=12).run(ctx).array("ser", model=ctx.checkpoint)
    lens = store(ctx, tmp_path, scale=-1).folder
    lensed = EarlyExit(samples=12, lens=lens).run(ctx).array("ser", model=ctx.checkpoint)
    assert np.array_equal(plain[:, [0, 2]], lensed[:, [0, 2]])
    assert not np.array_equal(plain[:, 1], lensed[:, 1])


def test_a_key_is_read_from_any_layer(ctx):
    last = KeyRecovery(samples=12).run(ctx)
    assert fingerprint(KeyRecovery(samples=12, layer=2).run(ctx)) != fingerprint(last), "the summary names the layer"
    found = KeyRecovery(samples=12, layer=2).run(ctx)
    assert all(np.array_equal(array, found.arrays[name]) for name, array in last.arrays.items())
    with pytest.raises(AliceError, match="has no layer 3; give 0 to 2"):
        KeyRecovery(samples=12, layer=3).run(ctx)


def test_a_lens_of_another_model_is_refused(ctx, tmp_path):
    folder = store(ctx, tmp_path, sha256="ab" * 32).folder
    with pytest.raises(AliceError, match="was made for model, not for model"):
        ctx.lens(folder)
    with pytest.raises(AliceError, match="cannot be read"):
        ctx.lens(tmp_path / "nothing.safetensors")


@pytest.mark.parametrize("checkpoints", ["base", 3, [None], ["base"], {"name": "base"}], ids=str)
def test_a_lens_whose_provenance_is_damaged_can_still_be_read_by_a_model_that_it_fits(ctx, tmp_path, checkpoints):
    tensors = {f"{EARLY}.A": torch.eye(16), f"{EARLY}.b": torch.zeros(16)}
    result = Result("Lens", artefacts={"translators": tensors})
    folder = Report(result, {"checkpoints": checkpoints}).save(tmp_path / "runs").folder
    assert isinstance(ctx.lens(folder), AffineLens)
    with pytest.raises(AliceError, match="does not say which model it was made for; give the model, too"):
        alice.load_lens(folder)


def test_the_only_lens_of_a_report_is_loaded_whatever_the_model_is_called(ctx, tmp_path):
    folder = store(ctx, tmp_path, name="translators@elsewhere").folder
    assert EARLY in ctx.lens(folder).translators
    assert EARLY in alice.load_lens(folder, ctx.model).translators


def test_a_type_of_number_that_numpy_lacks_is_one_sentence(ctx, tmp_path):
    tensors = {f"{EARLY}.A": torch.eye(16), f"{EARLY}.b": torch.zeros(16)}
    save_file({name: tensor.to(torch.float8_e4m3fn) for name, tensor in tensors.items()}, tmp_path / "lens.safetensors")
    with pytest.raises(AliceError, match="is not an artefact: "):
        ctx.lens(tmp_path / "lens.safetensors")


def test_tensors_are_loaded_by_name(ctx, tmp_path):
    folder = store(ctx, tmp_path, scale=3).folder
    for found in (alice.load_artefact(folder), alice.load_artefact(folder, "translators")):
        assert torch.equal(found[f"{EARLY}.A"], 3 * torch.eye(16))
    with pytest.raises(AliceError, match="has no artefact 'translator'; did you mean 'translators'"):
        alice.load_artefact(folder, "translator")


def test_bfloat16_is_one_sentence_also_if_another_package_teaches_numpy_to_read_it(tmp_path):
    pytest.importorskip("ml_dtypes")
    save_file({"x": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "lens.safetensors")
    with pytest.raises(AliceError, match="is not an artefact"):
        alice.load_artefact(tmp_path / "lens.safetensors")
