"""Running a report again from its provenance, to see whether it holds; `alice-interp verify` shows what this finds."""
