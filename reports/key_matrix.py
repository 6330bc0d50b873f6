"""Moved to `alice.reports.maps`."""

from alice.reports.maps import Marks as Marks
from alice.reports.maps import key_matrix as key_matrix
