"""The oldest versions that the ranges of pyproject.toml admit: `python tests/oldest.py` prints them as pins.

`python tests/oldest.py --try FOLDER` installs the package with them into a new environment, which needs a package
index, and there imports everything, solves a cryptogram, runs, verifies and renders analyses, trains for two steps and
writes an explorer page.
"""

import argparse
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
IMPORTS = "import alice.plugins.builtin.lens, alice.probes, alice.reports, alice.training, alice.front_door, datasets"
CIPHER = "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ"
COMMANDS = (
    ("--version",),
    ("plugins",),
    ("solve", "--solver", "model", CIPHER),
    ("solve", CIPHER),
    ("run", "early-exit", "--ckpt", "base", "--samples", "5", "--out", "runs"),
    ("verify", "RUN"),
    ("report", "RUN", "--force"),
    (
        "run",
        "probe",
        "--ckpt",
        "base",
        "--target",
        "vowel",
        "--samples",
        "8",
        "--repeats",
        "1",
        "--erasures",
        "1",
        "--epochs",
        "1",
    ),
    ("train", "--preset", "tiny", "--steps", "2", "--device", "cpu", "--out", "training"),
    ("explore", "--out", "explore.html"),
)
"""Arguments of `alice-interp`, which runs in an empty folder; RUN stands for the first report in `runs`."""


def requirements() -> list[Requirement]:
    """Return what the package needs at run time."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [Requirement(line) for line in described["project"]["dependencies"]]


def oldest(requirement: Requirement) -> str:
    """Return the lowest version that a requirement admits as a pin; its range must name that version."""
    bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==")]
    if len(bounds) != 1:
        raise ValueError(f"{requirement} has no single lower bound; write it as name>=version")
    return f"{requirement.name}=={bounds[0]}"


def pins() -> list[str]:
    """Return the pins of all requirements."""
    return [oldest(requirement) for requirement in requirements()]


def try_them(folder: Path) -> None:
    """Install the package with the oldest versions into an environment in a folder, and use it."""
    venv.create(folder, with_pip=True, clear=True)
    python = str(folder / "bin" / "python")
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*install, *(pin for pin in pins() if pin.startswith("torch==")))  # first: any other version is gigabytes
    _run(*install, str(ROOT), *pins())
    _run(python, "-m", "pip", "check")
    empty = folder / "empty"
    empty.mkdir()
    _run(python, "-c", IMPORTS, where=empty)
    for arguments in COMMANDS:
        _run(str(folder / "bin" / "alice-interp"), *(_named(word, empty) for word in arguments), where=empty)


def _named(word: str, folder: Path) -> str:
    return str(next((folder / "runs").glob("*/result.json")).parent) if word == "RUN" else word


def _run(*command: str, where: Path | None = None) -> None:
    print("+", *command, flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, cwd=where, env=environment)


def main() -> None:
    """Print the pins, or try them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--try", dest="folder", type=Path, metavar="FOLDER", help="where to make an environment")
    folder = parser.parse_args().folder
    if folder is None:
        print("\n".join(pins()))
        return
    try_them(folder.absolute())
    print(f"the oldest versions work: {', '.join(pins())}")


if __name__ == "__main__":
    sys.exit(main())
