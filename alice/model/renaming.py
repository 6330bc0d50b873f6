"""Between the names that cipher symbols have in a text and those that a model with `relabel` computes with.

Such a model renames the symbols at its entrance and computes everything under the new names, so that two encryptions of
a text differ in no bit. What leaves it, also through hooks, has rows by the symbols' own names.
"""

from torch import Tensor

from alice.model.hooks import Hook


def own_rows(table: Tensor, names: Tensor, axis: int) -> Tensor:
    """Reorder an axis over new names to one over the symbols' own.

    Args:
        table: any activation, (batch, ..., symbol, ...).
        names: new number of each symbol, (batch, symbol).
        axis: the axis of the symbols.

    """
    shape = [1] * table.ndim
    shape[0], shape[axis] = names.shape
    return table.gather(axis, names.view(shape).expand_as(table))


def hook_by_symbol(hook: Hook, table: Tensor, names: Tensor | None, *axes: int) -> Tensor:
    """Run a hook on an activation with axes over symbols, which it sees under their own names; None: not renamed."""
    if names is None or not hook.active:
        return hook(table)
    for axis in axes:
        table = own_rows(table, names, axis)
    table = hook(table)
    for axis in axes:
        table = own_rows(table, names.argsort(-1), axis)
    return table
