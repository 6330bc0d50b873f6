"""Starts a model from the weights of another, which may be of another variant: the backbone is common to all three.

The other may know more symbols: the new model then takes what belongs to its own.
"""

import torch
from torch import Tensor

from alice.checkpoint.folder import check_fit
from alice.errors import AliceError
from alice.model import Alice
from alice.text.alphabet import PAD, Alphabet

OWN = ("hypernet.", "head.query")
"""Weights that only one variant has; they start afresh where the other model lacks them."""
BY_SYMBOL = ("embed.weight", "hypernet.embed.weight", "hypernet.query", "head.query", "head.unembed.weight",
             "head.unembed.bias")  # fmt: skip
"""Weights with a row for each id."""
_EMBEDDING, _HYPER_EMBEDDING = "embed.weight", "hypernet.embed.weight"


def start_from(model: Alice, checkpoint: str) -> str:
    """Give a model the weights of a checkpoint, and say in one line which of its own it keeps."""
    other = Alice.from_pretrained(checkpoint)
    given, wanted = _rows_of(model.alphabet, other, checkpoint), model.state_dict()
    if _EMBEDDING in given and _HYPER_EMBEDDING in wanted:
        given[_HYPER_EMBEDDING] = given.pop(_EMBEDDING)
    elif _HYPER_EMBEDDING in given and _EMBEDDING in wanted:
        given[_EMBEDDING] = given.pop(_HYPER_EMBEDDING)
    fresh = [name for name in wanted if name not in given and name.startswith(OWN)]
    unused = [name for name in given if name not in wanted and name.startswith(OWN)]
    taken = {name: tensor for name, tensor in given.items() if name not in unused}
    check_fit(taken | {name: wanted[name] for name in fresh}, wanted, where=checkpoint)
    with torch.no_grad():
        model.load_state_dict(taken, strict=False)
    if "head.query" in fresh:
        model.aim_queries()
    told = f"starting from the weights of {checkpoint}"
    if other.alphabet != model.alphabet:
        told += f", of whose {len(other.alphabet.symbols)} symbols it takes {len(model.alphabet.symbols)}"
    if fresh:
        parts = sorted({name.split(".")[0] if name.startswith("hypernet.") else name for name in fresh})
        told += f" ({other.config.variant}); new in this model: {', '.join(parts)}"
    return told


def _rows_of(alphabet: Alphabet, other: Alice, checkpoint: str) -> dict[str, Tensor]:
    """Return the weights of a model, those that go by symbol reduced to the symbols of an alphabet."""
    weights = other.state_dict()
    if other.alphabet == alphabet:
        return weights
    if unknown := set(alphabet.symbols) - set(other.alphabet.symbols):
        listed = " ".join(repr(symbol) for symbol in sorted(unknown))
        raise AliceError(f"{checkpoint} reads another alphabet, without {listed}; start from one that has them")
    rows = [PAD, *other.alphabet.encode(alphabet.symbols).tolist()]
    return {name: weight[rows] if name in BY_SYMBOL else weight for name, weight in weights.items()}
