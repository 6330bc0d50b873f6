"""Takes docs/images/NAME.png from real reports: `python docs/take_pictures.py [NAME ...] [--runs FOLDER]`.

Each analysis runs on the bundled models over few texts, and the first figure of its report is taken in headless
Chromium (with its driver, as for `make test`). Analyses of trainings need the folder of a sweep, so they are taken only
by name.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

IMAGES = Path(__file__).with_name("images")
WIDTH, HEIGHT = 900, 1200
"""Size of the window; a figure is as wide as the window allows."""
LARGEST = 200_000
"""Bytes that a picture may have."""
SECONDS_TO_DRAW = 60


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--samples", default=200, show_default=True, help="Texts to read, for analyses that ask.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of trainings, for analyses that read them.")
@click.option("--figure", help="Name of the figure to take instead of the first, as in the report's address.")
def take(names: tuple[str, ...], samples: int, runs: Path | None, figure: str | None) -> None:
    """Run the analyses and take their pictures."""
    from alice.plugins.analysis import is_for_all
    from alice.plugins.manager import build

    analyses = build(third_party=False).analyses
    chosen = names or tuple(name for name, cls in analyses.items() if is_for_all(cls))
    with tempfile.TemporaryDirectory() as folder, _browser(Path(folder) / "profile") as browser:
        for name in chosen:
            report = _run(analyses[name], samples, runs, Path(folder) / "runs")
            picture = IMAGES / f"{name}.png"
            _shoot(browser, report, figure, picture)
            click.echo(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


def _run(cls: Any, samples: int, runs: Path | None, out: Path) -> Path:
    """Run an analysis, on every bundled model if it compares several; return its report."""
    from alice.checkpoint import bundled
    from alice.plugins.analysis import check_needs, checkpoints_of
    from alice.plugins.context import RunContext
    from alice.plugins.runner import run_analysis

    wanted = {"samples": samples} | ({"runs": (runs,)} if runs else {})
    analysis = cls(**{field.name: wanted[field.name] for field in fields(cls) if field.name in wanted})
    check_needs(analysis)
    models = {"none": [], "one": ["base"], "several": list(bundled())}[checkpoints_of(cls)]
    ctx = RunContext.open(*models) if models else RunContext()
    return run_analysis(analysis, ctx, out=out).folder / "report.html"


@contextmanager
def _browser(profile: Path) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    options.add_argument(f"--user-data-dir={profile}")
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))) as running:
        yield running


def _shoot(browser: Any, report: Path, figure: str | None, picture: Path) -> None:
    """Take one figure with its caption, in the light theme."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(report.absolute().as_uri())
    drawn = "return document.readyState === 'complete' && !document.querySelector('.plot:not([data-drawn])')"
    WebDriverWait(browser, SECONDS_TO_DRAW).until(lambda page: page.execute_script(drawn))
    wanted = f"#figure-{figure}" if figure else "figure.figure"
    image = browser.find_element("css selector", wanted).screenshot_as_png
    if len(image) > LARGEST:
        raise click.ClickException(f"the picture of {report} has {len(image):,} bytes, more than {LARGEST:,}")
    picture.write_bytes(image)


if __name__ == "__main__":
    take()
