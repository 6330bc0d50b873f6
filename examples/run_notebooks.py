"""Runs the notebooks in this folder and stores their output: `python examples/run_notebooks.py`.

Each runs in an empty folder. Printed lines, figures and small tables are kept; what differs between runs (addresses,
pages, progress bars) is dropped.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
FIGURE, PAGE, TEXT = "application/vnd.plotly.v1+json", "text/html", "text/plain"
LARGEST_PAGE = 20_000
SECONDS_PER_CELL = 600


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=HERE, help="Folder to write them to.")
def run(names: tuple[str, ...], out: Path) -> None:
    """Run notebooks by name, or all of them, and write them with their output."""
    import nbformat

    for path in [HERE / name for name in names] or sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            execute(notebook, Path(folder))
            slim(notebook, Path(folder))
        nbformat.write(notebook, out / path.name)
        click.echo(f"{out / path.name}: {(out / path.name).stat().st_size / 1000:.0f} kB")


def execute(notebook: Any, folder: Path) -> None:
    """Run all cells in a folder; a cell that fails is an error."""
    from nbclient import NotebookClient

    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"ALICE_INTERP_CACHE": str(folder / "cache"), "PLOTLY_RENDERER": "plotly_mimetype", "TQDM_DISABLE": "1"}
    client = NotebookClient(
        notebook, timeout=SECONDS_PER_CELL, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=os.environ | own | {"PATH": programs})


def slim(notebook: Any, folder: Path) -> None:
    """Drop what differs between runs or is of no use to a reader."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _is_kept(output, folder)]


def _is_kept(output: Any, folder: Path) -> bool:
    if output.output_type == "stream":
        output.text = output.text.replace(f"{folder.resolve()}{os.sep}", "")
        return output.name == "stdout"
    data = output.get("data", {})
    if "<iframe" in data.get(PAGE, "") or len(data.get(PAGE, "")) > LARGEST_PAGE:
        del data[PAGE]
    kept = next((kind for kind in (FIGURE, PAGE, TEXT) if kind in data), None)
    for kind in data.keys() - {kept}:
        del data[kind]
    return kept is not None and " at 0x" not in data.get(TEXT, "")


if __name__ == "__main__":
    run()
