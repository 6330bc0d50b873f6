"""Whether the model knows that a letter is a vowel before it knows which one.

Where it is wrong about a vowel, does it at least answer with a vowel? Compared with how often it answers with a vowel
where it is wrong about a consonant, since a model that answers E everywhere would look clever otherwise.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from alice.plugins import Result, RunContext, Table, hookimpl

if TYPE_CHECKING:
    from torch import Tensor

alice_interp_api = 1

VOWELS = "AEIOU"
CAVEAT = "A model that errs rarely errs on few letters: look at how many wrong letters the shares rest on."


@dataclass(frozen=True)
class Vowels:
    """Whether a wrong vowel is at least taken for a vowel, layer by layer."""

    name = "vowels"
    samples: int = field(default=500, metadata={"help": "Texts to read."})

    def run(self, ctx: RunContext) -> Result:
        """Count wrong answers at every exit, one batch in memory at a time."""
        ctx = ctx.sample(self.samples)
        stream = ctx.activations("hook_embed", "blocks.*.hook_resid_post")
        # (exit, kind of plain letter, kind of wrong answer): consonant is 0, vowel 1
        wrong = np.zeros((len(stream.names), 2, 2), dtype=np.int64)
        letters = np.zeros(2, dtype=np.int64)
        for batch, cache in ctx.progress(stream, "Reading"):
            plain = batch.plain_ids.cpu().numpy()
            letters += np.bincount(kinds(plain, ctx)[is_letter(plain, ctx)], minlength=2)
            for layer, hook in enumerate(stream.names):
                answer = decode(ctx, cache[hook], batch.cipher_ids)
                errs = is_letter(plain, ctx) & (answer != plain)
                np.add.at(wrong[layer], (kinds(plain, ctx)[errs], kinds(answer, ctx)[errs]), 1)
        return show(wrong, letters)


def decode(ctx: RunContext, resid: "Tensor", ids: "Tensor") -> np.ndarray:
    """Read a layer as text, (batch, pos), through the model's own head."""
    return ctx.model.decode(resid, ids, soft=False).argmax(-1).cpu().numpy()


def is_letter(ids: np.ndarray, ctx: RunContext) -> np.ndarray:
    """Say where there is a letter."""
    return np.isin(ids, ctx.alphabet.letter_ids)


def kinds(ids: np.ndarray, ctx: RunContext) -> np.ndarray:
    """Return 1 for vowels and 0 for everything else."""
    return np.isin(ids, ctx.alphabet.encode(VOWELS)).astype(np.int64)


def show(wrong: np.ndarray, letters: np.ndarray) -> Result:
    """Put the counts into a result."""
    from alice.reports.figures import layer_curve  # here, so that listing the plugins stays quick

    errors = wrong.sum(2)  # (exit, kind)
    with np.errstate(invalid="ignore"):
        vowel_answers = wrong[:, :, 1] / errors  # (exit, kind): share of the wrong answers that are vowels
    rows = [
        (layer, int(errors[layer, 1]), vowel_answers[layer, 1], int(errors[layer, 0]), vowel_answers[layer, 0])
        for layer in range(len(wrong))
    ]
    columns = ("layer", "wrong vowels", "taken for a vowel", "wrong consonants", "taken for a vowel instead")
    return Result(
        "Vowels",
        summary="Of the vowels that a layer gets wrong, the share it takes for another vowel; and of the consonants.",
        caveats=CAVEAT,
        metrics={
            "error on vowels": errors[-1, 1] / max(letters[1], 1),
            "error on consonants": errors[-1, 0] / max(letters[0], 1),
        },
        tables={"by-layer": Table(columns, rows)},
        figures={
            "taken-for-a-vowel": layer_curve(
                {"vowels": vowel_answers[:, 1], "consonants": vowel_answers[:, 0]}, y_title="share taken for a vowel"
            )
        },
        arrays={"wrong": wrong, "letters": letters},
    )


@hookimpl
def register_analyses():
    """Add the analysis."""
    return [Vowels]
