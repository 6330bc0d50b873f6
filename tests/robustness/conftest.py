"""Inputs for commands, a folder to work in, and a disk to mount."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from robustness.commands import Inputs
from robustness.jobs import CORPUS
from trainings import write_corpus


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    """Let child processes import the modules in tests/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    write_corpus(tmp_path / CORPUS)
    return tmp_path


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Everything that the commands read."""
    return Inputs.write(tmp_path_factory.mktemp("inputs"))


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], bool]]:
    """Mount a separate disk at `disk`, with the cache on it; return whether mounting is permitted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(folder / "cache"))

    def mount(options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "alice-interp-test", str(folder)]
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", str(folder)], check=True)
