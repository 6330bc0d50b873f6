"""Hook points that cost almost nothing while unused, and the methods of a model that has them.

Each call of a plain `HookPoint` is a full call of a torch module, and a block has about twenty; for a single text they
made the forward pass a quarter slower. `Hook` first checks whether something listens.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, NoReturn, Self

import torch
from torch import Tensor, nn
from transformer_lens import ActivationCache, HookedRootModule
from transformer_lens.hook_points import HookPoint

from alice.errors import AliceError, nearest

HookName = str | Callable[[str], bool]
Hooks = Sequence[tuple[HookName, Callable[..., Any]]]
SPLIT_INPUT = "use_split_qkv_input"
"""The switch of the separate inputs of queries, keys and values."""
MLP_INPUT = "use_hook_mlp_in"
"""The switch of the separate input of the feed-forward layer."""


class Hook(HookPoint):
    """A HookPoint that returns at once when nothing listens."""

    def __init__(self) -> None:
        super().__init__()
        # A compiled model does not notice that these change under torch's own names, but it does under another.
        self.tables = (self._forward_hooks, self._backward_hooks, self._forward_pre_hooks, self._backward_pre_hooks)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the activation, changed by the hooks if there are any."""
        # Not `self.active`, since the property lookup would double the time of an idle call. Not the truth of the
        # tables, since a compiled model guards their lengths only.
        fwd, bwd, pre_fwd, pre_bwd = self.tables
        if not (len(fwd) or len(bwd) or len(pre_fwd) or len(pre_bwd) or "forward" in self.__dict__):
            return x
        return _run(self, x)

    @property
    def active(self) -> bool:
        """Whether something listens: a hook of TransformerLens or torch, or nnsight, which replaces `forward`."""
        fwd, bwd, pre_fwd, pre_bwd = self.tables
        return bool(len(fwd) or len(bwd) or len(pre_fwd) or len(pre_bwd) or "forward" in self.__dict__)


class SwitchedHook(Hook):
    """A hook on what is only computed while a switch of the model is on, such as `set_use_split_qkv_input`."""

    def __init__(self, switch: str) -> None:
        super().__init__()
        self.switch, self.on = switch, False


@torch.compiler.disable(reason="a hook is attached, and hooks run outside the compiled graph")  # type: ignore[untyped-decorator]
def _run(hook: Hook, x: Tensor) -> Tensor:
    """Run the hooks of a hook point as torch does."""
    # A hook may write in place, which autograd forbids for tensors that the backward pass needs.
    return HookPoint.__call__(hook, x.clone() if x.requires_grad else x)


def cache_hooks_as_attributes(root: nn.Module) -> None:
    """Store every module's hooks as ordinary attributes, which avoids torch's slower lookup."""
    for module in root.modules():
        module.__dict__.update({name: child for name, child in module._modules.items() if isinstance(child, Hook)})


class Cache(ActivationCache):
    """The activations of one pass, with every method of TransformerLens that applies to this model."""

    def logit_lens(self, **kwargs: Any) -> NoReturn:
        """Refuse: this lens reads each position by itself, and the model pools over all of them first."""
        raise AliceError(
            "logit_lens reads each position by itself, but this model averages the positions of a symbol first; "
            "use model.decode(cache['resid_post', layer], ids), which reads any layer"
        )


