"""The result of the features analysis: what features keep, name and share between seeds, and a page for each layer."""

from typing import Any

import numpy as np

from alice.plugins.builtin.features.autoencoders import FEATURES
from alice.plugins.builtin.features.concepts import KINDS
from alice.plugins.builtin.features.figures import summed_figures
from alice.plugins.builtin.features.measure import Measured
from alice.plugins.builtin.features.pages import feature_table, layer_cards, layer_section, layer_table
from alice.plugins.builtin.features.stability import SAME
from alice.plugins.builtin.features.summed import COVERED, FEWEST, Summed
from alice.plugins.findings import DirectionFinding, Findings
from alice.reports import Figure, Metric, Result, Section, Table, model_key
from alice.statistics import Floats, blank_nan

CAVEATS = (
    "A feature is a direction that helps to describe a stream with few numbers. That does not make it a part of the "
    "computation: see what removing it costs, and whether other seeds find it.",
    "Loss recovered compares with a stream that is the mean everywhere. Much of it can be recovered by features that "
    "miss what matters for hard letters; read it together with the explained variance.",
    "F1 is of one feature with one threshold, both chosen on training texts. A concept that several features share, or "
    "that is spread over a direction nobody chose, counts as not named.",
    "Removing a feature leaves its part of the stream at the value it has where the feature is inactive; the error of "
    "the reconstruction stays in the stream.",
    "Intervals are 95 % over texts; they do not cover other trainings of the model or of the autoencoders.",
)


def report(found: Measured, *, rng: np.random.Generator) -> Result:
    """Build the result from what was measured."""
    summed = Summed.of(found, rng)
    layers = range(len(found.shown))
    cards = {name: card for layer in layers for name, card in layer_cards(found, layer).items()}
    tables = {
        "layers": _layer_table(summed),
        "losses": _loss_table(summed),
        "coverage": _coverage_table(summed),
        "concepts": _concept_table(summed),
        **{f"features-layer-{layer}": feature_table(found, layer) for layer in layers},
        **{f"concepts-layer-{layer}": layer_table(found, layer) for layer in layers},
    }
    figures = summed_figures(summed)
    return Result(
        title="Features",
        summary=_summary(summed),
        caveats=CAVEATS,
        metrics=_metrics(summed),
        headline="loss-recovered",
        tables=tables,
        figures=figures,
        arrays=_arrays(found),
        cards=cards,
        sections=[*_sections(figures), *(layer_section(found, layer) for layer in layers)],
        artefacts={model_key(FEATURES, found.model): found.autoencoders.tensors},
    )


def directions(result: Result) -> Findings:
    """Return the features that every other seed finds as directions, those that carry most of their layer first.

    With one seed there are none: a feature that another training does not find is no property of the model.
    """
    claims = []
    for key in result.artefacts:
        model = key.partition("@")[2]
        decoder, energy = result.artefact(FEATURES, model)["decoder"], result.array("energy", model)
        shares = energy / energy.sum(1, keepdims=True).clip(np.finfo(float).tiny)
        for layer, feature in np.argwhere(result.array("nearest", model) >= SAME).tolist():
            vector = decoder[layer, feature].astype(np.float64)
            claims.append(DirectionFinding(layer, vector, float(shares[layer, feature])))
    return Findings(directions=tuple(sorted(claims, key=lambda claim: -claim.score)))


def _sections(figures: dict[str, Figure]) -> list[Section]:
    return [
        Section(
            "reconstruction",
            "What the features keep",
            "The stream of one layer is replaced by its reconstruction from features, at every character; the rest of "
            "the model runs as it is. Loss recovered is 100 % if nothing is lost and 0 % if the stream is the mean "
            "everywhere.",
            figures=["reconstruction"],
            tables=["layers", "losses"],
        ),
        Section(
            "naming",
            "What the features name",
            "For each concept, the feature with the best F1 on training texts, tested on held-out texts, beside a "
            "linear probe on the same stream. A probe may use all directions; a feature is a single one. A concept "
            f"counts as covered if F1 is at least {COVERED}; those with fewer than {FEWEST} held-out characters are "
            "left out.",
            figures=["coverage", "f1-by-kind"],
            tables=["coverage", "concepts"],
        ),
        *(
            [
                Section(
                    "stability",
                    "Whether another seed finds them",
                    "The same training from other initial directions. Random directions have the covariance of the "
                    "features, so that a layer that uses few dimensions does not look stable for this reason alone.",
                    figures=["stability"],
                )
            ]
            if "stability" in figures
            else []
        ),
    ]


