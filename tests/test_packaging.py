"""What is built is what is here, and it works where the repository is not."""

import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"alice": "alice", "probes": "alice/probes", "plugins": "alice/plugins", "reports": "alice/reports"}
ROOMS |= {"benchmarks": "alice/bench"}
LINKS = tuple(Path(inside).name for room, inside in ROOMS.items() if room != "alice")
NOT_CODE = {"__pycache__"}


def wanted_files() -> set[str]:
    """Return every tracked file of the rooms, but for a page about one, by its place in the wheel."""
    tracked = subprocess.run(["git", "ls-files", "-z", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True)
    files = (Path(name) for name in tracked.stdout.split("\0") if name and Path(name).name != "README.md")
    return {str(Path(ROOMS[file.parts[0]], *file.parts[1:])) for file in files if not (ROOT / file).is_symlink()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and from it the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_every_folder_with_code_is_listed():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        ".".join(Path(ROOMS[room], path.parent.relative_to(ROOT / room)).parts)
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
        if room != "alice" or path.relative_to(ROOT / "alice").parts[0] not in LINKS
    }
    assert listed == found


def test_the_wheel_has_every_file_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == wanted_files()


def test_the_sdist_has_every_file(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    rooms = {inside: room for room, inside in reversed(ROOMS.items())}
    for name in wanted_files():
        inside = max((prefix for prefix in rooms if name.startswith(f"{prefix}/")), key=len)
        assert name.replace(inside, rooms[inside], 1) in names, name


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_works_installed_without_the_repository(built, kind, tmp_path):
    (package,) = built.glob(kind)
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    # The dependencies are those of the running suite: only our package is new here.
    (site,) = (environment / "lib").glob("python*/site-packages")
    here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    pip = [python, "-m", "pip"]
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "setuptools"], check=True, capture_output=True)  # too old
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", package]
    (site / "dependencies.pth").write_text(f"{here}\n")
    subprocess.run(install, check=True, capture_output=True, cwd=tmp_path)
    where = subprocess.run(
        [python, "-c", "import alice, alice.plugins, alice.probes, alice.reports; print(alice.__file__)"],
        check=True, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(environment)
    shown = subprocess.run(
        [environment / "bin" / "alice-interp", "--help"], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert "solves substitution ciphers" in shown.stdout
