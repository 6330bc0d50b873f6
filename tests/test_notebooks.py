"""The notebooks run, their stored output is up to date, and it supports what their text concludes."""

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
"""Another processor may change a letter that is close to a tie."""


def printed(path: Path) -> str:
    """Return all printed lines that are stored in a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "".join(line for output in outputs for line in output.get("text", ()))


@pytest.fixture(scope="module", params=NOTEBOOKS)
def ran(request, tmp_path_factory):
    """A notebook after another run."""
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, EXAMPLES / "run_notebooks.py", request.param, "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / request.param


def without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", text)


def test_the_stored_output_is_up_to_date(ran):
    now, shown = (without_numbers(printed(path)) for path in (ran, EXAMPLES / ran.name))
    alike = SequenceMatcher(None, now, shown, autojunk=False).ratio()
    assert alike >= SHARE_ALIKE, "stale; run: python examples/run_notebooks.py"
    assert CHECKS[ran.name](printed(ran))


def looks_inside(text: str) -> bool:
    """Check the conclusions: the last layer has everything at the positions of H, the first everything around them."""
    assert "\n8 IN LIFE, WE MA" in text
    assert re.search(r"^[\d.]+ ± [\d.]+ %$", text, re.MULTILINE)
    whole, most = re.search(r"([\d.]+)% of characters wrong[^+]*\+([\d.]+) points", text).groups()
    assert float(whole) < 20 < float(most)
    intact, scrambled = re.search(r"([\d.]+) intact, ([\d.]+) scrambled", text).groups()
    assert float(intact) > 2 * float(scrambled)
    here, around = (
        [int(share) for share in re.findall(r"(-?\d+)%", re.search(rf"^{name} .*$", text, re.MULTILINE)[0])]
        for name in ("positions of H", "all others")
    )
    assert (here[0], here[-1], around[-1]) == (pytest.approx(0, abs=5), 100, 0)
    assert around[0] > 90
    return here[-2] > around[-2]


def writes_an_analysis(text: str) -> bool:
    """Check that the command line repeats the numbers, and what the text says about them."""
    first, again = re.findall(r"^error at double letters: ([\d.]+) %$", text, re.MULTILINE)
    assert first == again
    assert re.search(r"^runs/doubles-base-[\d-]+/report\.html$", text, re.MULTILINE)
    rows = re.findall(r"^(\d+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert len(rows) == 8
    return all(abs(float(double) - float(other)) < 6 for layer, double, other in rows if int(layer) >= 5)


def answers_twice(text: str) -> bool:
    """Check that both ways agree, to the digits that are shown, and that the strongest parts exceed their controls."""
    differences = re.findall(r"^largest difference.*: ([\d.]+) points$", text, re.MULTILINE)
    assert len(differences) == 2
    assert all(float(difference) < 0.005 for difference in differences)
    by_hand = dict(re.findall(r"^(L\dH\d): ([\d.]+) %$", text, re.MULTILINE))
    rows = re.findall(r"^(L\d\S* ?\S*) +([\d.]+) % .* control ([\d.]+) %$", text, re.MULTILINE)
    assert len(by_hand) == 3
    assert len(rows) == 6
    toolkit = {part.strip(): loss for part, loss, _ in rows}
    assert by_hand.items() & toolkit.items()
    assert not [head for head in by_hand.keys() & toolkit.keys() if by_hand[head] != toolkit[head]]
    return rows[0][0] == "L0 MLP" and all(float(loss) > float(control) for _, loss, control in rows[:3])


CHECKS = {
    "look-inside.ipynb": looks_inside,
    "same-question.ipynb": answers_twice,
    "write-an-analysis.ipynb": writes_an_analysis,
}


def test_every_notebook_has_a_check():
    assert list(CHECKS) == NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_stored_output_is_small_and_names_nothing_of_this_machine(name):
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(source) < LARGEST
    assert not re.search(r"/(tmp|home|root)/| at 0x", source)
    assert printed(EXAMPLES / name)