def _summary(one: Summed) -> str:
    found, settings = one.found, one.found.settings
    features = found.autoencoders.encoder.shape[1]
    weakest = int(np.nanargmin(one.recovered.share))
    text = (
        f"Sparse autoencoders with {features:,} features per layer, of which {settings.active} are active at a "
        f"character on average, were trained on {found.trained_on:,} characters of training texts, spaces and "
        f"punctuation included. On {len(found.reconstruction.clean):,} held-out texts of {found.model} the "
        f"reconstructions recover {100 * one.recovered.share.mean():.1f} % of the loss on average over layers, least "
        f"at layer {weakest} ({100 * one.recovered.share[weakest]:.1f} %).\n\nSingle features name "
        f"{100 * one.covered.share:.0f} % of {len(one.usual)} concepts with an F1 of at least {COVERED} in their best "
        f"layer; linear probes {100 * one.probe_covered.share:.0f} %."
    )
    if found.stability is not None:
        text += (
            f" Of the living features, {100 * np.nanmean(found.stability.found):.0f} % have one of another seed with a "
            f"cosine of {SAME} or more."
        )
    return text


def _metrics(one: Summed) -> list[Metric]:
    found, model = one.found, one.found.model
    alive = (found.activity.frequency > 0).mean()

    def percent(name: str, part: Any, label: str) -> Metric:
        interval = (100 * part.low, 100 * part.high)
        return Metric(name, 100 * part.share, interval=interval, unit="%", model=model, label=label)

    metrics = [
        percent("loss-recovered", one.recovered.mean, "loss recovered, mean over layers"),
        percent("explained-variance", one.explained.mean, "explained variance, mean over layers"),
        Metric("l0", float(one.active.mean.mean()), model=model, label="active features per character"),
        Metric("dead", float(100 * (1 - alive)), unit="%", model=model, label="dead features"),
        percent("coverage", one.covered, "concepts that a feature names"),
        percent("probe-coverage", one.probe_covered, "concepts that a linear probe names"),
    ]
    if found.stability is not None:
        values = {"stability": "largest cosine with another seed", "stability-random": "the same, random directions"}
        for (name, label), part in zip(values.items(), (found.stability.cosine, found.stability.random), strict=True):
            metrics.append(Metric(name, float(np.nanmean(part)), model=model, label=label))
    return [*metrics, Metric("texts", len(found.reconstruction.clean)), Metric("characters-trained", found.trained_on)]


def _layer_table(one: Summed) -> Table:
    found, stable = one.found, one.found.stability
    rows: list[tuple[Any, ...]] = []
    for layer, frequency in enumerate(found.activity.frequency):
        shares = (100 * part for part in (*one.recovered.at(layer), float(one.explained.share[layer])))
        cosines = [float(part[layer]) for part in (stable.cosine, stable.random)] if stable else [np.nan, np.nan]
        active, dead = float(one.active.mean[layer]), int((frequency == 0).sum())
        rows.append((found.model, layer, *map(blank_nan, shares), active, dead, *map(blank_nan, cosines)))
    return Table(
        ("model", "layer", "recovered", "low", "high", "explained", "l0", "dead", "cosine", "random"),
        rows,
        "Each layer: loss recovered with its 95 % interval, explained variance, active features per character, dead "
        "features (never active on the fitting texts), and the mean largest cosine with another seed and of random "
        "directions.",
        labels={
            "recovered": "recovered, %",
            "low": "from",
            "high": "to",
            "explained": "variance, %",
            "l0": "L0",
        },
        title="Layers",
    )


