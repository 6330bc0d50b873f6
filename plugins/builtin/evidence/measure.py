"""The evidence of one model: attributions by place, words left out and deletion curves over texts, and some texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from alice.causal import mean_activations
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.builtin.evidence import Baseline, Removal
from alice.plugins.builtin.evidence.attribution import (
    deletion,
    integrated_gradients,
    log_probabilities,
    scores,
    word_losses,
)
from alice.plugins.builtin.evidence.case import PLACES, Case
from alice.plugins.builtin.random_twin import random_twin
from alice.plugins.builtin.traces import GIVEN, text_batch
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints, ratio
from alice.text import Batch, Counterfactuals

ORDERS = {
    "evidence": "most evidence first",
    "words": "most important word first",
    "random": "random order",
    "random-weights": "evidence of random weights first",
    "least": "least evidence first",
}
"""Orders in which characters are deleted, with the labels for readers."""
UNTRAINED_STEPS = 8
"""Points of the integral for the model with random weights: its score is smooth enough for few of them."""
_DOMAIN = 7_000_003  # separates these draws from everything else that is drawn with the same seed


@dataclass(frozen=True)
class Settings:
    """What to measure, as the options of the analysis say."""

    symbols: int
    steps: int
    baseline: Baseline
    removal: Removal
    draws: int


@dataclass(frozen=True, eq=False)
class Numbers:
    """What is measured for a symbol; for a text the means over its symbols; for a model a row of these per text."""

    shares: Floats
    """Share of the absolute evidence at each kind of place, (..., place)."""
    uniform: Floats
    """Share of the characters at each kind of place, (..., place): what evidence spread evenly would give."""
    untrained: Floats
    """Share of the absolute evidence in a model with random weights, (..., place)."""
    nats: Floats
    """Evidence at each kind of place with its sign, in nats, (..., place)."""
    difference: Floats
    """Absolute difference between the score of the text and of the baseline, (...)."""
    gap: Floats
    """How far the sum of the attributions is from that difference, (...)."""
    losses: Floats
    """Mean loss of the score without a word that contains the symbol, and without another one, in nats, (..., 2)."""
    agreement: Floats
    """Spearman's correlation over words of the loss with the sum of the word's attributions, (...); NaN if unknown."""
    curves: Floats
    """Score after deleting a share of the characters, (..., order, fraction), in nats."""
    right: Floats
    """Share of the symbols whose answer is then right, (..., order, fraction)."""

    @classmethod
    def join(cls, parts: Sequence["Numbers"], how: Callable[[list[Floats]], Floats]) -> "Numbers":
        """Combine the numbers of several symbols or texts, field by field."""
        return cls(**{field.name: how([getattr(part, field.name) for part in parts]) for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class Example:
    """The evidence in one text, for all its symbols."""

    case: Case
    """The text."""
    output: Ints
    """What the model answers, (pos,)."""
    attributions: Floats
    """How much each character adds to the score of each of the text's letters, (letters, pos), in nats."""
    losses: Floats
    """How much the score of each letter falls without each word, (word, letters), in nats; NaN if unknown."""
    score: Floats
    """Log-probability of the answer that is explained, (letters,)."""
    start: Floats
    """The same for the baseline, (letters,)."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The evidence of one model."""

    model: str
    """Name of the checkpoint."""
    dynamic: bool
    """Whether its embeddings depend on the whole text."""
    settings: Settings
    """How it was measured."""
    numbers: Numbers
    """A row per text that has letters."""
    examples: tuple[Example, ...]
    """The texts to show."""


