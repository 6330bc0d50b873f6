"""What hooks cost when nobody uses them: a hooked model against the same weights without hooks."""

from collections.abc import Iterator

import torch

from alice.bench.plain_model import PlainAlice
from alice.bench.ratio import Ratio
from alice.bench.timing import compared, one_core, take_turns
from alice.errors import AliceError
from alice.model import Alice
from alice.training.presets import model_config

SHAPES = {"40 texts of 100 characters": (40, 100), "16 texts of 256": (16, 256), "one text of 100": (1, 100)}


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare for several shapes of batch."""
    torch.manual_seed(0)
    model = Alice(model_config("small")).eval()
    plain = PlainAlice(model).eval()
    for case, shape in SHAPES.items():
        ids = torch.randint(1, model.config.d_vocab, shape)
        with one_core(), torch.inference_mode():
            if not torch.allclose(model(ids), plain(ids), atol=1e-4):
                raise AliceError("the plain model answers otherwise than the hooked one; their times say nothing")
            contestants = {"hooked": lambda ids=ids: model(ids), "plain": lambda ids=ids: plain(ids)}
            rounds = (10 if quick else 60) * (5 if shape[0] == 1 else 1)
            times = take_turns(contestants, rounds=rounds)
        yield compared(case, times, "hooked", "plain")
