"""What an analysis found, as data; and the pages that show it. Knows no torch and no model."""

from alice.reports.result import Figure as Figure
from alice.reports.result import Result as Result
from alice.reports.result import Table as Table
