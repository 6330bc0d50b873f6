"""The authors' model in plain tensor code, written from a description of the format and independent of the package.

It reads one text at a time without padding, so that padded batches of the package are compared with unpadded texts.
"""

import math

import torch
from scipy.optimize import linear_sum_assignment

BASE = {
    "dim": 32,
    "n_head": 2,
    "n_layer": 3,
    "ffn_dim_multiplier": None,
    "extra_chars": ".,!?-;:'\"",
    "unique_decoding": True,
    "sinkhorn_decoding": False,
    "dynamic_embeddings": False,
    "embedding_n_layer": 0,
    "embedding_n_head": 0,
    "learning_rate": 1e-4,
}
CONFIGS = {
    "base": BASE,
    "bijective": BASE | {"sinkhorn_decoding": True, "sinkhorn_tau": 2.0, "sinkhorn_iters": 4, "cross_n_head": 4},
    "dynamic": BASE | {"dynamic_embeddings": True, "embedding_n_layer": 2, "embedding_n_head": 4},
}
VOCABULARY = 37


def ffn_width(dim, multiplier, multiple):
    width = int(2 * 4 * dim / 3)
    if multiplier is not None:
        width = int(width * multiplier)
    return math.ceil(width / multiple) * multiple


def random_state(config, vocabulary=VOCABULARY, seed=0):
    """Return random weights in the layout of the authors' state dict."""
    generator, dim = torch.Generator().manual_seed(seed), config["dim"]

    def draw(*shape, scale):
        return torch.randn(*shape, generator=generator) * scale

    def block(prefix, width):
        return {
            f"{prefix}.attention.wqkv.weight": draw(3 * dim, dim, scale=0.2),
            f"{prefix}.attention.wo.weight": draw(dim, dim, scale=0.1),
            f"{prefix}.attention_norm.weight": 1 + draw(dim, scale=0.2),
            f"{prefix}.ffn_norm.weight": 1 + draw(dim, scale=0.2),
            f"{prefix}.feed_forward.w1.weight": draw(width, dim, scale=0.15),
            f"{prefix}.feed_forward.w3.weight": draw(width, dim, scale=0.15),
            f"{prefix}.feed_forward.w2.weight": draw(dim, width, scale=0.03),
        }

    state = {}
    if config["dynamic_embeddings"]:
        state["embeddings.dummy_embedding.weight"] = draw(vocabulary, dim, scale=1)
        state["embeddings.query"] = draw(vocabulary, dim, scale=1)
        width = ffn_width(dim, None, dim // config["embedding_n_head"])
        for n in range(config["embedding_n_layer"]):
            state |= block(f"embeddings.blocks.{n}", width)
    else:
        state["embeddings.weight"] = draw(vocabulary, dim, scale=1)
    for n in range(config["n_layer"]):
        state |= block(f"blocks.{n}", ffn_width(dim, config["ffn_dim_multiplier"], 256))
    state["norm.weight"] = 1 + draw(dim, scale=0.2)
    if config["sinkhorn_decoding"]:
        state["output_query"] = draw(vocabulary, dim, scale=1)
    return state | {"debed.weight": draw(vocabulary, dim, scale=0.3), "debed.bias": draw(vocabulary, scale=0.3)}


def file_of(state, config, **more):
    """Return what the authors' trainer hands to torch.save."""
    rest = {"optimizer_state_dict": {"state": {0: {"exp_avg": torch.ones(3)}}}, "scheduler_state_dict": {}}
    return {"model_state_dict": state, **rest, "global_step": 1234, "config": dict(config), **more}


def norm(x, scale):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + 1e-5) * scale


