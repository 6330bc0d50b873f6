"""A training folder: what is trained, how and on which texts (training.json), and its log (metrics.jsonl)."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alice.checkpoint import METRICS, TRAINING, bundled, resolve
from alice.checkpoint.folder import CONFIG, write_json
from alice.errors import AliceError
from alice.files import atomic_write, held, make_folder, parse_json, read_json, regular_file, remove_drafts, user_path
from alice.model import ModelConfig
from alice.outputs import check_folder, check_not_read, folder_kind
from alice.text import Alphabet, Corpus, open_corpus
from alice.text.corpus import located, source_name
from alice.training.recipe import LARGEST_NUMBER, Recipe
from alice.training.state import LARGEST_COUNT, STATE, read_counters

BUDGET = ("steps", "hours")
"""Fields of the recipe that say when a training ends."""
STEPS = "steps"
"""Folder of the checkpoints that `Recipe.keep_steps` keeps, inside the training folder."""
KEPT = "weight_norm"
"""What a row of the log about a kept checkpoint has: the root of the sum of its squared weights."""
CHANGEABLE = {*BUDGET, "save_minutes", "eval_every", "eval_texts", "log_every", "keep_steps", "precision", "compile"}
"""Fields that may change when a training is resumed; a change of any other would make it a different training."""
LATEST_BYTES = 64 * 1024
"""What a screen reads of a log: a few hundred rows."""
_SHAPES: dict[str, type | tuple[type, ...]] = {"data": str, "recipe": dict, "model": dict}
_OPTIONAL_SHAPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("text_column", "init", "data_sha256"), (str, type(None))),
    **dict.fromkeys(("before", "totals"), dict),
    "earlier_data": list,
    "saw_validation": bool,
}
"""Types of the entries of training.json."""
_LEAST = {"tokens": 0, "flops": 0, "seconds": 0, "loss": -1}
"""Lower bounds of logged numbers; a loss is at least 0, except for rounding."""


class FolderBusyError(AliceError):
    """Another process is training in the folder."""


@dataclass(frozen=True)
class Totals:
    """What a training has used."""

    steps: int = 0
    """Optimizer steps."""
    tokens: int = 0
    """Characters seen, excluding padding."""
    core_hours: float = 0.0
    """Hours times CPU cores or accelerators."""


@dataclass(frozen=True)
class Training:
    """One training: the model, the recipe, the texts and the folder."""

    model: ModelConfig
    recipe: Recipe
    data: str
    """Corpus, by name or file."""
    folder: Path
    text_column: str | None = None
    """Column of the corpus with the texts."""
    init: str | None = None
    """Checkpoint whose weights it starts from; None for random weights."""
    data_sha256: str | None = None
    """Fingerprint of the corpus; None before the training starts, and in folders of earlier versions."""
    earlier_data: tuple[dict[str, Any], ...] = ()
    """Fingerprints of the corpora that it was trained on before, each with the step `until` which."""

    @classmethod
    def open(cls, folder: Path, changes: dict[str, Any]) -> "Training":
        """Read the training of a folder, with changes to its recipe, to resume it."""
        if folder_kind(folder) == "checkpoint":
            raise AliceError(f"{folder} is a checkpoint, not a training; start a new training with --init {folder}")
        described, where = read_description(folder), str(folder / TRAINING)
        saved = Recipe.from_dict(described["recipe"], where=where)
        for name, value in changes.items():
            if name not in CHANGEABLE and value != getattr(saved, name):
                raise AliceError(
                    f"{folder} was started with {name}={getattr(saved, name)}, not {value}; "
                    "resume without it or start a new training"
                )
        if changes.keys() & set(BUDGET):
            changes = dict.fromkeys(BUDGET) | changes
        return cls(
            ModelConfig.from_dict(described["model"], where=where),
            replace(saved, **changes),
            described["data"],
            folder,
            text_column=described.get("text_column"),
            init=described.get("init"),
            data_sha256=described.get("data_sha256"),
            earlier_data=tuple(described.get("earlier_data", ())),
        )

    def check_new(self) -> None:
        """Raise if the folder already is a training or anything else, or cannot be created."""
        read = [] if self.init is None else [user_path(self.init)]
        out = check_folder(self.folder, writes="training", read=read, hint="add --resume to continue it")
        check_not_read(out, self.corpus().files)
        parent = next(place for place in (out, *out.absolute().parents) if place.exists())
        if not os.access(parent, os.W_OK | os.X_OK):
            raise AliceError(f"cannot create the folder {out}, because {parent} cannot be written to; write elsewhere")

    def corpus(self) -> Corpus:
        """Open the corpus."""
        alphabet, longest = Alphabet(self.model.symbols), self.recipe.max_length
        return open_corpus(self.data, alphabet=alphabet, max_length=longest, text_column=self.text_column)

    def located(self) -> "Training":
        """Return the training with absolute paths, so that it can be resumed from any working directory."""
        init = self.init
        if init is not None and init not in bundled() and user_path(init).is_dir():
            init = str(user_path(init).absolute())
        return replace(self, data=located(self.data), init=init)

    def trained_on(self, sha256: str, *, allow_changed: bool = False) -> "Training":
        """Return the training with the fingerprint of its corpus; raise if that is not the one it started with."""
        if self.data_sha256 in (None, sha256):
            return replace(self, data_sha256=sha256)
        if not allow_changed:
            options = f"--out {shlex.quote(str(self.folder))} --data {shlex.quote(self.data)} --allow-changed-data"
            raise AliceError(
                f"{self.data} is not what {self.folder} was trained on before; give the same texts with --data, "
                f"or continue on these with: alice-interp train --resume {options}"
            )
        step = read_counters(self.folder).step if (self.folder / STATE).exists() else 0
        earlier = {"data_sha256": self.data_sha256, "until": step}
        return replace(self, data_sha256=sha256, earlier_data=(*self.earlier_data, earlier))

    @contextmanager
    def claimed(self, *, new: bool) -> Iterator[None]:
        """Create the folder and lock it during a block, so that no other process trains in it."""
        make_folder(self.folder)
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self.folder))
            except BlockingIOError as error:
                raise FolderBusyError(
                    f"another process is training in {self.folder}; wait for it, or choose another folder"
                ) from error
            if new:
                self.check_new()
            yield

    def describe(self) -> None:
        """Write training.json, before any other file: a folder that has it can be resumed."""
        remove_drafts(make_folder(self.folder))
        described: dict[str, Any] = {"data": self.data, **self._fingerprints(), "text_column": self.text_column}
        described |= {"init": self.init, "recipe": self.recipe.to_dict(), "model": self.model.to_dict()}
        if self.init is not None and saw_validation(self.init):
            described["saw_validation"] = True  # the checkpoint of that name may be replaced later
        write_json(self.folder / TRAINING, described | {"before": vars(self._before())})

    def totals(self) -> Totals:
        """Return what has been spent on the weights, including those that the training started from."""
        counters, before = read_counters(self.folder), self._before()
        hours = round(before.core_hours + counters.core_seconds / 3600, 2)
        return Totals(before.steps + counters.step, before.tokens + counters.tokens, hours)

    def summary(self) -> dict[str, Any]:
        """Return the training.json of an exported checkpoint, without the paths of this machine."""
        start: dict[str, Any] = {}
        if self.init is not None:
            start = {"started_from": Path(self.init).name, "before": vars(self._before())}
            start |= {"saw_validation": True} if saw_validation(self.folder) else {}
        described = {"data": source_name(self.data), **self._fingerprints()}
        described |= {"recipe": self.recipe.to_dict(), "model": self.model.to_dict()}
        return described | {"totals": vars(self.totals())} | start

    def log(self) -> bytes:
        """Return the contents of metrics.jsonl; raise if it is missing or damaged."""
        read_metrics(self.folder)
        return (self.folder / METRICS).read_bytes()

    def _fingerprints(self) -> dict[str, Any]:
        """Return what is known about the contents of the corpus, for training.json."""
        found: dict[str, Any] = {} if self.data_sha256 is None else {"data_sha256": self.data_sha256}
        return found | ({"earlier_data": list(self.earlier_data)} if self.earlier_data else {})

    def _before(self) -> Totals:
        """Return what had been spent on the weights that the training started from."""
        if (self.folder / TRAINING).exists():
            return _read_totals(self.folder, "before")
        if self.init is None or not (resolve(self.init) / TRAINING).exists():
            return Totals()
        start = resolve(self.init)
        if (start / STATE).exists():  # a training, not an exported checkpoint
            return Training.open(start, {}).totals()
        return _read_totals(start, "totals")


def read_description(folder: Path) -> dict[str, Any]:
    """Read the training.json of a training or of an exported checkpoint."""
    path = folder / TRAINING
    try:
        found = read_json(path)
    except FileNotFoundError as error:
        raise AliceError(
            f"{folder} does not hold a training to resume (it has no {TRAINING}); start without --resume"
        ) from error
    except (OSError, ValueError) as error:
        raise AliceError(f"{path} cannot be read ({error}); start a new training") from error
    if not isinstance(found, dict):
        raise AliceError(f"{path} cannot be read (it is not a JSON object); start a new training")
    shapes = _SHAPES | {name: shape for name, shape in _OPTIONAL_SHAPES.items() if name in found}
    for name, shape in shapes.items():
        if not isinstance(found.get(name), shape):
            raise AliceError(f"{path} cannot be read ({name} is {found.get(name)!r:.60}); start a new training")
    for one in found.get("earlier_data", ()):
        if not isinstance(one, dict) or not _is_count(one.get("until"), whole=True):
            raise AliceError(f"{path} cannot be read (earlier_data has {one!r:.60}); start a new training")
    return found


def saw_validation(checkpoint: str | Path) -> bool:
    """Return whether a checkpoint, or one that it started from, was trained on validation texts, as far as is known."""
    start: Any = str(checkpoint)
    looked_at: set[Path] = set()
    while isinstance(start, str) and (start in bundled() or user_path(start).is_dir()):
        folder = resolve(start)
        if folder in looked_at or not (folder / TRAINING).exists():
            return False
        looked_at.add(folder)
        described = read_description(folder)
        if described.get("saw_validation") or described["recipe"].get("held_out") != "validation":
            return True
        start = described.get("init") or described.get("started_from")
    return False


def training_differences(checkpoints: Mapping[str, str | Path | None]) -> str:
    """Say how the trainings of checkpoints, by name, differ; nothing if all had the same texts, recipe and budget."""
    found = {name: _how_trained(checkpoint) for name, checkpoint in checkpoints.items()}
    if None not in found.values() and len({key for key, _ in filter(None, found.values())}) == 1:
        return ""
    return "; ".join(f"{name}: {how[1] if how else 'no record of its training'}" for name, how in found.items())


def _how_trained(checkpoint: str | Path | None) -> tuple[str, str] | None:
    """Return what must be equal in trainings that are compared, as JSON, and the budget in words; None if unknown."""
    folder = None if checkpoint is None else resolve(checkpoint)
    if folder is None or not (folder / TRAINING).exists():
        return None
    described = read_description(folder)
    recipe = Recipe.from_dict(described["recipe"], where=str(folder / TRAINING)).to_dict()
    used = Training.open(folder, {}).totals() if (folder / STATE).exists() else _read_totals(folder, "totals")
    start = described.get("init") or described.get("started_from")
    size = {name: described["model"].get(name) for name in ("d_model", "n_layers", "n_heads", "d_mlp", "symbols")}
    fixed = {name: value for name, value in recipe.items() if name not in CHANGEABLE}
    same = [source_name(described["data"]), described.get("data_sha256"), fixed, used.steps, used.tokens, start, size]
    words = f"{used.steps:,} steps, {used.tokens:,} characters" + (f", some of them of {start}" if start else "")
    return json.dumps(same), words


def _read_totals(folder: Path, name: str) -> Totals:
    """Read what was spent on weights from training.json."""
    found = read_description(folder).get(name, {})
    for field, default in vars(Totals()).items():
        if not _is_count(found.get(field, 0), whole=isinstance(default, int)):
            raise AliceError(f"{folder / TRAINING} cannot be read ({field} is {found[field]!r:.60}); correct it")
    return Totals(**{field: found[field] for field in vars(Totals()) if field in found})


def _is_count(value: Any, *, whole: bool) -> bool:
    """Return whether a value from JSON can be a counter."""
    wanted = int if whole else (int, float)
    return isinstance(value, wanted) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT


class MetricsLog:
    """Writes metrics.jsonl, one JSON object per line; every row has its step."""

    def __init__(self, folder: Path, *, resume_at: int) -> None:
        self._path = folder / METRICS
        rows = [row for row in read_metrics(folder) if row["step"] <= resume_at] if self._path.exists() else []
        self.kept = {row["step"] for row in rows if KEPT in row}
        with atomic_write(self._path) as file:  # steps after the last checkpoint of a killed process are repeated
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def append(self, row: dict[str, Any]) -> None:
        """Append a row and flush it."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise AliceError(f"cannot write {self._path} ({error.strerror}); free some space, then resume") from error


