"""The networks behind the baselines by name, and their shipped weights."""

from importlib.resources import files
from pathlib import Path

import torch

from alice.baselines.sequences import Design, SequenceModel
from alice.checkpoint.folder import check_fit, check_size, read
from alice.errors import AliceError, nearest
from alice.model import Alice

NETWORKS = {
    "language-model": Design("language-model"),
    "seq2seq-freq": Design("encoder-decoder", "frequency"),
    "causal-freq": Design("causal", "frequency"),
    "causal-recurrence": Design("causal", "recurrence"),
}
"""Every network that writes, by the name of its folder."""
REFERENCE = "base"
"""Folder of the ALICE model of the same size that was trained beside them."""


def folder_of(name: str) -> Path:
    """Return the folder of shipped weights."""
    return Path(str(files("alice"))) / "baselines" / name


def load_network(name: str, folder: Path | None = None) -> SequenceModel:
    """Load a network in fp32 and eval mode, from its shipped weights or from a folder of one's own."""
    if name not in NETWORKS:
        known = f"; choose one of {', '.join(NETWORKS)}"
        raise AliceError(f"there is no baseline {name!r:.60}{nearest(name, NETWORKS) or known}")
    where = folder or folder_of(name)
    config, weights = read(where)
    check_size(weights, config, where=str(where))
    with torch.random.fork_rng(devices=[]):  # leave the caller's RNG state as it is
        model = SequenceModel(config, NETWORKS[name])
    check_fit(weights, model.state_dict(), where=str(where))
    model.load_state_dict({key: tensor.float() for key, tensor in weights.items()})
    return model.eval()


def load_reference() -> Alice:
    """Load the ALICE model that was trained beside the baselines."""
    return Alice.from_pretrained(folder_of(REFERENCE), device="cpu")
