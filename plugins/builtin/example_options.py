"""Options that several analyses share: how many texts, and which one to show."""

from collections.abc import Collection

from alice.errors import AliceError


def check_samples(samples: int) -> None:
    """Refuse a number of texts that leaves none."""
    if samples < 1:
        raise AliceError(f"samples={samples} leaves no text to measure on; give 1 or more")


def check_example_options(samples: int, text: str, encrypt: bool, examples: Collection[int]) -> None:
    """Refuse options that contradict each other."""
    check_samples(samples)
    if encrypt and not text:
        raise AliceError("there is nothing to encrypt; give --text with --encrypt")
    beyond = [number for number in examples if not 0 <= number < samples]
    if beyond and not text:
        raise AliceError(no_example(beyond[0], f"{samples} samples"))


def check_examples_exist(examples: Collection[int], texts: int) -> None:
    """Refuse numbers beyond the texts that there turned out to be."""
    for number in examples:
        if number >= texts:
            raise AliceError(no_example(number, f"{texts} texts"))


def no_example(number: int, among: str) -> str:
    """Say that there is no text of a number."""
    return f"there is no example {number} among {among}; count from 0"
