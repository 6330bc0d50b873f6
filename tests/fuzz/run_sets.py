"""Run sets, folders that `sweep measure --export` writes: they are analysed and exported again, or refused."""

import json
import warnings
from shutil import copy, rmtree
from typing import Any

import numpy as np
from fuzz.pieces import ODD_VALUES, Choices, Finding, new_folder
from training_folders import made_up_measures, write_training
from trainings import carry_out, small_training, write_corpus

from alice.errors import AliceError
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.generalization.account import gather
from alice.plugins.builtin.generalization.along import export_run_set
from alice.plugins.builtin.generalization.claims import check_claims
from alice.plugins.builtin.generalization.measures import (
    MEASURES,
    VERSION,
    Measured,
    read_measures,
    write_measures,
)
from alice.plugins.context import RunContext
from alice.reports import archive
from alice.training import kept_checkpoints
from alice.training.records import read_trainings, training_folders
from alice.training.state import STATE

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x02" + bytes(range(60)), b"\x03\x01" + bytes(range(90, 30, -1)))
PLACE = new_folder()
TRAININGS, OUT = PLACE / "trainings", PLACE / "out"
STEPS = (10, 60)


def _write_run_set() -> None:
    for place, pool in enumerate((5, 20, 80, 320)):
        for seed in (0, 1):
            folder = TRAININGS / f"pool-{pool}-seed-{seed}"
            losses = [(step, 3.0 - step / 30) for step in range(10, 61, 10)]
            write_training(folder, losses=losses, errors=[(60, 0.5)], pool=pool, seed=seed)
            share = 0.1 + 0.25 * place + 0.01 * seed
            write_measures(folder, [made_up_measures(step, share * step / 60) for step in STEPS])


_write_run_set()
carry_out(small_training(PLACE / "real", write_corpus(PLACE / "texts.txt", 300), steps=1, eval_texts=3))
for folder in TRAININGS.iterdir():
    copy(PLACE / "real" / STATE, folder)  # an export reads its counters
WHOLE = {path.relative_to(TRAININGS): path.read_bytes() for path in TRAININGS.rglob("*.json*")}
NUMBERS = (0, -1, 1, 0.0, 1e-320, 1e12, -1e12, 1e13, 1e308, 10**400, 2**64, 0.5, True, None, [], [0.5], [[0.5]])
DEEP = (b"", b"[" * 900 + b"]" * 900, b"[" * 100_000, b'{"version":' + b"9" * 5000 + b"}", b"null", b"{}")


def try_input(data: bytes) -> None:
    """Damage files of a run set and use it."""
    choices = Choices(data)
    for name, content in WHOLE.items():
        (TRAININGS / name).write_bytes(content)
    use = choices.pick([_measures, _account, _account, _export, _analyse])
    for _ in range(1 + choices.below(2)):
        name = choices.pick(sorted(WHOLE))
        if choices.below(3):
            name = name.with_name(MEASURES)
        (TRAININGS / name).write_bytes(_damaged(WHOLE[name], choices))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            use(choices)
        except AliceError as error:
            if "\n" in str(error) or len(str(error)) > 900:
                raise Finding(f"the error is not one sentence: {str(error)[:300]}") from error


def _damaged(content: bytes, choices: Choices) -> bytes:
    rows: list[Any] = [json.loads(line) for line in content.splitlines()]
    for _ in range(choices.below(3)):
        place = choices.below(len(rows))
        if choices.below(2):
            rows[place] = choices.damaged_document(rows[place])
        elif isinstance(rows[place], dict) and rows[place]:
            rows[place][choices.pick(sorted(rows[place]))] = choices.pick((*NUMBERS, *ODD_VALUES))
    lines = [json.dumps(row).encode() for row in rows]
    if not choices.below(16):
        lines.append(choices.pick(DEEP))
    return choices.damaged_bytes(b"\n".join(lines) + b"\n")


def _measures(choices: Choices) -> None:
    """Read measures, which are stored again unchanged."""
    for folder in training_folders([TRAININGS]):
        found = read_measures(folder)
        OUT.mkdir(exist_ok=True)
        write_measures(OUT, found)
        rows = [json.loads(line) for line in (folder / MEASURES).read_text().splitlines()]
        if len(found) != sum(row["version"] == VERSION for row in rows):
            raise Finding(f"{len(found)} of {len(rows)} rows of {folder.name} were read")
        if _rows(read_measures(OUT)) != _rows(found):
            raise Finding("measures changed when they were stored again")


def _rows(found: list[Measured]) -> list[tuple[int, int, dict[str, Any]]]:
    return [(one.step, one.texts, one.snapshot.to_row()) for one in found]


def _account(choices: Choices) -> None:
    """Do what the analysis does, except for drawing."""
    account, _ = gather(read_trainings([TRAININGS]))
    if account is None:
        return
    for claim in check_claims(account, np.random.default_rng(0)):
        if claim.outcome != "not decidable" and np.isnan(claim.value):
            raise Finding(f"{claim} was decided without a number")


def _export(choices: Choices) -> None:
    """Export the set, with the folder of a kept checkpoint in it; the copy reads as the original does."""
    rmtree(OUT, ignore_errors=True)
    folders = training_folders([TRAININGS])
    odd = choices.pick(["7", "0", "²", "-1", "1e3", "٣", "9" * 300, "9" * 200])
    kept = folders[0] / "steps" / odd[:200]
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "config.json").write_bytes(b"{}")
    try:
        kept_checkpoints(folders[0])
        export_run_set(folders, OUT)
        for folder in folders:
            if (OUT / folder.name / MEASURES).read_bytes() != (folder / MEASURES).read_bytes():
                raise Finding(f"the measures of {folder.name} differ in the copy")
        there, here = (read_trainings([place]).trainings for place in (OUT, TRAININGS))
        if [one.name for one in there] != [one.name for one in here]:
            raise Finding("the copy has other trainings")
    finally:
        rmtree(folders[0] / "steps")


def _analyse(choices: Choices) -> None:
    """Run the whole analysis; drawing its figures takes most of the time."""
    if choices.below(16):
        _account(choices)
        return
    result = Generalization((TRAININGS,)).run(RunContext())
    rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    archive.write_result(OUT, result, {})
