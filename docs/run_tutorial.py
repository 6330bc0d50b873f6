"""Run everything in docs/tutorial.md and write the output into the page: `python docs/run_tutorial.py`.

An `sh` block holds `alice-interp` commands, a `python` block continues the previous one, and a block with a title is
saved as a file of that name. A `text` block shows the output of the block before it.
"""

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

PAGE = Path(__file__).with_name("tutorial.md")
BLOCK = re.compile(r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<source>.*?)^```$', re.MULTILINE | re.DOTALL)


def run(page: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """Run the page in a folder; return it with its output filled in, and the variables its code defined."""
    pieces, place, printed, variables = [], 0, "", {}
    with _apart(folder):
        for block in BLOCK.finditer(page):
            kind, title, source = block["kind"], block["title"], block["source"]
            if kind == "text":
                pieces += [page[place : block.start("source")], printed]
                place = block.end("source")
            elif title:
                Path(title).write_text(source, encoding="utf-8")
            elif kind in ("sh", "python"):
                printed = _run_commands(source) if kind == "sh" else _run_code(source, variables)
            else:
                raise ValueError(f"a block of kind {kind!r} cannot be run")
    return "".join([*pieces, page[place:]]), variables


@contextmanager
def _apart(folder: Path) -> Iterator[None]:
    """Work in a folder, with the activation store in it and without installed plugins."""
    variables = {"ALICE_INTERP_CACHE": str(folder / "cache"), "ALICE_INTERP_LOAD_PLUGINS": ""}
    with chdir(folder), patch.dict(os.environ, variables):
        yield


def _run_commands(source: str) -> str:
    from click.testing import CliRunner

    from alice.cli import main

    printed = ""
    for program, *arguments in _commands(source):
        if program != "alice-interp":
            raise ValueError(f"{program} is not an alice-interp command")
        result = CliRunner().invoke(main, arguments, prog_name=program, catch_exceptions=False)
        if result.exit_code:
            raise RuntimeError(f"{shlex.join(arguments)} failed: {result.output}")
        printed += result.stdout.replace(f"{Path.cwd()}{os.sep}", "")
    return printed


def _commands(source: str) -> Iterator[list[str]]:
    for line in source.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def _run_code(source: str, variables: dict[str, Any]) -> str:
    with redirect_stdout(StringIO()) as printed:
        exec(compile(source, str(PAGE), "exec"), variables)  # noqa: S102  (our own page)
    return printed.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text, _ = run(PAGE.read_text(encoding="utf-8"), Path(folder))
    PAGE.write_text(text, encoding="utf-8")
