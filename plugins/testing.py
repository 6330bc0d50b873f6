"""Fixtures for authors of plugins, given by pytest wherever alice-interp is installed.

`tiny_alice` is a model of two layers, `run_context` a context over it and some texts, and `check_analysis(MyAnalysis)`
holds an analysis to the rules. Pytest loads this module always, so it imports nothing heavy before a fixture needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from alice.model import Alice
    from alice.plugins.context import RunContext


@pytest.fixture
def tiny_alice() -> Alice:
    """A model of two layers and width 16 with random weights, the same in every test."""
    from alice.plugins.conformance import tiny_model

    return tiny_model("base")


@pytest.fixture
def run_context(tiny_alice: Alice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A context over the tiny model and 24 texts of English words; what it stores goes with the test."""
    from alice.plugins.conformance import tiny_context
    from alice.plugins.store_room import FOLDER_VARIABLE

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "alice-interp-cache"))
    return tiny_context(tiny_alice, texts=24)


@pytest.fixture(name="check_analysis")
def check_analysis_fixture() -> Callable[..., None]:
    """The function `check_analysis(MyAnalysis, **options)`, which fails where a rule is broken."""
    return check_analysis


def check_analysis(cls: type, *, variants: tuple[str, ...] = ("base", "bijective", "dynamic"), **options: Any) -> None:
    """Hold an analysis to the rules; an AssertionError says which one it breaks.

    Its options survive being written as JSON; for one seed it gives one result, whatever the state of the global
    generators; the result can be stored, read back and shown; it leaves no hook on the model and its weights unchanged;
    and its memory does not grow with the number of texts, which an option called `samples` may limit.

    Args:
        cls: the analysis.
        variants: kinds of model that it can read.
        options: its options, where the defaults are not to be tested.

    """
    from alice.plugins import conformance

    conformance.check(cls, variants, options)
