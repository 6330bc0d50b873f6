"""Models with a known mechanism: real ALICE models whose weights were set or trained to compute a given program.

    planted = alice.planted.build("frequency")
    planted.model, planted.truth

They test the instruments: what an analysis finds in such a model can be compared with the truth.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.planted.checks import change_without_decoys as change_without_decoys
    from alice.planted.checks import readers_of as readers_of
    from alice.planted.registry import NAMES as NAMES
    from alice.planted.registry import build as build
    from alice.planted.truth import Decoy as Decoy
    from alice.planted.truth import Direction as Direction
    from alice.planted.truth import Planted as Planted
    from alice.planted.truth import Truth as Truth
    from alice.planted.truth import Verdict as Verdict
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "checks": (
                "change_without_decoys",
                "readers_of",
            ),
            "registry": (
                "NAMES",
                "build",
            ),
            "truth": (
                "Decoy",
                "Direction",
                "Planted",
                "Truth",
                "Verdict",
            ),
        },
    )
