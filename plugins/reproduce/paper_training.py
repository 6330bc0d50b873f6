"""What the paper found out by training many models, to stand beside ours."""

GENERALIZATION_POOLS = (10, 100, 250, 500, 750, 1000, 1500, 2500, 5000, 10000)
"""Section on model generalization: numbers of ciphers in the pools that it trained on."""
LARGEST_POOL_THAT_FAILS, SMALLEST_POOL_THAT_GENERALIZES = 1000, 1500
"""Section on model generalization: "generalization emerges between 1000 and 1500 ciphers"."""
GENERALIZATION_PRESET, GENERALIZATION_STEPS = "85m", 50_000
"""Section on model generalization: size and length of each of these trainings."""

SCALING_STEPS = 100_000
"""Appendix on training details: length of each training for the scaling figure."""
BEST_SCALING_PRESET = "85m"
"""Appendix on scaling: up to this size more parameters reduce the error; the next one does not improve on it."""
