"""States of the explorer, as JSON, links and ends of links: what is accepted fits the model, as the page checks it."""

import json
from typing import Any
from urllib.parse import quote

from fuzz.pieces import Choices, Finding, new_folder

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.reports.explorer.beside import model_of, pages_in
from alice.reports.explorer.state import check, fragment, parse
from alice.reports.explorer.write import write

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x02\x01" + bytes(range(60)), b"\x03" + bytes(range(90, 30, -1)))
FOLDER = new_folder()
PAGE = FOLDER / "explore-tiny.html"
CONFIG = ModelConfig(d_model=4, n_layers=2, n_heads=2, d_mlp=2, n_ctx=8, cross_heads=1, hyper_heads=1).to_dict()
HEADER = {"name": "tiny", "config": CONFIG, "letter_ids": list(range(26)), "tensors": {}}
STATE: dict[str, Any] = {
    "text": "RJ HRIF",
    "plain": "IN LIFE",
    "second": "SECOND",
    "key": "BCDEFGHIJKLMNOPQRSTUVWXYZA",
    "layer": 2,
    "head": [1, 0],
    "off": [["head", 0, 1], ["mlp", 1]],
    "scale": [["head", 1, 1, 0.5], ["mlp", 0, -100]],
    "pin": [["Q", "E"]],
    "patch": [["resid", 2], ["head", 0, 0]],
    "by": "symbol",
    "places": [0, 7],
}


def try_input(data: bytes) -> None:
    """Damage a state or its link, read it, write it into a page, and link to it again."""
    choices = Choices(data)
    whole = {name: STATE[name] for name in STATE if choices.below(3)}
    form, shown = choices.below(4), not choices.below(16)
    text = choices.written(choices.damaged_document(whole, most=2)).decode(errors="replace")
    given = text if form == 0 else f"{choices.pick(['#', 'explore.html#', '', 'x#y#'])}s={quote(text, safe='')}"
    given = choices.damaged_bytes(given.encode()).decode(errors="replace") if form == 3 else given
    try:
        state = check(parse(given), CONFIG)
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 400:
            raise Finding(f"the error is not one sentence: {str(error)[:300]!r}") from error
        return
    again = parse(f"explore.html{fragment(state)}")
    if again != state or check(again, CONFIG) != state:
        raise Finding(f"{state} became {again} in a link")
    if not shown:
        return
    write(PAGE, HEADER, b"\0\0", state)
    inside = PAGE.read_text(encoding="utf-8").partition('id="explorer-state">')[2].partition("</script>")[0]
    if (json.loads(inside) if inside else {}) != state:
        raise Finding(f"{state} became {inside} in a page")
    PAGE.write_bytes(choices.damaged_bytes(PAGE.read_bytes()))
    if not isinstance(model_of(PAGE), str | None) or len(pages_in(FOLDER)) > 1:
        raise Finding("a damaged page has several models")
