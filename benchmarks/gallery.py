"""The time to publish a report among many others, compared with publishing it among few."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from alice.bench.measuring import Ratio, compare, take_turns
from alice.reports import Figure, Metric, Report, Result
from alice.reports.archive import RESULT
from alice.reports.figures import layer_curve
from alice.reports.gallery import ENTRY, THUMBNAIL, write_gallery
from alice.reports.html import REPORT

FEW, MANY = 10, 2000


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Publish the same report into two folders in turns."""
    curve = Figure(layer_curve(np.linspace(0.9, 0.1, 13), y_title="error"))
    report = Report(Result("Benchmark", metrics=[Metric("error", 0.1)], figures={"error": curve}), {"analysis": "b"})
    with TemporaryDirectory() as place:
        folders = {count: Path(place) / str(count) for count in (FEW, MANY)}
        for count, folder in folders.items():
            _fill(folder, report, count)
        contestants = {"many": lambda: report.save(folders[MANY]), "few": lambda: report.save(folders[FEW])}
        times = take_turns(contestants, rounds=10 if quick else 40)
    yield compare(f"{MANY:,} reports / {FEW}", times, "many", "few")


def _fill(folder: Path, report: Report, count: int) -> None:
    """Make a gallery of copies of one report; they share the files that the gallery does not read."""
    first = report.save(folder).stored_in
    for number in range(1, count):
        copy = folder / f"copy-{number}"
        copy.mkdir()
        for name in (ENTRY, THUMBNAIL):
            shutil.copy(first / name, copy / name)
        for name in (RESULT, REPORT):
            (copy / name).hardlink_to(first / name)
    write_gallery(folder)
