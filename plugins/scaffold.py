"""Writes the project of a new plugin: an analysis that runs, its test, and what makes it installable."""

import re
from keyword import iskeyword
from pathlib import Path
from string import Template

from alice.errors import AliceError
from alice.files import draft_folder, remove, remove_drafts
from alice.plugins.analysis import ALL
from alice.plugins.hookspecs import API_VERSION
from alice.plugins.manager import build

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_IMPORTED = ("Result", "RunContext")
"""Classes that the module imports, so that its own cannot be called so."""

PYPROJECT = Template("""\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$project"
version = "0.1.0"
description = "An analysis for alice-interp."
requires-python = ">=3.11"
dependencies = ["alice-interp"]

[project.entry-points.alice_interp]
$name = "$module"

[tool.setuptools]
py-modules = ["$module"]
""")

MODULE = Template('''\
"""An analysis for alice-interp: alice-interp run $name --ckpt base."""

from dataclasses import dataclass, field

import numpy as np
from alice.plugins import Result, RunContext, hookimpl

alice_interp_api = $api


@dataclass(frozen=True)
class $cls:
    """How long the vectors of the residual stream are after each layer."""

    name = "$name"
    samples: int = field(default=100, metadata={"help": "Texts to read."})

    def run(self, ctx: RunContext) -> Result:
        """Average the length over all characters, one batch in memory at a time."""
        ctx = ctx.sample(self.samples)
        stream = ctx.activations("blocks.*.hook_resid_post")
        total, characters = np.zeros(len(stream.names)), 0
        for batch, cache in ctx.progress(stream, "Reading"):
            total += [float(cache[hook].norm(dim=-1)[batch.mask].sum()) for hook in stream.names]
            characters += int(batch.mask.sum())
        return show(total / characters)


def show(lengths: np.ndarray) -> Result:
    """Put one number a layer into a result: a figure for the gallery, a curve, and the array behind it."""
    from alice.reports.figures import layer_curve  # here, so that listing the plugins stays quick

    return Result(
        "Length of the residual stream",
        summary="The mean length of the residual vectors after each layer.",
        caveats="A long vector is not an important one: every layer reads a normalised copy.",
        metrics={"length after the last layer": lengths[-1]},
        figures={"length": layer_curve(lengths, y_title="mean length")},
        arrays={"length": lengths},
    )


@hookimpl
def register_analyses():
    """Add the analysis."""
    return [$cls]
''')

TEST = Template('''\
"""Tests of $project; the fixtures come with alice-interp."""

import pytest
from $module import $cls


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis($cls)


def test_the_length_is_that_of_the_last_residual_vectors(run_context):
    total, characters = 0.0, 0
    for batch, cache in run_context.activations("blocks.1.hook_resid_post"):
        total += float(cache["blocks.1.hook_resid_post"].norm(dim=-1)[batch.mask].sum())
        characters += int(batch.mask.sum())
    result = $cls().run(run_context)
    assert result.metrics["length after the last layer"] == pytest.approx(total / characters)
''')

README = Template("""\
# $project

An analysis for [alice-interp](https://pypi.org/project/alice-interp/).

    pip install -e .
    alice-interp run $name --ckpt base
    pytest
""")


def write_project(name: str, parent: Path) -> Path:
    """Write the project of a plugin into a new folder of `parent` and return the folder."""
    bare = name.removeprefix("alice-interp-")
    if not _NAME.fullmatch(bare):
        raise AliceError(f"{name!r} is no name for a plugin; use small letters, digits and single hyphens")
    if bare == ALL or bare in build(third_party=False).analyses:
        raise AliceError(f"{bare!r} is the name of something that alice-interp runs already; choose another")
    folder = parent / f"alice-interp-{bare}"
    if folder.exists():
        raise AliceError(f"{folder} is there already; choose another name or --out")
    module = f"alice_interp_{bare.replace('-', '_')}"
    values = {
        "name": bare,
        "project": folder.name,
        "module": module,
        "cls": _class_name(bare),
        "api": API_VERSION,
    }
    files = {"pyproject.toml": PYPROJECT, f"{module}.py": MODULE, f"tests/test_{module}.py": TEST, "README.md": README}
    _write_all(folder, {place: text.substitute(values) for place, text in files.items()})
    return folder


def _class_name(bare: str) -> str:
    name = "".join(part.capitalize() for part in bare.split("-"))
    return f"{name}Analysis" if iskeyword(name) or name in _IMPORTED else name


def _write_all(folder: Path, files: dict[str, str]) -> None:
    """Write the files under a temporary name first, so that no half of a project is left."""
    remove_drafts(folder.parent, of=folder.name)
    try:
        with draft_folder(folder) as draft:
            try:
                for place, text in files.items():
                    (draft / place).parent.mkdir(exist_ok=True)
                    (draft / place).write_text(text, encoding="utf-8")
                draft.rename(folder)
            except BaseException:
                remove(draft)
                raise
    except OSError as error:
        raise AliceError(f"cannot write {folder}: {error.strerror}; choose another --out") from error
