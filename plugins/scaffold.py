"""Writes the project of a new plugin: an analysis that runs, its tests and its packaging."""

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
_IMPORTED = ("Metric", "Result", "RunContext")
"""Classes that the module imports; its own class needs another name."""

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
from alice.plugins import Metric, Result, RunContext, hookimpl, model_key

alice_interp_api = $api


@dataclass(frozen=True)
class $cls:
    """Mean norm of the residual stream at each layer."""

    name = "$name"
    samples: int = field(default=100, metadata={"help": "Texts to read."})

    def run(self, ctx: RunContext) -> Result:
        """Average the norm over all characters, with one batch in memory at a time."""
        ctx = ctx.sample(self.samples)
        stream = ctx.activations("hook_embed", "blocks.*.hook_resid_post")  # layer 0 is the embedding
        total, characters = np.zeros(len(stream.names)), 0
        for batch, cache in ctx.progress(stream, "Reading"):
            total += [float(cache[hook].norm(dim=-1)[batch.mask].sum()) for hook in stream.names]
            characters += int(batch.mask.sum())
        return report(ctx.checkpoint, total / characters)


def report(model: str, norms: np.ndarray) -> Result:
    """Turn one number per layer into a result: a metric, a curve and an array."""
    from alice.reports.figures import layer_curve  # here, so that listing the plugins stays quick

    return Result(
        "Norm of the residual stream",
        summary="The mean norm of the residual stream at each layer; layer 0 is the embedding.",
        caveats="A large norm does not mean an important layer: each block reads a normalised copy.",
        metrics=[Metric("final-norm", norms[-1], model=model, label="norm at the last layer")],
        figures={model_key("norm", model): layer_curve(norms, y_title="mean norm")},
        arrays={model_key("norm", model): norms},
    )


@hookimpl
def register_analyses() -> list[type[$cls]]:
    """Add the analysis."""
    return [$cls]
''')

TEST = Template('''\
"""Tests of $project; the fixtures come with alice-interp."""

import pytest
from $module import $cls


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis($cls)


def test_the_metric_is_the_mean_norm_after_the_last_block(run_context):
    total, characters = 0.0, 0
    for batch, cache in run_context.activations("blocks.1.hook_resid_post"):
        total += float(cache["blocks.1.hook_resid_post"].norm(dim=-1)[batch.mask].sum())
        characters += int(batch.mask.sum())
    result = $cls().run(run_context)
    assert float(result.metric("final-norm")) == pytest.approx(total / characters)
''')

README = Template("""\
# $project

An analysis for [alice-interp](https://pypi.org/project/alice-interp/).

    pip install -e .
    alice-interp run $name --ckpt base
    pytest
""")


def write_project(name: str, parent: Path) -> Path:
    """Write the project of a plugin into a new folder below `parent` and return the folder."""
    bare = name.removeprefix("alice-interp-")
    if not _NAME.fullmatch(bare):
        raise AliceError(f"{name!r} cannot be the name of a plugin; use lower-case letters, digits and single hyphens")
    if bare == ALL or bare in build(third_party=False).analyses:
        raise AliceError(f"{bare!r} is already the name of a built-in analysis; choose another")
    folder = parent / f"alice-interp-{bare}"
    if folder.exists():
        raise AliceError(f"{folder} already exists; choose another name or --out")
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
    """Write the files into a temporary folder first, so that an incomplete project is never left behind."""
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
