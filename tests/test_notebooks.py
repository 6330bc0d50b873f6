"""The notebooks run, say what they are shown to say, and bear out what their text concludes."""

import json
import re
import subprocess
import sys
from difflib import SequenceMatcher
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))
LARGEST = 100_000
SHARE_ALIKE = 0.95
"""Another processor may tip a letter that stands on an edge."""


def printed(path: Path) -> str:
    """Return all lines that a notebook holds as printed."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "".join(line for output in outputs for line in output.get("text", ()))


@pytest.fixture(scope="module", params=NOTEBOOKS)
def ran(request, tmp_path_factory):
    """A notebook after it ran once more."""
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, EXAMPLES / "run_notebooks.py", request.param, "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / request.param


def without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", text)


def test_a_notebook_says_what_it_is_shown_to_say(ran):
    now, shown = (without_numbers(printed(path)) for path in (ran, EXAMPLES / ran.name))
    alike = SequenceMatcher(None, now, shown, autojunk=False).ratio()
    assert alike >= SHARE_ALIKE, "stale; run: python examples/run_notebooks.py"
    assert CHECKS[ran.name](printed(ran))


def looks_inside(text: str) -> bool:
    """Check the conclusions on heads and places: the last layer has all at H, the first all around it."""
    assert "\n8 IN LIFE, WE MA" in text
    whole, most = re.search(r"([\d.]+)% of characters wrong[^+]*\+([\d.]+) points", text).groups()
    assert float(whole) < 20 < float(most)
    intact, scrambled = re.search(r"([\d.]+) intact, ([\d.]+) scrambled", text).groups()
    assert float(intact) > 2 * float(scrambled)
    here, around = (
        [int(share) for share in re.findall(r"(-?\d+)%", re.search(rf"^{name} .*$", text, re.MULTILINE)[0])]
        for name in ("places of H", "all others")
    )
    assert (here[0], here[-1], around[-1]) == (pytest.approx(0, abs=5), 100, 0)
    assert around[0] > 90
    return here[-2] > around[-2]


def writes_an_analysis(text: str) -> bool:
    """Check that the command line repeats the figures, and what the text says of them."""
    first, again = re.findall(r"^% wrong at the end, double letters: ([\d.]+)$", text, re.MULTILINE)
    assert float(first) == pytest.approx(float(again), rel=1e-3)
    assert re.search(r"^runs/doubles-base-[\d-]+/report\.html$", text, re.MULTILINE)
    rows = re.findall(r"^ +(\d+) \| +([\d.]+) \| +([\d.]+)$", text, re.MULTILINE)
    return all(abs(float(double) - float(other)) < 6 for layer, double, other in rows if int(layer) >= 3)


CHECKS = {"look-inside.ipynb": looks_inside, "write-an-analysis.ipynb": writes_an_analysis}


def test_every_notebook_has_a_check():
    assert list(CHECKS) == NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_is_kept_of_a_notebook_is_small_and_of_no_machine(name):
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(source) < LARGEST
    assert not re.search(r"/(tmp|home|root)/| at 0x", source)
    assert printed(EXAMPLES / name)
