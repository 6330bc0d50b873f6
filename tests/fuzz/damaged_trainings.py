"""Damaged training folders: resuming, exporting and reading them works, or the error is one sentence."""

import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import torch
from click.testing import CliRunner
from fuzz.pieces import Choices, Finding, new_folder
from safetensors.torch import load, save
from trainings import carry_out, small_training, write_corpus

from alice.checkpoint.export import export, round_to_half
from alice.checkpoint.folder import METRICS, TRAINING, read
from alice.cli import main
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.generalization.measure import measure as measure_pools
from alice.plugins.builtin.scaling import Scaling
from alice.plugins.builtin.scaling.measure import measure as measure_sizes
from alice.plugins.context import RunContext
from alice.reports import Result, archive
from alice.solving.evaluate import Scores
from alice.training.folder import Training
from alice.training.records import read_trainings
from alice.training.state import STATE, TrainingState

SEEDS = (
    b"\x00\x01", b"\x02\x03", b"\x01\x00\x01" + bytes(range(40)), b"\x03\x01\x01\x00\x05\x02\x03", b"\x04\x02\x00\x07",
    b"\x05" + bytes(range(90, 40, -1)),
)  # fmt: skip
PLACE = new_folder()
FOLDER, OTHER, OUT = PLACE / "trainings" / "pool-5", PLACE / "trainings" / "other", PLACE / "out"
CORPUS = write_corpus(PLACE / "texts.txt", 300)
SMALL = {"d_model": 4, "n_heads": 1, "hyper_heads": 1, "d_mlp": 4}
CHANGES = {"steps": 5, "precision": "fp32", "compile": "no"}
"""What a resumed training must not take from a damaged folder: it would train for long, or compile."""
for folder in (FOLDER, OTHER):
    how = {"steps": 4, "ema": 0.5, "log_every": 1, "eval_every": 2, "eval_texts": 3, "cipher_pool": 5}
    carry_out(small_training(folder, CORPUS, model=SMALL, batch_tokens=300, **how))
WHOLE = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
TENSORS = load(WHOLE[STATE])
COUNTERS = json.loads(WHOLE[STATE][8 : 8 + int.from_bytes(WHOLE[STATE][:8], "little")])["__metadata__"]["counters"]
NUMBERS = (0, 0.0, -1, 1, 2**53, 10**18, 10**18 + 1, 1e-320, 1e3, -1e3, 1e29, -1e29, 1e30, -1e30, 1e31, 0.5, 10**30)
DTYPES = (torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn)
ERRORS = Scores(np.array([20, 40, 300]), np.array([0.1, 0.2, 0.3])).table(np.random.default_rng(0))


def try_input(data: bytes) -> None:
    """Damage one or two files of a training folder and use it."""
    choices = Choices(data)
    use = choices.pick([_resume, _export, _show, _compare, _compare, _analyse])
    for name, content in WHOLE.items():
        _put(FOLDER / name, content)
    for _ in range(1 + choices.below(2)):
        choices.pick([_damage_description, _damage_log, _damage_log, _damage_state, _damage_file])(choices)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            use(choices)
        except AliceError as error:
            if "\n" in str(error) or len(str(error)) > 900:
                raise Finding(f"the error is not one sentence: {str(error)[:300]}") from error


