"""What `alice-interp bench` measures: ratios of things done side by side in one process."""
