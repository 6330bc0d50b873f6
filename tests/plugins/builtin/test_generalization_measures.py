"""Measures of checkpoints along a training."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from trainings import carry_out, small_training, write_corpus

from alice.cli import main
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins import reproduce
from alice.plugins.builtin.generalization.along import export_run_set, measure_trainings
from alice.plugins.builtin.generalization.measures import LAPSES, POOL_WEIGHTS, read_measures
from alice.plugins.builtin.generalization.references import References
from alice.plugins.builtin.generalization.snapshot import (
    divergence,
    measure_snapshot,
    mixture_divergences,
    shared_variance,
)
from alice.text import LETTERS, Key

TEXTS = 6
POOLS = Path(reproduce.__file__).parent / "run_set" / "pools"
"""Trainings that are shipped, exported without weights."""


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A training of three steps on a pool of five keys that kept two checkpoints."""
    folder = tmp_path_factory.mktemp("measured")
    found = small_training(
        folder / "pool-5", write_corpus(folder / "texts.txt"), steps=3, cipher_pool=5, keep_steps="0,2"
    )
    carry_out(found)
    return found


@pytest.fixture(scope="module")
def probes(training):
    return References(TEXTS).of(training)


def rows(seed, texts=2):
    return np.random.default_rng(seed).dirichlet(np.full(26, 0.3), size=(texts, 26))


def test_a_network_that_knows_nothing_is_log_26_from_certainty():
    certain = np.tile(np.eye(26), (2, 1, 1))
    weights = np.full((2, 26), 1 / 26)
    assert divergence(certain, np.log(np.full((2, 26, 26), 1 / 26)), weights) == pytest.approx(np.log(26))
    assert divergence(rows(0), np.log(rows(0)), weights) == pytest.approx(0)


def test_a_network_that_is_a_mixture_is_found_where_it_was_mixed():
    pool, general = rows(0), rows(1)
    weights = np.full((2, 26), 1 / 26)
    encrypted = SimpleNamespace(pool=pool, general=general, weights=weights)
    network = np.log(0.9 * (0.7 * pool + 0.3 * general) + 0.1 / 26)
    found = mixture_divergences(network, encrypted)
    lapse, share = np.unravel_index(found.argmin(), found.shape)
    assert (LAPSES[lapse], POOL_WEIGHTS[share]) == (0.1, 0.7)
    assert found.min() == pytest.approx(0, abs=1e-12)
    ignorant = np.log(np.full((2, 26, 26), 1 / 26))
    assert mixture_divergences(ignorant, encrypted)[-1] == pytest.approx(np.zeros(len(POOL_WEIGHTS)))


def test_letters_that_do_not_occur_do_not_count():
    weights = np.zeros((2, 26))
    weights[:, 3] = 1
    pool = rows(0)
    other = pool.copy()
    other[:, 4:] = rows(5)[:, 4:]
    assert divergence(pool, np.log(other), weights) == pytest.approx(0)


def test_equal_streams_share_all_variance_and_independent_ones_none():
    torch.manual_seed(0)
    one, other = torch.randn(2, 2, 4000, 8, dtype=torch.float64)
    assert shared_variance(one, one).tolist() == pytest.approx([1, 1])
    assert shared_variance(one, other).tolist() == pytest.approx([0, 0], abs=0.03)
    half = (one + other) / 2**0.5  # half of its variance is that of the first
    assert shared_variance(one, half).tolist() == pytest.approx([0.5**0.5] * 2, abs=0.03)


def test_both_references_know_the_keys_of_the_pool_and_the_general_one_alone_new_keys(probes):
    def right(encrypted, reference):
        """Return the probability of the right letter, over the letters of all texts."""
        true = np.argsort(encrypted.keys, axis=1)  # plain letter of each cipher letter
        chances = np.take_along_axis(getattr(encrypted, reference), true[..., None], axis=2)[..., 0]
        return float((chances * encrypted.weights).sum(1).mean())

    assert right(probes.pooled, "pool") > 0.99
    assert right(probes.pooled, "general") > 0.9
    assert right(probes.new, "pool") < 0.3
    assert right(probes.new, "general") == pytest.approx(right(probes.pooled, "general"))


def test_weights_are_the_shares_of_cipher_letters(probes):
    text, key = probes.texts[0], Key.from_array(probes.new.keys[0])
    letters = [letter for letter in key.encrypt(text) if letter in LETTERS]
    wanted = [letters.count(letter) / len(letters) for letter in LETTERS]
    assert probes.new.weights[0] == pytest.approx(wanted)


