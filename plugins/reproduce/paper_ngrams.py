"""The paper's similarities of n-grams, to stand beside ours: those of probes at the last layer, n = 1 to 8."""

FINAL_SIMILARITY = {
    ("base", "linear"): (0.992, 0.954, 0.918, 0.892, 0.868, 0.848, 0.828, 0.810),
    ("base", "mlp"): (0.993, 0.960, 0.930, 0.909, 0.89, 0.873, 0.858, 0.843),
    ("bijective", "linear"): (0.994, 0.968, 0.947, 0.933, 0.920, 0.908, 0.897, 0.888),
    ("bijective", "mlp"): (0.994, 0.970, 0.952, 0.939, 0.928, 0.917, 0.908, 0.899),
}
"""Appendix "Probing experiments": cosine by variant of the model and kind of probe.

The paper does not say whether it counts each text or all of them together, nor whether spaces and punctuation count.
"""
