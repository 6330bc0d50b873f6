"""Training the probes of all layers together, compared with LogisticRegression one layer at a time.

Both predict the plaintext character from the same activations. The goal is the mean accuracy over layers on held-out
texts of LogisticRegression with its default of 100 iterations. Each method gets the smallest number of passes that
comes within CLOSE of it, and these trainings are timed.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from alice.bench.measuring import Ratio, compare, one_core, take_turns
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.probes import LayerProbes, TokenPairs, split_texts
from alice.probes.tasks import tasks

CLOSE = 0.005
BUDGETS = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
Tokens = tuple[torch.Tensor, torch.Tensor]


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Find the number of passes that each method needs, then time both in turns."""
    texts = 60 if quick else 300
    with one_core():
        ctx = RunContext.open("base", samples=texts, device="cpu")
        train, held = read_tokens(ctx, texts)
        goal = accuracy(one_by_one(train, 100), held) - CLOSE
        passes, ours = fewest(lambda n: accuracy(together(train, n), held), BUDGETS, goal)
        iterations, theirs = fewest(lambda n: accuracy(one_by_one(train, n), held), BUDGETS, goal)
        work = {"together": lambda: together(train, passes), "one by one": lambda: one_by_one(train, iterations)}
        times = take_turns(work, rounds=1 if quick else 2)
    note = f"{passes} passes reach {ours:.4f}, {iterations} iterations {theirs:.4f}; goal {goal:.4f}"
    yield compare(f"base, {texts} texts, {len(train[0])} layers", times, "together", "one by one", note=note)


def read_tokens(ctx: RunContext, texts: int) -> list[Tokens]:
    """Return the training and the held-out tokens: activations (layer, token, d) and characters (token,)."""
    task, names = tasks(ctx.alphabet)["letter"], ctx.model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    shards = list(ctx.activations(*names))
    splits = [TokenPairs(shards, names, [task], chosen) for chosen in split_texts(texts, ctx.rng)]
    return [(torch.cat([x for x, _ in pairs], 1), torch.cat([y[0] for _, y in pairs])) for pairs in splits]


def together(train: Tokens, passes: int) -> LayerProbes:
    """Train the probes of all layers at once."""
    return LayerProbes("linear", passes=passes).fit([train], int(train[1].max()) + 1)


def one_by_one(train: Tokens, iterations: int) -> list[LogisticRegression]:
    """Train scikit-learn's probe for every layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [LogisticRegression(max_iter=iterations).fit(layer.numpy(), train[1].numpy()) for layer in train[0]]


def accuracy(probes: LayerProbes | list[LogisticRegression], held: Tokens) -> float:
    """Return the mean accuracy over layers on held-out tokens."""
    x, y = held
    if isinstance(probes, LayerProbes):
        return float((probes.predict(x) == y).double().mean())
    return float(np.mean([probe.score(layer.numpy(), y.numpy()) for probe, layer in zip(probes, x, strict=True)]))


def fewest(train: Callable[[int], float], budgets: Iterable[int], goal: float) -> tuple[int, float]:
    """Return the first budget that reaches the goal, and its accuracy."""
    for budget in budgets:
        if (reached := train(budget)) >= goal:
            return budget, reached
    raise AliceError(f"no number of passes reaches an accuracy of {goal:.4f}, so there is nothing to compare")
