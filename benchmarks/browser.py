"""The engine of the explorer page in a real browser, and what PyTorch computes for the same texts and interventions."""

import base64
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.causal import Part
from alice.errors import AliceError
from alice.model import Alice

MISSING = "there is no Chromium to measure in; install Chromium with its driver, and selenium from PyPI"
SETTINGS = ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-dev-shm-usage")
SECONDS = 300
"""Patience with one call."""
Hooks = list[tuple[str, Callable[..., Tensor]]]
LOAD = """
const content = (id) => document.getElementById(id).textContent;
const bytes = Uint8Array.from(atob(content("explorer-weights").trim()), (c) => c.charCodeAt(0));
window.parityModel = AliceEngine.load(JSON.parse(content("explorer-header")), bytes.buffer);
"""
RUN = """
const [ids, interventions, second] = arguments;
const began = performance.now();
const result = window.parityModel.run(ids, { interventions, second });
const seconds = (performance.now() - began) / 1000;
const packed = (tables) => tables.map((table) => {
  const bytes = new Uint8Array(table.buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
});
return { scores: packed(result.scores), letters: packed(result.letters), key: packed(result.key), seconds };
"""


@dataclass(frozen=True, eq=False)
class Computed:
    """What the layers of a model make of one text."""

    scores: NDArray[np.float32]
    """Soft scores of what each cipher symbol stands for, (layer, symbol, symbol); see `Alice.decode_symbols`."""
    letters: NDArray[np.int64]
    """The symbol that each cipher symbol is decoded to, (layer, symbol)."""
    key: NDArray[np.float32]
    """Probability of each plain letter, (layer, 26, 26)."""
    seconds: float = 0.0
    """How long it took."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a headless Chromium and yield its driver; raise if there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    path = shutil.which("chromedriver")
    try:
        from selenium import webdriver  # a development dependency, which only this needs
    except ImportError as error:
        raise AliceError(MISSING) from error
    if not (binary and path):
        raise AliceError(MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    with TemporaryDirectory() as profile:
        for argument in (*SETTINGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{argument}")
        with webdriver.Chrome(options=options, service=webdriver.ChromeService(path)) as driver:
            driver.set_script_timeout(SECONDS)
            yield driver


class BrowserModel:
    """The model of an explorer page, run by the page's own engine."""

    def __init__(self, driver: Any, page: Path) -> None:
        """Open the page in a browser."""
        self.driver = driver
        driver.get(page.absolute().as_uri())
        driver.execute_script(LOAD)

    def run(
        self, ids: Sequence[int], interventions: Sequence[Mapping[str, Any]] = (), second: Sequence[int] | None = None
    ) -> Computed:
        """Run one text; ids and interventions are those of engine.js."""
        other = None if second is None else [int(i) for i in second]
        chosen = [dict(one) for one in interventions]
        found = self.driver.execute_script(RUN, [int(i) for i in ids], chosen, other)
        scores = _table(found["scores"], np.float32)
        size = round(scores.shape[1] ** 0.5)
        return Computed(
            scores.reshape(-1, size, size),
            _table(found["letters"], np.uint8).astype(np.int64),
            _table(found["key"], np.float32).reshape(-1, 26, 26),
            found["seconds"],
        )


def _table(rows: Sequence[str], dtype: Any) -> NDArray[Any]:
    return np.stack([np.frombuffer(base64.b64decode(row), dtype) for row in rows])


@torch.inference_mode()
def compute(model: Alice, ids: Sequence[int], fwd_hooks: Hooks | None = None) -> Computed:
    """Return the same from PyTorch, with hooks in place of interventions."""
    names = ["hook_embed", *(f"blocks.{block}.hook_resid_post" for block in range(model.config.n_layers))]
    text = torch.tensor([list(ids)], dtype=torch.int64)
    with model.hooks(fwd_hooks=fwd_hooks or []):
        _, cache = model.run_with_cache(text, names_filter=frozenset(names).__contains__)
    streams = [cache[name] for name in names]
    soft = torch.cat([model.decode_symbols(stream, text, soft=True) for stream in streams])
    hard = torch.cat([model.decode_symbols(stream, text, soft=False) for stream in streams])
    probabilities = torch.cat([model.log_probabilities(stream, text) for stream in streams]).exp()
    letters = probabilities[:, model.letter_ids][:, :, model.letter_ids]
    return Computed(soft.numpy(), hard.argmax(-1).numpy(), letters.numpy())


@torch.inference_mode()
def hooks_of(model: Alice, interventions: Sequence[Mapping[str, Any]], second: Sequence[int] | None = None) -> Hooks:
    """Return hooks for `model.hooks` that do what the interventions of engine.js do; patches first, then factors."""
    cache: Mapping[str, Tensor] = {}
    if second is not None:
        _, cache = model.run_with_cache(torch.tensor([list(second)], dtype=torch.int64))
    patches = [(hook_of(one), _patched(one, cache[hook_of(one)])) for one in interventions if one["kind"] == "patch"]
    return patches + [(hook_of(one), _scaled(one)) for one in interventions if one["kind"] == "scale"]


def hook_of(one: Mapping[str, Any]) -> str:
    """Return the hook at which an intervention acts."""
    if one["part"] == "resid":
        return f"blocks.{one['layer'] - 1}.hook_resid_post" if one["layer"] else "hook_embed"
    return Part(one["block"], one.get("head")).hook


def _taken(one: Mapping[str, Any], activation: Tensor) -> Tensor:
    return activation if one["part"] == "resid" else Part(one["block"], one.get("head")).taken(activation)


def _patched(one: Mapping[str, Any], source: Tensor) -> Callable[..., Tensor]:
    def patch(activation: Tensor, hook: Any) -> Tensor:
        shared = min(activation.shape[1], source.shape[1])
        chosen = range(shared) if one["positions"] is None else one["positions"]
        places = torch.tensor([place for place in chosen if place < shared], dtype=torch.int64)
        changed = activation.clone()
        _taken(one, changed)[:, places] = _taken(one, source)[:, places]
        return changed

    return patch


def _scaled(one: Mapping[str, Any]) -> Callable[..., Tensor]:
    def scale(activation: Tensor, hook: Any) -> Tensor:
        changed = activation.clone()
        _taken(one, changed).mul_(one["factor"])
        return changed

    return scale
