"""What hooks cost when nobody uses them: a hooked model against the same weights without hooks.

python benchmarks/hooks.py
"""

import torch
from plain_model import PlainAlice
from timing import keep_memory, ratio, take_turns

from alice.model import Alice
from alice.presets import model_config

SHAPES = {"one text of 100 characters": (1, 100), "40 texts of 100": (40, 100), "16 texts of 256": (16, 256)}
TARGET = 1.05


@torch.inference_mode()
def main() -> None:
    """Print the ratio of times for several shapes of batch."""
    torch.set_num_threads(1)
    keep_memory()
    model = Alice(model_config("small")).eval()
    plain = PlainAlice(model)
    for name, shape in SHAPES.items():
        ids = torch.randint(1, model.config.d_vocab, shape)
        assert torch.allclose(model(ids), plain(ids), atol=1e-4)
        contestants = {"hooked": lambda ids=ids: model(ids), "plain": lambda ids=ids: plain(ids)}
        times = take_turns(contestants, rounds=200 if shape[0] == 1 else 40)
        print(f"{name:<28} hooked / plain: {ratio(times, 'hooked', 'plain'):.3f}   target <= {TARGET}")


if __name__ == "__main__":
    main()
