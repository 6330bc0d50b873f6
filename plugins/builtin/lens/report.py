"""The result of the lens analysis: three lenses by layer, how the training went, and the causal check."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from alice.plugins.builtin.lens.causal import CHECKED, Causes
from alice.plugins.builtin.lens.measure import LENSES, Measured
from alice.plugins.builtin.lens.training import SNAPSHOT, Trained
from alice.plugins.context.models import TRANSLATORS
from alice.plugins.findings import DirectionFinding, Findings
from alice.reports import Figure, Metric, Result, Section, Table, model_key
from alice.reports.figures import layer_curve, scatter_with_fit, slider
from alice.statistics import Floats, PairedBootstrap, blank_nan

TOLERANCE = 0.05
"""Share of characters that may differ from the final answer in a layer that is said to have it."""
CONVERGED = 0.05
"""A training has converged if its second half lowered the held-out KL by no more than this share."""
ENDS = [2.5, 97.5]
CAVEATS = (
    "A translator is trained on its own: what it reads is in the layer, but later blocks may ignore it. The causal "
    "check compares directions, not every use of them.",
    "KL and bias are measured from the model's own final distribution, the SER from the plaintext. For a bijective "
    "head KL and bias are those of the soft permutation, with rows normalised.",
    "The causal check removes one direction at a time. A direction whose loss later blocks make up for counts as "
    "unused.",
    "Intervals are 95 % over texts, and in the causal check also over directions; they do not cover other trainings.",
)


def report(trained: Trained, measured: Measured, causes: Mapping[str, Causes], *, rng: np.random.Generator) -> Result:
    """Build the result."""
    cells = _cells(measured, rng)
    spearman = {lens: found.spearman(rng) for lens, found in causes.items()}
    falls = _falls(measured)
    model = measured.model
    return Result(
        title="Lenses",
        summary=_summary(trained, measured, cells, spearman, falls),
        caveats=CAVEATS,
        metrics=_metrics(trained, measured, cells, spearman, falls),
        headline="kl-tuned",
        tables={
            "layers": _layer_table(model, cells),
            "training": _training_table(trained, cells, falls, model),
            "causal": _causal_table(model, causes, spearman),
        },
        figures={
            "ser": _figure(cells["ser"], "SER, %", SER_CAPTION),
            "kl": _figure(cells["kl"], "KL, bits per character", KL_CAPTION),
            "bias": _figure(cells["bias"], "bias, bits", BIAS_CAPTION),
            "training": _training_figure(trained),
            "spearman": _spearman_figure(spearman),
            "effects": _effect_figure(causes),
        },
        arrays=_arrays(trained, measured, causes),
        sections=SECTIONS,
        artefacts={model_key(TRANSLATORS, model): trained.tensors},
    )


SER_CAPTION = "Mean symbol error rate of the answer that each lens reads after each layer. Band: 95 % interval."
KL_CAPTION = (
    "Divergence of the model's final distribution from what each lens reads, mean over characters and texts. At the "
    "last layer all lenses are the model's own head, so it is 0. Band: 95 % interval."
)
BIAS_CAPTION = (
    "Divergence of the final distribution's marginal, the mean over all characters, from that of each lens. A biased "
    "lens prefers some letters whatever the text. Band: 95 % interval."
)
SECTIONS = (
    Section(
        "lenses",
        "What each layer says",
        "The plain exit is the model's own head. The mean-shift lens first adds the difference between the mean of the "
        "last layer and that of the layer. The tuned lens has a trained affine translator for each layer.",
        figures=("ser", "kl", "bias"),
        tables=("layers",),
    ),
    Section(
        "causal-check",
        "Does what matters to the lens matter to the model?",
        "Directions that change the reading of the lens most were found on training texts. On other texts the stream "
        "was replaced by its mean along one direction at a time, at one layer. If the lens reads what the model goes "
        "on to use, directions rank alike by both effects.",
        figures=("spearman", "effects"),
        tables=("causal",),
    ),
    Section(
        "training",
        "Training of the translators",
        "Each step's loss is that of texts before the step. Converged means that the second half of the training "
        f"lowered the KL on held-out texts by no more than {100 * CONVERGED:.0f} %. Replaced: on training texts kept "
        "aside the translator was worse than the plain exit, so the tuned lens is the plain exit at this layer.",
        figures=("training",),
        tables=("training",),
    ),
)


def _cells(measured: Measured, rng: np.random.Generator) -> dict[str, Floats]:
    """Return value, ends of the interval and standard error of each measure, (4, lens, layer); shares in percent."""
    shape = measured.bias.shape
    columns = {"ser": 100 * measured.errors, "agreement": 100 * measured.agreement, "kl": measured.divergence}
    found = {}
    for name, values in columns.items():
        flat = PairedBootstrap(values.reshape(len(values), -1), rng)
        # Rounded, or equal texts would have an error of 1e-14.
        found[name] = np.stack([flat.mean, *flat.interval().T, flat.error]).reshape(4, *shape).round(9)
    ends = np.percentile(measured.bias_draws, ENDS, axis=0)
    spread = np.concatenate([ends, measured.bias_draws.std(0, ddof=1)[None]])
    if len(measured.errors) < 2:
        spread = np.full_like(spread, np.nan)
    return found | {"bias": np.concatenate([measured.bias[None], spread]).round(9)}


def _falls(measured: Measured) -> Floats:
    """Return the share by which the second half of the training lowered the held-out KL, (layer,), but the last."""
    now, before = measured.divergence[:, LENSES.index("tuned"), :-1].mean(0), measured.earlier[:, :-1].mean(0)
    return 1 - now / np.maximum(before, 1e-12)


def answer_layer(agreement: Floats) -> int:
    """Return the first layer whose answers agree with the final ones within the tolerance, from percent, (layer,)."""
    return int(np.argmax(agreement >= 100 * (1 - TOLERANCE)))


def _summary(
    trained: Trained,
    measured: Measured,
    cells: Mapping[str, Floats],
    spearman: Mapping[str, Floats],
    falls: Floats,
) -> str:
    plain, _, tuned = cells["kl"][0, :, :-1].mean(1)
    first = {lens: answer_layer(cells["agreement"][0, number]) for number, lens in enumerate(LENSES)}
    ranks = " and ".join(f"{np.nanmean(spearman[lens][0, :-1]):.2f} for the {lens} lens" for lens in CHECKED)
    late = [str(layer) for layer, fall in enumerate(falls) if fall > CONVERGED]
    ended = f"had not converged at layer {', '.join(late)}" if late else "had converged at every layer"
    layers = ", ".join(map(str, trained.replaced))
    replaced = f" At layer {layers} it did not improve on the plain exit, which replaces the tuned lens there."
    return (
        f"Three lenses read every layer of {measured.model} on {len(measured.errors):,} texts. Below the last layer "
        f"the KL from the final distribution is {plain:.2f} bits per character for the plain exit and {tuned:.2f} for "
        f"the tuned lens. At least {100 * (1 - TOLERANCE):.0f} % of the answers are the final ones from layer "
        f"{first['tuned']} on for the tuned lens, and from layer {first['plain']} on for the plain exit. The rank "
        f"correlation of what directions do to the lens and to the model is on average {ranks}. The training on "
        f"{trained.texts:,} texts {ended}.{replaced if layers else ''}"
    )


def _metrics(
    trained: Trained,
    measured: Measured,
    cells: Mapping[str, Floats],
    spearman: Mapping[str, Floats],
    falls: Floats,
) -> list[Metric]:
    model = measured.model
    metrics = []
    for number, lens in enumerate(LENSES):
        label = f"KL of the {lens} lens, mean of all layers but the last"
        value = float(cells["kl"][0, number, :-1].mean())
        metrics.append(Metric(f"kl-{lens}", value, unit="bits", model=model, label=label))
    tuned = cells["agreement"][0, LENSES.index("tuned")]
    metrics.append(Metric("answer-layer", answer_layer(tuned), model=model, label="first layer with the answer"))
    for lens in CHECKED:
        label = f"rank correlation of effects, {lens} lens"
        metrics.append(Metric(f"spearman-{lens}", float(np.nanmean(spearman[lens][0, :-1])), model=model, label=label))
    return [
        *metrics,
        Metric("converged", bool((falls <= CONVERGED).all()), model=model, label="training has converged"),
        Metric("replaced", len(trained.replaced), model=model, label="layers whose translator was replaced"),
        Metric("texts", len(measured.errors)),
        Metric("training-texts", trained.texts),
        Metric("training-steps", len(trained.losses)),
    ]


def _figure(cells: Floats, title: str, caption: str) -> Figure:
    values = {lens: cells[0, number] for number, lens in enumerate(LENSES)}
    errors = {lens: _half_widths(cells[:, number]) for number, lens in enumerate(LENSES)}
    return Figure(layer_curve(values, errors=errors, y_title=title).update_xaxes(dtick=1), caption)


def _half_widths(cells: Floats) -> Floats:
    """Return how far an interval reaches below and above its value, (3 or more, layer) -> (2, layer); 0 without one."""
    return np.nan_to_num(np.abs(cells[1:3] - cells[0]))


def _spearman_figure(spearman: Mapping[str, Floats]) -> Figure:
    values = {lens: found[0] for lens, found in spearman.items()}
    errors = {lens: _half_widths(found) for lens, found in spearman.items()}
    caption = (
        "Spearman correlation, over the directions of each lens's causal basis, between what removing a direction does "
        "to the lens and to the model. At the last layer the lens is the model, so it is 1. Band: 95 % interval."
    )
    drawn = layer_curve(values, errors=errors, y_title="Spearman correlation")
    return Figure(drawn.update_xaxes(dtick=1), caption)


def _effect_figure(causes: Mapping[str, Causes]) -> Figure:
    found = causes["tuned"]
    lens, model = found.lens.mean(0), found.model.mean(0)  # (layer, direction)
    steps, rows = {}, []
    for layer, (x, y) in enumerate(zip(lens, model, strict=True)):
        figure = scatter_with_fit(x, y, x_title="change of the lens, bits", y_title="change of the model, bits")
        figure.update_traces(
            selector={"name": "data"},
            text=[f"direction {number}" for number in range(len(x))],
            hovertemplate="%{text}: lens %{x:.3g}, model %{y:.3g}<extra></extra>",
        )
        steps[str(layer)] = figure
        rows += [(layer, number, float(x[number]), float(y[number])) for number in range(len(x))]
    caption = (
        "A point for each direction of the tuned lens's causal basis: what its removal does to the lens and the model."
    )
    return Figure(slider(steps, start=len(steps) // 2), caption, Table(("layer", "direction", "lens", "answer"), rows))


def _training_figure(trained: Trained) -> Figure:
    """Draw the loss of each layer, averaged over up to forty parts of the training."""
    parts = np.array_split(trained.losses, min(40, len(trained.losses)))
    ends = np.cumsum([len(part) for part in parts])
    means = np.stack([part.mean(0) for part in parts])  # (part, layer)
    values = {f"layer {layer}": means[:, layer] for layer in range(means.shape[1])}
    drawn = layer_curve(values, layers=ends, x_title="step", y_title="KL, bits per character")
    return Figure(drawn, "Training loss of the translator of each layer, averaged over parts of the training.")


def _layer_table(model: str, cells: Mapping[str, Floats]) -> Table:
    labels = {"ser": "SER, %", "agreement": "as the model, %", "kl": "KL, bits", "bias": "bias, bits"}
    rows: list[tuple[Any, ...]] = [
        (model, lens, layer, *(blank_nan(cells[name][part, number, layer]) for name in labels for part in (0, 3)))
        for number, lens in enumerate(LENSES)
        for layer in range(cells["kl"].shape[2])
    ]
    columns = [f"{name}{end}" for name in labels for end in ("", "_error")]
    caption = "Each lens at each layer, with standard errors. As the model: share of characters with the final answer."
    return Table(("model", "lens", "layer", *columns), rows, caption, labels)


def _training_table(trained: Trained, cells: Mapping[str, Floats], falls: Floats, model: str) -> Table:
    last = trained.losses[-max(1, len(trained.losses) // 10) :].mean(0)
    held_out = cells["kl"][0, LENSES.index("tuned")]
    plain, tuned = trained.checked
    rows = [
        (
            model,
            layer,
            float(last[layer]),
            float(held_out[layer]),
            float(100 * fall),
            bool(fall <= CONVERGED),
            float(plain[layer]),
            float(tuned[layer]),
            layer in trained.replaced,
        )
        for layer, fall in enumerate(falls)
    ]
    labels = {
        "train_kl": "KL in training, bits",
        "held_out_kl": "KL on held-out texts, bits",
        "fall": "fallen in the second half, %",
        "aside_plain_kl": "plain exit aside, bits",
        "aside_kl": "translator aside, bits",
    }
    caption = (
        "Training KL is the mean over the last tenth of the steps, held-out KL that of the finished lens on the texts "
        f"of the report. Fallen: held-out KL after {100 * SNAPSHOT:.0f} % of the training compared with the end. "
        f"Aside: KL on the {trained.texts_aside:,} training texts that were kept aside, before a translator that is "
        "worse than the plain exit is replaced by it."
    )
    columns = ("train_kl", "held_out_kl", "fall", "converged", "aside_plain_kl", "aside_kl", "replaced")
    return Table(("model", "layer", *columns), rows, caption, labels)


def _causal_table(model: str, causes: Mapping[str, Causes], spearman: Mapping[str, Floats]) -> Table:
    rows = [
        (
            model,
            lens,
            layer,
            *(blank_nan(value) for value in spearman[lens][:, layer]),
            float(found.lens[:, layer].mean()),
            float(found.model[:, layer].mean()),
            float(found.random[:, layer].mean()),
        )
        for lens, found in causes.items()
        for layer in range(found.lens.shape[1])
    ]
    labels = {
        "low": "from",
        "high": "to",
        "lens_effect": "lens, bits",
        "model_effect": "model, bits",
        "random_effect": "random, bits",
    }
    caption = (
        "The causal check with 95 % intervals, and the mean change of the lens and of the model when one direction is "
        "removed. Random: the change of the model when a random direction is removed."
    )
    columns = ("model", "lens", "layer", "spearman", "low", "high", "lens_effect", "model_effect", "random_effect")
    return Table(columns, rows, caption, labels)


def _arrays(trained: Trained, measured: Measured, causes: Mapping[str, Causes]) -> dict[str, Any]:
    named = {
        "ser": 100 * measured.errors,
        "agreement": 100 * measured.agreement,
        "kl": measured.divergence,
        "bias": measured.bias,
        "mean-shift": trained.shifts.double().cpu().numpy(),
        "training-kl": trained.losses,
        "causal-basis": causes["tuned"].basis,
        "causal-reads": causes["tuned"].reads,
        "lens-effect": causes["tuned"].lens,
        "model-effect": causes["tuned"].model,
    }
    return {model_key(name, measured.model): array for name, array in named.items()}


def findings(result: Result) -> Findings:
    """Return the claim of a stored result: what the answer depends on, from the layer where the lens has it on.

    Before that layer the lens does not give the model's answer, so what it reads there says nothing about the model.
    The layer itself is no claim about the model: a translator may compute what the model computes only later.
    """
    metric = result.metric("answer-layer")
    reads = result.array("causal-reads", model=metric.model)  # (layer, direction, d_model)
    scores = result.array("model-effect", model=metric.model).mean(0)  # (layer, direction)
    found = [
        DirectionFinding(layer, reads[layer, number], float(scores[layer, number]))
        for layer, number in np.ndindex(scores.shape)
        if layer >= float(metric)
    ]
    ordered = sorted(found, key=lambda one: -one.score)
    return Findings(used_directions=tuple(ordered))
