"""Tiny models of every variant, and texts to read with them."""

import os
import signal

# Threads of torch that wait must not spin: the processes of the suite already use all cores. Read when torch is loaded.
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

import pytest
import torch
from tiny import tiny

from alice.model import Alice
from alice.model.config import VARIANTS

# A shell that runs the suite in the background has it ignore Ctrl-C, and so would every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOWEST_FILES = (
    *("test_tutorial.py", "test_notebooks.py", "test_readme.py", "test_every_analysis.py", "test_resuming.py"),
    *("test_two_processes.py", "test_kills.py", "test_long_memory.py", "test_run.py", "test_determinism.py"),
    *("test_onnx_file.py", "test_compiling.py"),
)
"""Files that take longest. They come first, so that no worker is left with one of them when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first, the rest in their order."""
    place = {name: number for number, name in enumerate(SLOWEST_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest) -> Alice:
    """A tiny model of each variant in turn."""
    return tiny(request.param)


@pytest.fixture
def base() -> Alice:
    """A tiny model with the linear head."""
    return tiny("base")


@pytest.fixture
def bijective() -> Alice:
    """A tiny model with the permutation head."""
    return tiny("bijective")


@pytest.fixture
def ids(base: Alice) -> torch.Tensor:
    """Two texts of different lengths in one padded batch."""
    return base.to_tokens(["NOBODY READS THIS, NOT EVEN YOU.", "A SHORT ONE"])
