"""The built packages hold every file, and work without the repository."""

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


def wanted_files() -> set[str]:
    """Return every tracked file of the rooms except their READMEs, by its path in the wheel."""
    tracked = subprocess.run(["git", "ls-files", "-z", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True)
    files = (Path(name) for name in tracked.stdout.split("\0") if name and Path(name).name != "README.md")
    return {str(Path(ROOMS[file.parts[0]], *file.parts[1:])) for file in files if not (ROOT / file).is_symlink()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from the sdist."""
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


def test_it_works_installed_without_the_repository(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    environment = tmp_path / "venv"
    venv.create(environment)
    python, program = environment / "bin" / "python", environment / "bin" / "alice-interp"
    # The dependencies are those of the running suite; only our package is installed.
    (site,) = (environment / "lib").glob("python*/site-packages")
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{here}\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    output(*pip, where=tmp_path)
    where = "import alice, alice.plugins, alice.probes, alice.reports; print(alice.__file__)"
    assert Path(output(python, "-c", where, where=tmp_path).strip()).is_relative_to(environment)
    assert "solves substitution ciphers" in output(program, "--help", where=tmp_path)
    assert "alice-interp run" in output(program, "run", "--help", where=tmp_path)


def output(*command, where):
    """Run a program in a folder and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=where).stdout
