"""Trainings that the package contains, which options name as `bundled:NAME`."""

from importlib.resources import files
from pathlib import Path

from alice.errors import AliceError

PREFIX = "bundled:"
RUN_SET = Path(str(files("alice"))) / "plugins" / "reproduce" / "run_set"
"""Small models of the three variants with the same training, and folders with the logs of trainings."""


def bundled_trainings() -> dict[str, Path]:
    """Return the trainings of the package, and folders of them, by the names that options give them."""
    return {f"{PREFIX}{path.name}": path for path in sorted(RUN_SET.glob("*")) if path.is_dir()}


def locate_trainings(folder: Path) -> Path:
    """Return the folder that `bundled:NAME` stands for, and any other path as it is."""
    name = str(folder)
    if not name.startswith(PREFIX):
        return folder
    known = bundled_trainings()
    if name not in known:
        raise AliceError(f"there are no trainings {name!r:.100}; the package has {', '.join(known) or 'none'}")
    return known[name]
