"""`alice-interp evaluate`: the paper's two tables for a checkpoint, beside the paper's figures."""

import json
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from alice.cli.options import AtLeast
from alice.cli.progress import track
from alice.errors import AliceError
from alice.metrics import SHORT, bin_names
from alice.plugins.reproduce import paper
from alice.statistics import Estimate, Spread
from alice.text.corpus import POSSIBLE_SOURCES, QUOTES, open_corpus
from alice.text.split import select

if TYPE_CHECKING:
    from alice.model import Alice
    from alice.solving.evaluate import ErrorTable


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus; its test side is used.")
@click.option("--samples", type=AtLeast(1), help="Texts at most.  [default: all of the test side]")
@click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts.")
@click.option("--max-length", type=AtLeast(1), default=300, show_default=True, help="Longest text to measure on.")
@click.option("--seed", type=AtLeast(0), default=0, show_default=True, help="Seed of keys and bootstrap.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def evaluate(ckpt: str, data: str, samples: int | None, seed: int, as_json: bool, **corpus: Any) -> None:
    """Measure the symbol error rate of a checkpoint on unseen texts under unseen keys."""
    from alice.model import Alice

    model = Alice.from_pretrained(ckpt)
    found = measure(model, data, samples=samples, seed=seed, **corpus)
    if as_json:
        click.echo(json.dumps({"checkpoint": ckpt, "data": data, "seed": seed, **asdict(found)}, indent=2))
    else:
        _print(ckpt, data, model.config.variant, found)


def measure(
    model: "Alice",
    data: str,
    *,
    samples: int | None,
    seed: int = 0,
    text_column: str | None = None,
    max_length: int = 300,
) -> "ErrorTable":
    """Decode the test side of a corpus with a progress bar."""
    import numpy as np

    from alice.solving.evaluate import score
    from alice.text.batches import Batches, EncodedTexts

    longest = min(max_length, model.config.n_ctx)
    corpus = open_corpus(data, alphabet=model.alphabet, max_length=longest, text_column=text_column)
    texts = EncodedTexts(islice(select(corpus, "test"), samples), model.alphabet)
    if not len(texts):
        raise AliceError(f"{data} has no text on the test side; use a larger corpus (some hundred texts at least)")
    batches = Batches(texts, model.alphabet, seed=(seed,))
    scores = score(model, track(batches, f"Decoding {len(texts)} texts", total=len(batches)))
    return scores.table(np.random.default_rng(seed))


def _print(ckpt: str, data: str, variant: str, found: "ErrorTable") -> None:
    console = Console(highlight=False)
    console.print(f"{ckpt} on {found.texts:,} test texts of {data}; symbol error rates in percent\n", markup=False)
    by_length = Table(
        "length", "texts", "mean", "median (16-84 %)", f"paper, {variant}, 85M", title="By length", box=None
    )
    for name, printed in zip(bin_names(), paper.MEDIAN_SER[variant], strict=True):
        mean, median = found.mean[name], found.median[name]
        by_length.add_row(name.replace("[", r"\["), f"{mean.count:,}", estimate(mean), quantiles(median), str(printed))
    console.print(by_length)
    means = Table("solver", f"<{SHORT}", f">={SHORT}", title="Mean", box=None)
    means.add_row(ckpt, *(estimate(found.mean[name]) for name in (f"<{SHORT}", f">={SHORT}")), style="bold")
    for name, figures in paper.MEAN_SER.items():
        means.add_row(f"{name}, 85M (paper)", *map(str, figures))
    for name, figures in paper.OTHER_SOLVERS.items():
        means.add_row(name, *map(str, figures), style="dim")
    console.print()
    console.print(means)


def estimate(found: Estimate) -> str:
    """Write a mean with its error."""
    return f"{found:.2f}" if found.count else "-"


def quantiles(found: Spread) -> str:
    """Write a median with its percentiles."""
    return f"{found.median:.2f} ({found.low:.2f}-{found.high:.2f})" if found.count else "-"
