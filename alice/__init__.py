"""ALICE, a Transformer that solves cryptograms, with a hook at every step.

    import alice

    model = alice.load("base")
    alice.solve("RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV")
    found = alice.run("early-exit", "base", "bijective", samples=500)
    found.metric("ser", model="base")
    alice.analyses()

Everything is imported on first use, so `import alice` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from alice import planted as planted
from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.front_door import analyses as analyses
    from alice.front_door import load as load
    from alice.front_door import load_artefact as load_artefact
    from alice.front_door import load_features as load_features
    from alice.front_door import load_lens as load_lens
    from alice.front_door import run as run
    from alice.front_door import solve as solve
    from alice.model import Alice as Alice
    from alice.plugins import RunContext as RunContext
    from alice.reports import Card as Card
    from alice.reports import Figure as Figure
    from alice.reports import HeatText as HeatText
    from alice.reports import Metric as Metric
    from alice.reports import Report as Report
    from alice.reports import Result as Result
    from alice.reports import Section as Section
    from alice.reports import Table as Table
    from alice.text import Key as Key

_NAMES = {
    "front_door": ("analyses", "load", "load_artefact", "load_features", "load_lens", "run", "solve"),
    "model": ("Alice",),
    "plugins": ("RunContext",),
    "reports": ("Card", "Figure", "HeatText", "Metric", "Report", "Result", "Section", "Table"),
    "text": ("Key",),
}
__getattr__ = lazy_exports(__name__, _NAMES)


def __dir__() -> list[str]:
    """Return what a notebook completes after `alice.`."""
    return sorted(["planted", *(name for names in _NAMES.values() for name in names)])
