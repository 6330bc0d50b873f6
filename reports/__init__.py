"""Results as data, and the pages that show them. This room knows neither torch nor a model.

An analysis returns a `Result`: metrics, tables, figures and arrays under stable names, each with a label for readers. A
`Report` is a result with its provenance; `save` writes it into a folder with a page, and `read_report` reads it back.
The other modules draw figures (`figures`), write the page (`html`), list the reports of a folder (`gallery`) and serve
them to a browser (`server`).
"""

from alice.reports.archive import Report as Report
from alice.reports.archive import read_report as read_report
from alice.reports.names import distinct_names as distinct_names
from alice.reports.names import model_key as model_key
from alice.reports.result import Figure as Figure
from alice.reports.result import Metric as Metric
from alice.reports.result import Result as Result
from alice.reports.result import Table as Table
