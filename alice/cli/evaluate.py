"""`alice-interp evaluate`: the paper's two tables for a checkpoint, next to the paper's numbers."""

import json
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from alice.cli.options import AtLeast, device_option, split_option
from alice.cli.progress import track
from alice.metrics import SHORT, bin_names
from alice.plugins import paper
from alice.statistics import Estimate, Spread
from alice.text import QUOTES, SHARED, open_corpus
from alice.text.cleaning import LONGEST
from alice.text.corpus import POSSIBLE_SOURCES

if TYPE_CHECKING:
    from alice.model import Alice
    from alice.solving import ErrorTable
    from alice.text import Split

HELD_OUT = ("test", "validation")
"""Splits whose texts should not be repeated in another split."""


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus.")
@split_option
@click.option("--samples", type=AtLeast(1), help="Maximum number of texts.  [default: all]")
@click.option(
    "--overlap/--no-overlap",
    default=None,
    help=f"Also measure on the texts that share no {SHARED} characters in a row with a text of another split.  "
    "[default: only without --samples]",
)
@click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts.")
@click.option(
    "--max-length", type=click.IntRange(1, LONGEST), default=LONGEST, show_default=True, help="Longest text to read."
)
@click.option("--seed", type=AtLeast(0), default=0, show_default=True, help="Seed of the keys and the bootstrap.")
@device_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def evaluate(ckpt: str, data: str, seed: int, device: str | None, as_json: bool, **texts: Any) -> None:
    """Measure the symbol error rate of a checkpoint on unseen texts under unseen keys.

    Means are over texts, as in the paper's tables. Per character, as in the authors' training script, long texts count
    more, so that the rate is usually lower.

    The numbers are those of `run errors-by-length` for the same texts and seed.
    """
    from alice.model import Alice

    model = Alice.from_pretrained(ckpt, device=device)
    found = measure(model, data, seed=seed, **texts)
    _warn(ckpt, texts["split"], texts["samples"], found.texts)
    if as_json:
        about = {"checkpoint": ckpt, "data": data, "split": texts["split"], "seed": seed, "unit": "%"}
        click.echo(json.dumps(about | asdict(found), indent=2))
    else:
        _print(f"{ckpt} on {found.texts:,} {texts['split']} texts of {data}", ckpt, model.config.variant, found)


def measure(
    model: "Alice",
    data: str,
    *,
    split: "Split" = "test",
    samples: int | None = None,
    overlap: bool | None = None,
    seed: int = 0,
    text_column: str | None = None,
    max_length: int = LONGEST,
) -> "ErrorTable":
    """Score a model over a corpus, with a progress bar; `overlap` is whether to look for texts that others repeat."""
    from alice.plugins.context import RunContext
    from alice.solving import score

    opener = partial(_open, data, max_length=max_length, text_column=text_column)
    corpora = {data: opener} if text_column or max_length < LONGEST else {}
    ctx = RunContext.open(model, data=data, split=split, samples=samples, seed=seed, tracker=track, corpora=corpora)
    scores = score(ctx.model, ctx.progress(ctx.batches, "Decoding texts"))
    found, wanted = scores.table(ctx.rng), samples is None if overlap is None else overlap
    if ctx.texts is None or not wanted or split not in HELD_OUT:
        return found
    return replace(found, apart=scores.only(~ctx.texts.overlapping()).table(ctx.rng))


def _warn(ckpt: str, split: str, asked: int | None, found: int) -> None:
    """Say what a reader of the numbers must know."""
    from alice.training import saw_validation

    if asked is not None and asked > found:
        click.echo(f"there are only {found:,} such texts, fewer than the {asked:,} of --samples", err=True)
    if split == "validation" and saw_validation(ckpt):
        click.echo(f"{ckpt} was trained on validation texts, so these rates are too low; use --split test", err=True)


def _open(data: str, alphabet: Any, **options: Any) -> Any:
    return open_corpus(data, alphabet=alphabet, **options)


def _print(title: str, ckpt: str, variant: str, found: "ErrorTable") -> None:
    console = Console(highlight=False)
    console.print(f"{title}; symbol error rates in percent, means over texts\n", markup=False, soft_wrap=True)
    by_length = Table(
        "length", "texts", "mean", "median (16-84 %)", f"paper, {variant}, 85M", title="By length", box=None
    )
    for name, printed in zip(bin_names(), paper.MEDIAN_SER[variant], strict=True):
        mean, median = found.mean[name], found.median[name]
        by_length.add_row(escape(name), f"{mean.count:,}", _mean(mean), _median(median), str(printed))
    parts = (f"<{SHORT}", f">={SHORT}", "all")
    kinds = Table("", *parts, title="Two kinds of rate", box=None)
    kinds.add_row("mean over texts", *(_mean(found.mean[name]) for name in parts))
    kinds.add_row("per character", *(_mean(found.per_character[name]) for name in parts))
    if found.apart is not None:
        kinds.add_row(f"mean over the {found.apart.texts:,} texts apart", *(_mean(found.apart.mean[n]) for n in parts))
    means = Table("solver", *parts[:2], title="Mean over texts", box=None)
    means.add_row(escape(ckpt), *(_mean(found.mean[name]) for name in parts[:2]), style="bold")
    for name, figures in paper.MEAN_SER.items():
        means.add_row(f"{name}, 85M (paper)", *map(str, figures))
    for name, figures in paper.OTHER_SOLVERS.items():
        means.add_row(name, *map(str, figures), style="dim")
    console.print(by_length, "", kinds, "", means, sep="\n")
    if found.apart is not None:
        console.print(
            f"\nTexts apart share no {SHARED} characters in a row with a text of another split.", soft_wrap=True
        )


def _mean(found: Estimate) -> str:
    """Write a mean with its standard error."""
    return f"{found:.2f}" if found.count else "-"


def _median(found: Spread) -> str:
    """Write a median with its percentiles."""
    return f"{found.median:.2f} ({found.low:.2f}-{found.high:.2f})" if found.count else "-"
