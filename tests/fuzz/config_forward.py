"""Configs of every kind, built and run with little time and memory: absurd sizes are refused before allocation."""

import math
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import torch
from fuzz.pieces import ODD_VALUES, Choices, Finding

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import VARIANTS, ModelConfig
from alice.solving import solve
from alice.text.alphabet import LETTERS
from alice.training.loss import Objective
from alice.training.memory import check_memory

SEEDS = (b"\x01", b"\x01\x02\x01\x05\x00\x03\x13", b"\x00\x04" + bytes(range(60)), b"\x02" + bytes(range(200, 80, -1)))
SIZES = {"d_model": 4, "n_layers": 1, "n_heads": 1, "d_mlp": 2, "n_ctx": 40, "hyper_layers": 1, "hyper_heads": 1}
WHOLE_NUMBERS = (1, 2, 3, 4, 5, 6, 8, 16, 64, 255, 1000, 1001, 4096, 65536, 10**6, 10**6 + 1, 10**9, 10**9 + 1, 2**63)
NUMBERS = (0, 1e-320, 1e-45, 1e-30, 1e-5, 0.5, 0.999999, 1.0, 5, 1e6, 1e29, 1e30, -1.0, math.nan, math.inf)
SYMBOLS = (
    LETTERS, LETTERS[::-1], f"{LETTERS} ", LETTERS + "".join(map(chr, range(0x4E00, 0x4E00 + 229))), f"\0{LETTERS}",
    f"{LETTERS}\ud800", LETTERS[1:], LETTERS + "".join(map(chr, range(0x4E00, 0x4E00 + 230))),
)  # fmt: skip
IDS = torch.tensor([[1, 2, 3, 4, 0], [5, 1, 1, 2, 26]])
FREE = 2**30
"""Bytes that an input may allocate."""
SECONDS = 3.0
"""Processor time that an input may take."""
MOST_WEIGHTS, MOST_BLOCKS = 200_000, 40
"""Size up to which a whole model is built here; a larger one would only take time."""


def try_input(data: bytes) -> None:
    """Change a tiny config, build the model from weights or for a training, and run it forward and backward."""
    choices = Choices(data)
    values = {"variant": choices.pick(VARIANTS), **SIZES}
    for _ in range(choices.below(5)):
        name = choices.pick(list(ModelConfig.__dataclass_fields__) if choices.below(2) else list(SIZES))
        values[name] = _value(name, choices)
    kind = choices.below(3)
    started = process_time()
    with _limited_memory():
        try:
            config = ModelConfig.from_dict(values)
            (_try_weights if kind else _try_training)(config, choices)
        except AliceError as error:
            if "\n" in str(error) or len(str(error)) > 600:
                raise Finding(f"the error is not one sentence: {str(error)[:200]}") from error
        except (MemoryError, RuntimeError) as error:
            raise Finding(f"{values} were not refused before memory was allocated") from error
    if (seconds := process_time() - started) > SECONDS:
        raise Finding(f"{values} took {seconds:.1f} s")


def _value(name: str, choices: Choices) -> Any:
    """Return another value for a field, most of the time one of the right type."""
    default = ModelConfig.__dataclass_fields__[name].default
    if not choices.below(8):
        return choices.pick(ODD_VALUES)
    if isinstance(default, bool):
        return bool(choices.below(2))
    if isinstance(default, str):
        return choices.pick(VARIANTS if name == "variant" else SYMBOLS)
    return choices.pick(NUMBERS if isinstance(default, float) else WHOLE_NUMBERS)


def _try_weights(config: ModelConfig, choices: Choices) -> None:
    """Load weights that may or may not be those of the config, and answer."""
    if choices.below(2):
        given = {"anything": torch.zeros(choices.pick([0, 1, 10**3, 10**6]))}
    else:
        check_memory(config, torch.device("cpu"), averaged=False)
        if _is_slow(config):
            return
        given = Alice(config).state_dict()
    model = Alice.from_weights(config, given, where="weights", device="cpu")
    (solution,) = solve(model, ["A TEXT"])
    if not all(0 <= share <= 1.0001 for share in solution.confidence.values()):
        raise Finding(f"{config} gives {solution}")


def _is_slow(config: ModelConfig) -> bool:
    return config.block_weights > MOST_WEIGHTS or config.n_blocks > MOST_BLOCKS


def _try_training(config: ModelConfig, choices: Choices) -> None:
    """Build a model as a training does; its loss must be a number."""
    check_memory(config, torch.device("cpu"), averaged=bool(choices.below(2)))
    if _is_slow(config):
        return
    loss = Objective(Alice(config).train())(IDS, IDS).sum()
    loss.backward()


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let this process allocate little more than it has during a block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + FREE, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
