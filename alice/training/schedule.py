"""Learning rate over a run, as a factor between 0 and 1."""

import math
from typing import Literal, get_args

Schedule = Literal["constant", "cosine", "wsd"]
SCHEDULES: tuple[str, ...] = get_args(Schedule)


def factor(schedule: Schedule, *, step: int, progress: float, warmup_steps: int, decay_share: float) -> float:
    """Return what the peak learning rate is multiplied with.

    Args:
        schedule: constant; cosine down to nothing; or warm-up, stable, then linear decay to nothing (wsd).
        step: number of the step, from 0.
        progress: share of the budget used so far, 0 to 1, in steps or in time: decay ends just when the budget does.
        warmup_steps: steps of linear warm-up.
        decay_share: share of the budget that wsd decays over.

    """
    warmup = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    left = max(0.0, 1.0 - progress)
    if schedule == "cosine":
        return warmup * 0.5 * (1 - math.cos(math.pi * left))
    if schedule == "wsd":
        return warmup * min(1.0, left / decay_share)
    return warmup
