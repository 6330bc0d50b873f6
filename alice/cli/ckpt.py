"""`alice-interp ckpt`: lists and shows checkpoints, exports models, imports a file of the authors' code."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from alice.cli.options import (
    FILE,
    FOLDER,
    LARGEST,
    PATH,
    AtLeast,
    NearestChoice,
    NearestGroup,
    device_option,
    force_option,
    split_option,
)
from alice.cli.progress import track
from alice.errors import AliceError, printable
from alice.files import regular_file
from alice.outputs import check_file, check_folder
from alice.text import QUOTES, open_corpus
from alice.text.corpus import POSSIBLE_SOURCES, source_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from alice.checkpoint.export import ErrorRates
    from alice.model import Alice, ModelConfig
    from alice.solving import ErrorTable
    from alice.solving.known_text import Check
    from alice.text import Split

ONNX_TEXTS = 200
"""Texts on which the answers of an ONNX file are compared, unless the user says otherwise."""


@click.group(cls=NearestGroup)
def ckpt() -> None:
    """List, describe, export and import checkpoints."""


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
    from alice.checkpoint import CARD, read_config, resolve

    folder: Path = resolve(name)
    config = read_config(folder).to_dict()
    if as_json:
        click.echo(json.dumps(config, indent=2))
        return
    console, card = Console(), regular_file(folder / CARD)
    if card.exists():
        console.print(Markdown(card.read_text(encoding="utf-8", errors="replace")))
    table = Table("field", "value", title="Configuration", box=None, title_justify="left")
    for field, value in config.items():
        table.add_row(field, repr(value).replace("[", r"\["))
    console.print(table)


@ckpt.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.argument("source", type=FOLDER)
@click.option("--out", required=True, type=PATH, help="Folder to write, or with --format onnx the file.")
@click.option(
    "--format",
    "kind",
    type=NearestChoice(("checkpoint", "onnx")),
    default="checkpoint",
    show_default=True,
    help="A checkpoint that this program reads, or a file for any ONNX runtime.",
)
@click.option("--name", help="Name on the card of a checkpoint.  [default: the name of --out]")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus to measure on.")
@split_option
@click.option(
    "--samples",
    type=AtLeast(1),
    help=f"Maximum number of texts.  [default: the whole split, or {ONNX_TEXTS} with --format onnx]",
)
@force_option
@device_option
def export(source: Path, kind: str, name: str | None, **options: Any) -> None:
    """Write a model for use elsewhere.

    A checkpoint is made from the TRAINING folder SOURCE, in half precision, with a card of measured error rates. For
    ONNX, SOURCE is a bundled model, a folder or a hub id; the file has single precision, and its answers are compared
    with the model's before it gets its name.
    """
    if kind == "checkpoint":
        _export_checkpoint(source, name=name, **options)
        return
    if name is not None:
        raise AliceError("--name is the name on a card, which an ONNX file does not have; leave it out")
    _export_onnx(source, **options)


def _export_onnx(
    source: Path, *, out: Path, data: str, split: "Split", samples: int | None, force: bool, device: str | None
) -> None:
    from alice.checkpoint import onnx_file, resolve
    from alice.model import Alice
    from alice.plugins.context import RunContext

    onnx_file.require()
    folder = resolve(source)
    check_file(out, read=[folder], force=force)
    model = Alice.from_pretrained(source, device=device)
    ctx = RunContext.open(model, data=data, split=split, samples=samples or ONNX_TEXTS, tracker=track)
    found = onnx_file.write(out, model, ctx.progress(ctx.batches, "Comparing answers"))
    click.echo(
        f"check: onnxruntime gives the model's answer for all {found.characters:,} characters of {found.texts} texts; "
        f"scores differ by at most {found.largest:.1e}"
    )
    click.echo(f"done: {out}")


def _export_checkpoint(
    training: Path,
    *,
    out: Path,
    name: str | None,
    data: str,
    split: "Split",
    samples: int | None,
    force: bool,
    device: str | None,
) -> None:
    from alice.checkpoint import TRAINING
    from alice.checkpoint.export import export as write_export
    from alice.checkpoint.export import round_to_half
    from alice.cli.evaluate import measure
    from alice.model import Alice
    from alice.training import Training

    check_folder(out, writes="checkpoint", read=[training, *open_corpus(data).files], replace=force)
    if not (training / TRAINING).exists():
        raise AliceError(f"{training} is not the folder of a training (no {TRAINING}); give one that `train` wrote")
    opened = Training.open(training, {})
    summary, log = opened.summary(), opened.log()
    model = round_to_half(Alice.from_pretrained(training, device=device))
    errors = measure(model, data, split=split, samples=samples)
    name = name or out.name
    write_export(
        out,
        model,
        name=name,
        training=summary,
        log=log,
        errors=_rates(errors),
        apart=None if errors.apart is None else _rates(errors.apart),
        split=split,
        command=f"alice-interp evaluate --ckpt {name} --data {source_name(data)}"
        + (f" --split {split}" if split != "test" else "")
        + (f" --samples {samples}" if samples else ""),
    )
    click.echo(f"done: {out}")


def _rates(found: "ErrorTable") -> "ErrorRates":
    """Return the error rates of each part, as a card has them."""
    return {part: (found.mean[part], found.median[part], found.per_character[part]) for part in found.mean}


@ckpt.command("import")
@click.argument("file", type=FILE)
@click.option("--out", required=True, type=FOLDER, help="Folder to write.")
@click.option(
    "--alphabet",
    metavar="SYMBOLS",
    help="All symbols in the order of their ids, without padding.  [default: A-Z, space, then the file's extra_chars]",
)
@click.option(
    "--cross-heads",
    type=click.IntRange(1, LARGEST),
    help="Heads of the cross-attention of a bijective model.  [default: the stated number, 1 or n_head, whichever "
    "decodes]",
)
@click.option(
    "--ema/--no-ema",
    default=False,
    show_default=True,
    help="Take the weights averaged over training, or the last ones, as the authors' own analyses do.",
)
@force_option
@device_option
def import_(
    file: Path, out: Path, alphabet: str | None, cross_heads: int | None, ema: bool, force: bool, device: str | None
) -> None:
    """Convert FILE, a checkpoint of the authors' code (al-jshen/alice), into a folder that every command reads.

    No code in FILE is executed. The authors' tokeniser is not published, so the order of the symbols is a guess, and
    the number of cross-attention heads in FILE may be wrong; the model is checked on English texts under random keys.
    """
    from alice.checkpoint import upstream
    from alice.checkpoint.folder import check_values
    from alice.model import Alice
    from alice.solving import known_text

    check_folder(out, writes="checkpoint", read=[file], replace=force)
    symbols = None if alphabet is None else alphabet.upper()
    found = upstream.read(file, alphabet=symbols, cross_heads=cross_heads, ema=ema)
    check_values(found.weights, where=str(file))
    choices = [cross_heads] if cross_heads else found.possible_cross_heads()

    def models() -> "Iterator[Alice]":
        for heads in choices:
            config = found.with_cross_heads(heads).config
            yield Alice.from_weights(config, found.weights, where=str(file), device=device)

    model, checked = known_text.choose(models())
    found = found.with_cross_heads(model.config.cross_heads)
    upstream.write(out, file.name, found, check=str(checked), decodes=checked.decodes)
    hint = "; --ema takes the averaged ones" if found.has_average and not ema else ""
    click.echo(f"weights: {found.source}{hint}")
    click.echo(f"check: {checked}")
    if checked.decodes and found.config.cross_heads != (found.stated_cross_heads or 1):
        click.echo(upstream.cross_heads_found(found))
    if checked.error > known_text.SURE:
        _try_orders(models(), len(choices), checked, found.config)
    click.echo(f"done: {out}")


def _try_orders(models: "Iterable[Alice]", count: int, checked: "Check", imported: "ModelConfig") -> None:
    """Warn if an imported model decodes with its symbols in another order, or if it does not decode at all."""
    from alice.checkpoint.upstream import doubts
    from alice.solving import known_text
    from alice.text import Alphabet

    orders = known_text.other_orders(Alphabet(imported.symbols))
    tries = ((model, order) for model in models for order in orders)
    better = known_text.better_order(checked, track(tries, "Trying other orders", total=count * len(orders)))
    if better:
        model, order, found = better
        heads = model.config.cross_heads
        also = "" if heads == imported.cross_heads else f" --cross-heads {heads}"
        _warn(
            f"with the symbols in another order only {100 * found.error:.1f} % are decoded wrongly; import again with "
            f"--force --alphabet {shlex.quote(order.symbols)}{also}"
        )
    elif not checked.decodes:
        tried = ", with any likely number of cross-attention heads," if count > 1 else ""
        options = "--alphabet and --cross-heads" if imported.variant == "bijective" else "--alphabet"
        _warn(
            f"that is close to guessing, and no other likely order of the symbols{tried} is better; "
            f"{doubts(imported)}: see {options}"
        )


def _warn(text: str) -> None:
    click.echo(f"warning: {printable(text)}", err=True)
