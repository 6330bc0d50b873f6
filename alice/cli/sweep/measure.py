"""`alice-interp sweep measure`: measures the checkpoints that trainings have kept, for the analysis that reads them."""

import shlex
from pathlib import Path

import click

from alice.cli.options import FOLDER, AtLeast
from alice.errors import printable
from alice.outputs import check_parent
from alice.plugins.builtin.generalization.measures import TEXTS


@click.command()
@click.argument("trainings", nargs=-1, required=True, type=FOLDER)
@click.option("--texts", type=AtLeast(1), default=TEXTS, show_default=True, help="Held-out texts to measure on.")
@click.option("--threads", type=AtLeast(1), default=1, show_default=True, help="CPU threads.")
@click.option(
    "--export",
    type=FOLDER,
    help="Then write descriptions, logs and measures there, without weights, to be shared and analysed anywhere.",
)
def measure(trainings: tuple[Path, ...], texts: int, threads: int, export: Path | None) -> None:
    """Measure the kept checkpoints of TRAININGS, folders of trainings on pools of keys.

    Train with --keep-steps. This compares each checkpoint with what two ideal solvers answer: one that knows the pool,
    and one that knows nothing of the key. It writes measures.jsonl into each training folder; what is there already is
    not measured again, unless it was measured on another number of texts; then it is replaced.
    """
    if export is not None:
        check_parent(export)

    import torch  # after the quick checks: it takes seconds

    from alice.plugins.builtin.generalization.along import export_run_set, measure_trainings
    from alice.training.records import training_folders

    torch.set_num_threads(threads)
    folders = training_folders(trainings)
    count = measure_trainings(folders, texts=texts, say=lambda line: click.echo(printable(line), err=True))
    done = f"done: {count:,} checkpoints measured"
    shown = trainings
    if export is not None:
        done += f", {export_run_set(folders, export) / 1e6:.2f} MB in {export}"
        shown = (export,)
    options = " ".join(f"--trainings {shlex.quote(str(folder))}" for folder in shown)
    click.echo(printable(f"{done}; draw them with: alice-interp run generalization {options}"))
