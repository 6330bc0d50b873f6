"""`alice-interp evaluate`: the paper's two tables for a checkpoint, beside the paper's figures."""

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from alice import paper
from alice.cli.progress import track
from alice.corpus import POSSIBLE_SOURCES, QUOTES, open_corpus
from alice.metrics import SHORT, Estimate, Spread, bayesian_bootstrap, bin_names, length_bin, spread
from alice.split import select

if TYPE_CHECKING:
    from alice.evaluate import Scores


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus; its test side is used.")
@click.option("--samples", type=click.IntRange(min=1), help="Texts at most.  [default: all of the test side]")
@click.option("--seed", default=0, show_default=True, help="Seed of the keys and the bootstrap.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def evaluate(ckpt: str, data: str, samples: int | None, seed: int, as_json: bool) -> None:
    """Measure the symbol error rate of a checkpoint on unseen texts under unseen keys."""
    import numpy as np

    from alice.batch import Batches, EncodedTexts
    from alice.evaluate import score
    from alice.model import Alice

    model = Alice.from_pretrained(ckpt)
    corpus = open_corpus(data, alphabet=model.alphabet)
    texts = EncodedTexts(islice(select(corpus, "test"), samples), model.alphabet)
    batches = Batches(texts, model.alphabet, seed=(seed,))
    scores = score(model, track(batches, f"Decoding {len(texts)} texts", total=len(batches)))
    found = summarise(scores, np.random.default_rng(seed))
    if as_json:
        click.echo(json.dumps({"checkpoint": ckpt, "data": data, "seed": seed, "texts": len(texts), **found}, indent=2))
    else:
        _print(ckpt, data, model.config.variant, len(texts), found)


def summarise(scores: "Scores", rng: Any) -> dict[str, Any]:
    """Return error rates in percent: medians by bin of length, means below and from 128 characters on."""
    percent, bins = 100 * scores.errors, length_bin(scores.lengths)
    medians = {name: vars(spread(percent[bins == number])) for number, name in enumerate(bin_names())}
    short = scores.lengths < SHORT
    means = {f"<{SHORT}": percent[short], f">={SHORT}": percent[~short], "all": percent}
    by_bin = {name: percent[bins == number] for number, name in enumerate(bin_names())}
    return {
        "median": medians,
        "mean": {name: vars(bayesian_bootstrap(values, rng)) for name, values in (means | by_bin).items()},
    }


def _print(ckpt: str, data: str, variant: str, texts: int, found: dict[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"{ckpt} on {texts:,} test texts of {data}; symbol error rates in percent\n", markup=False)
    medians = Table("length", "texts", "median (16-84 %)", f"paper, {variant}, 85M", title="By length", box=None)
    for (name, values), printed in zip(found["median"].items(), paper.MEDIAN_SER[variant], strict=True):
        ours = Spread(**values)
        shown = f"{ours.median:.2f} ({ours.low:.2f}-{ours.high:.2f})" if ours.count else "-"
        medians.add_row(name.replace("[", r"\["), f"{ours.count:,}", shown, printed)
    console.print(medians)
    means = Table("solver", f"<{SHORT}", f">={SHORT}", title="Mean", box=None)
    columns = (f"<{SHORT}", f">={SHORT}")
    means.add_row(ckpt, *(_estimate(Estimate(**found["mean"][name])) for name in columns), style="bold")
    for name, figures in paper.MEAN_SER.items():
        means.add_row(f"{name}, 85M (paper)", *figures)
    for name, figures in paper.OTHER_SOLVERS.items():
        means.add_row(name, *figures, style="dim")
    console.print()
    console.print(means)


def _estimate(found: Estimate) -> str:
    return f"{found.mean:.2f} ± {found.error:.2f}" if found.count else "-"
