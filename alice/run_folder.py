"""A training run as it lies on disk: what it trains, how, on what, and how much has gone into it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alice.checkpoint import read_config, resolve
from alice.config import ModelConfig
from alice.errors import AliceError
from alice.files import atomic_write
from alice.recipe import Recipe
from alice.training_state import TrainingState

ABOUT = "training.json"
CHANGEABLE = {"steps", "hours", "save_minutes", "eval_every", "eval_texts", "log_every", "precision", "compile"}
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
    init: str | None = None
    """Checkpoint that the run starts from; fresh weights without it."""

    @classmethod
    def open(cls, folder: Path, changes: dict[str, Any]) -> "Run":
        """Read the run of a folder to go on with it, with the changes that the user asks for."""
        about = read_about(folder)
        saved = Recipe.from_dict(about["recipe"], where=str(folder / ABOUT))
        for name, value in changes.items():
            if name not in CHANGEABLE and value != getattr(saved, name):
                raise AliceError(
                    f"{folder} was started with {name}={getattr(saved, name)}, not {value}; "
                    "resume without it or start a new run"
                )
        if changes.keys() & {"steps", "hours"}:
            changes = {"steps": None, "hours": None} | changes
        return cls(read_config(folder), replace(saved, **changes), about["data"], folder)

    def check_new(self) -> None:
        """Refuse to start where a run is already."""
        if (self.folder / ABOUT).exists():
            raise AliceError(
                f"{self.folder} holds a run already; add --resume to go on with it, or choose another folder"
            )

    def describe(self, cores: int) -> None:
        """Write what the run is; a folder that has this file can be resumed."""
        about = {"data": self.data, "recipe": self.recipe.to_dict(), "cores": cores, "before": vars(self._before())}
        write_about(self.folder, about)

    def totals(self) -> Totals:
        """Return what has gone into the weights, those the run started from included."""
        counters, before = TrainingState.read(self.folder).counters, self._before()
        cores = read_about(self.folder).get("cores", 1)
        hours = before.core_hours + cores * counters.seconds / 3600
        return Totals(before.steps + counters.step, before.tokens + counters.tokens, round(hours, 2))

    def _before(self) -> Totals:
        """Return what had gone into the weights that the run started from."""
        if (self.folder / ABOUT).exists():
            return Totals(**read_about(self.folder).get("before", {}))
        if self.init is not None and (resolve(self.init) / ABOUT).exists():
            return Totals(**read_about(resolve(self.init)).get("totals", {}))
        return Totals()


def read_about(folder: Path) -> dict[str, Any]:
    """Read the description of a run or of an exported checkpoint."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return {**about, "data": str(about["data"]), "recipe": dict(about["recipe"])}
    except FileNotFoundError as error:
        raise AliceError(f"{folder} holds no run to resume (it has no {ABOUT}); start without --resume") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AliceError(f"{folder / ABOUT} cannot be read ({error}); start a new run") from error


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write the description of a run or of an exported checkpoint."""
    with atomic_write(folder / ABOUT) as file:
        json.dump(about, file, indent=2)
        file.write("\n")
