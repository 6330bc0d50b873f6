"""Moved to `alice.reports.figures`."""

from alice.reports.figures import stacked_shares as stacked_shares
