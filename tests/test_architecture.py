"""Imports point one way, and the command line answers without torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from alice.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"alice.cli": ROOT / "alice" / "cli", "alice.plugins": ROOT / "plugins", "alice.probes": ROOT / "probes"}
ROOMS |= {"alice.reports": ROOT / "reports", "alice.bench": ROOT / "benchmarks", "alice": ROOT / "alice"}
MAY_IMPORT = {
    "alice": {"alice"},
    "alice.reports": {"alice.reports"},
    "alice.probes": {"alice.probes", "alice"},
    "alice.plugins": {"alice.plugins", "alice.probes", "alice.reports", "alice"},
    "alice.bench": {"alice.bench", "alice.plugins", "alice.probes", "alice.reports", "alice"},
    "alice.cli": set(ROOMS),
}
FOR_EVERYBODY = {"alice.errors", "alice.files"}
"""Two modules without dependencies that any room may use."""
HEAVY = {"torch", "transformer_lens", "accelerate", "datasets", "pyarrow", "pandas", "sklearn", "scipy"}
LIGHT_COMMANDS = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]


def room_of(module: str) -> str:
    """Return the room that a module of ours belongs to."""
    return next(room for room in ROOMS if module == room or module.startswith(room + "."))


def files_of(room: str) -> list[Path]:
    """Return the files of a room; the links in alice/ lead to other rooms."""
    others = {path for name, path in ROOMS.items() if name != room}
    found = (path for path in ROOMS[room].rglob("*.py") if "__pycache__" not in path.parts)
    return [path for path in found if not any(other in path.parents for other in others if other != ROOT / "alice")]


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            found |= {node.module or ""} if node.module != "alice" else {f"alice.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room):
    files = files_of(room)
    assert files
    for path in files:
        for module in imports(path):
            if module.split(".")[0] == "alice" and module not in FOR_EVERYBODY:
                assert room_of(module) in MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports {module}"


def test_reports_know_neither_torch_nor_the_model():
    for path in files_of("alice.reports"):
        assert not {module.split(".")[0] for module in imports(path)} & (HEAVY | {"sklearn"}), path


@pytest.mark.parametrize("arguments", LIGHT_COMMANDS, ids=" ".join)
def test_help_never_imports_anything_heavy(arguments):
    program = (
        "import sys; from alice.cli import main\n"
        f"try: main({arguments!r}, prog_name='alice-interp')\n"
        "except SystemExit as end: assert not end.code\n"
        f"heavy = sorted({HEAVY!r} & set(sys.modules)); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=ROOT)


@pytest.mark.parametrize("link", ["probes", "plugins", "reports", "bench"])
def test_the_rooms_are_linked_into_the_package(link):
    assert (ROOT / "alice" / link).is_symlink()
    assert (ROOT / "alice" / link).resolve() == ROOMS[f"alice.{link}"]


def test_files_are_short():
    for room in ROOMS:
        for path in files_of(room):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 250, f"{path.relative_to(ROOT)} is long"
