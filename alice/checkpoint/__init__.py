"""Checkpoint folders: reading, writing and exporting them, and importing the authors' format."""
