"""The account of generalization against measures written by hand."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from training_folders import write_training

from alice.plugins import RunContext
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.generalization.account import (
    _from_neighbours,
    best_mixture,
    explained,
    gather,
    over_seeds,
    predicted_threshold,
    prediction_factor,
    threshold,
)
from alice.plugins.builtin.generalization.claims import check_claims, judge, mixture_controls
from alice.plugins.builtin.generalization.measures import LAPSES, POOL_WEIGHTS, Measured, Snapshot, write_measures
from alice.plugins.builtin.generalization.phases import phases
from alice.plugins.builtin.generalization.snapshot import mixture_divergences
from alice.training import read_trainings

STEPS = (0, 100, 200, 400)
POOLS = (10, 30, 100, 300, 1000)
FLAT = [(100 * n, 0.7) for n in range(1, 9)]
PEAK = list(zip(range(100, 900, 100), (0.7, 0.6, 0.5, 0.4, 0.5, 0.6, 0.65, 0.7), strict=True))
REFERENCES = np.random.default_rng(0).dirichlet(np.full(26, 0.1), size=(2, 3, 26))
"""Answers of two references to three texts, (reference, text, 26, 26)."""


def mixture(lapse, weight):
    """Return the divergences from a network that is itself a mixture of the references."""
    pool, general = REFERENCES
    encrypted = SimpleNamespace(pool=pool, general=general, weights=np.full((3, 26), 1 / 26))
    return mixture_divergences(np.log((1 - lapse) * (weight * pool + (1 - weight) * general) + lapse / 26), encrypted)


def stranger():
    """Return the divergences from a network that has nothing to do with the references."""
    pool, general = REFERENCES
    encrypted = SimpleNamespace(pool=pool, general=general, weights=np.full((3, 26), 1 / 26))
    return mixture_divergences(np.log(np.roll(pool, 1, axis=-1) + 1e-9), encrypted)


def snapshot(letters_pool=0.9, letters_new=0.1, grid=None, depth=None):
    return Snapshot(
        accuracy_pool=letters_pool, accuracy_new=letters_new,
        exits_pool=[0.0, letters_pool], exits_new=[0.0, letters_new],
        kl_pool_pool=0.1, kl_pool_new=0.2, kl_general_pool=0.3, kl_general_new=0.4,
        mixtures=(mixture(0.05, 0.5) if grid is None else grid).tolist(),
        symmetry=[0.0, 0.5], same_answers=[0.1, 0.6], label_depth=depth,
        attention=[[0.0] * len(STATISTICS), [0.5] * len(STATISTICS)], uniform_attention=[0.1] * len(STATISTICS),
        weight_norm=3.0,
    )  # fmt: skip


def write_run(folder, pool, seed, make, *, errors=FLAT, steps=400, used=None, texts=100):
    """Write a training whose checkpoint after each step is `make(step)`."""
    name = folder / f"pool-{pool or 'all'}-seed-{seed}"
    write_training(name, losses=[(steps, 1.0)], errors=[], pool=pool, seed=seed, steps=used or max(errors)[0])
    rows = [
        f'{{"step": {at}, "tokens": 1, "flops": 1.0, "seconds": 1.0, "ser": {{"all": {ser}}}}}' for at, ser in errors
    ]
    with (name / "metrics.jsonl").open("a") as file:
        file.write("\n".join(rows) + "\n")
    write_measures(name, [Measured(step, texts, 0.01, make(step)) for step in STEPS])


def carried_as(size):
    """Return the letters right under new keys, of 0.9 under keys of the pool: log-odds linear in log size."""
    return 0.9 / (1 + (150 / size) ** 1.2)


@pytest.fixture(scope="module")
def ideal(tmp_path_factory):
    """Trainings that do exactly what the account claims."""
    folder = tmp_path_factory.mktemp("ideal")
    for seed in (0, 1, 2):
        for place, pool in enumerate((*POOLS, 3000)):
            make = lambda step, pool=pool, place=place, seed=seed: snapshot(  # noqa: E731
                letters_new=min(0.9, carried_as(pool) * (1 + 0.01 * (seed - 1))), grid=mixture(0.01, 0.8 - 0.1 * place)
            )
            write_run(folder, pool, seed, make, errors=PEAK if pool == 100 else FLAT)
        write_run(folder, None, seed, lambda step: snapshot(letters_new=0.9))
    return folder


@pytest.fixture(scope="module")
def account(ideal):
    return gather(read_trainings([ideal]))[0]


def gathered(folder):
    return gather(read_trainings([folder]))[0]


def by_name(account):
    return {claim.name: claim for claim in check_claims(account, np.random.default_rng(0))}


def test_trainings_become_cells_of_pool_seed_and_step(account):
    assert account.pools == (*POOLS, 3000, None)
    assert account.seeds == (0, 1, 2)
    assert account.steps.tolist() == list(STEPS)
    assert account.carried.shape == (7, 3, 4)
    assert account.attention("self") == pytest.approx(np.full((7, 3, 4), 0.4))


def test_the_threshold_is_where_half_carries_over(account):
    assert threshold(account) == pytest.approx(150, rel=0.05)  # interpolated between 100 and 300
    value, low, high = over_seeds(account, threshold, np.random.default_rng(0))
    assert low < value < high


def test_small_pools_predict_a_threshold_that_follows_their_law(account):
    assert predicted_threshold(account) == pytest.approx(150, rel=0.02)
    assert prediction_factor(account) == pytest.approx(1, abs=0.06)


def test_networks_that_have_learned_nothing_neither_memorise_nor_generalise(tmp_path):
    for seed in (0, 1, 2):
        for pool in (*POOLS, 3000):
            write_run(tmp_path, pool, seed, lambda step: snapshot(letters_pool=0.04, letters_new=0.04))
    found = by_name(gather(read_trainings([tmp_path]))[0])
    assert found["memorised"].outcome == "does not hold"
    assert found["generalised"].outcome == found["threshold"].outcome == "not decidable"


def test_claims_hold_for_trainings_that_do_as_they_say(account):
    found = by_name(account)
    assert {name: claim.outcome for name, claim in found.items()} == dict.fromkeys(found, "holds")
    assert found["memorised"].value == pytest.approx(0.9 - carried_as(10), abs=1e-3)
    assert found["mixture"].value > 0.98
    assert found["decay"].statistic.endswith("pool of 100 keys")
    assert found["decay"].value == pytest.approx(0.25 - 0.1 / 3, abs=0.05)


def test_one_seed_decides_nothing(account):
    assert {claim.outcome for claim in by_name(account.chosen([1])).values()} == {"not decidable"}


def test_claims_fail_for_trainings_that_do_otherwise(tmp_path):
    for seed in (0, 1, 2):
        for pool in POOLS:  # none memorises, none generalises fully, and no mixture describes them
            make = lambda step, pool=pool: snapshot(letters_pool=0.5, letters_new=0.3, grid=stranger())  # noqa: E731
            write_run(tmp_path, pool, seed, make)
    found = by_name(gather(read_trainings([tmp_path]))[0])
    outcomes = {name: claim.outcome for name, claim in found.items()}
    assert outcomes.pop("predicted") == "not decidable"  # there is no threshold to predict
    assert outcomes == dict.fromkeys(outcomes, "does not hold")


def test_noise_without_a_peak_is_no_decay(tmp_path):
    rng = np.random.default_rng(0)
    for seed in (0, 1, 2, 3):
        for pool in (10, 100):
            noise = [(100 * n, 0.5 + 0.004 * rng.standard_normal()) for n in range(1, 40)]
            write_run(tmp_path, pool, seed, lambda step: snapshot(), errors=noise)
    assert by_name(gather(read_trainings([tmp_path]))[0])["decay"].outcome == "does not hold"


def test_ignorance_explains_a_network_that_is_unsure(tmp_path):
    for seed in (0, 1):
        for pool in POOLS:
            write_run(tmp_path, pool, seed, lambda step: snapshot(grid=mixture(0.5, 0.3)))
    found, _ = gather(read_trainings([tmp_path]))
    assert explained(found, ignorance=True) == pytest.approx(1, abs=1e-3)
    assert explained(found, ignorance=False) < 0.9


def test_a_cell_is_explained_without_looking_at_it(account):
    changed = [list(map(list, seeds)) for seeds in account.snapshots]
    for seed in range(3):
        changed[2][seed][1] = replace(changed[2][seed][1], mixtures=stranger().tolist())
    snapshots = tuple(tuple(map(tuple, seeds)) for seeds in changed)
    other = replace(account, snapshots=snapshots)
    assert explained(other, ignorance=False) < explained(account, ignorance=False) - 0.02


def test_a_neighbour_that_knows_nothing_has_no_say_in_the_weight_of_the_pool():
    known, uniform = (0.2, 0.9), (1.0, 0.0)  # lapse and weight of the pool
    cells = np.array([[uniform, known, uniform], [known, known, known], [uniform, known, uniform]])
    lapse, weight = _from_neighbours(cells)[0, 0]
    assert (lapse, weight) == pytest.approx((0.2, 0.9))
    lapse, weight = _from_neighbours(cells)[0, 1]  # two of its three neighbours are uniform
    assert (lapse, weight) == pytest.approx((1 - 0.8 / 3, 0.9))
    lapse, weight = _from_neighbours(np.full((2, 2, 2), uniform))[0, 0]
    assert (lapse, weight) == (1, 0)


def test_controls_say_what_one_reference_explains_and_what_fitted_weights_would(account):
    found = {one.name: one for one in mixture_controls(account, np.random.default_rng(0))}
    assert list(found) == ["both", "pool", "general", "fitted"]
    assert found["both"].value == pytest.approx(explained(account, ignorance=True))
    assert found["fitted"].value == pytest.approx(1)  # its cells are on the grid
    assert max(found["pool"].value, found["general"].value) < found["both"].value - 0.1
    assert found["pool"].low <= found["pool"].value <= found["pool"].high


def test_a_control_with_the_reference_that_a_network_follows_explains_all_of_it(tmp_path):
    for seed in (0, 1):
        for pool in POOLS:
            write_run(tmp_path, pool, seed, lambda step: snapshot(grid=mixture(0.3, 1.0)))
    found = {one.name: one.value for one in mixture_controls(gathered(tmp_path), np.random.default_rng(0))}
    assert found["pool"] == pytest.approx(1, abs=1e-3)
    assert found["general"] < 0.5


def test_a_weight_is_empty_where_the_nearest_mixture_is_uniform(tmp_path):
    for seed in (0, 1):
        for pool in (10, 100):
            make = lambda step: snapshot(grid=mixture(1.0, 0.0) if step == 0 else mixture(0.1, 0.8))  # noqa: E731
            write_run(tmp_path, pool, seed, make)
    result = Generalization((tmp_path,)).run(RunContext())
    weights = {row["step"]: row["pool_weight"] for row in result.tables["cells"].records()}
    assert weights == {0: None, 100: 0.8, 200: 0.8, 400: 0.8}
    drawn = result.figure("pool-weight").figure.data[0].z
    assert np.isnan(np.array(drawn, dtype=float)[:, 0]).all()


def test_a_network_that_reads_nothing_under_new_keys_has_no_label_depth(tmp_path):
    for seed in (0, 1):
        for pool, letters in ((10, 0.1), (100, 0.6)):
            make = lambda step, letters=letters: snapshot(letters_new=letters, depth=1.1)  # noqa: E731
            write_run(tmp_path, pool, seed, make)
    rows = Generalization((tmp_path,)).run(RunContext()).tables["cells"].records()
    assert {(row["pool"], row["label_depth"]) for row in rows} == {(10, None), (100, 1.1)}


def test_measures_on_different_numbers_of_texts_are_not_put_together(tmp_path):
    for pool, texts in ((10, 100), (100, 50)):
        write_run(tmp_path, pool, 0, lambda step: snapshot(), texts=texts)
    found, (note,) = gather(read_trainings([tmp_path]))
    assert found is None
    assert "different numbers of texts" in note


def test_a_second_training_of_a_pool_and_seed_is_left_out_and_named(tmp_path):
    for folder, letters in (("one", 0.1), ("two", 0.8)):
        for pool in (10, 100):
            make = lambda step, letters=letters: snapshot(letters_new=letters)  # noqa: E731
            write_run(tmp_path / folder, pool, 0, make)
    found, (note,) = gather(read_trainings([tmp_path / "one", tmp_path / "two"]))
    assert found.letters_new.max() == pytest.approx(0.1)
    assert note.endswith("pool-10-seed-0, pool-100-seed-0.")


def test_the_nearest_mixture_is_found_for_every_cell():
    grids = np.stack([mixture(0.1, 0.2), mixture(0.5, 0.9)])
    assert best_mixture(grids).tolist() == [[0.1, 0.2], [0.5, 0.9]]
    assert grids.shape[1:] == (len(LAPSES), len(POOL_WEIGHTS))


@pytest.mark.parametrize(
    ("carried", "wanted"),
    [
        ([0.1, 0.2], math.inf),
        ([0.6, 0.9], 0.0),
        ([0.1, 0.9], 100.0),
        ([0.6, 0.2], math.inf),
        ([math.nan, 0.9], math.nan),
    ],
)
def test_a_threshold_outside_the_pools_is_said_to_be(carried, wanted):
    values = np.array(carried)[:, None, None]
    found = threshold(SimpleNamespace(sizes=np.array([10.0, 1000.0]), carried=values))
    assert found == pytest.approx(wanted, nan_ok=True)


def test_phases_are_learning_memorising_and_generalising():
    found = SimpleNamespace(
        letters_pool=np.array([[[0.1, 0.9, 0.9]]]), letters_new=np.array([[[0.1, 0.2, 0.8]]])
    )  # one pool, one seed
    assert phases(found) == [["L", "M", "G"]]


def test_a_seed_that_has_learned_less_does_not_make_a_generalising_cell_a_memorising_one():
    pool, new = np.array([[[0.6], [0.7], [0.45]]]), np.array([[[0.6], [0.6], [0.4]]])  # one pool, three seeds
    assert phases(SimpleNamespace(letters_pool=pool, letters_new=new)) == [["G"]]


@pytest.mark.parametrize(
    ("found", "side", "outcome"),
    [
        ([1, 0.6, 2], "above", "holds"),
        ([1, 0.6, 2], "below", "does not hold"),
        ([0.1, 0, 0.4], "above", "does not hold"),
        ([0.6, 0.4, 2], "above", "not decidable"),
        ([1, math.nan, math.nan], "above", "not decidable"),
    ],
)
def test_an_interval_decides_only_as_a_whole(found, side, outcome):
    assert judge("name", "text", "statistic", np.array(found), 0.5, side=side).outcome == outcome


def test_unfinished_trainings_and_lone_seeds_are_left_out(tmp_path):
    for seed in (0, 1):
        for pool in (10, 100):
            write_run(tmp_path, pool, seed, lambda step: snapshot())
    write_run(tmp_path, 10, 2, lambda step: snapshot())
    write_run(tmp_path, 100, 2, lambda step: snapshot(), used=10_000)
    found, (note,) = gather(read_trainings([tmp_path]))
    assert found.seeds == (0, 1)
    assert note.endswith("pool-10-seed-2, pool-100-seed-2.")


def test_the_report_has_claims_cells_and_phases_beside_the_learning_curves(ideal):
    result = Generalization((ideal,)).run(RunContext())
    assert [row["outcome"] for row in result.tables["claims"].records()] == ["holds"] * 7
    assert len(result.tables["cells"].records()) == 7 * 3 * 4
    assert {"training", "phase-diagram", "pool-weight", "references", "inside", "attention", "layers"} <= set(
        result.figures
    )
    assert result.metric("claim-decay").value == "holds"
    assert result.metric("threshold").interval is not None
    assert result.headline_metric().name == "threshold"
    assert [row["name"] for row in result.tables["mixtures"].records()] == ["both", "pool", "general", "fitted"]
    assert [trace.name for trace in result.figure("training").figure.data[:2]] == ["10 keys", "30 keys"]
    colors = [
        {trace.name: trace.line.color for trace in result.figure(name).figure.data} for name in ("training", "inside")
    ]
    assert colors[0] == colors[1]  # a pool has one colour on the page
    assert not any("Not comparable" in caveat or "one seed" in caveat for caveat in result.caveats)
    assert list(result.figure("phase-diagram").figure.data[0].text[-1]) == ["G"] * 4


def test_the_summary_has_the_claims_by_outcome_and_no_infinite_number_of_keys(ideal, tmp_path):
    whole = Generalization((ideal,)).run(RunContext()).summary
    assert ". Hold: few keys are memorised (" in whole
    assert "the threshold lies between 10 and 3,000 keys (1" in whole
    assert "hold:" not in whole.partition(". Hold:")[2]
    for pool in (10, 30):
        for seed in (0, 1):
            write_run(tmp_path, pool, seed, lambda step: snapshot())
    summary = Generalization((tmp_path,)).run(RunContext()).summary
    assert " Do not hold: many keys generalise (0.111, 0.111 to 0.111); the threshold lies between" in summary
    assert "30 keys (no limited pool reaches it)" in summary
    assert " Not decidable: small pools alone predict the threshold (no statistic)." in summary
    assert "inf" not in summary


def test_the_claim_about_the_threshold_has_two_limits(ideal):
    rows = {row["name"]: row for row in Generalization((ideal,)).run(RunContext()).tables["claims"].records()}
    assert (rows["threshold"]["side"], rows["threshold"]["threshold"]) == ("within", None)
    assert (rows["memorised"]["side"], rows["memorised"]["threshold"]) == ("above", 0.5)


def test_a_pool_of_all_keys_alone_has_phases_and_no_claims(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, None, seed, lambda step: snapshot(letters_new=0.9))
    result = Generalization((tmp_path,)).run(RunContext())
    assert result.tables["claims"].records() == []
    assert result.summary.endswith("Measured on 100 texts: 1 pools, 2 seeds and 4 checkpoints of each training.")
    assert "phase-diagram" in result.figures
    assert "pool-weight" not in result.figures


def test_trainings_without_measures_say_how_to_make_them(tmp_path):
    write_training(tmp_path / "pool-10", losses=[(10, 1.0)], errors=[(10, 0.5)], pool=10)
    result = Generalization((tmp_path,)).run(RunContext())
    assert any("sweep measure" in caveat for caveat in result.caveats)
    assert "claims" not in result.tables
