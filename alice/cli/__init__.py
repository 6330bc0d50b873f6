"""The command line: `alice-interp COMMAND`.

Importing this loads nothing, so that the program can prepare for Ctrl-C before it loads the rest.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alice.cli.root import COMMANDS as COMMANDS
    from alice.cli.root import main as main


def __getattr__(name: str) -> Any:
    """Import the group of all commands when it is first asked for."""
    if name not in ("COMMANDS", "main"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from alice.cli import root

    return getattr(root, name)
