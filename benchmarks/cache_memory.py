"""The memory of a cache of the residual streams, compared with the streams themselves.

A tensor with several names counts once. The streams are the embedding and the stream after each attention and each
feed-forward sublayer.
"""

from collections.abc import Iterator

import torch

from alice.bench.cache import SHAPE, STREAMS
from alice.bench.measuring import Ratio
from alice.model import Alice
from alice.training import model_config


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare the sizes for one batch."""
    model = Alice(model_config("small")).eval()
    ids = torch.randint(1, model.config.d_vocab, SHAPE)
    with torch.inference_mode():
        _, cache = model.run_with_cache(ids, names_filter=model.match_hooks(*STREAMS))
    storages = [tensor.untyped_storage() for tensor in cache.values()]
    held = sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
    streams = (1 + 2 * model.config.n_layers) * ids.numel() * model.config.d_model * torch.float32.itemsize
    note = f"{held / 2**20:.1f} MB / {streams / 2**20:.1f} MB"
    yield Ratio.exactly(f"{SHAPE[0]} texts of {SHAPE[1]} characters", held / streams, note)
