"""A pytest plugin for authors of plugins, available wherever alice-interp is installed.

`tiny_alice` is a model of two layers with random weights, `run_context` a context over it and some texts;
`trained_alice` and `trained_context` are the same for a small model that solves long texts.
`check_analysis(MyAnalysis)` checks an analysis against the rules. Pytest always loads this module, so heavy imports
wait until a fixture is used.
"""

from __future__ import annotations

import copy
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


@pytest.fixture(scope="session")
def _trained_model() -> Alice:
    from alice.plugins.conformance import trained_model

    return trained_model()


@pytest.fixture
def trained_alice(_trained_model: Alice) -> Alice:
    """A model of four layers and width 48 that has learnt to solve long texts of English, for causal tests.

    Each test has a copy of its own.
    """
    return copy.deepcopy(_trained_model)


@pytest.fixture
def trained_context(trained_alice: Alice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A context over the trained model and eight long texts of English, with a temporary activation store."""
    from alice.cache import FOLDER_VARIABLE
    from alice.plugins.conformance import trained_texts
    from alice.plugins.context import RunContext

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "alice-interp-cache"))
    return RunContext.open(trained_alice, data=trained_texts(), split="all")


@pytest.fixture
def run_context(tiny_alice: Alice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    """A context over the tiny model and 24 texts of English words, with a temporary activation store."""
    from alice.cache import FOLDER_VARIABLE
    from alice.plugins.conformance import tiny_context

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "alice-interp-cache"))
    return tiny_context(tiny_alice, texts=24)


@pytest.fixture(name="check_analysis")
def check_analysis_fixture() -> Callable[..., None]:
    """The function `check_analysis(MyAnalysis, **options)`, which fails if a rule is broken."""
    return check_analysis


def check_analysis(
    cls: type, *, variants: tuple[str, ...] = ("base", "bijective", "dynamic"), grade: bool = False, **options: Any
) -> None:
    """Check an analysis against the rules; an AssertionError names the one that it breaks.

    Its options survive JSON; one seed gives one result, whatever the state of the global generators; the result can be
    stored, read back and shown; two workers give the same result as one, if the texts can be divided; metrics have the
    same names for one model and for several; no hook is left on the model, and its weights are unchanged; and memory
    does not grow with the number of texts, which only an option called `samples` may limit.

    Args:
        cls: the analysis.
        variants: variants of the model to test it with.
        grade: whether it must also find more of the planted mechanisms than chance; it then needs `findings`.
        options: options to test it with instead of the defaults.

    """
    from alice.plugins import conformance

    conformance.check(cls, variants, options, grade=grade)
