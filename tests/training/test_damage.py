"""A damaged training folder is refused with one sentence, and values that are not finite are never saved."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from trainings import carry_out, small_training, weights

from alice.errors import AliceError
from alice.training import memory
from alice.training.folder import Training, read_metrics
from alice.training.loop import Trainer
from alice.training.records import read_trainings
from alice.training.state import LARGEST_COUNT, STATE, TrainingState, read_counters

NESTED = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of the finished training."""
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def refused(match, call, *arguments, **options):
    with pytest.raises(AliceError, match=match) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def resume(folder):
    return carry_out(Training.open(folder, {"steps": 22}), resume=True)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rewrite_state(folder, change=lambda tensors: None, **counters):
    """Change tensors or counters of the state, as no training would write them."""
    with safe_open(folder / STATE, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found = json.loads(file.metadata()["counters"])
    change(tensors)
    save_file(tensors, folder / STATE, {"counters": json.dumps(found | counters)})


def change_type(tensors, name, dtype):
    tensors[name] = tensors[name].to(dtype)


def test_a_state_that_is_not_finite_never_replaces_the_good_checkpoint(folder):
    rewrite_state(folder, lambda tensors: tensors["weights/ln_final.w"].fill_(math.nan))
    before = contents(folder)
    refused(r"cannot be read .*weights/ln_final.w has values that are not finite.*--init", resume, folder)
    assert contents(folder)["model.safetensors"] == before["model.safetensors"]
    assert contents(folder)[STATE] == before[STATE]


@pytest.mark.parametrize("group", ["optimizer", "ema"])
def test_nan_on_the_last_step_is_an_error_and_the_last_state_stays(corpus, tmp_path, monkeypatch, group):
    step = Trainer._step

    def poisoned(self, batch):
        row = step(self, batch)
        if self.counters.step == 4:
            state = next(iter(self.optimizer.state.values()))
            (state["exp_avg"] if group == "optimizer" else self.average.module.ln_final.w.data).fill_(math.nan)
        return row

    monkeypatch.setattr(Trainer, "_step", poisoned)
    monkeypatch.setattr(Trainer, "_validate", lambda self: [])
    training = small_training(tmp_path, corpus, steps=4, save_minutes=0.0, ema=0.9)
    refused("was not written, because .* not finite; what was saved before is intact", carry_out, training)
    assert TrainingState.read(tmp_path).counters.step == 3
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


def test_answers_that_are_not_finite_stop_a_training_before_it_saves_them(corpus, tmp_path, monkeypatch):
    step = Trainer._step

    def poisoned(self, batch):
        row = step(self, batch)
        self.model.ln_final.w.data.fill_(3e38)
        self.model.head.unembed.weight.data.fill_(3e38)
        return row

    monkeypatch.setattr(Trainer, "_step", poisoned)
    refused("scores that are not finite.* is intact", carry_out, small_training(tmp_path, corpus, steps=1))
    assert TrainingState.read(tmp_path).counters.step == 0


@pytest.mark.parametrize(
    "counters",
    [
        *({"step": value} for value in (-1, 10**30, "5", 2.5, True, None, [1])),
        *({"seconds": value} for value in (-1.0, 1e300, "1", math.nan, math.inf)),
        {"loss_tokens": -3},
        {"unknown": 1},
    ],
)
def test_bad_counters_are_one_sentence(folder, counters):
    rewrite_state(folder, **counters)
    refused("cannot be read", read_counters, folder)


def test_a_training_whose_counters_are_at_the_limit_is_saved_like_any_other(folder):
    rewrite_state(folder, tokens=LARGEST_COUNT)
    resume(folder)
    assert (folder / STATE).exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda tensors: tensors.pop("rng/0/cpu"), "rng"),
        (lambda tensors: tensors.update({"rng/0/cpu": torch.zeros(3, dtype=torch.uint8)}), "damaged"),
        (lambda tensors: tensors.update({"optimizer/ln_final.w/exp_avg": torch.zeros(2)}), "another shape"),
        (lambda tensors: tensors.update({"optimizer/no/exp_avg": torch.zeros(2)}), "which this model does not have"),
        (lambda tensors: tensors.pop("optimizer/ln_final.w/exp_avg"), "is incomplete"),
        (lambda tensors: tensors.pop("optimizer/ln_final.w/step"), "is incomplete"),
        (lambda tensors: change_type(tensors, "optimizer/ln_final.w/exp_avg", torch.float64), "another shape or type"),
        (lambda tensors: change_type(tensors, "weights/ln_final.w", torch.float8_e4m3fn), "cannot be read"),
        (lambda tensors: tensors.pop("weights/ln_final.w"), "do not fit the config"),
    ],
)
def test_a_damaged_state_is_one_sentence(folder, change, complaint):
    if complaint == "rng":
        rewrite_state(folder, lambda tensors: tensors.update({"rng/0/other": tensors.pop("rng/0/cpu")}))
        refused("is damaged .*cpu", resume, folder)
        return
    rewrite_state(folder, change)
    refused(complaint, resume, folder)


def test_a_state_that_is_not_safetensors_is_one_sentence(folder):
    (folder / STATE).write_bytes(b"not a state")
    refused("cannot be read", resume, folder)


