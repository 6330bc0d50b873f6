"""A context whose activation store belongs to one test."""

from pathlib import Path

import pytest

from alice.model import Alice
from alice.plugins import RunContext
from alice.plugins.conformance import tiny_context


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all stores of this test."""
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ALICE_INTERP_CACHE_LIMIT", raising=False)
    return tmp_path / "cache" / "activations"


@pytest.fixture
def ctx(tiny_alice: Alice, cache: Path) -> RunContext:
    """A context over 40 texts that stores into `cache`."""
    return tiny_context(tiny_alice, texts=40)