def rotate(x, truncated):
    """Turn the adjacent pairs (0, 1), (2, 3), ... of x, (length, width), by the angle of each position."""
    length, width = x.shape
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, width, 2).float() / width))
    angles = torch.arange(1024).float()[:length, None] * frequencies
    turns = torch.polar(torch.ones_like(angles), angles)  # as they do: torch.cos rounds some entries near 1 otherwise
    cosines, sines = turns.real, turns.imag
    if truncated:
        cosines, sines = cosines.long().float(), sines.long().float()
    turned = torch.empty_like(x)
    turned[:, 0::2] = x[:, 0::2] * cosines - x[:, 1::2] * sines
    turned[:, 1::2] = x[:, 0::2] * sines + x[:, 1::2] * cosines
    return turned


def attend(query, keys):
    """Attend with keys that are the values, too."""
    return torch.softmax(query @ keys.T / math.sqrt(keys.shape[1]), dim=-1) @ keys


def run_block(state, prefix, x, heads, truncated=False):
    dim = x.shape[1]
    size = dim // heads
    normed = norm(x, state[f"{prefix}.attention_norm.weight"])
    q, k, v = (normed @ part.T for part in state[f"{prefix}.attention.wqkv.weight"].split(dim))
    outputs = []
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        scores = rotate(q[:, columns], truncated) @ rotate(k[:, columns], truncated).T / math.sqrt(size)
        outputs.append(torch.softmax(scores, dim=-1) @ v[:, columns])
    x = x + torch.cat(outputs, dim=1) @ state[f"{prefix}.attention.wo.weight"].T
    normed = norm(x, state[f"{prefix}.ffn_norm.weight"])
    gate = normed @ state[f"{prefix}.feed_forward.w1.weight"].T
    up = normed @ state[f"{prefix}.feed_forward.w3.weight"].T
    return x + (gate * torch.sigmoid(gate) * up) @ state[f"{prefix}.feed_forward.w2.weight"].T


def embed(state, config, tokens, truncated):
    if not config["dynamic_embeddings"]:
        return state["embeddings.weight"][tokens]
    x = state["embeddings.dummy_embedding.weight"][tokens]
    for n in range(config["embedding_n_layer"]):
        x = run_block(state, f"embeddings.blocks.{n}", x, config["embedding_n_head"], truncated)
    return attend(state["embeddings.query"], x)[tokens]


def streams(state, config, tokens, truncated=True):
    """Return the residual stream after the embedding and after each block, each (length, dim)."""
    found = [embed(state, config, tokens, truncated)]
    for n in range(config["n_layer"]):
        found.append(run_block(state, f"blocks.{n}", found[-1], config["n_head"]))
    return found


def pooled(state, x, tokens):
    """Normalise, then give each position the mean over all positions with its symbol."""
    x = norm(x, state["norm.weight"])
    means = {token: x[tokens == token].mean(0) for token in set(tokens.tolist())}
    return torch.stack([means[token] for token in tokens.tolist()])


def bijective_scores(state, config, x, tokens):
    """Return the score of each pair of cipher symbol and plain symbol, (vocabulary, vocabulary)."""
    keys = pooled(state, x, tokens)
    size = config["dim"] // (config.get("cross_n_head") or 1)
    parts = zip(state["output_query"].split(size, dim=1), keys.split(size, dim=1), strict=True)
    return torch.cat([attend(*part) for part in parts], dim=1) @ state["debed.weight"].T + state["debed.bias"]


def relaxed(scores, config):
    """Return the logs of the relaxed permutation, without noise."""
    logs = scores / config["sinkhorn_tau"]
    for _ in range(config["sinkhorn_iters"]):
        logs = logs - torch.logsumexp(logs, dim=1, keepdim=True)
        logs = logs - torch.logsumexp(logs, dim=0, keepdim=True)
    return logs


def decode(state, config, x, tokens):
    """Return the output for a residual stream of any layer, (length, vocabulary)."""
    if not config["sinkhorn_decoding"]:
        return pooled(state, x, tokens) @ state["debed.weight"].T + state["debed.bias"]
    scores = bijective_scores(state, config, x, tokens)
    rows, columns = linear_sum_assignment(-scores.numpy())
    permutation = torch.zeros_like(scores)
    permutation[rows, columns] = 1
    return permutation[tokens]
