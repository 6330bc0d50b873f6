"""Takes the pictures of the documentation: `python docs/take_pictures.py [NAME ...]`, all of them without a name.

Each picture is a figure of the report of a real `alice-interp` command, which the page that shows it names. Headless
Chromium takes it, with its driver, as for `make test`.
"""

import base64
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 900, 1200
"""Size of the window; a figure fills its width."""
SCALE = 1.5
"""Pixels of a picture for each pixel of the page."""
EXPLORER_SIZE, EXPLORER_SCALE = (1200, 980), 1.1
LARGEST = 250_000
"""Largest size of a picture in bytes."""
SECONDS_TO_DRAW = 60

ENGLISH = "--ckpt base --ckpt bijective --ckpt dynamic"
STATE = (
    '{"plain": "THE LETTERS THAT WE HIDE FROM THE WORLD ARE THE ONES THAT IT MOST WANTS TO READ.", '
    '"key": "QWERTYUIOPASDFGHJKLZXCVBNM", "off": [["head", 2, 1], ["head", 3, 3], ["mlp", 6]]}'
)
"""What the explorer shows in its picture."""


@dataclass(frozen=True)
class Picture:
    """Where a picture comes from."""

    page: str
    """The page of docs/ that shows it and names its command."""
    command: str
    """The command after `alice-interp`, run in the project's folder."""
    figure: str = ""
    """Name of the figure, or of the text with heat; the first figure of the report if empty."""


def _of_analysis(name: str, options: str, figure: str = "") -> tuple[str, Picture]:
    return name, Picture(f"analyses/{name}.md", f"run {name} {options}", figure)


PICTURES = {
    "explorer": Picture("explorer.md", f"explore --ckpt base --state '{STATE}'"),
    **dict(
        [
            _of_analysis("early-exit", f"{ENGLISH} --samples 200"),
            _of_analysis("lens", "--ckpt base --samples 100"),
            _of_analysis("key-recovery", f"{ENGLISH} --samples 200"),
            _of_analysis("probe", "--ckpt base --samples 200"),
            _of_analysis("features", "--ckpt base --samples 50 --training 500 --seeds 1", "coverage"),
            _of_analysis("ngram", "--ckpt base --samples 200"),
            _of_analysis("attention", "--ckpt base --samples 200"),
            _of_analysis("ablation", "--ckpt base --samples 32"),
            _of_analysis("patching", "--ckpt base --samples 64"),
            _of_analysis("circuit", "--ckpt base --samples 32"),
            _of_analysis("evidence", "--ckpt base", "evidence-example-0@base"),
            _of_analysis("letter-frequency", f"{ENGLISH} --samples 200"),
            _of_analysis("errors-by-length", f"{ENGLISH} --samples 200"),
            _of_analysis("relabelling", f"{ENGLISH} --samples 200"),
            _of_analysis("speed", ENGLISH),
            _of_analysis("disagreement", "--ckpt bijective --samples 60", "cases"),
            _of_analysis("generalization", "--trainings bundled:pools", "training"),
            _of_analysis("scaling", "--trainings bundled:sizes"),
        ]
    ),
    "encodings": Picture("analyses/scaling.md", "run scaling --trainings examples/encodings"),
    "borg": Picture(
        "analyses/borg.md",
        "run borg --ckpt multilingual --symbols letters --file examples/gallic-war.txt --plain examples/gallic-war.txt",
    ),
    "grade": Picture("grade.md", "grade ablation --planted frequency --trials 1"),
}
"""Every picture by its name, which is that of its file in docs/images."""


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
def take(names: tuple[str, ...]) -> None:
    """Run the commands and take their pictures."""
    for name in names:
        if name not in PICTURES:
            raise click.UsageError(f"there is no picture {name!r}; the pictures are {', '.join(PICTURES)}")
    with tempfile.TemporaryDirectory() as folder, _browser(Path(folder) / "profile") as browser:
        for name in names or PICTURES:
            picture, file = PICTURES[name], IMAGES / f"{name}.png"
            page = _run(picture.command, Path(folder))
            shoot = _shoot_explorer if name == "explorer" else _shoot
            file.write_bytes(_checked(file, shoot(browser, page, picture.figure)))
            click.echo(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def _run(command: str, folder: Path) -> Path:
    """Run a command of `alice-interp` in the project's folder; return the page it wrote."""
    from click.testing import CliRunner

    from alice.cli import main

    arguments = shlex.split(command)
    out = folder / ("explore.html" if arguments[0] == "explore" else "runs")
    with chdir(ROOT):
        result = CliRunner().invoke(main, [*arguments, "--out", str(out)], catch_exceptions=False)
    if result.exit_code:
        raise click.ClickException(f"alice-interp {command} failed: {result.output}")
    return Path(result.stdout.splitlines()[-1])


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
    options.add_argument(f"--user-data-dir={profile}")
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))) as running:
        yield running


def _open(browser: Any, page: Path, size: tuple[int, int], ready: str) -> None:
    """Show a page in a window of a size and wait until a script says that it is ready."""
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.absolute().as_uri())
    WebDriverWait(browser, SECONDS_TO_DRAW).until(lambda page: page.execute_script(f"return {ready}"))


def _shoot(browser: Any, report: Path, figure: str) -> bytes:
    """Take one figure with its caption, in the light theme."""
    drawn = "document.readyState === 'complete' && !document.querySelector('.plot:not([data-drawn])')"
    _open(browser, report, (WIDTH, HEIGHT), drawn)
    named = f'[id="figure-{figure}"], [id="text-{figure}"]'
    element = browser.find_element("css selector", named if figure else "figure.figure")
    # Selenium's own picture of an element scrolls to it and may be taken before scrolling ends.
    place = "const r = arguments[0].getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]"
    clip = dict(zip(("x", "y", "width", "height"), browser.execute_script(place, element), strict=True))
    return _capture(browser, clip, SCALE)


def _shoot_explorer(browser: Any, page: Path, _figure: str) -> bytes:
    """Take the top of the explorer page, once it has computed."""
    _open(browser, page, EXPLORER_SIZE, "document.body.dataset.ready === 'yes'")
    width, height = EXPLORER_SIZE
    return _capture(browser, {"x": 0, "y": 0, "width": width, "height": height}, EXPLORER_SCALE)


def _capture(browser: Any, clip: dict[str, float], scale: float) -> bytes:
    """Return a part of the page as a picture."""
    options = {"clip": clip | {"scale": scale}, "captureBeyondViewport": True}
    return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def _checked(file: Path, image: bytes) -> bytes:
    if len(image) > LARGEST:
        raise click.ClickException(f"{file} would have {len(image):,} bytes, more than {LARGEST:,}")
    return image


if __name__ == "__main__":
    take()
