"""What is killed in these tests: small pieces of work that write to disk, each a function of the folder it works in.

This module is imported once, before processes fork; so it imports also what the work would import when first wanted.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import plotly.graph_objects as go
import torch
import torch._dynamo
import torch.distributed.nn
from robustness.killing import KILLS
from trainings import carry_out, small_training

from alice.plugins.conformance import tiny_context, tiny_model
from alice.plugins.runner import run_analysis
from alice.reports import Metric, Report, Result, read_report
from alice.reports.gallery import write_gallery
from alice.reports.html import write_report
from alice.training.folder import Training

CACHE, RUNS, TRAINING, CORPUS = "cache", "runs", "training", "texts.txt"
STEPS = 12 * KILLS
"""Enough that a kill mostly comes before the end."""


@dataclass(frozen=True)
class Lengths:
    """Measure the streams of every layer, from the store."""

    name = "lengths"

    def run(self, ctx):
        """Read the store from its beginning to its end."""
        stored = ctx.store("blocks.*.hook_resid_post", "hook_embed")
        sums = np.array([float(cache["hook_embed"].norm()) for _, cache in stored])
        return _result(sums)


def _result(sums):
    figure = go.Figure(go.Scatter(y=sums))
    return Result("Lengths", metrics=[Metric("batches", len(sums))], arrays={"sums": sums}, figures={"sums": figure})


def train(place: Path) -> None:
    """Begin the training, or go on with it, saving after every step."""
    folder = place / TRAINING
    if (folder / "training.json").exists():
        carry_out(Training.open(folder, {}), resume=True)
    else:
        carry_out(small_training(folder, place / CORPUS, steps=STEPS, save_minutes=0.0, eval_texts=4))


def analyse(place: Path) -> None:
    """Run an analysis that fills the activation store."""
    torch.set_num_threads(1)
    os.environ["ALICE_INTERP_CACHE"] = str(place / CACHE)
    run_analysis(Lengths(), tiny_context(tiny_model("base"), texts=80), out=place / RUNS)


def gallery(place: Path) -> None:
    """Write the pages of all reports again, and the gallery."""
    for folder in sorted((place / RUNS).glob("lengths-*")):
        write_report(read_report(folder))
    write_gallery(place / RUNS)


def _warm_up() -> None:
    """Load what drawing a page loads when first wanted."""
    with TemporaryDirectory() as folder:
        read_report(Report(_result(np.zeros(1)), {}).save(folder).stored_in)


_warm_up()
