"""How a model is trained: every setting of a training except the architecture, and its learning rate schedule."""

import math
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from alice.errors import AliceError, nearest
from alice.fields import with_floats

Precision = Literal["auto", "fp32", "bf16"]
Compile = Literal["auto", "yes", "no"]
Schedule = Literal["constant", "cosine", "wsd"]
BatchLengths = Literal["similar", "mixed"]
LossWeight = Literal["batch", "character", "text"]
BijectiveLoss = Literal["log-likelihood", "probabilities-as-logits"]
DecayedWeights = Literal["matrices", "all"]
HeldOut = Literal["validation", "test"]
_CHOICES: dict[str, tuple[str, ...]] = {
    "schedule": get_args(Schedule),
    "batch_lengths": get_args(BatchLengths),
    "loss_weight": get_args(LossWeight),
    "bijective_loss": get_args(BijectiveLoss),
    "weight_decay_on": get_args(DecayedWeights),
    "held_out": get_args(HeldOut),
}

_BATCH = ("batch_texts", "batch_tokens", "cipher_pool", "max_length")
_POSITIVE = ("steps", "hours", *_BATCH, "lr", "eps", "log_every", "eval_every", "eval_texts")
_AT_MOST = {"seed": 2**32 - 1, "cipher_pool": 10_000_000, "pieces": 100} | dict.fromkeys(
    ("steps", "warmup_steps", "batch_texts", "batch_tokens", "max_length", "log_every", "eval_every", "eval_texts"),
    10**9,
)
"""Limits: the seeds NumPy accepts, the keys that fit into memory, and numbers far beyond any training."""
LARGEST_NUMBER = 1e30
_KEEP_STEPS = r"(log(:[1-9]\d?)?|\d{1,9}(,\d{1,9})*)?"
_NOT_NEGATIVE = ("clip", "muon_lr", "warmup_steps", "weight_decay", "save_minutes", "seed", "pieces")