def measure(
    ctx: RunContext, settings: Settings, examples: Sequence[int] = (), *, text: str = "", encrypt: bool = False
) -> Measured:
    """Explain some symbols of every text of a context, and all symbols of `examples`, or of `text` if it is given."""
    lab, control = _Lab.open(ctx, settings), _Lab.open(random_twin(ctx), settings, most_steps=UNTRAINED_STEPS)
    rows: dict[int, Numbers] = {}
    shown: dict[int, Example] = {}

    def read(batch: Batch) -> tuple[dict[int, Numbers], dict[int, Example]]:
        explained, followed = {}, {}
        for row, number in enumerate(batch.index.tolist()):
            rng = np.random.default_rng((ctx.seed, _DOMAIN, number))
            if np.isin(batch.cipher_ids[row].cpu().numpy(), ctx.alphabet.letter_ids).any():
                explained[number] = _explain(lab, control, batch, row, rng)
            if number in examples and not text:
                followed[number] = lab.example(batch, row, f"example {number}", rng, known=True)
        return explained, followed

    for explained, followed in ctx.map(read, ctx.batches, f"Explaining with {ctx.checkpoint}"):
        rows |= explained
        shown |= followed
    if not rows:
        raise AliceError("there is no text with letters to explain; check the corpus")
    if text:
        given, rng = text_batch(ctx, text, encrypt=encrypt), np.random.default_rng((ctx.seed, _DOMAIN))
        shown, examples = {0: lab.example(given, 0, GIVEN, rng, known=encrypt)}, (0,)
    numbers = Numbers.join([rows[number] for number in sorted(rows)], np.stack)
    dynamic = ctx.model.config.variant == "dynamic"
    chosen = tuple(shown[number] for number in dict.fromkeys(examples))
    return Measured(ctx.checkpoint, dynamic, settings, numbers, chosen)


@dataclass(frozen=True, eq=False)
class _Lab:
    """A model with what its attributions need."""

    model: Alice
    settings: Settings
    mean: Tensor
    """Mean embedding over the characters of all texts, (d_model,)."""
    others: Counterfactuals
    """Makes other texts of the same word lengths."""
    steps: int
    """Points of the integral."""

    @classmethod
    def open(cls, ctx: RunContext, settings: Settings, *, most_steps: int | None = None) -> "_Lab":
        mean = mean_activations(ctx.model, ctx.batches, ["hook_embed"])["hook_embed"]
        others = ctx.pairs("other-text").counterfactuals
        return cls(ctx.model, settings, mean, others, min(settings.steps, most_steps or settings.steps))

    def baseline(self, case: Case, batch: Batch, row: int) -> Tensor:
        """Return the embeddings that the integral starts from, (pos, d_model)."""
        if self.settings.baseline == "mean":
            return self.mean.expand_as(case.embedding)
        if self.settings.baseline == "zero":
            return torch.zeros_like(case.embedding)
        other = self.others.pair(batch).corrupted.cipher_ids[row, : len(case.cipher_ids)]
        with torch.no_grad():
            return self.model.resid(other[None], stop=0)[0]

    def attribute(self, case: Case, baseline: Tensor, symbols: Ints) -> Floats:
        """Return the attributions of some symbols, (symbols, pos)."""
        return integrated_gradients(self.model, case, baseline, symbols, steps=self.steps)

    def ends(self, case: Case, baseline: Tensor, symbols: Ints) -> Floats:
        """Return the scores of some symbols for the text and for the baseline, (2, symbols)."""
        with torch.no_grad():
            found = scores(case, log_probabilities(self.model, case, torch.stack([case.embedding, baseline])))
        ends: Floats = found.double().cpu().numpy()[:, symbols]
        return ends

    def losses(self, case: Case, rng: np.random.Generator) -> Floats:
        """Return the loss of each symbol's score without each word, (word, symbol)."""
        removal, draws = self.settings.removal, self.settings.draws
        return word_losses(self.model, case, removal, mean=self.mean, others=self.others.words, rng=rng, draws=draws)

    def example(self, batch: Batch, row: int, title: str, rng: np.random.Generator, *, known: bool) -> Example:
        """Explain all letters of one text."""
        case = Case.of(self.model, batch, row, title=title, known=known)
        baseline = self.baseline(case, batch, row)
        ends = self.ends(case, baseline, case.letters)
        with torch.no_grad():
            output = self.model(case.cipher_ids[None], soft=False)[0].argmax(-1).cpu().numpy()
        attributions = self.attribute(case, baseline, case.letters)
        return Example(case, output, attributions, self.losses(case, rng)[:, case.letters], *ends)


