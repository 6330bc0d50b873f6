"""What the paper (Shen and Smith) prints and says: its tables, speeds and statements. Error rates are in percent.

Unless stated otherwise the paper's models have 85M parameters and ran on a GPU.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedMean:
    """A mean, with its standard error where the paper prints one."""

    mean: float
    error: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if self.error is None else f"{self.mean:.2f} ± {self.error:.2f}"


@dataclass(frozen=True)
class PrintedMedian:
    """A median with the 16th and 84th percentile."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


# Error rates by length: tables 1 and 2.

_NONE = PrintedMedian(0.00, 0.00, 0.00)
MEDIAN_SER = {
    "base": (PrintedMedian(5.88, 0.00, 29.29), PrintedMedian(0.00, 0.00, 4.88), _NONE, _NONE, _NONE),
    "dynamic": (PrintedMedian(4.76, 0.00, 32.15), PrintedMedian(0.00, 0.00, 4.88), _NONE, _NONE, _NONE),
    "bijective": (
        PrintedMedian(7.14, 0.00, 39.05),
        PrintedMedian(0.00, 0.00, 5.66),
        PrintedMedian(0.00, 0.00, 0.89),
        _NONE,
        _NONE,
    ),
}
"""Table 1: the median error rate in each of the five bins of length, by variant."""
MEAN_SER = {
    "base": (PrintedMean(1.09, 0.07), PrintedMean(0.06, 0.01)),
    "bijective": (PrintedMean(1.27, 0.08), PrintedMean(0.06, 0.01)),
}
"""Table 2: the mean error rate with its bootstrap error, below 128 characters and above, by variant."""
NUHN = "Beam + 6-gram (Nuhn et al. 2013)"
"""The solver of table 2 that our beam search over n-grams resembles."""
OTHER_SOLVERS = {
    NUHN: (PrintedMean(22.00), PrintedMean(0.00)),
    "Beam + NLM (Kambhatla et al. 2018)": (PrintedMean(10.89), PrintedMean(0.00)),
    "Beam + NLM + Freq. (Kambhatla et al. 2018)": (PrintedMean(11.32), PrintedMean(0.00)),
    "Seq2Seq + Freq. (Aldarrab and May 2021)": (PrintedMean(7.68), PrintedMean(0.00)),
    "Causal LM + Freq. (Kambhatla et al. 2023)": (PrintedMean(10.56), PrintedMean(0.00)),
    "Causal LM + Recurrence (Kambhatla et al. 2023)": (PrintedMean(11.30), PrintedMean(0.02)),
}
"""Table 2: the solvers that the paper compares itself with, each on its own test set."""
ONE_ERROR_AT_75, SOLVED_FROM_150 = "over 90 %", "about 95 %"
"""Section 3.2, on figure 2 and the base model: texts of about 75 characters with at most one error, and texts of 150
characters or more without an error."""
AROUND_75 = (70, 80)
"""Lengths that we take for "about 75 characters": from the first to below the second."""
PLATEAU = 150
"""Characters from which the paper sees a plateau."""
MOSTLY_RIGHT = 0.9
"""Share of texts of about 75 characters that "contain at most one error", at least."""

# The Borg cipher: table 4.

BORG_ALICE = "ALICE base, multilingual, 85M"
BORG_MEAN_SER = {
    "Seq2Seq (Aldarrab and May 2021)": 5.47,
    "Causal LM (Kambhatla et al. 2023)": 4.10,
    BORG_ALICE: 2.80,
}
"""Mean error rate; the first was measured on page 0002r, the others on 256 characters of page 0011v."""
BORG_RELABELLINGS, BORG_LOWEST, BORG_HIGHEST = 100, 0.00, 6.25
"""Random relabellings that the paper's mean is over, and its best and worst one."""
BORG_LENGTH = 256
"""Characters of the paper's passage."""

# N-grams: table 5.

FINAL_SIMILARITY = {
    ("base", "linear"): (0.992, 0.954, 0.918, 0.892, 0.868, 0.848, 0.828, 0.810),
    ("base", "mlp"): (0.993, 0.960, 0.930, 0.909, 0.89, 0.873, 0.858, 0.843),
    ("bijective", "linear"): (0.994, 0.968, 0.947, 0.933, 0.920, 0.908, 0.897, 0.888),
    ("bijective", "mlp"): (0.994, 0.970, 0.952, 0.939, 0.928, 0.917, 0.908, 0.899),
}
"""Cosine similarity at the last layer for n = 1 to 8, by variant of the model and kind of probe.

The paper does not say whether this is a mean over texts or pooled, or whether spaces and punctuation count.
"""

# Decoding speed: appendix H.

CIPHERS, LETTERS_EACH = 1000, 300
"""What the paper times on the GPU."""


@dataclass(frozen=True)
class PrintedSpeed:
    """A speed as it is printed."""

    solver: str
    hardware: str
    letters_per_second: float
    seconds: float | None = None
    """Time for all the ciphers, where the paper prints it as well."""
    variant: str = ""
    """Variant of the model; empty for another solver."""
    on_cpu: bool = False
    """Whether it was measured on one core of a CPU."""

    @property
    def from_seconds(self) -> float | None:
        """Letters per second that follow from the printed time."""
        return None if self.seconds is None else CIPHERS * LETTERS_EACH / self.seconds


_CORE = "one core of an Intel Xeon Platinum 8362"
SPEEDS = (
    PrintedSpeed("ALICE", "NVIDIA H100", 1.2e6, 0.025, "base"),
    PrintedSpeed("ALICE, bijective", "NVIDIA H100", 140e3, 0.214, "bijective"),
    PrintedSpeed("ALICE", _CORE, 5431, variant="base", on_cpu=True),
    PrintedSpeed("ALICE, bijective", _CORE, 4699, variant="bijective", on_cpu=True),
    PrintedSpeed("Kambhatla et al. 2023", "NVIDIA V100", 400),
)
"""The printed speeds on the GPU are a tenth of what follows from the printed times."""

# Trainings: section 4 and the appendices on training details and scaling.

GENERALIZATION_POOLS = (10, 100, 250, 500, 750, 1000, 1500, 2500, 5000, 10000)
"""Numbers of keys in the pools that it trained on."""
LARGEST_POOL_THAT_FAILS, SMALLEST_POOL_THAT_GENERALIZES = 1000, 1500
"""Between these two sizes, generalization emerges."""
GENERALIZATION_PRESET, GENERALIZATION_STEPS = "85m", 50_000
"""Size and length of each of these trainings."""
SCALING_STEPS = 100_000
"""Length of each training for the scaling figure."""
BEST_SCALING_PRESET = "85m"
"""Up to this size more parameters reduce the error; the next one does not improve on it."""
