"""Short pieces of texts, cut at spaces: a corpus has few short texts, and models make most of their errors in them."""

from collections.abc import Iterable, Iterator

import numpy as np

SHORTEST, LONGEST = 15, 80
"""Characters of a piece."""


def with_pieces(texts: Iterable[str], count: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield each text, followed by up to `count` pieces of it."""
    for text in texts:
        yield text
        for _ in range(count):
            piece = cut(text, rng)
            if piece is not None:
                yield piece


def cut(text: str, rng: np.random.Generator) -> str | None:
    """Return some successive words of a text, none if those drawn are too short; the length is drawn first."""
    length = int(rng.integers(SHORTEST, LONGEST + 1))
    starts = [0] + [place + 1 for place, symbol in enumerate(text[: max(0, len(text) - length)]) if symbol == " "]
    start = starts[rng.integers(len(starts))]
    words = f"{text} "[start : start + length + 1]
    piece = words[: max(0, words.rfind(" "))]
    return piece if SHORTEST <= len(piece) < len(text) else None
