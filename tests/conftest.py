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