def _field(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Recipe:
    """The training options; each field is also an option of `alice-interp train`."""

    steps: int | None = _field(None, "Budget in steps; give this or --hours.")
    hours: float | None = _field(None, "Budget in hours of training, over all resumed parts together.")
    batch_texts: int | None = _field(None, "Maximum number of texts in a batch.")
    batch_tokens: int | None = _field(4096, "Maximum number of characters in a batch, including padding.")
    batch_lengths: BatchLengths = _field(
        "similar", "Whether the texts of a batch are of similar length, or mixed as shuffled."
    )
    loss_weight: LossWeight = _field(
        "batch",
        "What a character counts: as much as all others of its batch, as all others of the corpus, or 1 / length of "
        "its text.",
    )
    bijective_loss: BijectiveLoss = _field(
        "log-likelihood",
        "Loss of the bijective head; the other is the authors' cross-entropy over probabilities taken as logits.",
    )
    lr: float = _field(1e-4, "Peak learning rate.")
    muon_lr: float = _field(0.0, "Peak learning rate of Muon for the matrices of the blocks; 0 uses AdamW for all.")
    schedule: Schedule = _field("constant", "Learning rate schedule; wsd is warm-up, stable, decay.")
    warmup_steps: int = _field(0, "Steps of linear warm-up.")
    decay_share: float = _field(0.5, "Share of the budget over which wsd decays.")
    weight_decay: float = _field(0.1, "Weight decay.")
    weight_decay_on: DecayedWeights = _field(
        "matrices",
        "Weights that decay; matrices are those of linear layers, so no embeddings, queries or norms.",
    )
    beta1: float = _field(0.9, "AdamW's first beta.")
    beta2: float = _field(0.95, "AdamW's second beta.")
    eps: float = _field(1e-5, "AdamW's epsilon.")
    clip: float = _field(1.0, "Maximum norm of the gradient; 0 for no limit.")
    ema: float = _field(
        0.0, "Decay per step of a moving average of the weights, which becomes the checkpoint; 0 for no average."
    )
    cipher_pool: int | None = _field(None, "Train on a fixed pool of this many keys, not a fresh key for every text.")
    max_length: int = _field(300, "Longest text to train on.")
    pieces: int = _field(0, "Pieces of 15 to 80 characters to cut from each text, at spaces, and to train on as well.")
    seed: int = _field(0, "Seed of weights, keys and the order of texts.")
    precision: Precision = _field("auto", "Number format; auto measures which is faster on this machine.")
    compile: Compile = _field("auto", "Compile the blocks; auto does so for long trainings if there is a compiler.")
    log_every: int = _field(10, "Steps between lines of metrics.jsonl.")
    eval_every: int = _field(500, "Steps between measurements on held-out texts.")
    eval_texts: int = _field(500, "Number of held-out texts to measure on.")
    save_minutes: float = _field(10.0, "Minutes between checkpoints.")
    keep_steps: str = _field(
        "",
        "Steps whose weights to keep, in folders steps/N: numbers joined by commas, log for 0, 1, 2, 4, 8 ..., or "
        "log:4 for step 0 and 4 steps in each factor of ten.",
    )
    held_out: HeldOut = _field(
        "validation", "Split to measure on; trainings of earlier versions used the test split and trained on the rest."
    )

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.hours is None):
            raise AliceError("a training needs one budget; give either steps or hours")
        if self.batch_texts is None and self.batch_tokens is None:
            raise AliceError("a batch needs a limit; give batch_texts or batch_tokens")
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise AliceError(f"{name} {value!r:.60} is not one of {', '.join(choices)}{nearest(value, choices)}")
        for name in _POSITIVE:
            if (value := getattr(self, name)) is not None and not 0 < value <= LARGEST_NUMBER:
                raise AliceError(f"{name}={value!r:.60} must be greater than 0 and at most {LARGEST_NUMBER:g}")
        for name in _NOT_NEGATIVE:
            if not 0 <= getattr(self, name) <= LARGEST_NUMBER:
                raise AliceError(f"{name}={getattr(self, name)!r:.60} must be 0 or more and at most {LARGEST_NUMBER:g}")
        for name, most in _AT_MOST.items():
            if (value := getattr(self, name)) is not None and value > most:
                raise AliceError(f"{name}={value!r:.60} is too large; the maximum is {most:,}")
        for name in ("ema", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise AliceError(f"{name}={getattr(self, name)} must be at least 0 and less than 1")
        if not 0 < self.decay_share <= 1:
            raise AliceError(f"decay_share={self.decay_share} must be greater than 0 and at most 1")
        if not re.fullmatch(_KEEP_STEPS, self.keep_steps, re.ASCII):
            raise AliceError(
                f"keep_steps={self.keep_steps!r:.60} is neither log, nor log:4, nor steps like 100,300,1000"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str) -> Self:
        """Build from plain values; an unknown key or a value of the wrong type is an error naming it."""
        known = {f.name for f in fields(cls)}
        types = get_type_hints(cls)
        values = {"held_out": "test"} | values  # earlier versions had no validation split
        for name, value in values.items():
            if name not in known:
                raise AliceError(f"{where}: unknown key {name!r:.60}{nearest(name[:60], known)}")
            if not _is_of_type(value, types[name]):
                raise AliceError(f"{where}: {name} has the wrong type: {value!r:.60}; start a new training")
        numbers = {name for name, kind in types.items() if float in (get_args(kind) or (kind,))}
        try:
            return cls(**with_floats(values, numbers))
        except AliceError as error:
            raise AliceError(f"{where}: {error}") from error

    def keeps(self, step: int) -> bool:
        """Return whether the weights after a step are kept; a larger budget does not change that."""
        if self.keep_steps == "log":
            return step & (step - 1) == 0
        if self.keep_steps.startswith("log:"):
            return step == 0 or _is_log_spaced(step, int(self.keep_steps.removeprefix("log:")))
        return step in map(int, filter(None, self.keep_steps.split(",")))

    def progress(self, step: int, seconds: float) -> float:
        """Return the share of the budget that has been used, 0 to 1."""
        used = step / self.steps if self.steps is not None else seconds / 3600 / (self.hours or 1)
        return min(1.0, used)


def _is_log_spaced(step: int, per_decade: int) -> bool:
    """Return whether a step is 10 ** (k / per_decade), rounded, for a whole number k."""
    return step == round(10 ** (round(math.log10(step) * per_decade) / per_decade))


def _is_of_type(value: Any, wanted: Any) -> bool:
    """Return whether a value from JSON fits the type of a field."""
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    kinds = get_args(wanted) or (wanted,)
    return not isinstance(value, bool) and isinstance(value, (*kinds, int) if float in kinds else kinds)


def rate_factor(
    schedule: Schedule, *, step: int, progress: float, warmup_steps: int = 0, decay_share: float = 0.5
) -> float:
    """Return the factor, 0 to 1, by which the peak learning rate is multiplied.

    Args:
        schedule: constant; cosine to zero; or warm-up, stable, then linear decay to zero (wsd).
        step: number of the step, from 0.
        progress: share of the budget used so far, 0 to 1, in steps or in time; decay ends exactly with the budget.
        warmup_steps: steps of linear warm-up.
        decay_share: share of the budget over which wsd decays.

    """
    warmup = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    left = max(0.0, 1.0 - progress)
    if schedule == "cosine":
        return warmup * 0.5 * (1 - math.cos(math.pi * left))
    if schedule == "wsd":
        return warmup * min(1.0, left / decay_share)
    return warmup
