"""What a second worker saves: early exit over many texts in two processes of one thread, compared with one."""

from collections.abc import Iterator

from alice.bench.measuring import Ratio, compare, one_core, take_turns
from alice.plugins import RunContext
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.runner import compute
from alice.timing import cores


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare the whole analysis, its report included, for the bundled base model."""
    count = 500 if quick else 5000
    analysis, ctx = EarlyExit(samples=count), RunContext.open("base", device="cpu")
    with one_core():
        contestants = {
            str(workers): lambda workers=workers: compute(analysis, ctx.divided(workers)) for workers in (1, 2)
        }
        times = take_turns(contestants, rounds=1 if quick else 3)
    yield compare(f"early-exit, {count:,} texts", times, "2", "1", note=f"needs two idle cores; there are {cores()}")
