"""docs/dependencies.md lists every direct dependency in its pinned version."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
UNPINNED = {"atheris"}
"""Needed for fuzzing only, and not available for every Python."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normal(name): version for name, version in pairs}


def direct() -> set[str]:
    optional = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    return {normal(re.split(r"[^\w.-]", line)[0]) for line in [*PROJECT["dependencies"], *optional]}


def listed() -> dict[str, str]:
    return {
        normal(name): version for name, version in re.findall(r"^\| ([\w.-]+) \| (\d[\w.]*) \|", PAGE, re.MULTILINE)
    }


def test_exactly_the_direct_dependencies_are_listed():
    assert set(listed()) == direct() - UNPINNED
    assert all(f"`{name}`" in PAGE for name in UNPINNED)


@pytest.mark.parametrize("name", sorted(direct() - UNPINNED))
def test_the_listed_version_is_the_pinned_one(name):
    assert listed()[name] == pinned()[name]


def test_every_pin_is_exact():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+]+", line)] == []