def test_a_snapshot_agrees_with_the_models_own_answers(training, probes):
    model = Alice.from_pretrained(training.folder, device="cpu")
    found = measure_snapshot(model, probes)
    right = characters = 0
    for batch in probes.new.batches:
        with torch.no_grad():
            answers = model(batch.cipher_ids).argmax(-1)
        right += int(((answers == batch.plain_ids) & batch.mask).sum())
        characters += int(batch.mask.sum())
    assert found.accuracy_new == pytest.approx(right / characters)
    assert len(found.exits_new) == len(found.symmetry) == len(found.same_answers) == model.config.n_layers + 1
    assert abs(found.symmetry[0]) < 0.25  # an embedding knows nothing but names
    assert len(found.attention) == model.config.n_layers * model.config.n_heads
    assert np.shape(found.mixtures) == (len(LAPSES), len(POOL_WEIGHTS))
    assert min(found.kl_pool_pool, found.kl_pool_new, found.kl_general_pool, found.kl_general_new) > 0


def test_each_checkpoint_is_measured_once(training):
    lines = []
    assert measure_trainings([training.folder], texts=TEXTS, say=lines.append) == 3
    assert [one.step for one in read_measures(training.folder)] == [0, 2, 3]
    assert lines[0].startswith("pool-5, step 0: accuracy ")
    before = (training.folder / "measures.jsonl").read_bytes()
    (training.folder / "measures.jsonl").write_bytes(b"".join(before.splitlines(keepends=True)[:2]))  # interrupted
    assert measure_trainings([training.folder], texts=TEXTS) == 1
    assert (training.folder / "measures.jsonl").read_bytes() == before


def test_other_texts_than_those_of_the_training_are_refused(training):
    with pytest.raises(AliceError, match="was trained on; restore it"):
        References(TEXTS).of(replace(training, data_sha256="0" * 64))


def test_a_run_set_has_no_weights_and_no_paths(training, tmp_path):
    result = CliRunner().invoke(
        main, ["sweep", "measure", str(training.folder), "--texts", str(TEXTS), "--export", str(tmp_path / "set")]
    )
    assert result.exit_code == 0, result.output
    assert "MB in" in result.stdout
    assert sorted(path.name for path in (tmp_path / "set" / "pool-5").iterdir()) == [
        "measures.jsonl", "metrics.jsonl", "training.json",
    ]  # fmt: skip
    about = json.loads((tmp_path / "set" / "pool-5" / "training.json").read_text())
    assert about["data"] == "texts.txt"
    assert read_measures(tmp_path / "set" / "pool-5") == read_measures(training.folder)


def test_drafts_that_another_process_removes_do_not_stop_an_export(training, tmp_path):
    target = tmp_path / training.folder.name
    target.mkdir()
    (target / ".measures.jsonl.00000000.alice-interp-draft").symlink_to("gone")
    size = export_run_set([training.folder], tmp_path)
    assert size == sum(path.stat().st_size for path in target.iterdir() if path.name[0] != ".")


def test_a_training_is_not_exported_onto_itself(training):
    with pytest.raises(AliceError, match="is the training itself"):
        export_run_set([training.folder], training.folder.parent)


@pytest.mark.parametrize("line", ["{", "[]", '{"version": 1}', '{"version": 1, "step": true, "texts": 3}'])
def test_damaged_measures_are_one_sentence(tmp_path, line):
    (tmp_path / "measures.jsonl").write_text(line + "\n")
    with pytest.raises(AliceError, match="remove it and measure again"):
        read_measures(tmp_path)


def test_measures_of_another_version_are_left_out(tmp_path):
    (tmp_path / "measures.jsonl").write_text('{"version": 0}\n')
    assert read_measures(tmp_path) == []


def test_an_exported_run_set_is_exported_again_as_it_is(tmp_path):
    first = next(path for path in sorted(POOLS.iterdir()) if path.is_dir())
    result = CliRunner().invoke(main, ["sweep", "measure", str(first), "--export", str(tmp_path / "again")])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("done: 0 checkpoints measured")
    exported = tmp_path / "again" / first.name
    for name in ("metrics.jsonl", "measures.jsonl"):
        assert (exported / name).read_bytes() == (first / name).read_bytes()
    assert json.loads((exported / "training.json").read_text()) == json.loads((first / "training.json").read_text())