def _loss_table(one: Summed) -> Table:
    part = one.losses
    rows: list[tuple[Any, ...]] = [
        (one.found.model, layer, *(float(losses.mean()) for losses in (part.clean, replaced, ablated)))
        for layer, (replaced, ablated) in enumerate(zip(part.replaced.T, part.ablated.T, strict=True))
    ]
    return Table(
        ("model", "layer", "loss", "loss_replaced", "loss_ablated"),
        rows,
        "Loss in nats per character, mean over texts: of the model, with the reconstruction of a layer in place of its "
        "stream, and with the mean stream.",
        labels={"loss_replaced": "with features", "loss_ablated": "with the mean"},
        title="Losses",
    )


def _coverage_table(one: Summed) -> Table:
    naming = one.found.naming
    rows: list[tuple[Any, ...]] = []
    for kind, label in KINDS.items():
        if not (columns := one.of_kind(kind)):
            continue
        for layer in range(len(naming.f1)):
            feature, probe = (values[layer, columns] for values in (naming.f1, naming.probe_f1))
            shares = (100 * float((values >= COVERED).mean()) for values in (feature, probe))
            rows.append(
                (one.found.model, label, layer, len(columns), float(feature.mean()), float(probe.mean()), *shares)
            )
    return Table(
        ("model", "kind", "layer", "concepts", "f1", "probe_f1", "covered", "probe_covered"),
        rows,
        "Mean F1 over the concepts of a kind and the share of them that is covered, for the best feature of each "
        "concept and for a linear probe.",
        labels={
            "f1": "F1",
            "probe_f1": "F1 of the probe",
            "covered": "covered, %",
            "probe_covered": "covered by the probe, %",
        },
        title="Coverage by kind",
    )


def _concept_table(one: Summed) -> Table:
    naming = one.found.naming
    rows: list[tuple[Any, ...]] = []
    for number in one.usual:
        concept, layer = naming.concepts[number], int(one.best_layer[number])
        cells = (
            naming.f1[layer, number],
            *one.f1_interval(layer, number),
            naming.probe_f1[layer, number],
            one.always[number],
        )
        feature = int(naming.best.features[layer, number])
        rows.append(
            (
                one.found.model,
                concept.label,
                int(naming.members[number]),
                layer,
                feature,
                *(blank_nan(float(cell)) for cell in cells),
            )
        )
    return Table(
        ("model", "concept", "characters", "layer", "feature", "f1", "low", "high", "probe_f1", "always"),
        rows,
        "Each concept in the layer whose best feature had the highest F1 on training texts: that feature, its F1 on "
        "held-out texts with its 95 % interval, the F1 of a linear probe in the same layer, and the F1 of answering "
        "yes to every character.",
        labels={"f1": "F1", "low": "from", "high": "to", "probe_f1": "F1 of the probe", "always": "F1 of always yes"},
        title="Concepts",
    )


def _arrays(found: Measured) -> dict[str, Any]:
    naming = found.naming
    arrays = {
        **vars(found.activity),
        **vars(found.reconstruction),
        "shown": found.shown,
        "f1": naming.f1,
        "probe-f1": naming.probe_f1,
        "best-feature": naming.best.features,
        "direct-effect": found.effects.direct,
        "ablation-effect": found.effects.active,
        "nearest": _nearest(found),
    }
    return {model_key(name, found.model): values for name, values in arrays.items()}


def _nearest(found: Measured) -> Floats:
    """Return the largest cosine of each feature with one of another seed, (layer, feature); 0 if there is none."""
    cosines = np.zeros_like(found.activity.frequency)
    if found.stability is not None:
        for row, frequency, living in zip(cosines, found.activity.frequency, found.stability.nearest, strict=True):
            row[frequency > 0] = living
    return cosines
