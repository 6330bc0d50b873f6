"""Solve cryptograms as people write them: case and foreign characters come back where they were."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.alphabet import LETTERS, PAD, Alphabet
from alice.batch import BatchLimit, plan
from alice.clean import Folding
from alice.model import Alice

NO_SYMBOL = "\N{MIDDLE DOT}"
"""Written where a model answers padding, which one with `whole_vocab` can do."""
UNICITY_DISTANCE = 28
"""Letters below which English under a substitution cipher has more than one solution: log2(26!) bits of key over
about 3.2 bits of redundancy in a letter (Shannon 1949)."""


@dataclass(frozen=True)
class Reading:
    """A text as the model sees it, and the way back."""

    text: str
    """As it was given."""
    ids: NDArray[np.uint8]
    """Symbols for the model, (symbols,)."""
    places: NDArray[np.int64]
    """Where in the text each symbol stands, (symbols,)."""

    @property
    def letters(self) -> int:
        """How many letters there are to solve."""
        return sum(map(_is_letter, self.text))

    def fault(self, longest: int) -> str:
        """Say why the text cannot be solved by a model that reads so many symbols; nothing if it can."""
        if not self.letters:
            return "there is no letter to solve; a ciphertext is in the letters A-Z"
        if len(self.ids) > longest:
            return (
                f"it has {len(self.ids)} characters and the model reads at most {longest}; "
                "solve a part of it and apply the key to the rest"
            )
        return ""

    def write_back(self, plain: str) -> str:
        """Put decoded symbols in the place of the letters, in their case; all else stays as it was given."""
        characters = list(self.text)
        for place, symbol in zip(self.places, plain, strict=True):
            if _is_letter(characters[place]):
                characters[place] = symbol.lower() if characters[place].islower() else symbol
        return "".join(characters)


def _is_letter(character: str) -> bool:
    """Say whether a character is one of the 52 that a key replaces; an accented letter is not."""
    return character.isascii() and character.isalpha()


def read(text: str, alphabet: Alphabet) -> Reading:
    """Find the symbols of a text: letters of either case, and marks that have a plain spelling in the alphabet."""
    folding, places, symbols = Folding(alphabet.symbols), [], []
    for place, character in enumerate(text):
        symbol = character.translate(folding)[
            :1
        ]  # a long dash is spelled with two hyphens, an ellipsis with three dots
        if _is_letter(character) or (symbol and symbol in alphabet.symbols and symbol not in LETTERS):
            places.append(place)
            symbols.append(symbol)
    return Reading(text, alphabet.encode("".join(symbols)), np.array(places, dtype=np.int64))


@dataclass(frozen=True)
class Solution:
    """What a model makes of one ciphertext."""

    ciphertext: str
    plaintext: str
    key: dict[str, str]
    """What each cipher letter that occurs stands for."""
    confidence: dict[str, float]
    """Probability that the model gives each of these answers, 0 to 1."""
    layers: list[str]
    """The text after the embedding and after each layer, if asked for."""
    note: str
    """What to be careful about, or why there is no solution; empty if nothing."""
    layer_confidence: list[dict[str, float]] = field(default_factory=list)
    """The confidence after the embedding and after each layer, if asked for."""


def solve(model: Alice, texts: Sequence[str], *, layers: bool = False) -> Iterator[Solution]:
    """Solve texts in batches of similar length; yield the solutions in the order of the texts.

    A text that cannot be solved comes back as it is, with an empty key and a note that says why.
    """
    readings = [read(text, model.alphabet) for text in texts]
    faults = [reading.fault(model.config.n_ctx) for reading in readings]
    found = {n: Solution(texts[n], texts[n], {}, {}, [], fault) for n, fault in enumerate(faults) if fault}
    solvable = np.array([n for n, fault in enumerate(faults) if not fault], dtype=np.int64)
    lengths = np.array([len(readings[n].ids) for n in solvable], dtype=np.int64)
    for group in plan(lengths, BatchLimit()):
        numbers = solvable[group].tolist()
        answers = _solve_batch(model, [readings[n] for n in numbers], layers=layers)
        found |= dict(zip(numbers, answers, strict=True))
    return (found[number] for number in range(len(texts)))


@torch.inference_mode()
def _solve_batch(model: Alice, readings: list[Reading], *, layers: bool) -> list[Solution]:
    ids = torch.full((len(readings), max(len(reading.ids) for reading in readings)), PAD)
    for row, reading in zip(ids, readings, strict=True):
        row[: len(reading.ids)] = torch.from_numpy(reading.ids.astype(np.int64))
    ids = ids.to(model.cfg.device)
    streams = _streams(model, ids) if layers else [model.resid(ids)]
    answers = [model.decode_symbols(stream, ids, soft=False).argmax(-1) for stream in streams]  # (batch, symbol) each
    wanted = zip(streams, answers, strict=True) if layers else [(streams[-1], answers[-1])]
    chosen = [model.log_probabilities(stream, ids).exp().gather(-1, answer[..., None]) for stream, answer in wanted]
    return [
        _solution(
            reading,
            model.alphabet,
            [answer[number].cpu() for answer in answers],
            [shares[number, :, 0].cpu() for shares in chosen],
            layers=layers,
        )
        for number, reading in enumerate(readings)
    ]


def _streams(model: Alice, ids: Tensor) -> list[Tensor]:
    """Return the residual stream after the embedding and after each layer."""
    names = model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    _, cache = model.run_with_cache(ids, names_filter=names)
    return [cache[name] for name in names]


def _solution(
    reading: Reading, alphabet: Alphabet, answers: list[Tensor], chosen: list[Tensor], *, layers: bool
) -> Solution:
    """Read one text's answers and their probabilities, (symbol,) for each layer, as texts and a key."""
    symbols = NO_SYMBOL + alphabet.symbols
    texts = [reading.write_back("".join(symbols[n] for n in answer.numpy()[reading.ids])) for answer in answers]
    present = [letter for letter in LETTERS if alphabet.encode(letter)[0] in set(reading.ids.tolist())]
    numbers = {letter: int(alphabet.encode(letter)[0]) for letter in present}
    key = {letter: symbols[int(answers[-1][number])] for letter, number in numbers.items()}
    sure = [{letter: float(shares[number]) for letter, number in numbers.items()} for shares in chosen]
    by_layer = (texts, sure) if layers else ([], [])
    return Solution(reading.text, texts[-1], key, sure[-1], by_layer[0], _note(reading.letters), by_layer[1])


def _note(letters: int) -> str:
    if letters >= UNICITY_DISTANCE:
        return ""
    return (
        f"only {letters} letters: below about {UNICITY_DISTANCE} a cryptogram has more than one solution, "
        "and this may not be the one that was meant"
    )
