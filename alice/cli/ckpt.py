"""`alice-interp ckpt`: which models there are, what they are, and how a training or a foreign file becomes one."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from alice.cli.options import AtLeast, NearestGroup
from alice.cli.progress import track
from alice.text.corpus import POSSIBLE_SOURCES, QUOTES


@click.group(cls=NearestGroup)
def ckpt() -> None:
    """List, describe, export and import checkpoints."""


@ckpt.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_models(as_json: bool) -> None:
    """List the bundled models."""
    from alice.checkpoint.folder import WEIGHTS, bundled, read_config

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
    from alice.checkpoint.folder import read_config, resolve

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
@click.option("--samples", type=AtLeast(1), help="Texts at most.  [default: all of the test side]")
def export(run: Path, out: Path, name: str | None, data: str, samples: int | None) -> None:
    """Write the weights of a training RUN in half precision, with a card of measured error rates."""
    from alice.checkpoint.export import export as write_export
    from alice.checkpoint.export import shippable
    from alice.cli.evaluate import measure

    model = shippable(run)
    name = name or out.name
    corpus = data if data.startswith("hf:") else Path(data).name
    command = f"alice-interp evaluate --ckpt {name} --data {corpus}" + (f" --samples {samples}" if samples else "")
    errors = measure(model, data, samples=samples)
    write_export(run, out, model, name=name, errors=errors, command=command)
    click.echo(f"done: {out}")


@ckpt.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write.")
@click.option(
    "--alphabet",
    metavar="SYMBOLS",
    help="All symbols in the order of their ids, without padding.  [default: A-Z, space, then the file's extra_chars]",
)
@click.option(
    "--ema/--no-ema",
    default=False,
    show_default=True,
    help="Take the weights averaged over training, or the last ones, as the authors' own analyses do.",
)
def import_(file: Path, out: Path, alphabet: str | None, ema: bool) -> None:
    """Turn FILE, a checkpoint of the authors' code (al-jshen/alice), into a folder that every command works on.

    Nothing in FILE is run. Their tokeniser is not published, so the order of the symbols is a guess; English texts
    under random keys show whether the model decodes with it.
    """
    from alice.checkpoint import folder as checkpoint
    from alice.checkpoint import known_text, upstream
    from alice.checkpoint.export import CARD
    from alice.checkpoint.upstream_card import card
    from alice.files import atomic_write
    from alice.model import Alice

    found = upstream.read(file, alphabet=None if alphabet is None else alphabet.upper(), ema=ema)
    checkpoint.write(out, found.config, found.weights)
    model = Alice.from_pretrained(out)
    checked = known_text.check(model)
    with atomic_write(out / CARD) as page:
        page.write(card(out.name, file.name, found, checked))
    also = "; --ema takes the averaged ones" if found.has_average and not ema else ""
    click.echo(f"weights: {found.source}{also}")
    click.echo(f"check: {checked}")
    orders = known_text.other_orders(model.alphabet) if checked.error > known_text.SURE else []
    better = known_text.better_order(model, checked, track(orders, "Trying other orders", total=len(orders)))
    if better:
        order, error = better[0].symbols, better[1].error
        _warn(
            f"with the symbols in another order only {100 * error:.1f} % come out wrong; import again with "
            f"--alphabet {shlex.quote(order)}"
        )
    elif not checked.decodes:
        _warn(
            "that is near guessing, and no other likely order of the symbols does better; the model has other ids for "
            "its symbols, or it is not trained: give the right order with --alphabet"
        )
    click.echo(f"done: {out}")


def _warn(text: str) -> None:
    click.echo(f"warning: {text}", err=True)
