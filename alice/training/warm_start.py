"""Initialises a model from the weights of another one, which may be of another variant with the same backbone.

If the other model has more symbols, the new one takes the rows of its own symbols.
"""

import torch
from torch import Tensor

from alice.checkpoint.folder import check_fit
from alice.errors import AliceError
from alice.model import Alice
from alice.text import PAD, Alphabet

OWN = ("hypernet.", "head.query")
"""Weights that only one variant has; they keep their random initial values if the other model has none."""
BY_SYMBOL = ("embed.weight", "hypernet.embed.weight", "hypernet.query", "head.query", "head.unembed.weight",
             "head.unembed.bias")  # fmt: skip
"""Weights with one row per id."""
_EMBEDDING, _HYPER_EMBEDDING = "embed.weight", "hypernet.embed.weight"


def start_from(model: Alice, checkpoint: str) -> str:
    """Load the weights of a checkpoint into a model; return a line that says which weights stay new."""
    other = Alice.from_pretrained(checkpoint, device="cpu")
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
    line = f"starting from the weights of {checkpoint}"
    if other.alphabet != model.alphabet:
        line += f", taking {len(model.alphabet.symbols)} of its {len(other.alphabet.symbols)} symbols"
    if other.config.relabel != model.config.relabel:
        line += f", which it learned with relabel={other.config.relabel}, not {model.config.relabel}"
    if fresh:
        parts = sorted({name.split(".")[0] if name.startswith("hypernet.") else name for name in fresh})
        line += f" ({other.config.variant}); new in this model: {', '.join(parts)}"
    return line


def _rows_of(alphabet: Alphabet, other: Alice, checkpoint: str) -> dict[str, Tensor]:
    """Return the weights of a model, with rows by symbol reduced to the symbols of an alphabet."""
    weights = other.state_dict()
    if other.alphabet == alphabet:
        return weights
    if unknown := set(alphabet.symbols) - set(other.alphabet.symbols):
        listed = " ".join(repr(symbol) for symbol in sorted(unknown))
        raise AliceError(f"{checkpoint} has another alphabet, without {listed}; start from a checkpoint that has them")
    rows = [PAD, *other.alphabet.encode(alphabet.symbols).tolist()]
    return {name: weight[rows] if name in BY_SYMBOL else weight for name, weight in weights.items()}
