"""Writes the explorer page: engine, weights and interface in one file that opens from disk, without network."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alice.files import atomic_write
from alice.reports import page

ROOM = "alice.reports.explorer"
GENERATOR = "alice-interp explorer"
MARK = f'<meta name="generator" content="{GENERATOR}">'.encode()
ENGINE = ("numbers.js", "interventions.js", "engine.js", "runner.js")
INTERFACE = (
    *("state.js", "text.js", "examples.js", "dom.js", "history.js", "changes.js", "runs.js"),
    *("answer.js", "key.js", "attention.js", "board.js", "compare.js", "controls.js", "page.js"),
)
"""Scripts in the order in which they are loaded."""
WORKER = "worker-src blob:"
"""What the policy of the page allows beyond that of a report: the model runs in a worker made from the page itself."""


def scripts() -> list[str]:
    """Return the policy sources of the scripts inside the page."""
    return [page.script_hash(script) for script in (page.resource("theme.js"), *_own_scripts().values())]


def _own_scripts() -> dict[str, str]:
    return {name.removesuffix(".js"): page.resource(name, ROOM) for name in (*ENGINE, *INTERFACE)}


def render(header: Mapping[str, Any], weights: bytes, state: Mapping[str, Any] | None = None) -> str:
    """Return the page of a model.

    Args:
        header: the header of a packed checkpoint.
        weights: its weights in half precision.
        state: what the page opens on; see state.js.

    """
    return page.render(
        "explorer.html",
        ROOM,
        policy=f"{page.policy(scripts())}; {WORKER}",
        generator=GENERATOR,
        model=header["name"],
        header=page.script_json(dict(header)),
        weights=base64.b64encode(weights).decode("ascii"),
        state=page.script_json(dict(state)) if state else "",
        style=page.resource("style.css"),
        explorer_style=page.resource("explorer.css", ROOM),
        theme_script=page.resource("theme.js"),
        scripts=_own_scripts(),
    )


def write(path: Path, header: Mapping[str, Any], weights: bytes, state: Mapping[str, Any] | None = None) -> None:
    """Write the page of a model to a file, complete or not at all; see `render`."""
    with atomic_write(path) as file:
        file.write(render(header, weights, state))
