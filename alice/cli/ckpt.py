"""`alice-interp ckpt`: which models there are, what they are, and how a training becomes one."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from alice.corpus import POSSIBLE_SOURCES, QUOTES


@click.group()
def ckpt() -> None:
    """List, describe and export checkpoints."""


@ckpt.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_models(as_json: bool) -> None:
    """List the bundled models."""
    from alice.checkpoint import WEIGHTS, bundled, read_config

    rows: list[dict[str, Any]] = []
    for name, folder in bundled().items():
        config = read_config(folder)
        size = (folder / WEIGHTS).stat().st_size
        rows.append(
            {"name": name, "variant": config.variant, "layers": config.n_layers, "width": config.d_model, "bytes": size}
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "variant", "layers", "width", "size", box=None)
    for row in rows:
        table.add_row(
            row["name"], row["variant"], str(row["layers"]), str(row["width"]), f"{row['bytes'] / 1e6:.1f} MB"
        )
    Console().print(table if rows else "no bundled models")


@ckpt.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the configuration as JSON.")
def show(name: str, as_json: bool) -> None:
    """Show the card and the configuration of a checkpoint: a bundled name, a folder or a hub id."""
    from alice.checkpoint import read_config, resolve

    folder: Path = resolve(name)
    config = read_config(folder).to_dict()
    if as_json:
        click.echo(json.dumps(config, indent=2))
        return
    console, card = Console(), folder / "card.md"
    if card.exists():
        console.print(Markdown(card.read_text(encoding="utf-8")))
    table = Table("field", "value", title="Configuration", box=None, title_justify="left")
    for field, value in config.items():
        table.add_row(field, repr(value).replace("[", r"\["))
    console.print(table)


@ckpt.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.argument("run", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option("--name", help="Name on the card.  [default: the folder's]")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus to measure on, its test side.")
@click.option("--samples", type=click.IntRange(min=1), help="Texts at most.  [default: all of the test side]")
def export(run: Path, out: Path, name: str | None, data: str, samples: int | None) -> None:
    """Write the weights of a training RUN in half precision, with a card of measured error rates."""
    from alice.cli.evaluate import measure
    from alice.export import export as write_export
    from alice.export import shippable

    model = shippable(run)
    name = name or out.name
    corpus = data if data.startswith("hf:") else Path(data).name
    command = f"alice-interp evaluate --ckpt {name} --data {corpus}" + (f" --samples {samples}" if samples else "")
    errors = measure(model, data, samples=samples)
    write_export(run, out, model, name=name, errors=errors, command=command)
    click.echo(f"done: {out}")
