"""Activations of chosen hooks, streamed one batch at a time."""

from collections.abc import Iterable, Iterator, Sized

import torch
from torch import Tensor
from transformer_lens import ActivationCache

from alice.model import Alice
from alice.text import Batch


class Activations:
    """Pairs `(batch, cache)` over batches; each iteration runs the model again."""

    def __init__(self, model: Alice, batches: Iterable[Batch], *patterns: str) -> None:
        """Find the hooks that match the patterns (`blocks.*.hook_resid_post`); a misspelt one is an error."""
        self.model, self.batches = model, batches
        self.names = model.match_hooks(*patterns)

    def __len__(self) -> int:
        if not isinstance(self.batches, Sized):
            raise TypeError("the number of these batches is not known")
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Batch, ActivationCache]]:
        for batch in self.batches:
            on_device, _, cache = run_batch(self.model, batch, self.names)
            yield on_device, cache


@torch.inference_mode()
def run_batch(model: Alice, batch: Batch, names: list[str]) -> tuple[Batch, Tensor, ActivationCache]:
    """Run the model once; return the batch on its device, the output and the activations of the named hooks.

    The hooks are removed afterwards, also if the pass fails.
    """
    batch = batch.to(model.cfg.device)
    # A membership test: a list of names would be matched against all hooks for each batch.
    output, cache = model.run_with_cache(batch.cipher_ids, names_filter=frozenset(names).__contains__, soft=False)
    return batch, output, cache
