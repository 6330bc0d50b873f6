"""Activations of chosen hooks, streamed one batch at a time."""

from collections.abc import Iterable, Iterator, Sized

import torch
from torch import Tensor
from transformer_lens import ActivationCache
from transformer_lens.hook_points import HookPoint

from alice.model import Alice
from alice.text import Batch


class Activations:
    """Pairs `(batch, cache)` over batches, which also have an index; each iteration runs the model again.

    The tensors are ordinary ones without gradients, which may be used in training. With `grad=True` they are part of
    the graph of the forward pass, so that `torch.autograd.grad` can differentiate with respect to them.
    """

    def __init__(self, model: Alice, batches: Iterable[Batch], *patterns: str, grad: bool = False) -> None:
        """Find the hooks that match the patterns (`blocks.*.hook_resid_post`); a misspelt one is an error."""
        self.model, self.batches, self.grad = model, batches, grad
        self.names = model.match_hooks(*patterns)

    def __len__(self) -> int:
        if not isinstance(self.batches, Sized):
            raise TypeError("the number of these batches is not known")
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Batch, ActivationCache]]:
        for batch in self.batches:
            yield self._pair(batch)

    def __getitem__(self, number: int) -> tuple[Batch, ActivationCache]:
        if not hasattr(self.batches, "__getitem__"):
            raise TypeError("these batches can only be read in order")
        return self._pair(self.batches[number])

    def _pair(self, batch: Batch) -> tuple[Batch, ActivationCache]:
        on_device, _, cache = run_batch(self.model, batch, self.names, grad=self.grad)
        return on_device, cache


def run_batch(
    model: Alice, batch: Batch, names: list[str], *, grad: bool = False
) -> tuple[Batch, Tensor, ActivationCache]:
    """Run the model once; return the batch on its device, the output and the activations of the named hooks.

    The hooks are removed afterwards, also if the pass fails. With `grad` nothing is detached, and the output of a
    bijective head is soft, so that it can be differentiated.
    """
    batch = batch.to(model.cfg.device)
    found: dict[str, Tensor] = {}

    def keep(tensor: Tensor, hook: HookPoint) -> None:
        found[str(hook.name)] = tensor

    # A membership test: a list of names would be matched against all hooks for each batch.
    with torch.set_grad_enabled(grad), model.hooks([(frozenset(names).__contains__, keep)]):
        output = model(batch.cipher_ids, soft=grad)
    return batch, output, ActivationCache(found, model)
