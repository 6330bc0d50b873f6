"""Jobs that these tests kill: each writes to disk and is a function of the folder it works in.

This module is imported once, before processes fork, so it also imports what the jobs would import on first use.
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

CACHE, REPORTS, TRAINING, CORPUS = "cache", "runs", "training", "texts.txt"
STEPS = 24 * KILLS
"""Enough that most kills come before the end."""


@dataclass(frozen=True)
class Norms:
    """Measure the norms of the embeddings, read from the activation store."""

    name = "norms"

    def run(self, ctx):
        """Read the store from beginning to end."""
        stored = ctx.store("blocks.*.hook_resid_post", "hook_embed")
        return _result(np.array([float(cache["hook_embed"].norm()) for _, cache in stored]))


def _result(norms):
    figure = go.Figure(go.Scatter(y=norms))
    return Result("Norms", metrics=[Metric("batches", len(norms))], arrays={"norms": norms}, figures={"norms": figure})


def train(place: Path) -> None:
    """Start the training or resume it, saving after every step."""
    folder = place / TRAINING
    if (folder / "training.json").exists():
        carry_out(Training.open(folder, {}), resume=True)
    else:
        carry_out(small_training(folder, place / CORPUS, steps=STEPS, save_minutes=0.0, eval_texts=4))


def analyse(place: Path) -> None:
    """Run an analysis that fills the activation store."""
    torch.set_num_threads(1)
    os.environ["ALICE_INTERP_CACHE"] = str(place / CACHE)
    run_analysis(Norms(), tiny_context(tiny_model("base"), texts=80), out=place / REPORTS)


def gallery(place: Path) -> None:
    """Write the pages of all reports again, and the gallery."""
    for folder in sorted((place / REPORTS).glob("norms-*")):
        write_report(read_report(folder))
    write_gallery(place / REPORTS)


def _warm_up() -> None:
    """Import what drawing a page imports on first use."""
    with TemporaryDirectory() as folder:
        read_report(Report(_result(np.zeros(1)), {}).save(folder).stored_in)


_warm_up()
