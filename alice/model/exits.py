"""Lenses: ways to read a residual stream as a key, before the model's last layer."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from alice.errors import AliceError, nearest
from alice.model.model import Alice

MATRIX, VECTOR = ".A", ".b"
"""Endings of the tensors of an affine lens, after the name of their hook."""


class Lens(Protocol):
    """Reads the residual stream at any hook: the model's own head, a tuned lens, or a reconstruction from features."""

    def read(self, name: str, resid: Tensor, ids: Tensor, *, soft: bool = False) -> Tensor:
        """Return scores of what each cipher symbol stands for, (batch, symbol, symbol).

        Args:
            name: hook that the stream was read at, such as `blocks.3.hook_resid_post`.
            resid: the stream, (batch, pos, d_model).
            ids: the cipher symbols it belongs to, (batch, pos).
            soft: whether to return log-probabilities, as `Alice.log_probabilities` does; otherwise the scores of
                `Alice.decode_symbols`, which are the permutation itself for a bijective head.

        """


class PlainExit:
    """The model's own head, applied to the stream as it is."""

    def __init__(self, model: Alice) -> None:
        self.model = model

    def read(self, name: str, resid: Tensor, ids: Tensor, *, soft: bool = False) -> Tensor:
        """Return the scores of the model's head, (batch, symbol, symbol); see `Lens.read`."""
        if soft:
            return self.model.log_probabilities(resid, ids)
        return self.model.decode_symbols(resid, ids, soft=False)


class AffineLens:
    """Translates the stream of each layer, `resid @ A + b`, and reads it with the model's own head.

    A hook without a translator, such as that of the last layer, is read as it is.
    """

    def __init__(self, model: Alice, translators: Mapping[str, Tensor]) -> None:
        """Take the tensors `HOOK.A`, (d_model, d_model), and `HOOK.b`, (d_model,), of any number of hooks."""
        self.exit = PlainExit(model)
        self.translators: dict[str, tuple[Tensor, Tensor]] = {}
        for name in dict.fromkeys(key.rpartition(".")[0] for key in translators):
            matrix, vector = (self._part(translators, f"{name}{end}") for end in (MATRIX, VECTOR))
            self.translators[name] = matrix, vector
        for key in translators:
            name, _, ending = key.rpartition(".")
            if f".{ending}" not in (MATRIX, VECTOR) or name not in model.hook_dict:
                known = [f"{hook}{end}" for hook in model.hook_dict for end in (MATRIX, VECTOR)]
                raise AliceError(f"{key!r:.80} of a lens fits no hook of the model{nearest(key, known)}")

    def _part(self, translators: Mapping[str, Tensor], key: str) -> Tensor:
        """Return a tensor of the right shape on the model's device."""
        config, device = self.exit.model.config, self.exit.model.cfg.device
        wanted = (config.d_model,) * (2 if key.endswith(MATRIX) else 1)
        if key not in translators:
            raise AliceError(f"the lens lacks the tensor {key!r:.80}; every hook needs {MATRIX} and {VECTOR}")
        if tuple(translators[key].shape) != wanted:
            raise AliceError(f"{key} of a lens has the shape {tuple(translators[key].shape)}, not {wanted}")
        tensor = translators[key].detach()
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise AliceError(f"{key} of a lens has values that are not finite numbers with a fraction; train it again")
        return tensor.to(device).float()

    def translate(self, name: str, resid: Tensor) -> Tensor:
        """Return the stream at a hook in the coordinates of the last layer, (batch, pos, d_model)."""
        if name not in self.translators:
            return resid
        matrix, vector = self.translators[name]
        return torch.addmm(vector, resid.flatten(0, -2), matrix).view_as(resid)

    def read(self, name: str, resid: Tensor, ids: Tensor, *, soft: bool = False) -> Tensor:
        """Return the scores of the translated stream, (batch, symbol, symbol); see `Lens.read`."""
        return self.exit.read(name, self.translate(name, resid), ids, soft=soft)
