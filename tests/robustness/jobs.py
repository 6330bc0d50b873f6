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
from tiny import tiny
from training_folders import made_up_measures
from trainings import carry_out, small_training

from alice.checkpoint.packed import pack_weights
from alice.plugins.builtin.generalization.along import export_run_set
from alice.plugins.builtin.generalization.measures import write_measures
from alice.plugins.conformance import tiny_context, tiny_model
from alice.plugins.runner import run_analysis
from alice.reports import Metric, Report, Result, read_report
from alice.reports.explorer.write import write as write_explorer
from alice.reports.gallery import write_gallery
from alice.reports.html import write_report
from alice.solving.language_files import open_languages
from alice.training.folder import Training

CACHE, REPORTS, TRAINING, CORPUS = "cache", "runs", "training", "texts.txt"
MEASURED, RUN_SET, EXPLORER = "measured", "set", "explore.html"
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


def explorer(place: Path) -> None:
    """Write the explorer page of a model."""
    model = tiny("base")
    packed = pack_weights("tiny", model.config, model.state_dict(), where="tiny")
    write_explorer(place / EXPLORER, packed.header, packed.weights)


def languages(place: Path) -> None:
    """Learn a language, or read it from the cache."""
    os.environ["ALICE_INTERP_CACHE"] = str(place / CACHE)
    open_languages([str(place / CORPUS)])


def run_set(place: Path) -> None:
    """Measure a training, and export it as a run set."""
    folder = place / MEASURED
    if not folder.exists():
        carry_out(small_training(folder, place / CORPUS, steps=2, cipher_pool=5, eval_texts=4))
    write_measures(folder, [made_up_measures(step, 0.5) for step in (1, 2)])
    export_run_set([folder], place / RUN_SET)


def _warm_up() -> None:
    """Import what drawing a page imports on first use."""
    with TemporaryDirectory() as folder:
        read_report(Report(_result(np.zeros(1)), {}).save(folder).stored_in)


_warm_up()
