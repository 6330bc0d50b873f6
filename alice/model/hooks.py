"""Hook points that cost almost nothing while unused.

Each call of a plain `HookPoint` is a full call of a torch module, and a block has about twenty; for a single text they
made the forward pass a quarter slower. `Hook` first checks whether a hook is attached.
"""

from torch import Tensor, nn
from transformer_lens.hook_points import HookPoint


class Hook(HookPoint):
    """A HookPoint that returns at once when no hook is attached."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the activation, changed by the hooks if there are any."""
        # Not `self.active`: the property lookup would double the time of an idle call.
        if not (self._forward_hooks or self._backward_hooks or self._forward_pre_hooks or self._backward_pre_hooks):
            return x
        # A hook may write in place, which autograd forbids for tensors that the backward pass needs.
        return super().__call__(x.clone() if x.requires_grad else x)

    @property
    def active(self) -> bool:
        """Whether a hook is attached, through TransformerLens or torch."""
        return bool(self._forward_hooks or self._backward_hooks or self._forward_pre_hooks or self._backward_pre_hooks)


def cache_hooks_as_attributes(root: nn.Module) -> None:
    """Store every module's hooks as ordinary attributes, which avoids torch's slower lookup."""
    for module in root.modules():
        module.__dict__.update({name: child for name, child in module._modules.items() if isinstance(child, Hook)})
