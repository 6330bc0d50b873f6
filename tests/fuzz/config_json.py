"""`config.json` of a checkpoint: what loads is what was written, and every number in it is finite and in range."""

import json
import math

from fuzz.pieces import Choices, Finding, new_folder

from alice.checkpoint import folder as checkpoint
from alice.errors import AliceError
from alice.model.config import VARIANTS, ModelConfig

SEEDS = (b"\x01", b"\x02\x01\x05\x00\x03\x13", b"\x00\x03" + bytes(range(40)))
FOLDER = new_folder()


def try_input(data: bytes) -> None:
    """Damage a config and read it."""
    choices = Choices(data)
    whole = {"format": checkpoint.FORMAT, **ModelConfig(variant=choices.pick(VARIANTS)).to_dict()}
    content = choices.written(choices.damaged_document(whole))
    (FOLDER / checkpoint.CONFIG).write_bytes(content)
    try:
        config = checkpoint.read_config(FOLDER)
    except AliceError as error:
        if len(str(error)) > 2000 or "\n" in str(error):
            raise Finding(f"the error is not one sentence: {str(error)[:200]}") from error
        return
    _check(config, content)


def _check(config: ModelConfig, content: bytes) -> None:
    found, said = config.to_dict(), json.loads(content)
    if wrong := [name for name in said if name != "format" and found[name] != said[name]]:
        raise Finding(f"{wrong} were read differently")
    if any(isinstance(value, float | int) and not math.isfinite(value) for value in found.values()):
        raise Finding(f"a number is not finite in {found}")
    if config.rope_theta <= 0 or config.init_std < 0 or content.count(b'"d_model"') > 1:
        raise Finding(f"{content!r} was accepted")
    if ModelConfig.from_dict(json.loads(json.dumps(found))) != config:
        raise Finding(f"{found} does not survive a round trip through JSON")
    config.symbols.encode()
