"""Files of features: they load with exactly the tensors of the file and can be used, or are refused in one sentence."""

import json

import torch
from fuzz.lens_files import KINDS
from fuzz.pieces import Choices, Finding, new_folder
from safetensors.torch import load, save

import alice
from alice.errors import AliceError

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x03" + bytes(range(60)))
FILE = new_folder() / "features.safetensors"
LAYERS, FEATURES, WIDTH = 2, 3, 4
SHAPES = {
    "mean": (LAYERS, WIDTH),
    "encoder": (LAYERS, FEATURES, WIDTH),
    "encoder_bias": (LAYERS, FEATURES),
    "decoder": (LAYERS, FEATURES, WIDTH),
    "threshold": (LAYERS,),
}
PROVENANCE = {"checkpoints": [{"name": "tiny", "sha256": "0" * 64}], "options": {"samples": 3}}
STREAM = torch.linspace(-1, 1, 2 * WIDTH).reshape(2, WIDTH)


def try_input(data: bytes) -> None:
    """Damage the tensors, their names, the provenance or the file, and read a text with the features."""
    content = _damaged(Choices(data))
    FILE.write_bytes(content)
    try:
        features = alice.load_features(FILE)
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise Finding(f"the error is not one sentence: {str(error)[:300]!r}") from error
        return
    said = load(content)
    for name, tensor in features.tensors.items():
        if not torch.equal(said[name], tensor):
            raise Finding(f"{name} was read as {tensor}")
    if features.encoder.shape[-1] == WIDTH:
        for layer in range(len(features.hooks)):
            if features.reconstruct(STREAM, layer).isnan().any():
                raise Finding(f"layer {layer} of {said} reads a text as NaN")


def _damaged(choices: Choices) -> bytes:
    tensors = {name: torch.ones(shape) / 2 for name, shape in SHAPES.items()}
    provenance = choices.written(choices.damaged_document(PROVENANCE))
    name = choices.pick(sorted(tensors))
    kind = choices.below(6)
    if kind == 1:
        tensors[name] = tensors[name].to(choices.pick(KINDS))
    if kind == 2:
        tensors[choices.text(12) or "x"] = tensors.pop(name)
    if kind == 3:
        value = choices.pick([float("nan"), float("inf"), -1e38, 0.5])
        tensors[name] = torch.full(choices.pick([*SHAPES.values(), (), (0,), (0, 3, 4), (2, 0, 4)]), value)
    if kind == 5:
        layers, features, width, kind_of = (choices.below(3), choices.below(3), choices.below(5), choices.pick(KINDS))
        sizes = {LAYERS: layers, FEATURES: features, WIDTH: width}
        tensors = {one: torch.zeros([sizes[size] for size in SHAPES[one]]).to(kind_of) for one in SHAPES}
    deep = choices.pick([None, None, None, "[" * 900 + "]" * 900, "[" * 100_000])
    metadata = {"provenance": deep or provenance.decode(errors="replace")} if choices.below(8) else None
    try:
        content = save(tensors, metadata)
    except Exception:  # a name that safetensors itself cannot write
        content = save({one: torch.ones(SHAPES[one]) for one in SHAPES}, {"provenance": json.dumps(PROVENANCE)})
    return choices.damaged_bytes(content) if kind == 4 else content
