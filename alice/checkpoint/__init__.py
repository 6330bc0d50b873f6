"""Checkpoint folders: reading, writing and exporting them, and importing checkpoints of the authors' code."""
