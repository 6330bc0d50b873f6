"""Trains the features of a model and measures them: what they keep, what they name, and whether they are stable."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.builtin.features.matching import Matcher, Naming
from alice.plugins.builtin.features.reconstruction import Reconstruction, reconstruct
from alice.plugins.builtin.features.shown import Context, Effects, EffectSums, contexts
from alice.plugins.builtin.features.stability import Stability, stability
from alice.plugins.builtin.features.training import Size, train
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Batch

EFFECT_TEXTS = 24
"""Texts on which the effect of removing a feature is measured: the first ones."""


@dataclass(frozen=True)
class Settings:
    """What to train and to show, as the options of the analysis say."""

    expansion: int
    """Features of each layer, per dimension of the stream."""
    active: int
    """Features that are active at a character, on average."""
    training: int
    """Texts to train on."""
    fitting: int
    """The first of them, on which features are matched with concepts and probes are trained."""
    seeds: int
    """Trainings from different initial directions."""
    shown: int
    """Features to show of each layer."""


@dataclass(frozen=True, eq=False)
class Activity:
    """How active each feature is on the fitting texts; the arrays are (layer, feature)."""

    frequency: Floats
    """Share of the characters at which it is active; 0 for a dead feature."""
    energy: Floats
    """Mean square of its activation: how much of the stream it carries."""
    peak: Floats
    """Its largest activation."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The features of one model."""

    model: str
    """Name of the checkpoint."""
    settings: Settings
    """How they were trained."""
    trained_on: int
    """Characters of the training texts."""
    autoencoders: Autoencoders
    """Those of the first seed; everything but the stability is about them."""
    activity: Activity
    """How active their features are."""
    reconstruction: Reconstruction
    """What they keep, on held-out texts."""
    naming: Naming
    """What they name, on held-out texts."""
    stability: Stability | None
    """Agreement of the seeds; None with one seed."""
    shown: Ints
    """Numbers of the features to show, as `strongest` chooses them, (layer, shown)."""
    effects: Effects
    """What removing these changes."""
    contexts: list[list[list[Context]]]
    """Texts in which they are most active, by layer and feature."""
    symbols: str
    """Symbols of the model's alphabet; id n is symbol n - 1."""


def measure(ctx: RunContext, settings: Settings) -> Measured:
    """Train on training texts of a context, choose on some of them, and measure on the texts of the context."""
    learned, rng = ctx.training(settings.training), ctx.rng
    size = Size(settings.expansion * ctx.model.config.d_model, settings.active)
    every = train(learned, size, seeds=settings.seeds, rng=rng)
    fitting = ctx.training(min(settings.fitting, settings.training))
    activities = [activity_of(fitting, one.to(ctx.device)) for one in every]
    autoencoders, activity = every[0].to(ctx.device), activities[0]
    matcher = Matcher.fit(fitting, autoencoders, peaks=activity.peak, energy=activity.energy, shown=settings.shown)
    shown = matcher.nearest.features
    effects = EffectSums(ctx.model, autoencoders, shown)
    parts: dict[int, Reconstruction] = {}
    peaks: dict[int, NDArray[np.float32]] = {}
    for batch, cache in ctx.progress(ctx.activations(*autoencoders.hooks), f"Reading with {ctx.checkpoint}"):
        streams = [cache[name] for name in autoencoders.hooks]
        parts |= reconstruct(ctx.model, autoencoders, batch, streams)
        peaks |= _peaks_by_text(autoencoders, batch, streams, shown)
        matcher.add(batch, streams)
        if (few := batch.index < EFFECT_TEXTS).any():
            effects.add(batch.chosen(few), [stream[few] for stream in streams])
    return Measured(
        model=ctx.checkpoint,
        settings=settings,
        trained_on=sum(map(len, learned.plaintexts)),
        autoencoders=autoencoders.to("cpu"),
        activity=activity,
        reconstruction=Reconstruction.joined(parts),
        naming=matcher.naming,
        stability=stability([_living(*pair) for pair in zip(every, activities, strict=True)], rng),
        shown=shown,
        effects=effects.means,
        contexts=contexts(ctx, autoencoders, shown, np.stack([peaks[number] for number in sorted(peaks)])),
        symbols=ctx.alphabet.symbols,
    )


@torch.no_grad()
def activity_of(ctx: RunContext, autoencoders: Autoencoders) -> Activity:
    """Measure how active every feature is on the texts of a context."""
    layers, features, _ = autoencoders.encoder.shape
    count, square, peak = (torch.zeros(layers, features, dtype=torch.float64) for _ in range(3))
    characters = 0
    for batch, cache in ctx.progress(ctx.store(*autoencoders.hooks), "Counting activations"):
        characters += int(batch.mask.sum())
        for layer, name in enumerate(autoencoders.hooks):
            found = autoencoders.encode(cache[name][batch.mask], layer)
            count[layer] += (found > 0).sum(0).cpu()
            square[layer] += found.square().sum(0).cpu()
            peak[layer] = torch.maximum(peak[layer], found.amax(0).cpu())
    return Activity((count / characters).numpy(), (square / characters).numpy(), peak.numpy())


@torch.no_grad()
def _peaks_by_text(
    autoencoders: Autoencoders, batch: Batch, streams: list[Tensor], shown: Ints
) -> dict[int, NDArray[np.float32]]:
    """Return the largest activation of each shown feature in each text of a batch, (layer, shown), by its number."""
    found = []
    for layer, stream in enumerate(streams):
        values = autoencoders.encode(stream, layer)[..., torch.from_numpy(shown[layer]).to(stream.device)]
        found.append(torch.where(batch.mask[..., None], values, 0.0).amax(1))
    return dict(zip(batch.index.tolist(), torch.stack(found, 1).float().cpu().numpy(), strict=True))


def _living(autoencoders: Autoencoders, activity: Activity) -> list[Floats]:
    """Return the directions of the living features of each layer, (feature, d_model)."""
    directions: Floats = autoencoders.decoder.double().cpu().numpy()
    return [layer[alive] for layer, alive in zip(directions, activity.frequency > 0, strict=True)]