def kept_checkpoints(folder: Path) -> dict[int, Path]:
    """Return the checkpoints of a training by ascending step: those of `--keep-steps` and its last weights."""
    inside = (path for path in (folder / STEPS).glob("*") if path.name.isdecimal() and (path / CONFIG).exists())
    kept = {int(path.name): path for path in inside}
    if (folder / CONFIG).exists():
        step = read_counters(folder).step if (folder / STATE).exists() else read_metrics(folder)[-1]["step"]
        kept[step] = folder
    return dict(sorted(kept.items()))


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of metrics.jsonl, leaving out a last line that a crash cut off."""
    rows = []
    path = folder / METRICS
    try:
        lines = regular_file(path).read_bytes().splitlines()
    except FileNotFoundError as error:
        raise AliceError(f"{folder} has no {METRICS}; resume the training for some steps, which writes it") from error
    except OSError as error:
        raise AliceError(f"{path} cannot be read ({error.strerror}); check the file") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_json(line.decode())
        except ValueError as error:  # also if it is not UTF-8
            if number == len(lines):
                break
            raise AliceError(f"{path}, line {number} is not JSON; the file was changed or damaged") from error
        if not isinstance(row, dict) or not _is_count(row.get("step"), whole=True):
            raise AliceError(f"{path}, line {number} has no step; the file was changed or damaged")
        if wrong := [name for name, value in row.items() if not _is_logged(name, value)]:
            raise AliceError(f"{path}, line {number} has no number for {wrong[0]!r:.60}; it was changed or damaged")
        rows.append(row)
    return rows


def latest_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the last rows of metrics.jsonl, for a screen; none if it cannot be read just now."""
    rows = []
    try:
        with regular_file(folder / METRICS).open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - LATEST_BYTES)
            file.seek(start)
            lines = file.read().split(b"\n")[1 if start else 0 : -1]  # without incomplete lines
        rows = [parse_json(line.decode()) for line in lines]
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict) and _is_count(row.get("step"), whole=True)]


def _is_logged(name: str, value: Any) -> bool:
    """Return whether a value from JSON is a number, or the error rates by length."""
    numbers = value.values() if name == "ser" and isinstance(value, dict) else [value]
    least = _LEAST.get(name, -LARGEST_NUMBER)
    return all(
        isinstance(number, int | float) and not isinstance(number, bool) and least <= number <= LARGEST_NUMBER
        for number in numbers
    )
