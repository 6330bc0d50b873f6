"""Headers of safetensors files: a model loads exactly what the file contains, or the file is refused."""

import json

import torch
from fuzz.pieces import Choices, Finding, new_folder
from safetensors.torch import load, save

from alice.checkpoint import folder as checkpoint
from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import ModelConfig

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x05" + bytes(range(60)))
FOLDER = new_folder()
CONFIG = ModelConfig(d_model=4, n_layers=1, n_heads=1, d_mlp=2, n_ctx=8, cross_heads=1, hyper_heads=1)
DTYPES = ("F64", "F16", "BF16", "I32", "U8", "BOOL", "I64", "F8_E4M3", "F8_E8M0", "F4", "F6_E2M3", "C64", "F32", "X")
LENGTH = 8
"""Size in bytes of the length of the header."""


STATE = Alice(CONFIG).state_dict()
checkpoint.write(FOLDER, CONFIG, STATE)
WHOLE = (FOLDER / checkpoint.WEIGHTS).read_bytes()


def try_input(data: bytes) -> None:
    """Damage the header of a tiny model's weights and load the model."""
    choices = Choices(data)
    completely = not choices.below(16)
    content = _damaged(choices)
    (FOLDER / checkpoint.WEIGHTS).write_bytes(content)
    try:
        found = Alice.from_pretrained(FOLDER).state_dict() if completely else _read()
    except AliceError as error:
        if "\n" in str(error):
            raise Finding(f"the error is not one sentence: {str(error)[:200]}") from error
        return
    said = load(content)
    for name, tensor in found.items():
        if not said[name].is_floating_point() or not torch.equal(said[name].float(), tensor.float()):
            raise Finding(f"{name} is {said[name].dtype} in the file and was read as {tensor}")
        if not tensor.isfinite().all():
            raise Finding(f"{name} is not finite")


def _read() -> dict[str, torch.Tensor]:
    """Load without building the model, which takes most of the time."""
    config, weights = checkpoint.read(FOLDER)
    checkpoint.check_size(weights, config, where=str(FOLDER))
    checkpoint.check_fit(weights, STATE, where=str(FOLDER))
    return {name: tensor.float() for name, tensor in weights.items()}


def _damaged(choices: Choices) -> bytes:
    end = LENGTH + int.from_bytes(WHOLE[:LENGTH], "little")
    header, numbers = json.loads(WHOLE[LENGTH:end]), WHOLE[end:]
    kind = choices.below(6)
    if kind == 0:
        return choices.damaged_bytes(WHOLE)
    if kind == 1:
        return _another_type(choices)
    if kind == 2:  # any number in place of a weight
        place = 4 * choices.below(len(numbers) // 4)
        numbers = numbers[:place] + bytes(choices.below(256) for _ in range(4)) + numbers[place + 4 :]
        return WHOLE[:end] + numbers
    written = choices.written(choices.damaged_document(header))
    length = len(written) if choices.below(8) else choices.pick([0, 1, 2**63, 2**64 - 1, len(written) + 1])
    return length.to_bytes(LENGTH, "little") + written + numbers


def _another_type(choices: Choices) -> bytes:
    """Return the weights with another dtype, which torch may or may not know."""
    tensors = load(WHOLE)
    kinds = [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool, torch.complex64]
    kinds += [torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float32]
    name, kind = choices.pick(sorted(tensors)), choices.pick(kinds)
    content = save({**tensors, name: tensors[name].to(kind)})
    return content.replace(b'"F32"', f'"{choices.pick(DTYPES)}"'.encode(), 1) if choices.below(2) else content