def _explain(lab: _Lab, control: _Lab, batch: Batch, row: int, rng: np.random.Generator) -> Numbers:
    """Explain some symbols of one text, drawn at random."""
    case, twin = (Case.of(one.model, batch, row, title="") for one in (lab, control))
    symbols = rng.permutation(case.letters)[: lab.settings.symbols]
    baseline = lab.baseline(case, batch, row)
    found, ends = lab.attribute(case, baseline, symbols), lab.ends(case, baseline, symbols)
    untrained = control.attribute(twin, control.baseline(twin, batch, row), symbols)
    losses = lab.losses(case, rng)[:, symbols]  # (word, symbols)
    parts = []
    for number, symbol in enumerate(symbols.tolist()):
        places = case.places(symbol) == np.arange(len(PLACES))[:, None]  # (place, pos)
        difference = float(ends[0, number] - ends[1, number])
        orders = _orders(case, found[number], losses[:, number], untrained[number], rng, lab.settings.draws)
        curves, right = (_by_order(part) for part in deletion(lab.model, case, symbol, orders, mean=lab.mean))
        parts.append(
            Numbers(
                shares=_shares(found[number], places),
                uniform=places.mean(1),
                untrained=_shares(untrained[number], places),
                nats=places @ found[number],
                difference=np.abs(difference),
                gap=np.abs(found[number].sum() - difference),
                losses=_losses_by_kind(case, symbol, losses[:, number]),
                agreement=_agreement(case.word_members @ found[number], losses[:, number]),
                curves=curves,
                right=right,
            )
        )
    return Numbers.join(parts, _mean_of_known)


def _orders(case: Case, found: Floats, losses: Floats, untrained: Floats, rng: np.random.Generator, draws: int) -> Ints:
    """Return the orders of deletion, (order, pos): those of ORDERS, with the random ones at the end."""
    by_word = np.append(np.nan_to_num(losses, nan=np.inf), 0.0)[case.words]  # the last one for -1, between words
    ranked = [np.argsort(-values, kind="stable") for values in (found, by_word, untrained, -found)]
    return np.stack([*ranked, *(rng.permutation(len(found)) for _ in range(draws))])


def _by_order(values: Floats) -> Floats:
    """Average the random orders and sort the rows as in ORDERS, (len(ORDERS), fraction)."""
    evidence, words, untrained, least, *random = values
    return np.stack([evidence, words, np.mean(random, axis=0), untrained, least])


def _shares(found: Floats, places: NDArray[np.bool_]) -> Floats:
    """Return the share of the absolute evidence at each kind of place, (place,); NaN if there is no evidence at all."""
    size = np.abs(found)
    return ratio(places.astype(np.float64) @ size, np.full(len(places), size.sum()))


def _losses_by_kind(case: Case, symbol: int, losses: Floats) -> Floats:
    """Return the mean loss without a word that contains the symbol, and without another, (2,); NaN if there is none."""
    has = case.word_members[:, case.ids == symbol].any(1)
    return np.array([losses[kind].mean() if kind.any() else np.nan for kind in (has, ~has)])


def _agreement(evidence: Floats, losses: Floats) -> Floats:
    """Return Spearman's correlation of two measures over words; NaN if one of them is constant or not known."""
    if len(losses) < 3 or np.isnan(losses).any() or not np.ptp(evidence) or not np.ptp(losses):
        return np.array(np.nan)
    return np.array(spearmanr(evidence, losses).statistic)


def _mean_of_known(parts: list[Floats]) -> Floats:
    """Return the mean over symbols, leaving out NaN; NaN where nothing is known."""
    values = np.stack(parts)
    return ratio(np.nansum(values, axis=0), (~np.isnan(values)).sum(0).astype(np.float64))
