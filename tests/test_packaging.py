"""The built packages hold every file, and work without the repository."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from alice.plugins.scaffold import write_project

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"alice": "alice", "probes": "alice/probes", "plugins": "alice/plugins", "reports": "alice/reports"}
ROOMS |= {"benchmarks": "alice/bench"}
LINKS = tuple(Path(inside).name for room, inside in ROOMS.items() if room != "alice")
EXAMPLE = ROOT / "examples" / "alice-interp-vowels"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""The environment without a path to the repository."""
LARGEST_WHEEL = 40_000_000
"""Bytes."""
WRONG = """
import alice
from alice.plugins import Metric, Result, RunContext

def misuse(ctx: RunContext) -> Result:
    alice.load(3)  # wrong
    alice.solve("RJ HRIF").anything  # wrong
    ctx.sample("five")  # wrong
    Metric("name", 0.5, unit=7)  # wrong
    return ctx.checkpoint  # wrong
"""
"""A module with mistakes; only those lines may be reported, or the types are not seen."""
RIGHT = """
from collections.abc import Callable, Iterable, Mapping
from typing import assert_type

import alice
import numpy as np
from alice.model import Alice
from alice.plugins import Analysis, Metric, Report, Result, RunContext, Table, hookspecs
from alice.plugins.solvers import SolverSetup
from alice.text import Alphabet, Corpus
from alice_interp_norms import Norms
from alice_interp_vowels import Vowels

analyses: Callable[[], Iterable[type[Analysis]]] = hookspecs.register_analyses
corpora: Callable[[], Mapping[str, Callable[[Alphabet], Corpus]]] = hookspecs.register_corpora
solvers: Callable[[], Mapping[str, Callable[[SolverSetup], Callable[[str], str]]]] = hookspecs.register_solvers
ours: list[type[Analysis]] = [Norms, Vowels]
run: Callable[[Analysis, RunContext], Result] = Analysis.run

def use(ctx: RunContext, setup: SolverSetup) -> Result:
    assert_type(ctx.sample(5).after(2).joined(64).training(3), RunContext)
    assert_type((ctx.model, ctx.checkpoint, ctx.alphabet), tuple[Alice, str, Alphabet])
    assert_type((ctx.each, ctx.rng, ctx.seed), tuple[tuple[RunContext, ...], np.random.Generator, int])
    assert_type((ctx.plaintexts, ctx.training_texts(3)), tuple[list[str], list[str]])
    assert_type(list(ctx.map(len, ["A", "B"], "Reading")), list[int])
    assert_type(list(ctx.progress([1], "Reading", total=1)), list[int])
    for stream in (ctx.activations("hook_embed", grad=True), ctx.store("hook_embed")):
        assert_type(stream.names, list[str])
    assert_type(ctx.resumable("sums", {"steps": 5}).array("sum", lambda: np.zeros(3)).size, int)
    ctx.pairs("other-text"), ctx.lens("folder")
    assert_type((setup.model(), setup.training_texts(3)[0], setup.seed, setup.tries), tuple[Alice, str, int, int])
    assert_type((alice.load("base"), alice.run("norms", "base", samples=5)), tuple[Alice, Report])
    table = Table(("model", "value"), [("base", 0.5)], "What it shows.", labels={"value": "a value"})
    metric = Metric("value", 0.5, unit="%", model="base", label="a value")
    return Result("Title", summary="", caveats="", metrics=[metric], tables={"values": table}, figures={}, arrays={})
"""
"""A module that uses the plugin interface as authors may; it stops being right when a signature of it changes."""
COMPILE = """
import sys
import pathlib
names = sys.stdin.read().splitlines()
print(sum(compile(pathlib.Path(name).read_bytes(), name, "exec") is not None for name in names))
"""


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


def test_the_sdist_has_what_the_readme_names_and_no_part_of_the_tests(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    linked = set(re.findall(r"\]\(([^)#:]+)[)#]", (ROOT / "README.md").read_text()))
    assert linked
    assert linked | {"constraints.txt", "CHANGELOG.md"} <= names
    assert not [name for name in names if name.split("/")[0] == "tests" or "__pycache__" in name]


def test_the_wheel_is_small_and_adds_one_name_to_python(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < LARGEST_WHEEL
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"alice", f"alice_interp-{VERSION}.dist-info"}


def test_the_changelog_begins_with_the_version():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0].split()[1] == VERSION


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory):
    """An environment with the wheel; the dependencies are those of the running suite."""
    (wheel,) = built.glob("*.whl")
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder)
    (site,) = (folder / "lib").glob("python*/site-packages")
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{here}\n")
    python = folder / "bin" / "python"
    output(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel),
        where=folder,
    )
    return folder


def test_it_works_installed_without_the_repository(environment, tmp_path):
    python, program = environment / "bin" / "python", environment / "bin" / "alice-interp"
    where = "import alice, alice.plugins, alice.probes, alice.reports; print(alice.__file__)"
    assert Path(output(python, "-c", where, where=tmp_path).strip()).is_relative_to(environment)
    assert "solves substitution ciphers" in output(program, "--help", where=tmp_path)
    assert "alice-interp run" in output(program, "run", "--help", where=tmp_path)


def test_the_installed_program_says_its_version_without_torch(environment, tmp_path):
    script = "import sys; sys.modules['torch'] = None; from alice.cli.__main__ import run; run()"
    shown = output(environment / "bin" / "python", "-c", script, "--version", where=tmp_path)
    assert shown == f"alice-interp, version {VERSION}\n"


def checked_by_mypy(environment, project):
    """Check the modules of a project as its author would, against the installed package."""
    python, cache = environment / "bin" / "python", ROOT / ".mypy_cache" / "installed"
    options = ["--strict", "--python-executable", python, "--cache-dir", cache, "--config-file", os.devnull]
    command = [sys.executable, "-m", "mypy", *options, "."]
    return subprocess.run(command, capture_output=True, text=True, cwd=project, env=CLEAN).stdout


def test_authors_get_types_from_the_installed_package(environment, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for module in (*EXAMPLE.glob("*.py"), *write_project("norms", tmp_path).glob("*.py")):
        shutil.copy(module, project)
    (project / "right.py").write_text(RIGHT)
    (project / "wrong.py").write_text(WRONG)
    lines = checked_by_mypy(environment, project).splitlines()
    places = [line.split(": ")[0] for line in lines if ": error: " in line]
    assert places == [f"wrong.py:{number}" for number, line in enumerate(WRONG.splitlines(), 1) if "# wrong" in line]


def output(*command, where):
    """Run a program in a folder and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=where, env=CLEAN).stdout


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_source_compiles_without_a_warning_on_newer_pythons(version):
    """Warnings of the compiler, such as those of odd escapes, become errors in later versions."""
    command = [f"python{version}", "-W", "error", "-c", COMPILE]
    sources = [str(path) for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    try:
        chosen = os.environ | {"PYENV_VERSION": version}  # pyenv's programs fail unless their version is chosen
        done = subprocess.run(command, input="\n".join(sources), capture_output=True, text=True, env=chosen)
    except FileNotFoundError:
        pytest.skip(f"there is no Python {version} here")
    if "not found" in done.stderr:  # a version manager that knows the name but has no such Python chosen
        pytest.skip(f"there is no Python {version} here")
    assert (done.returncode, done.stderr, int(done.stdout)) == (0, "", len(sources))
