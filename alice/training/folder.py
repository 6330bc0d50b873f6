"""A training run as it lies on disk: what it trains, how, on what, and how much has gone into it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alice.checkpoint.folder import CONFIG, WEIGHTS, resolve
from alice.errors import AliceError
from alice.files import atomic_write, held, make_folder, remove_drafts
from alice.model.config import ModelConfig
from alice.training.recipe import Recipe
from alice.training.state import STATE, TrainingState

ABOUT = "training.json"
BUDGET = ("steps", "hours")
"""Fields of the recipe that say when a run ends."""
CHANGEABLE = {*BUDGET, "save_minutes", "eval_every", "eval_texts", "log_every", "precision", "compile"}
"""What a resumed run may do differently; the rest would make it another run."""


@dataclass(frozen=True)
class Totals:
    """What a training has used."""

    steps: int = 0
    """Optimizer steps."""
    tokens: int = 0
    """Characters seen, padding not counted."""
    core_hours: float = 0.0
    """Hours times CPU cores or accelerators."""


@dataclass(frozen=True)
class Run:
    """One training run."""

    model: ModelConfig
    recipe: Recipe
    data: str
    folder: Path
    text_column: str | None = None
    """Column of the corpus with the texts."""
    init: str | None = None
    """Checkpoint that the run starts from; fresh weights without it."""

    @classmethod
    def open(cls, folder: Path, changes: dict[str, Any]) -> "Run":
        """Read the run of a folder to go on with it, with the changes that the user asks for."""
        about, where = read_about(folder), str(folder / ABOUT)
        saved = Recipe.from_dict(about["recipe"], where=where)
        for name, value in changes.items():
            if name not in CHANGEABLE and value != getattr(saved, name):
                raise AliceError(
                    f"{folder} was started with {name}={getattr(saved, name)}, not {value}; "
                    "resume without it or start a new run"
                )
        if changes.keys() & {"steps", "hours"}:
            changes = {"steps": None, "hours": None} | changes
        model = ModelConfig.from_dict(about["model"], where=where)
        return cls(model, replace(saved, **changes), about["data"], folder, about.get("text_column"), about.get("init"))

    def check_new(self) -> None:
        """Refuse to start where a run or a model is already."""
        if (self.folder / ABOUT).exists():
            raise AliceError(
                f"{self.folder} holds a run already; add --resume to go on with it, or choose another folder"
            )
        if taken := [name for name in (CONFIG, WEIGHTS, STATE) if (self.folder / name).exists()]:
            raise AliceError(f"{self.folder} holds a model already ({taken[0]}); choose another folder")

    @contextmanager
    def claimed(self, *, new: bool) -> Iterator[None]:
        """Make the folder and keep every other training out of it during a block, even one that began meanwhile."""
        make_folder(self.folder)
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self.folder))
            except BlockingIOError as error:
                raise AliceError(
                    f"another process is training in {self.folder}; wait for it, or choose another folder"
                ) from error
            if new:
                self.check_new()
            yield

    def describe(self) -> None:
        """Write what the run is, before anything else: a folder that has this file can be resumed."""
        remove_drafts(make_folder(self.folder))
        about = {"data": self.data, "text_column": self.text_column, "init": self.init}
        write_about(
            self.folder,
            about | {"recipe": self.recipe.to_dict(), "model": self.model.to_dict(), "before": vars(self._before())},
        )

    def totals(self) -> Totals:
        """Return what has gone into the weights, those the run started from included."""
        counters, before = TrainingState.read(self.folder).counters, self._before()
        hours = round(before.core_hours + counters.core_seconds / 3600, 2)
        return Totals(before.steps + counters.step, before.tokens + counters.tokens, hours)

    def _before(self) -> Totals:
        """Return what had gone into the weights that the run started from."""
        if (self.folder / ABOUT).exists():
            return Totals(**read_about(self.folder).get("before", {}))
        if self.init is None or not (resolve(self.init) / ABOUT).exists():
            return Totals()
        start = resolve(self.init)
        if (start / STATE).exists():  # a run, not an exported checkpoint
            return Run.open(start, {}).totals()
        return Totals(**read_about(start).get("totals", {}))


def read_about(folder: Path) -> dict[str, Any]:
    """Read the description of a run or of an exported checkpoint."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return {**about, "data": str(about["data"]), "recipe": dict(about["recipe"]), "model": dict(about["model"])}
    except FileNotFoundError as error:
        raise AliceError(f"{folder} holds no run to resume (it has no {ABOUT}); start without --resume") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AliceError(f"{folder / ABOUT} cannot be read ({error}); start a new run") from error


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write the description of a run or of an exported checkpoint."""
    with atomic_write(folder / ABOUT) as file:
        json.dump(about, file, indent=2)
        file.write("\n")
