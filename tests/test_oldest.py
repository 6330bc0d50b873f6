"""The ranges in pyproject.toml begin where something was tried; the long form tries it again."""

import pytest
from oldest import ROOT, oldest, pins, requirements, try_them
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from robustness.killing import LONG


def exact_versions():
    """Return the versions of constraints.txt by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def test_every_range_has_one_lower_bound_and_admits_it():
    for requirement, pin in zip(requirements(), pins(), strict=True):
        name, version = pin.split("==")
        assert name == requirement.name
        assert version in requirement.specifier


@pytest.mark.parametrize("line", ["torch", "torch<3", "torch>2", "torch>=2,==2.1"])
def test_a_range_without_one_lower_bound_is_an_error(line):
    with pytest.raises(ValueError, match="no single lower bound"):
        oldest(Requirement(line))


def test_the_tested_versions_are_inside_of_the_ranges():
    exact = exact_versions()
    for requirement in requirements():
        assert exact[canonicalize_name(requirement.name)] in requirement.specifier, requirement


@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="installs packages from an index; ALICE_LONG=1 runs it")
def test_the_oldest_versions_work(tmp_path):
    try_them(tmp_path / "oldest")
