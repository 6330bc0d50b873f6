"""The account of generalization: measures by pool, seed and step, and statistics of them with intervals over seeds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.plugins.builtin.generalization.measures import LAPSES, POOL_WEIGHTS, Measured, Snapshot, read_measures
from alice.statistics import Floats, Ints
from alice.training import TrainingRecord
from alice.training.records import Curve, Found

LEARNED = 0.5
"""Share of the letters that must be right under keys of the pool before it makes sense to ask what carries over."""
CARRIED = 0.5
"""Share of the accuracy on keys of the pool that new keys must reach: the pool at which they do is the threshold."""
READ = 0.25
"""Share of the letters that must be right under new keys before the label depth means anything. It is measured under
new keys, as a share of an effect that a network which reads nothing there does not have; an untrained one has some
depth, too."""
DRAWS = 1000
"""Draws of seeds for an interval."""
FEWEST_SEEDS = 2
"""With fewer seeds there is no interval."""
BOTH, POOL_ALONE, GENERAL_ALONE = slice(None), slice(-1, None), slice(1)
"""Places in POOL_WEIGHTS of mixtures with both references, and with one."""
Statistic = Callable[["Account"], float]


@dataclass(frozen=True, eq=False)
class Account:
    """Finished trainings with measures, for the seeds and steps that all pools have in common."""

    pools: tuple[int | None, ...]
    """Sizes, ascending; None has all keys and is last."""
    seeds: tuple[int, ...]
    steps: Ints
    """Measured steps, ascending, (step,)."""
    snapshots: tuple[tuple[tuple[Snapshot, ...], ...], ...]
    """By pool, seed and step."""
    curves: tuple[tuple[Curve, ...], ...]
    """Errors on new keys as logged, by pool and seed."""
    texts: int
    """Texts of the measures."""
    general_error: float
    """Estimated error of the general reference: mean total variation."""

    def values(self, name: str) -> Floats:
        """Return a measure, (pool, seed, step, ...); NaN where there is none."""
        rows = [[[getattr(one, name) for one in steps] for steps in seeds] for seeds in self.snapshots]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def letters_pool(self) -> Floats:
        """Share of correct letters under keys of the pool, (pool, seed, step)."""
        return np.asarray(self.values("exits_pool")[..., -1])

    @cached_property
    def letters_new(self) -> Floats:
        """Share of correct letters under new keys, (pool, seed, step)."""
        return np.asarray(self.values("exits_new")[..., -1])

    @cached_property
    def carried(self) -> Floats:
        """Accuracy on letters under new keys as a share of that under keys of the pool, (pool, seed, step).

        NaN where fewer than `LEARNED` are right under keys of the pool: a network that knows nothing is as good under
        new keys, but does not generalise.
        """
        return np.where(self.letters_pool >= LEARNED, self.letters_new / np.maximum(self.letters_pool, LEARNED), np.nan)

    @cached_property
    def label_depth(self) -> Floats:
        """Label depth, (pool, seed, step); NaN where there is none, or fewer than `READ` are right under new keys."""
        return np.where(self.letters_new >= READ, self.values("label_depth"), np.nan)

    @cached_property
    def mixtures(self) -> Floats:
        """KL divergence from the network to mixtures of the references, (pool, seed, step, lapse, weight)."""
        return self.values("mixtures")

    @property
    def sizes(self) -> Floats:
        """Sizes of the limited pools, (pool,)."""
        return np.array([pool for pool in self.pools if pool is not None], dtype=np.float64)

    def attention(self, statistic: str) -> Floats:
        """Return by how much the foremost head exceeds uniform attention in a share, (pool, seed, step)."""
        place = STATISTICS.index(statistic)
        excess = self.values("attention")[..., place] - self.values("uniform_attention")[..., None, place]
        return np.asarray(excess.max(-1))

    def chosen(self, seeds: Sequence[int]) -> "Account":
        """Return the account of some seeds, by place; a seed may be chosen several times."""
        return Account(
            self.pools,
            tuple(self.seeds[place] for place in seeds),
            self.steps,
            tuple(tuple(of[place] for place in seeds) for of in self.snapshots),
            tuple(tuple(of[place] for place in seeds) for of in self.curves),
            self.texts,
            self.general_error,
        )


def gather(found: Found) -> tuple[Account | None, tuple[str, ...]]:
    """Return the account of the trainings that have measures, if any, and sentences about those that are left out."""
    measured = {training: read_measures(training.folder) for training in found.trainings}
    if not any(measured.values()):
        return None, ()
    runs: dict[tuple[int | None, int], tuple[TrainingRecord, list[Measured]]] = {}
    for one, rows in measured.items():
        if rows and one.used >= 1:
            runs.setdefault((one.recipe.cipher_pool, one.recipe.seed), (one, rows))
    pools = sorted({pool for pool, _ in runs}, key=lambda pool: pool or math.inf)
    seeds = sorted({seed for _, seed in runs if all((pool, seed) in runs for pool in pools)})
    kept = [runs[pool, seed] for pool in pools for seed in seeds]
    used = {training.folder for training, _ in kept}
    left = [training.name for training in found.trainings if training.folder not in used]
    notes = (
        "Left out of the account, being unfinished, without measures, of a seed that other pools lack, or of the pool "
        f"and seed of another training: {', '.join(left)}.",
    )
    steps = sorted(set.intersection(*({row.step for row in rows} for _, rows in kept))) if kept else []
    if not steps:
        return None, notes
    if not _alike([row.snapshot for _, rows in kept for row in rows]):
        return None, ("The measured networks differ in layers or heads, so there is no account of them.",)
    if len({row.texts for _, rows in kept for row in rows}) > 1:
        return None, ("The trainings were measured on different numbers of texts; repeat `sweep measure` with one.",)
    return _account(runs, pools, seeds, steps), notes if left else ()


def _alike(snapshots: Sequence[Snapshot]) -> bool:
    """Return whether networks have equally many layers and heads, so that their measures fit into one array."""
    shapes = {(len(one.exits_pool), *np.shape(one.attention)) for one in snapshots}
    return len(shapes) == 1 and shapes.pop()[-1] == len(STATISTICS)


def _account(
    runs: dict[tuple[int | None, int], tuple[TrainingRecord, list[Measured]]],
    pools: Sequence[int | None],
    seeds: Sequence[int],
    steps: Sequence[int],
) -> Account:
    by_step = {place: {row.step: row for row in rows} for place, (_, rows) in runs.items()}
    first = by_step[pools[0], seeds[0]][steps[0]]
    return Account(
        tuple(pools),
        tuple(seeds),
        np.array(steps),
        tuple(tuple(tuple(by_step[p, s][step].snapshot for step in steps) for s in seeds) for p in pools),
        tuple(tuple(runs[pool, seed][0].error for seed in seeds) for pool in pools),
        first.texts,
        first.general_error,
    )


def over_seeds(account: Account, statistic: Statistic, rng: np.random.Generator, level: float = 0.95) -> Floats:
    """Return a statistic of all seeds with its bootstrap interval over seeds, (3,); NaN ends with too few seeds."""
    count = len(account.seeds)
    value = statistic(account)
    if count < FEWEST_SEEDS:
        return np.array([value, np.nan, np.nan])
    drawn = [tuple(sorted(row)) for row in rng.integers(count, size=(DRAWS, count)).tolist()]
    known = {seeds: statistic(account.chosen(seeds)) for seeds in sorted(set(drawn))}
    draws = np.array([known[seeds] for seeds in drawn])
    if np.isnan(draws).any():
        return np.array([value, np.nan, np.nan])
    tail = 100 * (1 - level) / 2
    # A quantile between the draws would be a mean, which infinite draws do not have.
    ends = np.percentile(draws, [tail, 100 - tail], method="nearest")
    return np.array([value, *ends])


def threshold(account: Account) -> float:
    """Return the pool size at which `CARRIED` of the accuracy carries over to new keys at the end of training.

    Between pools it is interpolated over the logarithm of their size. It is infinite if no limited pool reaches that,
    0 if all do, and NaN if a pool has not been learned.
    """
    carried = account.carried[: len(account.sizes), :, -1].mean(1)
    if np.isnan(carried).any():
        return math.nan
    above = carried >= CARRIED
    if not len(carried) or not above.any():
        return math.inf
    place = len(above) - int(np.argmin(above[::-1])) if not above.all() else 0  # above from here on
    if place == len(above):
        return math.inf
    if place == 0:
        return 0.0
    low, high = carried[place - 1], carried[place]
    logs = np.log(account.sizes)
    return float(np.exp(logs[place - 1] + (CARRIED - low) / (high - low) * (logs[place] - logs[place - 1])))


def predicted_threshold(account: Account) -> float:
    """Return the threshold that the pools below it predict: the log-odds of what carries over, linear in log size.

    NaN with fewer than three such pools, infinite if they do not rise.
    """
    carried = account.carried[: len(account.sizes), :, -1].mean(1)
    below = np.logical_and.accumulate(carried < CARRIED)
    if below.sum() < 3:
        return math.nan
    some = np.maximum(carried[below], 1e-6)  # the log-odds of nothing are infinite
    odds = np.log(some / (1 - some))
    slope, height = np.polyfit(np.log(account.sizes[below]), odds, 1)
    return float(np.exp(min(-height / slope, 700.0))) if slope > 0 else math.inf


def prediction_factor(account: Account) -> float:
    """Return by what factor the predicted threshold misses the measured one, at least 1."""
    predicted, measured = predicted_threshold(account), threshold(account)
    if math.isnan(predicted) or not 0 < measured < math.inf:
        return math.nan
    return max(predicted / measured, measured / predicted)


def best_mixture(mixtures: Floats) -> Floats:
    """Return lapse and pool weight of the mixture nearest to the network, (..., lapse, weight) -> (..., 2)."""
    places = mixtures.reshape(*mixtures.shape[:-2], -1).argmin(-1)
    rows, columns = np.divmod(places, mixtures.shape[-1])
    return np.stack([np.array(LAPSES)[rows], np.array(POOL_WEIGHTS)[columns]], axis=-1)


def explained(account: Account, *, ignorance: bool, weights: slice = BOTH) -> float:
    """Return the share of the KL divergence that mixtures of the references explain on held-out cells.

    A cell is a pool of limited size at a step. The weights of its mixture are the means of those of the cells next to
    it, which know nothing of it. The divergence from the network to that mixture is compared with that to a uniform
    answer, summed over cells. Without `ignorance`, the mixture has only the least lapse of the grid. `weights` are
    those of the pool reference that it may have.
    """
    cells = _cells(account)
    if not cells.size or cells.shape[0] < 2 or cells.shape[1] < 2:
        return math.nan
    allowed = np.full_like(cells, np.inf)
    lapses = slice(None) if ignorance else slice(1)
    allowed[..., lapses, weights] = cells[..., lapses, weights]
    return _share(cells, _interpolated(cells, _from_neighbours(best_mixture(allowed))))


def explained_at_most(account: Account) -> float:
    """Return what mixtures would explain, ignorance included, if those of each cell were fitted to that cell."""
    cells = _cells(account)
    return _share(cells, cells.min((-2, -1)))


def _cells(account: Account) -> Floats:
    """Return the divergences of the limited pools, a mean over seeds, (pool, step, lapse, weight)."""
    return np.asarray(account.mixtures[: len(account.sizes)].mean(1))


def _share(cells: Floats, left: Floats) -> float:
    """Return by how much divergences are below that of a uniform answer, which is a lapse of 1."""
    whole = cells[..., -1, 0].sum()
    return float(1 - left.sum() / whole) if whole > 0 else math.nan


def _from_neighbours(mixtures: Floats) -> Floats:
    """Return lapse and pool weight of each cell from its neighbours, one pool or one step away, (pool, step, 2).

    What is averaged is the share of each reference in the whole mixture: where all of it is ignorance, the weight
    within the rest says nothing.
    """
    lapses, weights = mixtures[..., 0], mixtures[..., 1]
    shares = np.stack([1 - lapses, (1 - lapses) * weights], axis=-1)  # of both references, of the pool's
    padded = np.pad(shares, ((1, 1), (1, 1), (0, 0)), constant_values=np.nan)
    around = [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    both, pool = np.moveaxis(np.nanmean(around, axis=0), -1, 0)
    return np.stack([1 - both, np.divide(pool, both, out=np.zeros_like(pool), where=both > 0)], axis=-1)


def _interpolated(grids: Floats, weights: Floats) -> Floats:
    """Return the value of each grid, (..., lapse, weight), at lapse and weight, (..., 2) -> (...), bilinearly."""
    (row, across), (column, along) = (
        _between(np.array(ticks), weights[..., place]) for place, ticks in enumerate((LAPSES, POOL_WEIGHTS))
    )
    flat = grids.reshape(-1, *grids.shape[-2:])
    number = np.arange(len(flat)).reshape(row.shape)
    corners = [[flat[number, row + down, column + right] for right in (0, 1)] for down in (0, 1)]
    upper, lower = ((1 - along) * left + along * right for left, right in corners)
    return np.asarray((1 - across) * upper + across * lower)


def _between(ticks: Floats, values: Floats) -> tuple[Ints, Floats]:
    """Return the tick before each value and how far it is on the way to the next."""
    place = np.clip(np.searchsorted(ticks, values, "right") - 1, 0, len(ticks) - 2)
    return place, (values - ticks[place]) / (ticks[place + 1] - ticks[place])
