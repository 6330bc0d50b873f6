"""Causal measurements: what an answer is worth, what a part of the network is replaced by, and what that costs.

`scores` reads a residual stream as log-probabilities of the right answer, and relates a run to a clean and a corrupted
one. `parts` names the heads and feed-forward layers and replaces what they write; `graph` has the edges between them.
`patches` carries activations from one run of a pair into the other. The counterfactual texts themselves are in
`alice.text`; analyses that use all this are plugins.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.causal.graph import EMBEDDING as EMBEDDING
    from alice.causal.graph import HEAD_INPUTS as HEAD_INPUTS
    from alice.causal.graph import OUTPUT as OUTPUT
    from alice.causal.graph import Chosen as Chosen
    from alice.causal.graph import Graph as Graph
    from alice.causal.graph import Input as Input
    from alice.causal.graph import Reader as Reader
    from alice.causal.parts import REPLACEMENTS as REPLACEMENTS
    from alice.causal.parts import Part as Part
    from alice.causal.parts import Replacement as Replacement
    from alice.causal.parts import Replacements as Replacements
    from alice.causal.parts import mean_activations as mean_activations
    from alice.causal.parts import parts_of as parts_of
    from alice.causal.patches import DIRECTIONS as DIRECTIONS
    from alice.causal.patches import Into as Into
    from alice.causal.patches import Patch as Patch
    from alice.causal.scores import Recovered as Recovered
    from alice.causal.scores import answer_scores as answer_scores
    from alice.causal.scores import recovered as recovered
    from alice.causal.scores import right_symbols as right_symbols
    from alice.causal.scores import symbol_errors as symbol_errors
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "graph": ("Chosen", "EMBEDDING", "Graph", "HEAD_INPUTS", "Input", "OUTPUT", "Reader"),
            "parts": (
                "Part",
                "REPLACEMENTS",
                "Replacement",
                "Replacements",
                "mean_activations",
                "parts_of",
            ),
            "patches": (
                "DIRECTIONS",
                "Into",
                "Patch",
            ),
            "scores": (
                "Recovered",
                "answer_scores",
                "recovered",
                "right_symbols",
                "symbol_errors",
            ),
        },
    )
