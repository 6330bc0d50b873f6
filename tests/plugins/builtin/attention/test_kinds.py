"""Kinds of head, on planted heads."""

import math

import numpy as np
import pytest
import torch

from alice.plugins.builtin.attention.kinds import _describe, find_kinds
from alice.plugins.builtin.attention.statistics import STATISTICS, head_statistics, key_weights, uniform_pattern
from alice.text.alphabet import ENGLISH

TEXT = "THE CAT AND THE DOG SAT ON THE MAT, AND THAT IS ALL THERE IS."


def planted(counts, *, seed=0, noise=0.2):
    """Return statistics of planted heads with some noise, and those of uniform attention."""
    ids = torch.from_numpy(ENGLISH.encode(TEXT).astype("int64"))[None]
    mask, length = ids != 0, ids.shape[1]
    weights = key_weights(ids, mask, ENGLISH)
    uniform = uniform_pattern(mask)
    generator, patterns = torch.Generator().manual_seed(seed), []
    for name, count in counts.items():
        plane = weights[:, STATISTICS.index(name)] > 0 if name != "broad" else torch.ones(1, length, length)
        pure = plane.float() + 1e-9
        pure = pure / pure.sum(-1, keepdim=True)
        shares = (noise * torch.rand(count, generator=generator)).tolist()
        patterns += [(1 - share) * pure + share * uniform[:, 0] for share in shares]
    values = head_statistics(torch.stack(patterns, 1), weights)[0]
    return values.double().numpy(), head_statistics(uniform, weights)[0, 0].double().numpy()


def test_a_mixture_is_sorted_into_the_kinds_it_was_made_of():
    counts = {"same symbol": 5, "neighbours": 4, "broad": 3, "word boundaries": 6}
    values, uniform = planted(counts)
    kinds, silhouette = find_kinds(values, uniform)
    assert {kind.name: len(kind.heads) for kind in kinds} == counts
    assert [len(kind.heads) for kind in kinds] == [6, 5, 4, 3]
    starts = dict(zip(counts, (0, 5, 9, 12), strict=True))
    for kind in kinds:
        assert sorted(kind.heads) == list(range(starts[kind.name], starts[kind.name] + counts[kind.name]))
        assert kind.representative in kind.heads
    assert silhouette > 0.7


def test_the_most_pronounced_head_comes_first_and_the_middle_one_stands_for_the_kind():
    uniform = np.array([6, 20, 0.02, 0.05, 0.03, 0.1, 0.2])
    values = np.tile(uniform, (6, 1))
    values[3:, STATISTICS.index("self")] = [0.7, 0.9, 0.8]
    values[3:, STATISTICS.index("entropy")] = 1
    (first, second), _ = find_kinds(values, uniform)
    assert (first.name, first.heads) == ("broad", (0, 1, 2))
    assert (second.name, second.heads, second.representative) == ("self", (4, 5, 3), 5)


@pytest.mark.parametrize(("entropy", "distance", "name"), [(5, 20, "broad"), (3, 8, "near"), (3, 20, "elsewhere")])
def test_the_name_of_a_kind_without_an_outstanding_share(entropy, distance, name):
    uniform = np.array([6, 20, 0.02, 0.05, 0.03, 0.1, 0.2])
    values = np.tile(uniform, (3, 1))
    values[:, :2] = entropy, distance
    ((kind,), silhouette) = find_kinds(values, uniform)
    assert kind.name == name
    assert math.isnan(silhouette)


def test_kinds_with_equal_names_are_numbered():
    uniform = np.array([6, 20, 0.02, 0.05, 0.03, 0.1, 0.2])
    values = np.tile(uniform, (6, 1))
    values[:, STATISTICS.index("self")] = [0.9, 0.91, 0.92, 0.3, 0.31, 0.9]
    values[:, STATISTICS.index("same word")] = [0, 0, 0, 0.1, 0.1, 0]
    kinds, _ = find_kinds(values, uniform)
    assert [kind.name for kind in kinds] == ["self 1", "self 2"]
    assert [sorted(kind.heads) for kind in kinds] == [[0, 1, 2, 5], [3, 4]]


def test_kinds_with_equal_names_also_carry_their_next_share():
    uniform = np.array([6, 20, 0.02, 0.05, 0.03, 0.1, 0.2])
    values = np.tile(uniform, (6, 1))
    values[:, STATISTICS.index("self")] = 0.6
    values[3:, STATISTICS.index("neighbours")] = 0.3
    kinds, _ = find_kinds(values, uniform)
    assert {kind.name: sorted(kind.heads) for kind in kinds} == {"self": [0, 1, 2], "self and neighbours": [3, 4, 5]}


@pytest.mark.parametrize(
    ("statistic", "given", "order"),
    [("distance", [8, 6, 7], (1, 2, 0)), ("entropy", [3, 2, 2.5], (1, 2, 0)), ("entropy", [5, 5.5, 4.5], (1, 0, 2))],
)
def test_heads_without_an_outstanding_share_are_sorted_by_the_statistic_that_names_them(statistic, given, order):
    uniform = np.array([6, 20, 0.02, 0.05, 0.03, 0.1, 0.2])
    values = np.tile(uniform, (3, 1))
    values[:, STATISTICS.index("entropy")] = 3
    values[:, STATISTICS.index(statistic)] = given
    # find_kinds would split three heads into two kinds, so describe them as one directly.
    assert _describe(np.arange(3), values, uniform, np.zeros_like(values)).heads == order


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_heads_are_all_in_some_kind(count):
    values, uniform = planted({"neighbours": (count + 1) // 2, "broad": count // 2})
    kinds, _ = find_kinds(values, uniform)
    assert sorted(head for kind in kinds for head in kind.heads) == list(range(count))
    assert len(kinds) == (1 if count < 3 else 2)


def test_identical_heads_are_of_one_kind():
    values, uniform = planted({"neighbours": 8}, noise=0)
    kinds, _ = find_kinds(values + 1e-9 * np.random.default_rng(0).random(values.shape), uniform)
    assert [(kind.name, len(kind.heads)) for kind in kinds] == [("neighbours", 8)]
