"""How much memory a cache of the residual streams holds: no tensor twice, and nothing that is not asked for.

Every tensor of the cache counts once, however many names it has. The streams are the one before the first layer and
those after each attention and each feed-forward part.
"""

from collections.abc import Iterator

import torch

from alice.bench.cache import SHAPE, STREAMS
from alice.bench.ratio import Ratio
from alice.model import Alice
from alice.training.presets import model_config


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Weigh the cache of one batch."""
    model = Alice(model_config("small")).eval()
    ids = torch.randint(1, model.config.d_vocab, SHAPE)
    with torch.inference_mode():
        _, cache = model.run_with_cache(ids, names_filter=model.match_hooks(*STREAMS))
    storages = [tensor.untyped_storage() for tensor in cache.values()]
    held = sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
    streams = (1 + 2 * model.config.n_layers) * ids.numel() * model.config.d_model * torch.float32.itemsize
    note = f"{held / 2**20:.1f} MB / {streams / 2**20:.1f} MB"
    yield Ratio.exactly(f"{SHAPE[0]} texts of {SHAPE[1]} characters", held / streams, note)
