"""The documentation covers all commands, hooks and analyses, and its examples run."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins import hookspecs
from alice.plugins.manager import build

DOCS = Path(__file__).resolve().parent.parent / "docs"
ANALYSES = build(third_party=False).analyses


def hooks():
    """Return every hook with its arguments, as in `register_analyses()`."""
    functions = inspect.getmembers(hookspecs, inspect.isfunction)
    marked = [(name, function) for name, function in functions if hasattr(function, f"{hookspecs.PROJECT}_spec")]
    return [f"{name}({', '.join(inspect.signature(function).parameters)})" for name, function in marked]


def test_cli_md_is_up_to_date():
    program = (
        f"import sys; sys.path.insert(0, {str(DOCS)!r}); import generate_cli; print(generate_cli.generate(), end='')"
    )
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == (DOCS / "cli.md").read_text(encoding="utf-8"), "stale; run: python docs/generate_cli.py"


def test_there_are_hooks_to_document():
    assert "register_analyses()" in hooks()


@pytest.mark.parametrize("hook", hooks())
def test_every_hook_is_documented(hook):
    assert f"### `{hook}`" in (DOCS / "plugins.md").read_text()


@pytest.mark.parametrize("name", ANALYSES)
def test_every_built_in_analysis_and_its_options_are_documented(name):
    page = (DOCS / "analyses" / f"{name}.md").read_text()
    assert page.startswith(f"# `{name}`\n")
    for option in fields(ANALYSES[name]):
        assert f"`--{option.name.replace('_', '-')}`" in page, option.name


def test_the_list_of_analyses_is_complete():
    page = (DOCS / "analyses" / "README.md").read_text()
    listed = re.findall(r"^\| \[`([a-z-]+)`\]\(\1\.md\) \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(ANALYSES)


def guide_examples():
    """Return the Python of the plugin guide."""
    return re.findall(r"^```python\n(.*?)^```", (DOCS / "plugins.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(1, len(guide_examples())))
def test_every_other_example_in_the_plugin_guide_runs(number, run_context):
    exec(guide_examples()[number], {"ctx": run_context, "__name__": "example"})  # noqa: S102 - our own text


def test_the_analysis_in_the_plugin_guide_runs_unchanged(tmp_path, monkeypatch):
    (tmp_path / "depth.py").write_text(guide_examples()[0])
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    monkeypatch.chdir(tmp_path)
    arguments = ("run", "depth", "--plugin", "depth.py", "--ckpt", "model", "--data", "texts.txt", "--split", "all")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("largest norm: ")
