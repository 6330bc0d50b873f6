"""The rooms: imports point one way, files and functions stay readable, and the command line answers without torch."""

import ast
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from alice.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
BASICS = (
    "alice.errors",
    "alice.files",
    "alice.cache",
    "alice.outputs",
    "alice.lazy",
    "alice.fields",
    "alice.statistics",
    "alice.timing",
    "alice.cluster",
)
"""Modules without a room, which any room may import."""
ORDER = (
    *BASICS,
    "alice.text",
    "alice.metrics",
    "alice.model",
    "alice.checkpoint",
    "alice.causal",
    "alice.solving",
    "alice.training",
    "alice.planted",
    "alice.baselines",
    "alice.probes",
    "alice.reports",
    "alice.plugins",
    "alice.plugins.builtin",
    "alice.plugins.reproduce",
    "alice.bench",
    "alice.front_door",
    "alice.verifying",
    "alice.cli",
    "alice",
)
"""Every room imports only itself and those before it. `alice` itself is the front door, `alice/__init__.py`."""
LINKED = {"alice.probes": "probes", "alice.reports": "reports", "alice.plugins": "plugins", "alice.bench": "benchmarks"}
ROOMS_WITH_EXPORTS = (
    "alice.text",
    "alice.model",
    "alice.checkpoint",
    "alice.causal",
    "alice.solving",
    "alice.training",
    "alice.planted",
    "alice.baselines",
    "alice.probes",
)
EXCEPTIONS = {("alice/model/model.py", "alice.checkpoint")}
"""`Alice.from_pretrained` reads a checkpoint."""
REPORTS_MAY_IMPORT = {"alice.reports", "alice.errors", "alice.files", "alice.outputs", "alice.lazy"}
LONGEST_FILE, LONGEST_FUNCTION, LARGEST_FOLDER = 400, 40, 16
ONE_FILE_EACH = {"alice/cli": 18, "benchmarks": 19}
"""Folders with a file per command or benchmark, which may hold more."""
HEAVY = {"torch", "transformer_lens", "accelerate", "datasets", "pyarrow", "pandas", "plotly", "sklearn", "scipy"}
LIGHT_COMMANDS = [
    ["--version"],
    ["--help"],
    *([name, "--help"] for name in COMMANDS),
    ["data", "prepare", "--help"],
    ["run", "early-exit", "--help"],
    ["plugins"],
]


def name_of(path: Path) -> str:
    """Return the module of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    linked = {folder: room for room, folder in LINKED.items()}
    name = ".".join([linked.get(parts[0], parts[0]), *parts[1:]])
    return name.removesuffix(".__init__")


def room_of(module: str) -> str:
    """Return the room, or the module without one, that a module of ours belongs to."""
    return max((room for room in ORDER if module == room or module.startswith(room + ".")), key=len)


def our_files() -> list[Path]:
    """Return all files of the package; the links in alice/ lead to folders that are listed themselves."""
    folders = [path for path in (ROOT / "alice").iterdir() if path.is_dir() and not path.is_symlink()]
    folders += [ROOT / folder for folder in LINKED.values()]
    inside = (path for folder in folders for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted([*(ROOT / "alice").glob("*.py"), *inside])


FILES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in our_files()}


def imports(tree: ast.AST) -> set[str]:
    """Return the modules that a file imports, or names in them, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import; write the full name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_imports_point_one_way():
    faults = []
    for path, tree in FILES.items():
        place, rank = str(path.relative_to(ROOT)), ORDER.index(room_of(name_of(path)))
        rooms = {module: room_of(module) for module in imports(tree) if module.split(".")[0] == "alice"}
        faults += [
            f"{place} imports {module}"
            for module, room in rooms.items()
            if ORDER.index(room) > rank and (place, room) not in EXCEPTIONS
        ]
    assert faults == []


def exported(room: str) -> set[str]:
    """Return the names that a room re-exports for type checkers."""
    tree = FILES[ROOT / Path(*LINKED.get(room, room).split(".")) / "__init__.py"]
    return {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names} - {
        None
    }


@pytest.mark.parametrize("room", ROOMS_WITH_EXPORTS)
def test_a_room_exports_what_it_says_and_others_import_it_from_there(room):
    names = exported(room)
    assert names
    assert all(hasattr(import_module(room), name) for name in names)
    faults = [
        f"{path.relative_to(ROOT)}: from {node.module} import {alias.name}"
        for path, tree in FILES.items()
        if room_of(name_of(path)) != room
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{room}.")
        for alias in node.names
        if alias.name in names
    ]
    assert faults == []


def test_reports_import_neither_another_room_nor_anything_that_computes():
    for path, tree in FILES.items():
        if room_of(name_of(path)) == "alice.reports":
            ours = {room_of(module) for module in imports(tree) if module.split(".")[0] == "alice"}
            assert ours <= REPORTS_MAY_IMPORT, path
            assert not {module.split(".")[0] for module in imports(tree)} & (HEAVY - {"pandas", "plotly"}), path


def test_files_and_functions_are_short():
    faults = []
    for path, tree in FILES.items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            faults.append(f"{path.relative_to(ROOT)} has {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                if length > LONGEST_FUNCTION:
                    faults.append(f"{node.name} in {path.relative_to(ROOT)} has {length} lines")
    assert faults == []


def test_folders_are_small():
    sizes = Counter(str(path.parent.relative_to(ROOT)) for path in FILES if path.name[:2] != "__")
    too_large = {folder: size for folder, size in sizes.items() if size > ONE_FILE_EACH.get(folder, LARGEST_FOLDER)}
    assert too_large == {}


@pytest.mark.parametrize("room", LINKED)
def test_the_rooms_are_linked_into_the_package(room):
    link = ROOT / room.replace(".", "/")
    assert link.is_symlink()
    assert link.resolve() == ROOT / LINKED[room]


def test_help_and_lists_import_nothing_heavy():
    program = f"""
import sys
from alice.cli import main
for arguments in {LIGHT_COMMANDS!r}:
    try: main(arguments, prog_name="alice-interp")
    except SystemExit as end: assert not end.code, arguments
    heavy = sorted({HEAVY!r} & set(sys.modules))
    assert not heavy, (arguments, heavy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
