"""One training step of the authors' code in plain tensors, without dropout, independent of the package."""

import torch
import upstream_reference as reference

RATE, DECAY, EPSILON = 1e-4, 0.1, 1e-5


def character_logits(state, config, padded, noise):
    """Return what their model gives for the characters of one padded row, (characters, vocabulary)."""
    tokens = padded[padded != 0]  # padding is at the end, and the blocks do not attend to it
    x = reference.embed(state, config, padded, truncated=True)[: len(tokens)]  # the hypernetwork reads the padding, too
    for n in range(config["n_layer"]):
        x = reference.run_block(state, f"blocks.{n}", x, config["n_head"])
    if not config["sinkhorn_decoding"]:
        return reference.pooled(state, x, tokens) @ state["debed.weight"].T + state["debed.bias"]
    scores = reference.bijective_scores(state, config, x, tokens)
    return reference.relaxed(scores + noise, config).exp()[tokens]  # probabilities, which their loss takes as logits


def loss_of(state, config, cipher, plain, noise):
    """Return the mean cross-entropy over all characters of a padded batch."""
    logits = torch.cat([character_logits(state, config, *row) for row in zip(cipher, noise, strict=True)])
    answers = plain[cipher != 0]
    right = logits[torch.arange(len(answers)), answers]
    return (torch.logsumexp(logits, dim=1) - right).mean()


def gradients(state, config, cipher, plain, noise):
    """Return the loss and its gradient for each weight, in double precision."""
    leaves = {name: tensor.double().requires_grad_() for name, tensor in state.items()}
    loss = loss_of(leaves, config, cipher, plain, noise.double())
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    zero = {name: torch.zeros_like(tensor) for name, tensor in leaves.items()}
    return float(loss.detach()), zero | {
        name: gradient for name, gradient in zip(leaves, found, strict=True) if gradient is not None
    }


def after_first_step(state, slopes):
    """Return the weights after AdamW's first step, in which both moments are those of one gradient."""
    return {
        name: tensor.double() * (1 - RATE * DECAY) - RATE * slopes[name] / (slopes[name].abs() + EPSILON)
        for name, tensor in state.items()
    }
