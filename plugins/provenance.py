"""Provenance of a result: analysis, options, models, texts, plugin, versions and machine."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from alice import fields
from alice.plugins.analysis import Analysis
from alice.plugins.context import RunContext
from alice.plugins.manager import Plugin

PACKAGES = ("alice-interp", "numpy", "plotly", "safetensors", "scikit-learn", "scipy", "torch", "transformer-lens")
"""Packages whose version may change a result."""


def describe(analysis: Analysis, ctx: RunContext, plugin: Plugin | None) -> dict[str, Any]:
    """Return everything that determines a result; time, machine and duration are in `describe_place`."""
    return {
        "analysis": analysis.name,
        "options": fields.to_plain(analysis),
        "seed": ctx.seed,
        "checkpoints": _checkpoints(ctx),
        "data": _data(ctx),
        "plugin": _plugin(plugin),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }


def describe_place(seconds: float, *, workers: int | None = None) -> dict[str, Any]:
    """Return what differs each time: time, machine and duration; workers have one thread each."""
    machine = {
        "name": platform.node(),
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads() if workers is None else workers,
        "workers": workers,
    }
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "duration": round(seconds, 3),
    }


def _checkpoints(ctx: RunContext) -> list[dict[str, str]]:
    """Return name and hash of each model, and where it was loaded from if the name does not say it."""
    models = (one.named_model for one in ctx.each)
    return [
        {"name": named.name, "sha256": named.fingerprint}
        | ({"place": place} if (place := str(named.checkpoint or named.name)) != named.name else {})
        for named in models
        if named is not None
    ]


def _data(ctx: RunContext) -> list[dict[str, str | int]]:
    """Return which texts each model read."""
    each = (one for one in ctx.each if one.named_model is not None)
    read = ((one.checkpoint, one.texts.provenance()) for one in each if one.texts is not None)
    return [{"model": model, **texts} for model, texts in read if texts is not None]


def _plugin(plugin: Plugin | None) -> dict[str, str] | None:
    if plugin is None:
        return None
    ours = plugin.origin == "built-in"
    return {
        "name": plugin.name,
        "version": _version("alice-interp") if ours else plugin.version or "none",
        "origin": plugin.origin,
        "where": plugin.where,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
