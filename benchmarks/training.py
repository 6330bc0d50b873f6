"""How much of a machine's matrix speed a training step uses: model FLOP/s over GEMM FLOP/s, in one run.

    python benchmarks/training.py [PRESET] [--no-compile]

The GEMM rate is that of the model's own products, forward and backward, weighted by their share of the model's
operations. Only products count as the model's operations (2 for each multiply-add), those of attention included.
"""

import statistics
import sys

import torch
from timing import take_turns

from alice.batch import Batches, EncodedTexts
from alice.config import ModelConfig
from alice.corpus import open_corpus
from alice.flops import training_flops
from alice.loss import Objective
from alice.model import Alice
from alice.presets import CPU_SIZES, model_config
from alice.split import select

TARGET = 0.6


def products(config: ModelConfig, tokens: int) -> list[tuple[int, int, int, int]]:
    """Return (rows, inner, columns, times) of every matrix product of a training step in the blocks."""
    d, f, layers = config.d_model, config.d_mlp, config.n_layers
    forward = [(tokens, d, 3 * d), (tokens, d, d), (tokens, d, 2 * f), (tokens, f, d)]
    found = []
    for rows, inner, columns in forward:
        found += [(rows, inner, columns, layers), (rows, columns, inner, layers), (columns, rows, inner, layers)]
    return found


def gemm(config: ModelConfig, tokens: int) -> None:
    """Multiply matrices of all the shapes of one layer."""
    for rows, inner, columns, _ in products(config, tokens):
        MATRICES[rows, inner] @ MATRICES[inner, columns]


MATRICES: dict[tuple[int, int], torch.Tensor] = {}


def main() -> None:
    """Print the share for each CPU preset, or for the one asked for."""
    torch.set_num_threads(1)
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(CPU_SIZES)
    for name in names:
        config = model_config(name)
        model = Alice(config).train()
        if "--no-compile" not in sys.argv:
            for block in model.blocks:
                block.compile(dynamic=True)
        texts = EncodedTexts(list(select(open_corpus("quotes"), "test")), model.alphabet)
        batches = Batches(texts, model.alphabet, seed=(0,))
        batch = next(b for b in batches if 90 <= b.cipher_ids.shape[1] <= 110 and len(b) > 30)
        tokens, length = batch.cipher_ids.numel(), batch.cipher_ids.shape[1]
        for rows, inner, columns, _ in products(config, tokens):
            MATRICES[rows, inner], MATRICES[inner, columns] = torch.randn(rows, inner), torch.randn(inner, columns)
        objective = Objective(model)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)

        def step() -> None:
            objective(batch.cipher_ids, batch.plain_ids).backward()  # noqa: B023  (called before the next round)
            optimizer.step()  # noqa: B023
            optimizer.zero_grad()  # noqa: B023

        times = take_turns({"step": step, "gemm": lambda c=config, t=tokens: gemm(c, t)}, rounds=20)
        model_rate = training_flops(config, tokens, tokens * length) / statistics.median(times["step"])
        gemm_flops = sum(2 * a * b * c for a, b, c, _ in products(config, tokens))
        gemm_rate = gemm_flops / statistics.median(times["gemm"])
        print(
            f"{name:<6} batch {tuple(batch.cipher_ids.shape)}  "
            f"{tokens / statistics.median(times['step']):,.0f} tokens/s  "
            f"model {model_rate / 1e9:.1f} / GEMM {gemm_rate / 1e9:.1f} GFLOP/s = {model_rate / gemm_rate:.2f}   "
            f"target >= {TARGET}   padding {100 * batches.padding:.1f} %"
        )


if __name__ == "__main__":
    main()
