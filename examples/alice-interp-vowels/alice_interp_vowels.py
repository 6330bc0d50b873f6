"""Does the model know that a letter is a vowel before it knows which one?

When it gets a vowel wrong, does it at least answer with a vowel? The baseline is how often it answers with a vowel when
it gets a consonant wrong, because a model that always answers E would look clever otherwise.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from alice.plugins import Metric, Result, RunContext, Table, hookimpl, model_key

if TYPE_CHECKING:
    from torch import Tensor

alice_interp_api = 2

VOWELS = "AEIOU"
KINDS = ("consonant", "vowel")


@dataclass(frozen=True)
class Vowels:
    """How often a wrong vowel is taken for another vowel, layer by layer."""

    name = "vowels"
    samples: int = field(default=500, metadata={"help": "Texts to read."})

    def run(self, ctx: RunContext) -> Result:
        """Count wrong answers at every layer, with one batch in memory at a time."""
        ctx = ctx.sample(self.samples)
        stream = ctx.activations("hook_embed", "blocks.*.hook_resid_post")
        # (layer, kind of plain letter, kind of wrong answer): a consonant is 0, a vowel 1
        wrong = np.zeros((len(stream.names), 2, 2), dtype=np.int64)
        letters = np.zeros(2, dtype=np.int64)
        for batch, cache in ctx.progress(stream, "Reading"):
            plain = batch.plain_ids.cpu().numpy()
            letters += np.bincount(kinds(plain, ctx)[is_letter(plain, ctx)], minlength=2)
            for layer, hook in enumerate(stream.names):
                answer = decode(ctx, cache[hook], batch.cipher_ids)
                is_wrong = is_letter(plain, ctx) & (answer != plain)
                np.add.at(wrong[layer], (kinds(plain, ctx)[is_wrong], kinds(answer, ctx)[is_wrong]), 1)
        return report(ctx.checkpoint, wrong, letters)


def decode(ctx: RunContext, resid: "Tensor", ids: "Tensor") -> np.ndarray:
    """Decode a layer with the model's own head, (batch, pos)."""
    return ctx.model.decode(resid, ids, soft=False).argmax(-1).cpu().numpy()


def is_letter(ids: np.ndarray, ctx: RunContext) -> np.ndarray:
    """Say which ids are letters."""
    return np.isin(ids, ctx.alphabet.letter_ids)


def kinds(ids: np.ndarray, ctx: RunContext) -> np.ndarray:
    """Return 1 for vowels and 0 for everything else."""
    return np.isin(ids, ctx.alphabet.encode(VOWELS)).astype(np.int64)


def report(model: str, wrong: np.ndarray, letters: np.ndarray) -> Result:
    """Turn the counts into a result."""
    from alice.reports.figures import layer_curve  # here, so that listing the plugins stays quick

    errors = wrong.sum(2)  # (layer, kind of plain letter)
    with np.errstate(invalid="ignore"):
        as_vowels = wrong[:, :, 1] / errors  # share of the wrong answers that are vowels
    rows = [
        (model, layer, KINDS[kind], int(errors[layer, kind]), as_vowels[layer, kind])
        for layer in range(len(wrong))
        for kind in (1, 0)
    ]
    table = Table(
        ("model", "layer", "letters", "wrong", "read_as_vowel"),
        rows,
        "How many letters each layer gets wrong, and the share of them that it takes for a vowel.",
        labels={"letters": "plain letters", "wrong": "wrong letters", "read_as_vowel": "share taken for a vowel"},
    )
    curves = {f"{KINDS[kind]}s": as_vowels[:, kind] for kind in (1, 0)}
    rates = 100 * errors[-1] / np.maximum(letters, 1)
    return Result(
        "Vowels",
        summary="Of the vowels that a layer gets wrong, the share that it takes for another vowel; and of the consonants.",
        caveats="A good model gets few letters wrong, so the shares at the last layers rest on few letters.",
        metrics=[
            Metric(
                f"{KINDS[kind]}-error-rate", rates[kind], unit="%", model=model, label=f"error rate on {KINDS[kind]}s"
            )
            for kind in (1, 0)
        ],
        tables={"by-layer": table},
        figures={model_key("taken-for-a-vowel", model): layer_curve(curves, y_title="share taken for a vowel")},
        arrays={model_key("wrong", model): wrong, model_key("letters", model): letters},
    )


@hookimpl
def register_analyses() -> list[type[Vowels]]:
    """Add the analysis."""
    return [Vowels]
