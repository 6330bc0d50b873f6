"""Error rates of the bundled models that the text of the documentation repeats are those on their cards."""

import re
from pathlib import Path

import pytest
from test_readme import numbers_of

from alice.checkpoint.folder import bundled

DOCS = Path(__file__).resolve().parent.parent / "docs"
LENGTHS = ("[0,32)", "[32,64)", "[64,128)", "[128,256)", "[256,)", "<128", ">=128", "<128, apart", ">=128, apart")


def rates_of(name: str) -> dict[str, str]:
    """Return the mean error rates on the card of a model by length, those of texts apart as well."""
    card = (bundled()[name] / "card.md").read_text(encoding="utf-8")
    apart = dict(re.findall(r"^\| (\S+, apart) \| [\d,]+ \| ([\d.]+) ± ", card, re.MULTILINE))
    return numbers_of(card) | apart


def rounded(number: str, like: str) -> str:
    """Return a number with as many decimals as another one."""
    return f"{float(number):.{len(like.partition('.')[2])}f}"


def test_the_network_beside_the_guided_search_has_the_rates_of_its_card():
    page = (DOCS / "solving.md").read_text(encoding="utf-8")
    ((name, row),) = re.findall(r"^\| `(\w+)` alone \|(.*)\|$", page, re.MULTILINE)
    shown, card = [cell.strip() for cell in row.split("|")], rates_of(name)
    for length, cell in zip(LENGTHS, shown, strict=True):
        assert abs(float(card[length]) - float(cell)) <= 0.501 * 10.0 ** -len(cell.partition(".")[2]), length


def test_what_the_training_of_base_came_to_is_on_its_card():
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    pattern = (
        r"took it from [\d.]+ to ([\d.]+) % errors below 128\s+characters and from [\d.]+ to ([\d.]+) % from there"
    )
    (shown,) = re.findall(pattern, page)
    card = rates_of("base")
    assert shown == (card["<128"], card[">=128"])


NOW = re.compile(r"below 128\s+characters, now\s+([\d.]+)(?: and ([\d.]+))? %")
PAGES = [path for path in DOCS.rglob("*.md") if NOW.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_rate_of_now_beside_one_of_before_is_that_of_base_and_a_second_one_that_of_bijective(page):
    for pair in NOW.findall(page.read_text(encoding="utf-8")):
        for name, shown in zip(("base", "bijective"), filter(None, pair), strict=False):
            assert shown == rounded(rates_of(name)["<128"], shown)


def test_there_are_such_pages():
    assert {"lens", "evidence", "ablation", "ngram"} <= {path.stem for path in PAGES}
