"""Takes docs/images/NAME.png from real reports: `python docs/take_pictures.py [NAME ...] [--trainings FOLDER]`.

Each analysis runs on the bundled models over few texts, and headless Chromium (with its driver, as for `make test`)
takes the first figure of its report. Analyses of trainings need the folder of a sweep, so they must be named, and so
does `explorer`, the page that runs a model.
`--report` takes the picture from an existing report.
"""

import base64
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
"""Size of the window; a figure fills its width."""
LARGEST = 120_000
"""Largest size of a picture in bytes."""
SECONDS_TO_DRAW = 60
EXPLORER = "explorer"
EXPLORED = {
    "plain": "THE LETTERS THAT WE HIDE FROM THE WORLD ARE THE ONES THAT IT MOST WANTS TO READ.",
    "key": "QWERTYUIOPASDFGHJKLZXCVBNM",
    "off": [["head", 4, 1], ["head", 5, 2], ["mlp", 6]],
}
"""What the explorer shows in its picture."""
EXPLORER_SIZE, EXPLORER_SCALE = (1200, 980), 0.7
"""Size of the window, and the scale that makes a small picture of it."""


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--samples", default=200, show_default=True, help="Texts to read, for analyses with that option.")
@click.option("--trainings", type=click.Path(path_type=Path), help="Trainings, for analyses that read them.")
@click.option("--report", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Report to take it from.")
@click.option("--figure", help="Name of the figure or text with heat to take instead of the first figure.")
def take(names: tuple[str, ...], samples: int, trainings: Path | None, report: Path | None, figure: str | None) -> None:
    """Run the analyses and take their pictures."""
    from alice.errors import nearest
    from alice.plugins.analysis import is_for_all
    from alice.plugins.manager import build

    analyses = build(third_party=False).analyses
    chosen = names or tuple(name for name, cls in analyses.items() if is_for_all(cls))
    if report is not None and len(names) != 1:
        raise click.UsageError("--report needs the name of its analysis; give exactly one")
    for name in chosen:
        if name not in analyses and name != EXPLORER:
            raise click.UsageError(f"there is no analysis {name!r}{nearest(name, analyses)}")
    with tempfile.TemporaryDirectory() as folder, _browser(Path(folder) / "profile") as browser:
        for name in chosen:
            picture = IMAGES / f"{name}.png"
            if name == EXPLORER:
                _shoot_explorer(browser, Path(folder) / "explore.html", picture)
            else:
                page = report or _run(analyses[name], samples, trainings, Path(folder) / "runs")
                _shoot(browser, page, figure, picture)
            click.echo(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


def _run(cls: Any, samples: int, trainings: Path | None, out: Path) -> Path:
    """Run an analysis, on the bundled models that read the same texts if it compares several; return its report."""
    from alice.plugins.analysis import check_needs, checkpoints_of
    from alice.plugins.context import RunContext
    from alice.plugins.runner import run_analysis

    wanted = {"samples": samples} | ({"trainings": (trainings,)} if trainings else {})
    analysis = cls(**{field.name: wanted[field.name] for field in fields(cls) if field.name in wanted})
    check_needs(analysis)
    models = {"none": [], "one": ["base"], "several": comparable()}[checkpoints_of(cls)]
    ctx = RunContext.open(*models) if models else RunContext()
    return run_analysis(analysis, ctx, out=out).folder / "report.html"


def comparable() -> list[str]:
    """Return the bundled models that have the alphabet of `base`."""
    from alice.checkpoint import bundled, read_config

    symbols = {name: read_config(folder).symbols for name, folder in bundled().items()}
    return [name for name in symbols if symbols[name] == symbols["base"]]


@contextmanager
def _browser(profile: Path) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-background-networking",
        "disable-dev-shm-usage",
        "hide-scrollbars",
    ):
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
    named = f'[id="figure-{figure}"], [id="text-{figure}"]'
    element = browser.find_element("css selector", named if figure else "figure.figure")
    # Selenium's own picture of an element scrolls to it and may be taken before scrolling ends.
    place = "const r = arguments[0].getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]"
    clip = dict(zip(("x", "y", "width", "height"), browser.execute_script(place, element), strict=True))
    _capture(browser, clip, picture)


def _shoot_explorer(browser: Any, page: Path, picture: Path) -> None:
    """Write the explorer page of `base` and take its top, once it has computed."""
    from selenium.webdriver.support.ui import WebDriverWait

    from alice.checkpoint.packed import pack
    from alice.reports.explorer.write import write

    packed = pack("base")
    write(page, packed.header, packed.weights, EXPLORED)
    width, height = EXPLORER_SIZE
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    ready = "return document.body.dataset.ready === 'yes'"
    WebDriverWait(browser, SECONDS_TO_DRAW).until(lambda page: page.execute_script(ready))
    _capture(browser, {"x": 0, "y": 0, "width": width, "height": height}, picture, EXPLORER_SCALE)


def _capture(browser: Any, clip: dict[str, float], picture: Path, scale: float = 1) -> None:
    """Write a part of the page as a picture."""
    options = {"clip": clip | {"scale": scale}, "captureBeyondViewport": True}
    image = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
    if len(image) > LARGEST:
        raise click.ClickException(f"{picture} would have {len(image):,} bytes, more than {LARGEST:,}")
    picture.write_bytes(image)


if __name__ == "__main__":
    take()
