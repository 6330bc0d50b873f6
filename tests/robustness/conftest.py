"""A place to work in, for what is knocked about in these tests."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from robustness.commands import Desk
from robustness.jobs import CORPUS
from trainings import write_corpus


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    """Let processes that a test starts import what lies beside the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a corpus in it."""
    write_corpus(tmp_path / CORPUS)
    return tmp_path


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """What the commands need."""
    return Desk.lay(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], bool]]:
    """Mounts a disk of its own at `disk`, and says whether that is allowed; the cache is on it."""
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
