"""The networks that the paper compares ALICE with, small and trained alike: see docs/baselines.md.

`load_network("causal-freq")` loads one, and `write_plaintext(network, ciphertext)` solves a text with it. The commands
have them as solvers, such as `--solver causal-freq`.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.baselines.encodings import ENCODINGS as ENCODINGS
    from alice.baselines.encodings import Encoding as Encoding
    from alice.baselines.encodings import encode as encode
    from alice.baselines.generation import generate as generate
    from alice.baselines.generation import write_plaintext as write_plaintext
    from alice.baselines.key_search import FREQUENCY_WEIGHT as FREQUENCY_WEIGHT
    from alice.baselines.key_search import NeuralBeamSearch as NeuralBeamSearch
    from alice.baselines.sequences import Design as Design
    from alice.baselines.sequences import SequenceModel as SequenceModel
    from alice.baselines.shipped import NETWORKS as NETWORKS
    from alice.baselines.shipped import REFERENCE as REFERENCE
    from alice.baselines.shipped import load_network as load_network
    from alice.baselines.shipped import load_reference as load_reference
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "encodings": (
                "ENCODINGS",
                "Encoding",
                "encode",
            ),
            "generation": (
                "generate",
                "write_plaintext",
            ),
            "key_search": (
                "FREQUENCY_WEIGHT",
                "NeuralBeamSearch",
            ),
            "sequences": (
                "Design",
                "SequenceModel",
            ),
            "shipped": (
                "NETWORKS",
                "REFERENCE",
                "load_network",
                "load_reference",
            ),
        },
    )
