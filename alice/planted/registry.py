"""The planted models by name."""

from collections.abc import Callable
from functools import partial

from alice.errors import AliceError, nearest
from alice.model import Variant
from alice.planted import frequency, neighbours
from alice.planted.trained import TRAINED_NAMES, load_trained
from alice.planted.truth import Planted

BUILDERS: dict[str, Callable[[Variant], Planted]] = {
    "frequency": frequency.build,
    "neighbours": neighbours.build,
    **{name: partial(load_trained, name) for name in TRAINED_NAMES},
}
"""What builds each model; a new one is added here."""
NAMES = tuple(BUILDERS)


def build(name: str, variant: Variant = "base") -> Planted:
    """Build a planted model with its truth, with the linear head (`base`) or the permutation head (`bijective`)."""
    if name not in BUILDERS:
        known = f"; choose one of {', '.join(NAMES)}"
        raise AliceError(f"there is no planted model {name!r:.60}{nearest(name, NAMES) or known}")
    if variant not in ("base", "bijective"):
        raise AliceError(f"there is no planted model with the head {variant!r:.60}; choose base or bijective")
    return BUILDERS[name](variant)