def _put(path: Path, content: bytes) -> None:
    _remove(path)
    path.write_bytes(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _damage_description(choices: Choices) -> None:
    document = choices.damaged_document(json.loads(WHOLE[TRAINING]))
    for part in ("recipe", "model"):
        if isinstance(document.get(part), dict) and document[part] and not choices.below(3):
            document[part][choices.pick(sorted(document[part]))] = choices.pick(NUMBERS)
    _put(FOLDER / TRAINING, choices.written(document))


def _damage_log(choices: Choices) -> None:
    rows: list[Any] = [json.loads(line) for line in WHOLE[METRICS].splitlines()]
    for _ in range(1 + choices.below(3)):
        place = choices.below(len(rows))
        if choices.below(2):
            rows[place] = choices.damaged_document(rows[place])
        elif isinstance(rows[place], dict) and rows[place]:
            name = choices.pick(sorted(rows[place]))
            value = choices.pick(NUMBERS)
            rows[place][name] = {"all": value} if name == "ser" else value
    content = b"".join(json.dumps(row).encode(errors="surrogatepass") + b"\n" for row in rows)
    _put(FOLDER / METRICS, choices.damaged_bytes(content))


def _damage_state(choices: Choices) -> None:
    """Change counters or a tensor, or the bytes of the file."""
    counters, tensors = choices.damaged_document(json.loads(COUNTERS)), dict(TENSORS)
    if counters and not choices.below(3):
        counters[choices.pick(sorted(counters))] = choices.pick(NUMBERS)
    if choices.below(2):
        name, action = choices.pick(sorted(tensors)), choices.below(6)
        if action < 2:
            tensor = tensors.pop(name)
            if action:
                tensors[name[: choices.below(len(name))] + choices.text(5).replace("\ud800", "")] = tensor
        elif action == 2:
            tensors[name] = tensors[name].to(choices.pick(DTYPES))
        elif action == 3:
            tensors[name] = torch.zeros(choices.pick([0, 1, 2, 3, (2, 2), (1, 1, 1), ()]), dtype=tensors[name].dtype)
        else:
            value = choices.pick([0.0, -1.0, 1e-45, 3e38, -3e38, float("nan"), float("inf")])
            tensors[name] = torch.full_like(tensors[name].float(), value)
    words = choices.written(counters).decode(errors="replace")
    about = choices.pick([{"counters": words}, {"counters": words}, {"counters": words}, {"other": words}, None])
    with suppress(UnicodeEncodeError):  # not a name that safetensors can write
        _put(FOLDER / STATE, choices.damaged_bytes(save(tensors, about)))


def _damage_file(choices: Choices) -> None:
    """Remove a file, or put something else in its place."""
    path = FOLDER / choices.pick(sorted(WHOLE))
    _remove(path)
    kind = choices.below(6)
    if kind == 1:
        path.mkdir()
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        path.write_bytes(b"")
    elif kind == 4:
        path.symlink_to(path.name)
    elif kind == 5:
        path.symlink_to(FOLDER / choices.pick(sorted(WHOLE)))


def _resume(choices: Choices) -> None:
    """Resume the training for a step; whatever happens, a checkpoint that was whole stays so."""
    try:
        before = read(FOLDER)[0]
    except AliceError:
        before = None
    try:
        carry_out(Training.open(FOLDER, CHANGES), resume=True, stop=lambda: True)
    except AliceError:
        if before is not None:
            read(FOLDER)
        raise
    state, (_, weights) = TrainingState.read(FOLDER), read(FOLDER)
    if not all(tensor.isfinite().all() for tensor in (*state.tensors.values(), *weights.values())):
        raise Finding("what was saved is not finite")


def _export(choices: Choices) -> None:
    """Do what `ckpt export` does, except for measuring."""
    rmtree(OUT, ignore_errors=True)
    training = Training.open(FOLDER, {})
    summary, log = training.summary(), training.log()
    model = round_to_half(Alice.from_pretrained(FOLDER, device="cpu"))
    errors = {part: (ERRORS.mean[part], ERRORS.median[part], ERRORS.per_character[part]) for part in ERRORS.mean}
    export(OUT, model, name="x", training=summary, log=log, errors=errors, command="evaluate")
    Alice.from_pretrained(OUT, device="cpu")
    card = (OUT / "card.md").read_text(encoding="utf-8")
    if "nan" in card.lower() or len(card) > 9000:
        raise Finding(f"the card is {card[:3000]}")


def _show(choices: Choices) -> None:
    result = CliRunner().invoke(main, ["ckpt", "show", str(FOLDER)])
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    if result.exit_code and len(result.stderr.splitlines()) != 1:
        raise Finding(f"ckpt show says {result.stderr}")


def _compare(choices: Choices) -> None:
    """Read the log of the training, alone or next to a whole one."""
    found = read_trainings(choices.pick([[FOLDER], [FOLDER.parent], [OTHER, FOLDER]]))
    for pool in measure_pools(found, window=choices.pick([1, 51])).pools:
        if not all(np.isfinite(number) for number in (pool.final_loss, pool.confidence, pool.gap or 0.0)):
            raise Finding(f"{pool} has numbers that are not finite")
    law = measure_sizes(found, fit_below=1.0).law
    if law is not None and not np.isfinite(law.exponent):
        raise Finding(f"the law is {law}")


def _analyse(choices: Choices) -> None:
    """Run a whole analysis; drawing its figures takes most of the time."""
    if choices.below(8):
        _compare(choices)
        return
    result: Result = choices.pick([Generalization, Scaling])((FOLDER.parent,)).run(RunContext())
    rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    archive.write_result(OUT, result, {})
