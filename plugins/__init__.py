"""What the author of a plugin imports: `hookimpl`, `Analysis`, `RunContext`, and what a result consists of.

Importing this loads neither torch nor numpy, so that listing plugins and every `--help` stay quick.
"""

from typing import TYPE_CHECKING, Any

from alice.plugins.analysis import Analysis as Analysis
from alice.plugins.context import RunContext as RunContext
from alice.plugins.hookspecs import API_VERSION as API_VERSION
from alice.plugins.hookspecs import hookimpl as hookimpl

if TYPE_CHECKING:
    from alice.reports import Card as Card
    from alice.reports import Figure as Figure
    from alice.reports import HeatText as HeatText
    from alice.reports import Metric as Metric
    from alice.reports import Report as Report
    from alice.reports import Result as Result
    from alice.reports import Section as Section
    from alice.reports import Table as Table
    from alice.reports import Trial as Trial
    from alice.reports import model_key as model_key

_RESULT = ("Card", "Figure", "HeatText", "Metric", "Report", "Result", "Section", "Table", "Trial", "model_key")
__all__ = [
    "API_VERSION",
    "Analysis",
    "Card",
    "Figure",
    "HeatText",
    "Metric",
    "Report",
    "Result",
    "RunContext",
    "Section",
    "Table",
    "Trial",
    "hookimpl",
    "model_key",
]


def __getattr__(name: str) -> Any:
    """Import the parts of a result on first use."""
    if name not in _RESULT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import alice.reports

    return getattr(alice.reports, name)
