"""The command line: `alice-interp COMMAND`, one file per command.

Importing this loads nothing, so that the program can handle Ctrl-C before it loads the rest.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.cli.root import COMMANDS as COMMANDS
    from alice.cli.root import main as main

__getattr__ = lazy_exports(__name__, {"root": ("COMMANDS", "main")})
