"""Files of lenses: a lens loads with exactly the translators of the file, or the file is refused in one sentence."""

import json

import torch
from fuzz.pieces import Choices, Finding, new_folder
from safetensors.torch import load, save

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import ModelConfig
from alice.plugins.context.models import NamedModel, open_lens

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x03" + bytes(range(60)))
FILE = new_folder() / "translators.safetensors"
CONFIG = ModelConfig(d_model=4, n_layers=1, n_heads=1, d_mlp=2, n_ctx=8, cross_heads=1, hyper_heads=1)
NAMED = NamedModel("tiny", Alice(CONFIG))
HOOK = "hook_embed"
TENSORS = {f"{HOOK}.A": torch.eye(4), f"{HOOK}.b": torch.zeros(4)}
PROVENANCE = {"checkpoints": [{"name": "tiny", "sha256": NAMED.fingerprint}], "options": {"samples": 3}}
KINDS = (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool, torch.complex64, torch.float8_e4m3fn)


def try_input(data: bytes) -> None:
    """Damage the tensors, their names, the provenance or the file, and open the lens."""
    content = _damaged(Choices(data))
    FILE.write_bytes(content)
    try:
        lens = open_lens(NAMED, FILE)
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise Finding(f"the error is not one sentence: {str(error)[:300]!r}") from error
        return
    said = load(content)
    for name, both in getattr(lens, "translators", {}).items():
        for end, tensor in zip((".A", ".b"), both, strict=True):
            if not tensor.isfinite().all() or not torch.equal(said[name + end].float(), tensor):
                raise Finding(f"{name}{end} was read as {tensor}")


def _damaged(choices: Choices) -> bytes:
    tensors, provenance = dict(TENSORS), choices.written(choices.damaged_document(PROVENANCE))
    name = choices.pick(sorted(tensors))
    kind = choices.below(5)
    if kind == 1:
        tensors[name] = tensors[name].to(choices.pick(KINDS))
    if kind == 2:
        tensors[choices.text(12) or "x"] = tensors.pop(name)
    if kind == 3:
        value = choices.pick([float("nan"), float("inf"), -1e38, 0.5])
        tensors[name] = torch.full(choices.pick([(4,), (4, 4), (), (0,), (2, 8)]), value)
    metadata = {"provenance": provenance.decode(errors="replace")} if choices.below(8) else None
    try:
        content = save(tensors, metadata)
    except Exception:  # a name that safetensors itself cannot write
        content = save(dict(TENSORS), {"provenance": json.dumps(PROVENANCE)})
    return choices.damaged_bytes(content) if kind == 4 else content
