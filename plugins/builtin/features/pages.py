"""The page of one layer: cards of its strongest features, and what each concept's best feature is."""

import numpy as np

from alice.plugins.builtin.features.matching import ALIKE
from alice.plugins.builtin.features.measure import EFFECT_TEXTS, Measured
from alice.plugins.builtin.features.shown import Context
from alice.reports import Card, HeatText, Metric, Section, Table
from alice.statistics import Floats, blank_nan
from alice.text import PAD

NAMED = 3
"""Symbols that are named as raised or lowered by a feature."""
DECIMALS = 4
"""Decimals of an effect in nats; the arrays have all."""


def layer_section(found: Measured, layer: int) -> Section:
    """Return the section with the page of a layer."""
    where = "the embedding" if layer == 0 else f"the residual stream after `blocks.{layer - 1}`"
    alive = int((found.activity.frequency[layer] > 0).sum())
    return Section(
        f"layer-{layer}",
        f"Layer {layer}",
        f"The features of {where} that carry most, at most {ALIKE} for each nearest concept, of {alive:,} that are "
        "ever active. Each text is around the "
        "character with the largest activation, with the plaintext above and the ciphertext below. The head's reading "
        "is what the feature adds to the log-probabilities if the model's own head reads this layer; the effect of "
        "removing it runs through the rest of the model, with the feature removed wherever it is active in the first "
        f"{min(EFFECT_TEXTS, len(found.reconstruction.clean))} texts.",
        cards=list(layer_cards(found, layer)),
        tables=[f"features-layer-{layer}", f"concepts-layer-{layer}"],
        page=True,
    )


def layer_cards(found: Measured, layer: int) -> dict[str, Card]:
    """Return a card for each shown feature of a layer that is ever active."""
    cards = {}
    for place, feature in enumerate(found.shown[layer].tolist()):
        if not (frequency := float(found.activity.frequency[layer, feature])):
            continue
        metrics = [
            Metric("frequency", 100 * frequency, unit="%", label="active at"),
            Metric("energy", _share(found, layer, feature), unit="%", label="share of the energy"),
        ]
        for name, values, label in (
            ("active", found.effects.active, "effect of removal where active"),
            ("elsewhere", found.effects.elsewhere, "elsewhere"),
        ):
            if not np.isnan(value := float(values[layer, place])):
                metrics.append(Metric(name, round(value, DECIMALS), unit="nats", label=label))
        peak = float(found.activity.peak[layer, feature])
        cards[f"feature-{layer}-{feature}"] = Card(
            f"Feature {feature}",
            f"{_nearest(found, layer, place)}\n\n{_reading(found, layer, place)}",
            metrics,
            [_heat_text(context, peak) for context in found.contexts[layer][place]],
        )
    return cards


def feature_table(found: Measured, layer: int) -> Table:
    """Return the shown features of a layer in numbers."""
    rows = []
    for place, feature in enumerate(found.shown[layer].tolist()):
        naming, effects = found.naming, found.effects
        raised, lowered = _extremes(found, effects.direct[layer, place])
        cells = (naming.nearest_f1[layer, place], effects.active[layer, place], effects.elsewhere[layer, place])
        rows.append(
            (
                *(found.model, layer, feature, 100 * float(found.activity.frequency[layer, feature])),
                *(_share(found, layer, feature), _concept(found, layer, place)),
                *(blank_nan(round(float(cell), DECIMALS)) for cell in cells),
                *(raised or None, lowered or None),
            )
        )
    return Table(
        (
            *("model", "layer", "feature", "frequency", "energy", "concept", "f1", "removal", "removal_elsewhere"),
            *("raises", "lowers"),
        ),
        rows,
        "The features of this layer that carry most, few of them for one concept: share of the characters at which "
        "they are active, share of the energy, the concept they detect best with its F1 on held-out texts, what "
        "removing them does to the log-probability of the right answer where they are active and elsewhere (in nats), "
        "and which symbols the head reads in them.",
        labels={
            "frequency": "active at, %",
            "energy": "energy, %",
            "concept": "nearest concept",
            "f1": "F1",
            "removal": "removal, where active",
            "removal_elsewhere": "elsewhere",
        },
        monospace=("raises", "lowers"),
        title=f"Features of layer {layer}",
    )


def layer_table(found: Measured, layer: int) -> Table:
    """Return the best feature of a layer for every concept."""
    naming, rows = found.naming, []
    for number, concept in enumerate(naming.concepts):
        cells = (naming.f1[layer, number], naming.probe_f1[layer, number])
        feature, count = int(naming.best.features[layer, number]), int(naming.members[number])
        rows.append((found.model, layer, concept.label, count, feature, *(blank_nan(float(cell)) for cell in cells)))
    return Table(
        ("model", "layer", "concept", "characters", "feature", "f1", "probe_f1"),
        rows,
        "The best feature of this layer for every concept, its F1 on held-out texts, and that of a linear probe.",
        labels={"f1": "F1", "probe_f1": "F1 of the probe"},
        title=f"Concepts in layer {layer}",
    )


def _share(found: Measured, layer: int, feature: int) -> float:
    """Return the share of a layer's energy that a feature carries, in percent."""
    energy = found.activity.energy[layer]
    return float(100 * energy[feature] / max(energy.sum(), np.finfo(float).tiny))


def _concept(found: Measured, layer: int, place: int) -> str:
    return found.naming.concepts[int(found.naming.nearest.concepts[layer, place])].label


def _nearest(found: Measured, layer: int, place: int) -> str:
    f1 = float(found.naming.nearest_f1[layer, place])
    score = "not active in the held-out texts" if np.isnan(f1) else f"F1 {f1:.2f}"
    return f"Nearest concept: {_concept(found, layer, place)} ({score})."


def _reading(found: Measured, layer: int, place: int) -> str:
    raised, lowered = _extremes(found, found.effects.direct[layer, place])
    parts = [f"{verb} `{names}`" for verb, names in (("raises", raised), ("lowers", lowered)) if names]
    return f"For the head it {' and '.join(parts)}." if parts else "It is not active where its effect was measured."


def _extremes(found: Measured, direct: Floats) -> tuple[str, str]:
    """Return the symbols that a feature raises most and lowers most, with the change in nats."""
    if np.isnan(direct).any():
        return "", ""
    symbols = range(PAD + 1, len(direct))
    ranked = sorted(symbols, key=lambda symbol: -direct[symbol])
    raised, lowered = ranked[:NAMED], ranked[: -NAMED - 1 : -1]
    return (
        " ".join(_named(found, symbol, direct) for symbol in raised if direct[symbol] > 0),
        " ".join(_named(found, symbol, direct) for symbol in lowered if direct[symbol] < 0),
    )


def _named(found: Measured, symbol: int, direct: Floats) -> str:
    name = found.symbols[symbol - 1]
    return f"{'space' if name == ' ' else name} {direct[symbol]:+.2f}"


def _heat_text(context: Context, peak: float) -> HeatText:
    return HeatText(context.plain, context.activations, below=context.cipher, limit=peak or None)
