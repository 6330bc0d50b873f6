"""Feeds many inputs to the targets: `python tests/fuzz/run.py [TARGET ...] --inputs 100000`.

With atheris (`pip install alice-interp[fuzz]`) inputs that reach new lines of our code are kept and mutated; without it
they are random. A finding ends a target with its traceback, and the input is printed so that it can be reproduced.
"""

import argparse
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

TARGETS = (
    "text_input",
    "corpus_files",
    "config_json",
    "weights_header",
    "result_json",
    "plugin_modules",
    "option_values",
    "extreme_weights",
    "config_forward",
    "damaged_trainings",
    "path_arguments",
    "lens_files",
    "report_pages",
    "feature_files",
    "explorer_states",
    "run_sets",
    "language_files",
)
LONGEST = 400
"""Bytes of an input."""
SECONDS_OF_ONE = 20
"""An input that takes longer is a hang: this much processor time, or ten times as long without an answer."""


def fuzz_guided(name: str, inputs: int, seed: int) -> None:
    """Let atheris make the inputs; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["alice"], enable_loader_override=False):
        target = import_module(f"fuzz.{name}")
    with TemporaryDirectory() as folder:
        for number, content in enumerate(target.SEEDS):
            Path(folder, str(number)).write_bytes(content)
        limits = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={LONGEST}", f"-timeout={SECONDS_OF_ONE}"]
        atheris.Setup([sys.argv[0], *limits, "-rss_limit_mb=6000", "-verbosity=1", folder], target.try_input)
        atheris.Fuzz()


def fuzz_randomly(name: str, inputs: int, seed: int) -> None:
    """Make random inputs, half of them by changing a seed."""
    target, rng = import_module(f"fuzz.{name}"), random.Random(seed)  # noqa: S311  (not a secret)
    started = perf_counter()
    for number in range(inputs):
        content = rng.randbytes(rng.randrange(LONGEST))
        if number % 2:
            start = rng.choice(target.SEEDS)
            content = (start + content)[: rng.randrange(LONGEST)]
        try:
            with _time_limit():
                target.try_input(content)
        except BaseException:
            print(f"{name}: input {number} is {content!r}", file=sys.stderr)
            raise
    print(f"{name}: {inputs} inputs in {perf_counter() - started:.0f} s, no finding")


class Hang(BaseException):
    """An input took too long; a BaseException, so that no `except Exception` catches it."""


@contextmanager
def _time_limit() -> Iterator[None]:
    """Interrupt a block that hangs."""
    timers = {signal.SIGPROF: (signal.ITIMER_PROF, 1), signal.SIGALRM: (signal.ITIMER_REAL, 10)}
    before = {number: signal.signal(number, _give_up) for number in timers}
    for timer, factor in timers.values():
        signal.setitimer(timer, factor * SECONDS_OF_ONE)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)  # otherwise it would end the process later
            signal.signal(number, before[number])


def _give_up(number: int, frame: object) -> None:
    raise Hang(f"no answer within {SECONDS_OF_ONE} seconds of processor time or {10 * SECONDS_OF_ONE} in all")


def main() -> int:
    """Run the targets, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"any of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", action="store_true", help="do not use atheris")
    chosen = parser.parse_args()
    if unknown := set(chosen.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; choose from {', '.join(TARGETS)}")
    if len(chosen.targets) != 1:
        more = ["--inputs", str(chosen.inputs), "--seed", str(chosen.seed), *(["--random"] * chosen.random)]
        codes = [subprocess.call([sys.executable, __file__, name, *more]) for name in chosen.targets or TARGETS]
        return int(any(codes))
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    guided = find_spec("atheris") is not None and not chosen.random
    (fuzz_guided if guided else fuzz_randomly)(chosen.targets[0], chosen.inputs, chosen.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
