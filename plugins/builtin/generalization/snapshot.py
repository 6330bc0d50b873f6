"""The measures of one checkpoint: what it answers, how that compares with the references, and how it gets there."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.causal import recovered
from alice.model import Alice, PlainExit, run_batch
from alice.plugins.builtin.attention.measure import measure as measure_attention
from alice.plugins.builtin.generalization.measures import LAPSES, POOL_WEIGHTS, Snapshot
from alice.plugins.builtin.generalization.references import SEED, Encrypted, Probes
from alice.plugins.builtin.patching.depth import HALF, crossing, measure_depth
from alice.plugins.builtin.traces import EXITS
from alice.plugins.context import RunContext
from alice.solving.guided_solver import opinions_at
from alice.statistics import Floats, blank_nan
from alice.text import Batch, Batches

INSIDE_TEXTS = 24
"""Texts for what is measured with many passes: label depth and attention."""
TINY = 1e-300


def measure_snapshot(model: Alice, probes: Probes) -> Snapshot:
    """Measure a model in evaluation mode."""
    pooled, new = (_read(model, encrypted.batches) for encrypted in (probes.pooled, probes.new))
    both = ((pooled, probes.pooled), (new, probes.new))
    symmetry, same = _symmetry(model, probes)
    heads, uniform = _attention(model, probes.texts[:INSIDE_TEXTS])
    return Snapshot(
        accuracy_pool=pooled.accuracy,
        accuracy_new=new.accuracy,
        exits_pool=pooled.exits,
        exits_new=new.exits,
        **{
            f"kl_{reference}_{keys}": divergence(getattr(encrypted, reference), answers.logs, encrypted.weights)
            for keys, (answers, encrypted) in zip(("pool", "new"), both, strict=True)
            for reference in ("pool", "general")
        },
        mixtures=np.mean(
            [mixture_divergences(answers.logs, encrypted) for answers, encrypted in both], axis=0
        ).tolist(),
        symmetry=symmetry,
        same_answers=same,
        label_depth=_label_depth(model, probes.texts[:INSIDE_TEXTS]),
        attention=heads.tolist(),
        uniform_attention=uniform.tolist(),
        weight_norm=math.sqrt(math.fsum(float(one.double().square().sum()) for one in model.state_dict().values())),
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """What a model answers to the texts of one key set."""

    logs: Floats
    """Log-probability of each plain letter for each cipher letter, (text, 26 cipher, 26 plain); rows sum to 1."""
    accuracy: float
    exits: list[float]


def _read(model: Alice, batches: Batches) -> _Answers:
    """Read texts at every exit."""
    logs: dict[int, Floats] = {}
    right, characters, letters = 0, 0, 0
    exits = np.zeros(len(model.match_hooks(*EXITS)))
    for batch, streams, answers in _streams(model, batches):
        said = opinions_at(model, streams[-1], batch.cipher_ids)
        found = np.stack([one.logs for one in said]).astype(np.float64)
        found -= np.logaddexp.reduce(found, axis=-1, keepdims=True)  # the letters alone, without punctuation
        logs |= zip(batch.index.tolist(), found, strict=True)
        correct, is_letter = answers == batch.plain_ids, _letters(model, batch)
        right += int((correct[-1] & batch.mask).sum())
        characters += int(batch.mask.sum())
        letters += int(is_letter.sum())
        exits += (correct & is_letter).sum((1, 2)).numpy()
    return _Answers(np.stack([logs[number] for number in sorted(logs)]), right / characters, (exits / letters).tolist())


def _streams(model: Alice, batches: Batches) -> Iterator[tuple[Batch, list[Tensor], Tensor]]:
    """Yield each batch, its residual streams, (batch, pos, d_model) per layer, and answers, (layer, batch, pos)."""
    names, head = model.match_hooks(*EXITS), PlainExit(model)
    for whole in batches:
        batch, _, cache = run_batch(model, whole, names)
        with torch.inference_mode():
            tables = [head.read(name, cache[name], batch.cipher_ids).argmax(-1) for name in names]
            answers = torch.stack([table.gather(1, batch.cipher_ids) for table in tables])
        yield batch, [cache[name] for name in names], answers


def _letters(model: Alice, batch: Batch) -> Tensor:
    """Return where there are letters, (batch, pos)."""
    return torch.isin(batch.cipher_ids, model.letter_ids.to(batch.cipher_ids))


def divergence(reference: Floats, logs: Floats, weights: Floats) -> float:
    """Return the KL divergence from a reference to a network, per letter of the texts, a mean over texts.

    Args:
        reference: probabilities, (text, 26, 26).
        logs: log-probabilities of the network, (text, 26, 26).
        weights: share of each cipher letter among the letters of a text, (text, 26).

    """
    rows = (reference * (np.log(np.maximum(reference, TINY)) - logs)).sum(-1)
    return float((rows * weights).sum(1).mean())


def mixture_divergences(logs: Floats, encrypted: Encrypted) -> Floats:
    """Return the KL divergence from a network to every mixture, (lapse, weight), per letter, a mean over texts."""
    seen = encrypted.weights > 0
    own, pool, general = logs[seen], encrypted.pool[seen], encrypted.general[seen]  # (letter, 26)
    weights = encrypted.weights[seen] / len(encrypted.weights)
    chances = np.exp(own)
    entropy = weights @ (chances * own).sum(-1)
    found = np.empty((len(LAPSES), len(POOL_WEIGHTS)))
    for place, share in enumerate(POOL_WEIGHTS):
        mixed = share * pool + (1 - share) * general
        for row, lapse in enumerate(LAPSES):
            expected = np.log((1 - lapse) * mixed + lapse / mixed.shape[-1])
            found[row, place] = entropy - weights @ (chances * expected).sum(-1)
    return found


def _symmetry(model: Alice, probes: Probes) -> tuple[list[float], list[float]]:
    """Return how alike two namings of the texts are treated after each layer: the stream, and the answers."""
    streams, agreeing = list[tuple[Tensor, Tensor]](), list[Tensor]()
    for one, other in zip(_streams(model, probes.new.batches), _streams(model, probes.renamed), strict=True):
        (batch, first, answers), (_, second, renamed) = one, other
        places = _letters(model, batch)
        streams.append((torch.stack(first)[:, places], torch.stack(second)[:, places]))  # (layer, place, d_model)
        agreeing.append((answers == renamed)[:, places])
    both = [torch.cat(part, dim=1).double() for part in zip(*streams, strict=True)]
    return shared_variance(*both).tolist(), torch.cat(agreeing, dim=1).double().mean(1).tolist()


def shared_variance(one: Tensor, other: Tensor) -> Tensor:
    """Return the share of their variance that two streams have in common, (layer, place, d_model) -> (layer,).

    It is 1 if they are equal, and 0 on average if they have nothing to do with each other.
    """
    both = torch.cat([one, other], dim=1)
    variance = (both - both.mean(1, keepdim=True)).square().sum(-1).mean(1)
    return 1 - (one - other).square().sum(-1).mean(1) / (2 * variance).clamp_min(TINY)


def _context(model: Alice, texts: list[str]) -> RunContext:
    return RunContext.open(model, data=texts, seed=SEED)


def _label_depth(model: Alice, texts: list[str]) -> float | None:
    """Return the label depth of the patching analysis: relabelled streams put into the original texts."""
    (found,) = (one for one in measure_depth(_context(model, texts)) if one.into == "corrupted")
    share = recovered(found.scores, found.clean, found.corrupted, np.random.default_rng(SEED)).share
    return blank_nan(float(crossing(share[None], HALF)[0]))


def _attention(model: Alice, texts: list[str]) -> tuple[Floats, Floats]:
    """Return the statistics of each head, (head, statistic), and of uniform attention, (statistic,)."""
    found = measure_attention(_context(model, texts))
    return found.means, found.uniform_means
