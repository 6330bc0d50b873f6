"""What an analysis found, as data, and the pages that show it. Knows neither torch nor a model."""

from alice.reports.archive import Report as Report
from alice.reports.archive import read_report as read_report
from alice.reports.result import Figure as Figure
from alice.reports.result import Metric as Metric
from alice.reports.result import Result as Result
from alice.reports.result import Table as Table
from alice.reports.result import model_key as model_key
