"""All benchmarks, in the order of the table. Each is a module of its name with a function `measure`."""

from alice.bench.ratio import Benchmark
from alice.errors import AliceError, nearest

BENCHMARKS = (
    Benchmark("hooks", "forward pass, hooks unused / the same weights in plain torch modules", "time", 1.05),
    Benchmark("solving", "solving many texts: model FLOP/s / FLOP/s of its matrix products alone", "share", 0.6, False),
    Benchmark("buckets", "solving mixed lengths in buckets / as they come, padded to the longest", "time", 0.5),
    Benchmark("bijective", "bijective / base with the same backbone, many texts", "time", 1.1),
    Benchmark("exits", "early exit at all layers / one forward pass", "time", 1.3),
    Benchmark("probes", "probes of all layers together / LogisticRegression layer by layer", "time", 0.25),
    Benchmark("cache", "run_with_cache of all residual streams / one forward pass", "time", 1.15),
    Benchmark("cache-memory", "what run_with_cache holds / the residual streams themselves", "memory", 1.0),
    Benchmark("memory", "peak of an analysis over 20,000 texts / over 2,000", "memory", 1.2),
    Benchmark("training", "training step: model FLOP/s / FLOP/s of its matrix products alone", "share", 0.6, False),
    Benchmark("gallery", "publishing a report among 2,000 others / among 10", "time", 1.2),
    Benchmark("startup", "alice-interp --help / python -c pass", "time", 8.0),
    Benchmark("growth", "time for twice the texts, the length, the width: log2 of the ratio", "exponent"),
)


def find(names: tuple[str, ...]) -> tuple[Benchmark, ...]:
    """Return the benchmarks of these names, or all."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    for name in names:
        if name not in known:
            raise AliceError(f"there is no benchmark {name!r}{nearest(name, known)}; choose from {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) or BENCHMARKS
