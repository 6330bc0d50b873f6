"""A model as an ONNX file, for runtimes without torch; checked with onnxruntime before it gets its name."""

import io
import json
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alice.errors import AliceError
from alice.files import atomic_write
from alice.model import Alice
from alice.text import Batch

SCORES = {
    "base": "logits",
    "bijective": "logs of the relaxed permutation; the best assignment of letters is the model's answer",
    "dynamic": "logits",
}
"""What the output of each variant is."""


@dataclass(frozen=True)
class Agreement:
    """How well onnxruntime reproduces a model."""

    texts: int
    characters: int
    different: int
    """Characters whose answer, the symbol with the highest score, is another."""
    largest: float
    """Largest difference of a score."""


def require() -> None:
    """Raise if a package that this module needs is not installed."""
    found = {"onnx": find_spec("onnx"), "onnxscript": find_spec("onnxscript"), "onnxruntime": find_spec("onnxruntime")}
    if missing := [name for name, spec in found.items() if spec is None]:
        raise AliceError(f"writing ONNX needs the package {missing[0]}; run pip install 'alice-interp[interop]'")


def write(out: Path, model: Alice, batches: Iterable[Batch]) -> Agreement:
    """Write a model in eval mode as one ONNX file and compare it with the model on batches.

    The input `ids`, (batch, length), has the ids of the cipher symbols, 0 for padding; the output `scores` is
    (batch, length, symbol). The symbols are in the file's metadata. If an answer differs, nothing is written.
    """
    require()
    data = _onnx(model)
    with atomic_write(out, "wb") as file:
        file.write(data)
        file.flush()
        found = compare(Path(file.name), model, batches)
        if found.different:
            raise AliceError(
                f"onnxruntime gives another answer for {found.different} of {found.characters} characters, with "
                f"differences up to {found.largest:.1e}; {out} was not written"
            )
    return found


def compare(file: Path, model: Alice, batches: Iterable[Batch]) -> Agreement:
    """Run an ONNX file with onnxruntime and compare its scores with those of the model it was made from."""
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    texts = characters = different = 0
    largest = 0.0
    for batch in batches:
        ids, is_text = batch.cipher_ids.cpu().numpy(), batch.mask.cpu().numpy()
        ours = _scores(model, batch.cipher_ids)[is_text]  # (characters, symbol)
        theirs = session.run(["scores"], {"ids": ids})[0][is_text]
        texts, characters = texts + len(batch), characters + len(ours)
        different += int((ours.argmax(-1) != theirs.argmax(-1)).sum())
        largest = max(largest, float(np.abs(ours - theirs).max(initial=0.0)))
    return Agreement(texts, characters, different, largest)


@torch.inference_mode()
def _scores(model: Alice, ids: Tensor) -> Any:
    return model(ids.to(model.cfg.device), soft=True).cpu().numpy()


def _onnx(model: Alice) -> bytes:
    """Return the contents of the file."""
    example = model.to_tokens([model.alphabet.symbols[:8], model.alphabet.symbols[:5]])
    with model.soft(), torch.no_grad(), _quiet():
        program = torch.onnx.export(
            model,
            (example,),
            dynamo=True,
            input_names=["ids"],
            output_names=["scores"],
            dynamic_shapes={"ids": {0: "batch", 1: "length"}},
        )
    if program is None:
        raise AliceError("torch did not export the model; update torch")
    proto = program.model_proto
    about = {
        "alphabet": model.alphabet.symbols,
        "padding_id": "0",
        "scores": SCORES[model.config.variant],
        "config": json.dumps(model.config.to_dict()),
    }
    for key, value in about.items():
        proto.metadata_props.add(key=key, value=value)
    return proto.SerializeToString()


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what the exporter prints and warns about its own parts."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