GOOD = b'{"step": 1, "tokens": 5, "loss": 1.0}\n'


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"\xff\xfe", "line 2 is not JSON"),
        (NESTED.encode(), "line 2 is not JSON"),
        (b'{"step": 2, "loss": NaN}', "line 2 is not JSON"),
        (b"[1]", "line 2 has no step"),
        (b'{"step": true}', "line 2 has no step"),
        (b'{"step": -1}', "line 2 has no step"),
        (b'{"step": 1' + b"0" * 400 + b"}", "line 2 has no step"),
        (b'{"step": 2, "seconds": "1"}', "line 2 has no number for 'seconds'"),
        (b'{"step": 2, "tokens": -1}', "line 2 has no number for 'tokens'"),
        (b'{"step": 2, "loss": 1' + b"0" * 400 + b"}", "line 2 has no number for 'loss'"),
        (b'{"step": 2, "loss": -1000}', "line 2 has no number for 'loss'"),
        (b'{"step": 2, "ser": {"all": []}}', "line 2 has no number for 'ser'"),
    ],
)
def test_a_damaged_log_is_one_sentence(folder, line, complaint):
    (folder / "metrics.jsonl").write_bytes(GOOD + line + b"\n" + GOOD)
    refused(complaint, read_metrics, folder)
    refused(complaint, read_trainings, [folder])
    refused(complaint, Training.open(folder, {}).log)


def test_a_log_that_the_system_refuses_is_one_sentence(folder):
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").symlink_to("metrics.jsonl")
    refused("metrics.jsonl cannot be read", Training.open(folder, {}).log)


def test_a_missing_log_is_one_sentence(folder):
    (folder / "metrics.jsonl").unlink()
    refused("has no metrics.jsonl; resume", Training.open(folder, {}).log)
    assert resume(folder)


@pytest.mark.parametrize(
    "change",
    [
        *({"data": value} for value in (5, None, ["quotes"])),
        *({"recipe": value} for value in ([], "x", {"steps": "5"}, {"steps": True}, {"steps": 1, "lr": 10**400})),
        *({"recipe": {"steps": 5, name: []}} for name in ("schedule", "precision", "lr")),
        *({"model": value} for value in ([], None, {"d_model": "16"}, {"d_model": 10**400})),
        *({"earlier_data": [value]} for value in (5, {}, {"until": "x"})),
        *({name: 5} for name in ("text_column", "init", "data_sha256", "earlier_data", "before")),
    ],
)
def test_a_description_of_the_wrong_shape_is_one_sentence(folder, change):
    described = json.loads((folder / "training.json").read_text())
    (folder / "training.json").write_text(json.dumps(described | change))
    refused("training.json", Training.open, folder, {})


@pytest.mark.parametrize("text", ["", "[]", "5", NESTED, '{"data": NaN}', '{"a": 1, "a": 2}', "\ud800"])
def test_a_description_that_cannot_be_read_is_one_sentence(folder, text):
    (folder / "training.json").write_bytes(text.encode("utf-8", errors="surrogatepass"))
    refused("training.json cannot be read", Training.open, folder, {})


@pytest.mark.parametrize("before", [{"steps": "5"}, {"steps": -1}, {"core_hours": True}, {"tokens": 10**400}])
def test_bad_totals_are_one_sentence(folder, before):
    described = json.loads((folder / "training.json").read_text())
    (folder / "training.json").write_text(json.dumps(described | {"before": before}))
    refused("training.json cannot be read", Training.open(folder, {}).summary)


@pytest.mark.parametrize(
    "sizes", [{"d_model": 10**9, "n_heads": 10**8}, {"n_layers": 1000, "d_mlp": 10**7}, {"d_mlp": 10**9}]
)
def test_a_model_that_does_not_fit_into_memory_is_refused_before_anything_is_made(corpus, tmp_path, sizes):
    training = small_training(tmp_path / "new", corpus, model=sizes)
    refused("needs at least .* GB of memory, and .* GB are free", carry_out, training)
    assert not (tmp_path / "new").exists()


def test_the_memory_that_a_model_needs_is_compared_with_what_is_free(monkeypatch):
    config = small_training(Path("x"), Path("y")).model
    weights = config.block_weights + 2 * config.d_vocab * config.d_model
    monkeypatch.setattr(memory, "free_memory", lambda device: 16 * weights)
    memory.check_memory(config, torch.device("cpu"), averaged=False)
    refused("needs at least", memory.check_memory, config, torch.device("cpu"), averaged=True)
    monkeypatch.undo()
    assert memory.free_memory(torch.device("cpu")) > 10**6


def test_wrong_initial_weights_leave_no_folder(corpus, tmp_path):
    for name in ("nowhere", str(tmp_path / "empty")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        training = replace(small_training(tmp_path / "new", corpus), init=name)
        refused("nowhere|has no config.json", carry_out, training)
        assert not (tmp_path / "new").exists()


def test_the_folder_is_checked_before_the_corpus_is_read(trained, tmp_path):
    refused("is already a training", carry_out, small_training(trained, tmp_path / "missing.txt"))
