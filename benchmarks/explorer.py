"""The explorer page in a real browser, held to PyTorch: logits, interventions, time and size, each / its limit.

Held-out texts of all lengths are run by every bundled model in the browser and in PyTorch. An answer that differs, of
any layer, is an error that names the text.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from alice.bench.browser import BrowserModel, Computed, chromium, compute, hooks_of
from alice.bench.measuring import Ratio, one_core, take_turns
from alice.checkpoint import bundled
from alice.checkpoint.packed import pack
from alice.errors import AliceError
from alice.model import Alice
from alice.reports.explorer.write import write
from alice.text import QUOTES, Alphabet, Key, open_corpus
from alice.text.split import select

LOGITS, SECONDS, MEGABYTES = 1e-3, 0.5, 7.0
"""Limits: difference of logits, time for 100 characters, size of the page."""
CHARACTERS = 100
EVERY = 20
"""Every 20th text is cut, or joined with others, to a length of its own, so that lengths up to the longest occur."""


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare every bundled model; with `quick` on fewer texts."""
    count, rounds = (20, 5) if quick else (1000, 15)
    with TemporaryDirectory() as place, chromium() as driver, one_core():
        for name in bundled():
            path = Path(place) / f"{name}.html"
            packed = pack(name)
            write(path, packed.header, packed.weights)
            yield Ratio.exactly(f"{name}: size", path.stat().st_size / 1e6 / MEGABYTES, "megabytes / 7")
            page, model = BrowserModel(driver, path), Alice.from_pretrained(name, device="cpu")
            texts = texts_of_all_lengths(count, model.alphabet, longest=model.config.n_ctx)
            yield _parity(name, page, model, texts)
            yield _interventions(name, page, model, texts[: count // 10])
            yield _time(name, page, model, rounds)


def texts_of_all_lengths(count: int, alphabet: Alphabet, *, longest: int) -> list[list[int]]:
    """Return ids of held-out texts under random keys; some are cut or joined to lengths up to `longest`."""
    found = list(islice(select(open_corpus(QUOTES, alphabet=alphabet), "test"), count))
    joined = " ".join(found)
    lengths = np.linspace(1, min(longest, len(joined)), len(found[::EVERY])).astype(int)
    for number, length in enumerate(lengths):
        found[number * EVERY] = joined[number : number + length]
    rng = np.random.default_rng(0)
    return [alphabet.encode(Key.random(rng).encrypt(text)).tolist() for text in found]


def difference(found: Computed, wanted: Computed, ids: Sequence[int], *, case: str) -> float:
    """Return the largest difference of scores of the symbols of a text; raise if an answer of any layer differs."""
    present = sorted(set(ids))
    if (differs := (found.letters != wanted.letters)[:, present].any(1)).any():
        layers = np.flatnonzero(differs).tolist()
        raise AliceError(f"{case}: the browser answers differently at layers {layers} for the ids {list(ids)}")
    return float(np.abs(found.scores - wanted.scores)[:, present].max())


def _parity(name: str, page: BrowserModel, model: Alice, texts: list[list[int]]) -> Ratio:
    largest = max(difference(page.run(ids), compute(model, ids), ids, case=name) for ids in texts)
    longest = max(map(len, texts))
    note = (
        f"difference {largest:.1e}; {len(texts)} texts of 1 to {longest} characters; all answers of all layers the same"
    )
    return Ratio.exactly(f"{name}: logits", largest / LOGITS, note)


def _interventions(name: str, page: BrowserModel, model: Alice, texts: list[list[int]]) -> Ratio:
    """Switch off, scale and patch parts at random, with the next text as the second one."""
    rng, largest = np.random.default_rng(0), 0.0
    for ids, second in zip(texts, texts[1:] + texts[:1], strict=True):
        chosen = _drawn(model, rng)
        found, wanted = page.run(ids, chosen, second), compute(model, ids, hooks_of(model, chosen, second))
        largest = max(largest, difference(found, wanted, ids, case=f"{name} with {chosen}"))
    note = (
        f"largest difference {largest:.1e}; {len(texts)} texts, each with a head off, one scaled and two parts patched"
    )
    return Ratio.exactly(f"{name}: interventions", largest / LOGITS, note)


def _drawn(model: Alice, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw a head to switch off, one to scale, one to patch, and a feed-forward layer to patch."""
    blocks = [int(block) for block in rng.permutation(model.config.n_layers)]
    heads = [int(head) for head in rng.integers(model.config.n_heads, size=3)]
    return [
        {"kind": "scale", "part": "head", "block": blocks[0], "head": heads[0], "factor": 0},
        {"kind": "scale", "part": "head", "block": blocks[1 % len(blocks)], "head": heads[1], "factor": 2.5},
        {"kind": "patch", "part": "head", "block": blocks[2 % len(blocks)], "head": heads[2], "positions": None},
        {"kind": "patch", "part": "mlp", "block": blocks[3 % len(blocks)], "positions": list(range(0, 40, 2))},
    ]


def _time(name: str, page: BrowserModel, model: Alice, rounds: int) -> Ratio:
    """Time one text in the browser and in PyTorch, in turns; both read every layer."""
    ids = np.resize(model.alphabet.encode("RJ HRIF YF QDAF SEF BFVS KFTRVRNJV YF TDJ "), CHARACTERS)
    seconds: list[float] = []

    def browse() -> None:
        seconds.append(page.run(ids.tolist()).seconds)

    ours = take_turns({"browser": browse, "pytorch": partial(compute, model, ids.tolist())}, rounds=rounds)["pytorch"]
    measured = np.array(seconds[1:])  # the first was to warm up
    note = f"{np.median(measured):.2f} s in the browser, {np.median(np.array(ours)):.2f} s in PyTorch"
    return Ratio.median(f"{name}: {CHARACTERS} characters", measured / SECONDS, note)
