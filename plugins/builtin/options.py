"""Options that several analyses share, and their checks: texts to measure, texts to show, trainings to read."""

from collections.abc import Collection
from dataclasses import field
from typing import TYPE_CHECKING, Any

from alice.errors import AliceError

if TYPE_CHECKING:
    from pathlib import Path

    from alice.plugins.context import RunContext


def trainings_field(sweep: str, bundled: str) -> Any:
    """Return the field of the option `--trainings`: the command that makes such trainings, and the bundled ones."""
    return field(
        default=(),
        metadata={
            "help": f"Training folder, or a folder of them; {bundled} are those of the package. May be repeated.",
            "missing": f"make some with: {sweep} --out DIR, or give {bundled}",
        },
    )


def lens_field() -> Any:
    """Return the field of the option `--lens`."""
    text = "Lens to read the layers with: a report folder with translators, or their file.  [default: the plain exit]"
    return field(default=None, metadata={"help": text})


def lens_caveats(lens: "Path | None") -> tuple[str, ...]:
    """Return what to say about a result that was read through a lens."""
    if lens is None:
        return ()
    return (
        f"Layers were read through the lens in `{lens}`, which was trained on its own: what it reads is in the layer, "
        "but the model's own head may not see it. A layer without a translator was read with the plain exit.",
    )


def check_minimum(options: object, **least: float) -> None:
    """Raise if an option is below its minimum; an option that is None was not given."""
    for name, minimum in least.items():
        value = getattr(options, name)
        if value is not None and not value >= minimum:  # NaN is not
            raise AliceError(f"{name}={value} is too small; give {minimum} or more")


def check_samples(samples: int) -> None:
    """Raise unless there is at least one text to measure."""
    if samples < 1:
        raise AliceError(f"samples={samples} leaves no text to measure on; give 1 or more")


def check_length(ctx: "RunContext", length: int) -> None:
    """Raise if a model cannot read texts of this length."""
    for one in ctx.each:
        if length > (longest := one.model.config.n_ctx):
            raise AliceError(f"{one.checkpoint} reads at most {longest} characters; give a --length up to that")


def check_example_options(samples: int, text: str, encrypt: bool, examples: Collection[int]) -> None:
    """Raise if the options contradict each other."""
    check_samples(samples)
    if encrypt and not text:
        raise AliceError("there is nothing to encrypt; give --text with --encrypt")
    beyond = [number for number in examples if not 0 <= number < samples]
    if beyond and not text:
        raise AliceError(no_example(beyond[0], f"{samples} samples"))


def check_examples_exist(examples: Collection[int], texts: int) -> None:
    """Raise if an example is beyond the number of texts in the corpus."""
    for number in examples:
        if number >= texts:
            raise AliceError(no_example(number, f"{texts} texts"))


def no_example(number: int, among: str) -> str:
    """Return the error message for an example that does not exist."""
    return f"there is no example {number} among {among}; count from 0"
