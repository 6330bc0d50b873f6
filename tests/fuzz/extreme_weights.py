"""Weights with extreme values: a model answers with letters and finite numbers, or says that it cannot."""

import json
import math
import struct
from dataclasses import asdict

import torch
from fuzz.pieces import Choices, Finding
from torch import Tensor

from alice.checkpoint.export import round_to_half
from alice.checkpoint.folder import check_values
from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import VARIANTS, ModelConfig
from alice.solving import Solution, solve
from alice.solving.evaluate import score
from alice.solving.solution import NO_SYMBOL
from alice.text.batches import Batches, EncodedTexts, text_keys

SEEDS = (b"\x01\x01", b"\x02\x00\x01\x00\x05\x02\x03", b"\x00\x03" + bytes(range(60)), b"\x01\x01\x03" + bytes(40))
SIZES = {"d_model": 4, "n_layers": 1, "n_heads": 1, "d_mlp": 2, "n_ctx": 40, "hyper_layers": 1, "hyper_heads": 1}
MODELS = [
    Alice(ModelConfig(variant=variant, whole_vocab=whole, cross_skip=whole, hyper_skip=whole, **SIZES)).eval()
    for variant in VARIANTS
    for whole in (False, True)
]
STATES = [{name: weight.clone() for name, weight in model.state_dict().items()} for model in MODELS]
TEXTS = ["ABCDE FGHIJ KLMNO PQRST UVWXYZ", "a cat"]
ALPHABET = MODELS[0].alphabet
BATCHES = list(Batches(EncodedTexts(TEXTS[:1], ALPHABET), ALPHABET, keys=text_keys(1, 0)))
LARGEST = torch.finfo(torch.float32).max
NUMBERS = (
    0.0, -0.0, 1e-45, 1e-38, -1e-7, 5.96e-8, 1e4, 65504.0, 65519.99, 65520.0, -65520.0, 1e6, 1e10, -1e15, 1.8e19, 2e19,
    1e20, -1e25, 1e30, 3e37, LARGEST, -LARGEST, math.inf, -math.inf, math.nan,
)  # fmt: skip
SLACK = 1e-4
"""By how much rounding may push a probability above one."""


def try_input(data: bytes) -> None:
    """Change weights of a tiny model, solve texts with it, measure it, and round it to half precision."""
    choices = Choices(data)
    number = choices.below(len(MODELS))
    model = MODELS[number]
    weights = {name: weight.clone() for name, weight in STATES[number].items()}
    for _ in range(1 + choices.below(4)):
        _change(weights[choices.pick(sorted(weights))].view(-1), choices)
    try:
        as_from_file = choices.below(8)  # otherwise as a plugin may leave them
        if as_from_file:
            check_values(weights, where="weights")
        model.load_state_dict(weights)
        if as_from_file and not choices.below(4):
            _check_rounded(round_to_half(model))
        for solution in solve(model, TEXTS, layers=bool(choices.below(2))):
            _check_solution(solution, model)
        errors = score(model, BATCHES).errors
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 600:
            raise Finding(f"the error is not one sentence: {str(error)[:200]}") from error
        return
    if not all(0 <= rate <= 1 for rate in errors):
        raise Finding(f"the error rates are {errors}")


def _change(weight: Tensor, choices: Choices) -> None:
    """Set, multiply or scatter numbers in one tensor, or in a part of it."""
    start = choices.below(len(weight))
    part = weight[start : start + 1 + choices.below(len(weight))]
    value = choices.pick(NUMBERS)
    action = choices.below(5)
    if action == 0:
        part.fill_(value)
    elif action == 1:
        part.mul_(value)
    elif action == 2:
        part[::2] = value
    elif action == 3:
        part[::2], part[1::2] = value, -value
    else:  # any bits
        part[0] = struct.unpack("<f", bytes(choices.below(256) for _ in range(4)))[0]


def _check_rounded(model: Alice) -> None:
    if wrong := [name for name, weight in model.state_dict().items() if not weight.isfinite().all()]:
        raise Finding(f"rounded to half precision, {wrong} are not finite")


def _check_solution(solution: Solution, model: Alice) -> None:
    document = json.dumps(asdict(solution), allow_nan=False)  # ValueError for NaN
    if not solution.key and not solution.note:
        raise Finding(f"neither a key nor a note: {document}")
    if set(solution.key.values()) - set(NO_SYMBOL + ALPHABET.symbols):
        raise Finding(f"not a symbol: {document}")
    permuted = model.config.variant == "bijective"
    if permuted and len(set(solution.key.values())) < len(solution.key):
        raise Finding(f"not a permutation: {document}")
    shares = [share for layer in (solution.confidence, *solution.layer_confidence) for share in layer.values()]
    if not all(0 <= share <= 1 + SLACK for share in shares):
        raise Finding(f"not a probability: {document}")
    if any(len(text) != len(solution.ciphertext) for text in (solution.plaintext, *solution.layers)):
        raise Finding(f"another length: {document}")
    if not str(solution) or "nan" in solution._repr_html_():
        raise Finding(f"shown as {solution}")
