"""What an author of a plugin imports: `hookimpl`, `Analysis`, `RunContext`, `Result`, `Table`, `Figure`.

Importing this loads neither torch nor numpy: the list of plugins and every `--help` come without them.
"""

from typing import TYPE_CHECKING, Any

from alice.plugins.analysis import Analysis as Analysis
from alice.plugins.context import RunContext as RunContext
from alice.plugins.hookspecs import API_VERSION as API_VERSION
from alice.plugins.hookspecs import hookimpl as hookimpl

if TYPE_CHECKING:
    from alice.reports import Figure as Figure
    from alice.reports import Result as Result
    from alice.reports import Table as Table

__all__ = ["API_VERSION", "Analysis", "Figure", "Result", "RunContext", "Table", "hookimpl"]


def __getattr__(name: str) -> Any:
    """Import what a report shows when it is first asked for."""
    if name not in ("Figure", "Result", "Table"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import alice.reports

    return getattr(alice.reports, name)
