"""Solve cryptograms with a model."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from alice.model import Alice
from alice.solving.solution import NO_SYMBOL, Reading, Solution, note_on, read, unsolved
from alice.text import LETTERS, Alphabet, BatchLimit
from alice.text.alphabet import pad
from alice.text.batches import plan

LIMIT = BatchLimit(tokens=2048)
"""Larger batches do not fit into a core's cache: twice the characters at once take 7 % longer each."""
TEXTS_AT_ONCE = 256
"""Texts that are read before the first of them is answered: enough to find some of similar length for each batch."""


def solve(model: Alice, texts: Sequence[str], *, layers: bool = False) -> Iterator[Solution]:
    """Solve texts with a model in batches of similar length; yield the solutions in the order of the texts.

    A text that cannot be solved comes back as it is, with an empty key and a note that says why.
    """
    for some in texts_at_once(texts):
        readings = [read(text, model.alphabet) for text in some]
        faults = [reading.fault(model.config.n_ctx) for reading in readings]
        found = {n: unsolved(some[n], fault) for n, fault in enumerate(faults) if fault}
        for numbers in batches_of(readings, [not fault for fault in faults]):
            answers = _solve_batch(model, [readings[n] for n in numbers], layers=layers)
            found |= dict(zip(numbers, answers, strict=True))
        yield from (found[number] for number in range(len(some)))


def texts_at_once(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in parts, so that the first answers of a large file do not wait for its last line."""
    return (texts[start : start + TEXTS_AT_ONCE] for start in range(0, len(texts), TEXTS_AT_ONCE))


def batches_of(readings: Sequence[Reading], wanted: Sequence[bool]) -> Iterator[list[int]]:
    """Yield the numbers of the wanted texts in batches of similar length."""
    numbers = np.flatnonzero(np.array(wanted, dtype=bool))
    lengths = np.array([len(readings[number].ids) for number in numbers.tolist()], dtype=np.int64)
    return (numbers[group].tolist() for group in plan(lengths, LIMIT))


@torch.inference_mode()
def _solve_batch(model: Alice, readings: list[Reading], *, layers: bool) -> list[Solution]:
    ids = torch.from_numpy(pad([reading.ids for reading in readings]).astype(np.int64)).to(model.cfg.device)
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
    """Return the residual stream at each layer, the embedding first, (batch, pos, d_model) each."""
    names = model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    _, cache = model.run_with_cache(ids, names_filter=names)
    return [cache[name] for name in names]


def _solution(
    reading: Reading, alphabet: Alphabet, answers: list[Tensor], chosen: list[Tensor], *, layers: bool
) -> Solution:
    """Turn one text's answers and their probabilities, (symbol,) for each layer, into texts and a key."""
    symbols = NO_SYMBOL + alphabet.symbols
    texts = [reading.write_back("".join(symbols[n] for n in answer.numpy()[reading.ids])) for answer in answers]
    present = [letter for letter in LETTERS if alphabet.encode(letter)[0] in set(reading.ids.tolist())]
    numbers = {letter: int(alphabet.encode(letter)[0]) for letter in present}
    key = {letter: symbols[int(answers[-1][number])] for letter, number in numbers.items()}
    sure = [{letter: float(shares[number]) for letter, number in numbers.items()} for shares in chosen]
    by_layer = (texts, sure) if layers else ([], [])
    return Solution(reading.text, texts[-1], key, sure[-1], by_layer[0], note_on(reading.letters), by_layer[1])
