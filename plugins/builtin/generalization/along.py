"""Measures the kept checkpoints of trainings, once each, and exports a run set without weights."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from alice.checkpoint import METRICS, TRAINING
from alice.checkpoint.folder import write_json
from alice.errors import AliceError
from alice.files import atomic_write, make_folder
from alice.model import Alice
from alice.plugins.builtin.generalization.measures import MEASURES, TEXTS, Measured, read_measures, write_measures
from alice.plugins.builtin.generalization.references import Probes, References
from alice.plugins.builtin.generalization.snapshot import measure_snapshot
from alice.training import Training, kept_checkpoints
from alice.training.folder import read_description, read_metrics


def measure_trainings(
    folders: Iterable[Path], *, texts: int = TEXTS, say: Callable[[str], None] = lambda line: None
) -> int:
    """Measure the checkpoints that have no measures yet; return how many those were.

    Each is written as soon as it is measured, so an interrupted command continues where it stopped. The last weights of
    an unfinished training are left out: they will change.
    """
    references, count = References(texts), 0
    for folder in folders:
        training = Training.open(folder, {})
        known = [one for one in read_measures(folder) if one.texts == texts]
        measured = {one.step for one in known}
        for step, path in _checkpoints(training).items():
            if step in measured:
                continue
            known.append(_measure(step, path, references.of(training), texts))
            write_measures(folder, known)
            count += 1
            say(f"{folder.name}, step {step:,}: {known[-1].snapshot}")
    return count


def export_run_set(folders: Iterable[Path], out: Path) -> int:
    """Write descriptions, logs and measures of trainings into a folder each, without weights; return the bytes."""
    size = 0
    for folder in folders:
        target = out / folder.resolve().name
        if target.resolve() == folder.resolve():
            raise AliceError(f"{target} is the training itself; export to another folder")
        summary = _description(folder)  # before anything is written: it may fail
        make_folder(target)
        logs = [name for name in (METRICS, MEASURES) if (folder / name).exists()]
        for name in logs:
            with atomic_write(target / name, "wb") as file:
                file.write((folder / name).read_bytes())
        write_json(target / TRAINING, summary)  # last: a folder that has it is complete
        size += sum((target / name).stat().st_size for name in (*logs, TRAINING))
    return size


def _description(folder: Path) -> dict[str, Any]:
    """Return the training.json to export; that of an exported run set has what is left of a training already."""
    described = read_description(folder)
    return described if "totals" in described else Training.open(folder, {}).summary()


def _checkpoints(training: Training) -> dict[int, Path]:
    """Return the kept checkpoints by step, and the last weights if the budget is used up."""
    found = kept_checkpoints(training.folder)
    rows = read_metrics(training.folder)
    ended = rows and training.recipe.progress(rows[-1]["step"], rows[-1].get("seconds", 0.0)) >= 1
    return {step: path for step, path in found.items() if ended or path != training.folder}


def _measure(step: int, path: Path, probes: Probes, texts: int) -> Measured:
    """Measure one checkpoint; `texts` is what was asked for, of which the corpus may have fewer."""
    model = Alice.from_pretrained(path, device="cpu")
    return Measured(step, texts, probes.general_error, measure_snapshot(model, probes))
