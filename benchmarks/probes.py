"""What training all layers' probes together saves: against LogisticRegression, one layer after another.

python benchmarks/probes.py [CHECKPOINT]

Both read the plaintext character from the same activations. The accuracy to reach is that of LogisticRegression with
its default of 100 iterations, on held-out texts, as a mean over layers. Each contestant gets the fewest passes with
which it comes within CLOSE of that, and these trainings are timed.
"""

import sys
import warnings
from collections.abc import Callable, Iterable

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from timing import ratio, take_turns

from alice.plugins import RunContext
from alice.probes.layers import LayerProbes
from alice.probes.tasks import tasks
from alice.probes.tokens import TokenPairs, split_texts

TARGET, TEXTS, ROUNDS = 0.25, 300, 2
CLOSE = 0.005
EPOCHS, ITERATIONS = (1, 2, 3, 4, 6, 8), (10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
Tokens = tuple[torch.Tensor, torch.Tensor]


def read_tokens(ctx: RunContext) -> list[Tokens]:
    """Return the tokens to train on and the held-out ones: activations (layer, token, d) and characters (token,)."""
    task, names = tasks(ctx.alphabet)["letter"], ctx.model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    shards = list(ctx.activations(*names))
    sides = [TokenPairs(shards, names, [task], texts) for texts in split_texts(TEXTS, ctx.rng)]
    return [(torch.cat([x for x, _ in side], 1), torch.cat([y[0] for _, y in side])) for side in sides]


def together(train: Tokens, epochs: int) -> LayerProbes:
    """Train the probes of all layers in one go."""
    return LayerProbes("linear", epochs=epochs).fit([train], int(train[1].max()) + 1)


def one_by_one(train: Tokens, iterations: int) -> list[LogisticRegression]:
    """Train scikit-learn's probe of every layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [LogisticRegression(max_iter=iterations).fit(layer.numpy(), train[1].numpy()) for layer in train[0]]


def accuracy(probes: LayerProbes | list[LogisticRegression], held: Tokens) -> float:
    """Return the accuracy on held-out tokens, as a mean over layers."""
    x, y = held
    if isinstance(probes, LayerProbes):
        return float((probes.predict(x) == y).double().mean())
    return float(np.mean([probe.score(layer.numpy(), y.numpy()) for probe, layer in zip(probes, x, strict=True)]))


def fewest(train: Callable[[int], float], budgets: Iterable[int], goal: float) -> tuple[int, float]:
    """Return the first budget that reaches the goal, with its accuracy; the last if none does."""
    budget, reached = 0, 0.0
    for budget in budgets:
        reached = train(budget)
        if reached >= goal:
            break
    return budget, reached


def main() -> None:
    """Print the ratio, and how far each contestant had to go."""
    torch.set_num_threads(1)
    ctx = RunContext.open(sys.argv[1] if len(sys.argv) > 1 else "base", samples=TEXTS)
    train, held = read_tokens(ctx)
    goal = accuracy(one_by_one(train, 100), held)
    print(f"{len(train[1])} tokens, {len(train[0])} layers; accuracy to reach {goal:.4f} - {CLOSE}", flush=True)
    epochs, ours = fewest(lambda n: accuracy(together(train, n), held), EPOCHS, goal - CLOSE)
    iterations, theirs = fewest(lambda n: accuracy(one_by_one(train, n), held), ITERATIONS, goal - CLOSE)
    print(f"together: {epochs} epochs, {ours:.4f}; one by one: {iterations} iterations, {theirs:.4f}", flush=True)
    work = {"together": lambda: together(train, epochs), "one by one": lambda: one_by_one(train, iterations)}
    found = ratio(take_turns(work, rounds=ROUNDS), "together", "one by one")
    print(f"{ctx.checkpoint:<10} all layers together / one after another: {found:.2f}   target <= {TARGET}")


if __name__ == "__main__":
    main()
