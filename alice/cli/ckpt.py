"""`alice-interp ckpt`: which models there are, and what they are."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table


@click.group()
def ckpt() -> None:
    """List and describe checkpoints."""


@ckpt.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_models(as_json: bool) -> None:
    """List the bundled models."""
    from alice.checkpoint import WEIGHTS, bundled, read_config

    rows = []
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
