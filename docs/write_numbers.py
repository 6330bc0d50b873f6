"""Writes the table of the bundled models into README.md and docs/index.md: `python docs/write_numbers.py`.

Every number comes from the models' cards, digit by digit, and the last row from the paper.
"""

import re
from pathlib import Path

from alice.checkpoint.folder import CARD, bundled
from alice.plugins.paper import MEAN_SER

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md")
LENGTHS = ("[0,32)", "[32,64)", "[64,128)", "[128,256)", "[256,)", "<128", ">=128")
HEADER = ("model", "parameters", "core hours", "test texts", *LENGTHS)
BLOCK = re.compile(r"(?<=<!-- cards -->\n).*?(?=<!-- end of cards -->)", re.DOTALL)


def table() -> str:
    """Return the table in Markdown."""
    rows = [HEADER, ["---"] * len(HEADER), *(_row(name) for name in bundled()), _paper()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(name: str) -> list[str]:
    """Return the numbers of a model as its card prints them."""
    card = (bundled()[name] / CARD).read_text(encoding="utf-8")
    about = (r"([\d,]+) parameters", r"([\d.]+) core hours", r"over ([\d,]+) (?:test )?texts")
    means = dict(re.findall(r"^\| (\S+) \| [\d,]+ \| ([\d.]+) ± ", card, re.MULTILINE))
    return [f"`{name}`", *(_first(pattern, card) for pattern in about), *(means.get(length, "") for length in LENGTHS)]


def _first(pattern: str, card: str) -> str:
    found = re.search(pattern, card)
    if not found:
        raise ValueError(f"a card has nothing like {pattern!r}")
    return found[1]


def _paper() -> list[str]:
    """Return the row of the paper's base model, on other test texts of QUOTES500K."""
    means = [f"{printed.mean:.2f}" for printed in MEAN_SER["base"]]
    return ["paper, base", "85M", *[""] * 7, *means]


def write() -> None:
    """Put the table between the marks of each page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if not BLOCK.search(text):
            raise ValueError(f"{page} has no place for the table, between <!-- cards --> and <!-- end of cards -->")
        page.write_text(BLOCK.sub(lambda _: f"\n{table()}\n", text), encoding="utf-8")


if __name__ == "__main__":
    write()
