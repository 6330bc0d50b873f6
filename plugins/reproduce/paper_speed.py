"""The paper's figures on decoding speed (its appendix of that name), for models of 85M parameters."""

from dataclasses import dataclass

CIPHERS, LETTERS_EACH = 1000, 300
"""What the paper times on the GPU."""


@dataclass(frozen=True)
class PrintedSpeed:
    """A speed as it is printed."""

    solver: str
    hardware: str
    letters_per_second: float
    seconds: float | None = None
    """Time for all the ciphers, if it is printed, too."""

    @property
    def from_seconds(self) -> float | None:
        """Letters per second that follow from the printed time."""
        return None if self.seconds is None else CIPHERS * LETTERS_EACH / self.seconds


SPEEDS = (
    PrintedSpeed("ALICE", "NVIDIA H100", 1.2e6, 0.025),
    PrintedSpeed("ALICE, bijective", "NVIDIA H100", 140e3, 0.214),
    PrintedSpeed("ALICE", "one core of an Intel Xeon Platinum 8362", 5431),
    PrintedSpeed("ALICE, bijective", "one core of an Intel Xeon Platinum 8362", 4699),
    PrintedSpeed("Kambhatla et al. 2023", "NVIDIA V100", 400),
)
"""The printed speeds on the GPU are a tenth of what follows from the printed times."""
