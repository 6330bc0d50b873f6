"""Results as data, and the pages that show them. This room knows neither torch nor a model.

An analysis returns a `Result`: metrics, tables, figures, texts with heat, cards and arrays under stable names, each
with a label for readers, and sections that group them. A `Report` is a result with its provenance; `save` writes it
into a folder with its pages, and `read_report` reads it back. The other modules draw figures (`figures`), write the
pages (`html`), list the reports of a folder (`gallery`) and serve them to a browser (`server`).
"""

from alice.reports.archive import Report as Report
from alice.reports.archive import read_report as read_report
from alice.reports.explorer.state import Trial as Trial
from alice.reports.names import distinct_names as distinct_names
from alice.reports.names import model_key as model_key
from alice.reports.parts import Card as Card
from alice.reports.parts import Figure as Figure
from alice.reports.parts import HeatText as HeatText
from alice.reports.parts import Metric as Metric
from alice.reports.parts import Section as Section
from alice.reports.parts import Table as Table
from alice.reports.result import Result as Result
