"""Probes that read layers: what a representation holds, beside what the model makes of it."""
