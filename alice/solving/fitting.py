"""Fits the weights of the guided search to validation texts: `python -m alice.solving.fitting --data FILE`.

The weights make the right key as probable as possible among the candidates (maximum likelihood). The right key is not
always among them, so that the search would be too sure of itself: the weights are then scaled to make the right
letters as probable as possible in all texts. The language models are learned from the training split of the same
corpus; no test text is used.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from alice.errors import AliceError
from alice.model import Alice
from alice.solving.guided import WEIGHTS, Candidates, GuidedSearch, Weights
from alice.solving.guided_solver import opinions
from alice.solving.language_files import open_languages
from alice.solving.language_model import N_SYMBOLS
from alice.statistics import Floats, reliability
from alice.text import Key, open_corpus, random_keys
from alice.text.split import select

Found = tuple[Candidates, NDArray[np.bool_]]
"""The candidates for a text, and which letters of each are right, (keys, letters)."""
SCALES = (0.2, 2.0)
"""How much the fitted weights may be scaled."""


def search_all(search: GuidedSearch, model: Alice, texts: Sequence[str], seed: int) -> list[Found]:
    """Return the candidates for each text under a random key."""
    found = []
    for text, numbers in zip(texts, random_keys(len(texts), np.random.default_rng(seed)), strict=True):
        cipher = Key.from_array(numbers).encrypt(text)
        candidates = search.find(cipher, opinions(model, [model.alphabet.encode(cipher)])[0].logs)
        truth = np.zeros(N_SYMBOLS, dtype=np.int64)
        truth[candidates.cipher] = candidates.language.symbols(text)
        found.append((candidates, (candidates.keys == truth)[:, candidates.present]))
    return found


def fit(found: Iterable[Found]) -> Weights:
    """Return the weights under which the right keys are most probable, by the texts whose right key was found."""
    rows = [(one.scores.astype(np.float64), int(right.all(1).argmax())) for one, right in found if right.all(1).any()]

    def loss(weights: Any) -> tuple[float, Any]:
        total, slope = 0.0, np.zeros_like(weights)
        for scores, place in rows:
            logs = scores @ weights
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            total -= float(np.log(chances[place] + 1e-300))
            slope -= scores[place] - chances @ scores
        return total / len(rows), slope / len(rows)

    start = np.array(astuple(WEIGHTS))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start))
    return Weights(*(round(float(value), 3) for value in best.x))


def calibrate(found: Sequence[Found], weights: Weights) -> Weights:
    """Return the weights, all scaled alike, under which the confidence in each letter fits how often it is right."""

    def loss(scale: float) -> float:
        scaled = Weights(*(scale * value for value in astuple(weights)))
        confidence, right = letters_of(found, scaled)
        chances = np.clip(np.where(right, confidence, 1 - confidence), 1e-4, 1)  # one wrong letter must not decide
        return float(-np.log(chances).mean())

    best = minimize_scalar(loss, bounds=SCALES, method="bounded", options={"xatol": 1e-3})
    return Weights(*(round(float(best.x) * value, 3) for value in astuple(weights)))


def letters_of(found: Sequence[Found], weights: Weights) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the confidence in each letter of the best keys with these weights, and whether it is right, (letters,)."""
    confidence, rights = [], []
    for one, right in found:
        scores = one.scores.astype(np.float64)
        shares = one.totals - scores @ np.array(astuple(WEIGHTS))  # logs of the shares of the languages
        totals = scores @ np.array(astuple(weights)) + shares
        order = np.argsort(-totals, kind="stable")
        ranked = replace(one, keys=one.keys[order], scores=one.scores[order], totals=totals[order])
        confidence.append(ranked.confidence())
        rights.append(right[order[0]])
    return np.concatenate(confidence).astype(np.float64), np.concatenate(rights)


@click.command()
@click.option(
    "--data", required=True, help="Corpus whose training split gives the language and validation split texts."
)
@click.option("--ckpt", default="bijective", show_default=True)
@click.option("--texts", type=click.IntRange(min=1), default=3000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(data: str, ckpt: str, texts: int, seed: int) -> None:
    """Fit the weights to half of the texts, and see in the other half how reliable the confidence is."""
    try:
        chosen, model = list(select(open_corpus(data), "validation")), Alice.from_pretrained(ckpt)
        if not chosen:
            raise AliceError(f"{data} has no validation texts; give a corpus with more texts")
    except AliceError as error:
        raise click.ClickException(str(error)) from error
    order = np.random.default_rng(seed).permutation(len(chosen))[:texts]
    found = search_all(GuidedSearch(open_languages([data])), model, [chosen[number] for number in order], seed)
    half = max(1, len(found) // 2)
    best = fit(found[:half])
    click.echo(
        f"best weights for {half:,} texts: {best}, calibrated {calibrate(found[:half], best)}; in use: {WEIGHTS}"
    )
    click.echo(f"the other {len(found) - half:,} texts with the weights in use:")
    for low, high, count, mean, share in reliability(*letters_of(found[half:] or found, WEIGHTS)):
        click.echo(f"confidence {low:.2f} to {high:.2f}: {count:,} letters, mean {mean:.3f}, right {share:.3f}")


if __name__ == "__main__":
    main()