class HookedModel(HookedRootModule):
    """TransformerLens' root module with patterns of names, errors that suggest the nearest, and switched hooks."""

    hook_dict: dict[str, HookPoint]

    def match_hooks(self, *patterns: str) -> list[str]:
        """Return the hook names that match any of the patterns (`blocks.*.hook_resid_post`), in model order.

        Hooks that are switched off are left out; a pattern that matches no others is an error.
        """
        found = {pattern: {name for name in self.hook_dict if fnmatchcase(name, pattern)} for pattern in patterns}
        for pattern, names in found.items():
            if not names:
                raise AliceError(f"the model has no hook {pattern!r}{nearest(pattern, self.hook_dict)}")
            if not any(self._is_on(name) for name in names):
                switch = self.hook_dict[min(names)].switch
                raise AliceError(f"the hook {pattern!r} is switched off; call model.set_{switch}(True) first")
        return [name for name in self.hook_dict if self._is_on(name) and any(name in names for names in found.values())]

    def _is_on(self, name: str) -> bool:
        """Say whether there is a hook of this name that is not switched off."""
        hook = self.hook_dict.get(name)
        return hook is not None and (not isinstance(hook, SwitchedHook) or hook.on)

    @contextmanager
    def hooks(self, fwd_hooks: Hooks = (), bwd_hooks: Hooks = (), *args: Any, **kwargs: Any) -> Iterator[Self]:
        """Attach hooks within a `with` block, by names, patterns or functions of a name."""
        with super().hooks(self._named(fwd_hooks), self._named(bwd_hooks), *args, **kwargs):
            yield self

    def _named(self, hooks: Hooks) -> list[tuple[HookName, Callable[..., Any]]]:
        """Replace patterns by the names they match; a misspelt one is an error that suggests the nearest."""
        named: list[tuple[HookName, Callable[..., Any]]] = []
        for name, function in hooks:
            whole = not isinstance(name, str) or self._is_on(name)
            named += [(one, function) for one in ([name] if whole else self.match_hooks(str(name)))]
        return named

    def add_hook(self, name: HookName, *args: Any, **kwargs: Any) -> None:
        """Attach a hook until `reset_hooks`, by name, pattern or function of a name."""
        for one in [name] if not isinstance(name, str) or self._is_on(name) else self.match_hooks(name):
            super().add_hook(one, *args, **kwargs)

    def run_with_cache(
        self,
        *args: Any,
        names_filter: Any = None,
        remove_batch_dim: bool = False,
        incl_bwd: bool = False,
        **kwargs: Any,
    ) -> tuple[Any, Cache]:
        """Run the model and return its output and the activations of the given hooks, by default of all.

        Args:
            *args: arguments of the model.
            names_filter: a name or pattern, several of them, or a function of a name.
            remove_batch_dim: for one text, whether to leave out the first axis of the activations.
            incl_bwd: whether to compute the gradients of the loss, too, stored as `NAME_grad`.
            **kwargs: arguments of the model.

        """
        if incl_bwd and (kwargs.get("return_type", args[1] if len(args) > 1 else None) != "loss"):
            raise AliceError("incl_bwd needs a loss to differentiate; give return_type='loss' and plain=")
        if incl_bwd and not torch.is_grad_enabled():
            raise AliceError("incl_bwd needs gradients; call it outside torch.no_grad() and torch.inference_mode()")
        if isinstance(names_filter, str | list | tuple):
            patterns = [names_filter] if isinstance(names_filter, str) else names_filter
            names_filter = set(self.match_hooks(*patterns)).__contains__
        output, cache = super().run_with_cache(
            *args,
            names_filter=lambda name: self._is_on(name) and (names_filter is None or names_filter(name)),
            remove_batch_dim=remove_batch_dim,
            incl_bwd=incl_bwd,
            **kwargs,
        )
        return output, Cache(cache, self, has_batch_dim=not remove_batch_dim)

    def set_use_split_qkv_input(self, use: bool) -> None:
        """Compute `attn.hook_q_input`, `hook_k_input` and `hook_v_input`, or stop it: a copy of the stream per head."""
        self._switch(SPLIT_INPUT, use)

    def set_use_hook_mlp_in(self, use: bool) -> None:
        """Compute `hook_mlp_in`, or stop it: the feed-forward layer's own copy of the stream."""
        self._switch(MLP_INPUT, use)

    def set_use_attn_result(self, use: bool) -> None:
        """Do nothing: `attn.hook_result` is computed whenever a hook listens to it."""

    def set_use_attn_in(self, use: bool) -> None:
        """Refuse to switch `hook_attn_in` on, which the separate inputs replace."""
        if use:
            raise AliceError("the model has no hook_attn_in; use set_use_split_qkv_input(True) and its three hooks")

    def is_switched_on(self, switch: str) -> bool:
        """Say whether the hooks of a switch are computed."""
        return any(hook.on for hook in self._switched(switch))

    def _switch(self, switch: str, use: bool) -> None:
        for hook in self._switched(switch):
            hook.on = use

    def _switched(self, switch: str) -> list[SwitchedHook]:
        return [hook for hook in self.hook_dict.values() if isinstance(hook, SwitchedHook) and hook.switch == switch]
