"""The pages of `generalization` and `scaling` say what the analyses find in the trainings of the package."""

from pathlib import Path

import numpy as np
import pytest

from alice.plugins import RunContext
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.scaling import Scaling

PAGES = Path(__file__).resolve().parents[3] / "docs" / "analyses"
SHOWN = {
    "memorised": "{:.2f} ({:.2f} to {:.2f})",
    "generalised": "{:.2f} ({:.2f} to {:.2f})",
    "threshold": "{:.0f} keys ({:.0f} to {:.0f})",
    "mixture": "{:.2f} ({:.2f} to {:.2f})",
    "mixture-and-ignorance": "{:.2f} ({:.2f} to {:.2f})",
    "decay": "{:.3f} ({:.3f} to {:.3f})",
    "predicted": "a factor of {:.0f} ({:.0f} to {:.0f})",
}
"""How the page writes the statistic of each claim."""
ROWS = {
    "correct letters, keys of the pool, %": ("letters_pool", 100, ".1f"),
    "correct letters, new keys, %": ("letters_new", 100, ".1f"),
    "weight of the pool reference": ("pool_weight", 1, ".2f"),
    "symmetry of the last layer": ("symmetry", 1, ".2f"),
    "label depth, of 4 layers": ("label_depth", 1, ".1f"),
}
"""Rows of the table of last checkpoints: column of the cells, factor and format."""


def page(name):
    """Return a page, each paragraph in one line."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    return text, " ".join(text.split())


@pytest.fixture(scope="module")
def pools():
    return Generalization((Path("bundled:pools"),)).run(RunContext())


@pytest.fixture(scope="module")
def sizes():
    return Scaling((Path("bundled:sizes"),)).run(RunContext())


def test_the_claims_are_those_of_the_page(pools):
    text, _ = page("generalization")
    _, _, table = text.partition("| claim | statistic (95 % interval over seeds) | outcome |")
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[1:8]]
    claims = pools.tables["claims"].records()
    assert [claim["name"] for claim in claims] == list(SHOWN)
    for claim, (_, statistic, outcome) in zip(claims, rows, strict=True):
        assert statistic.startswith(SHOWN[claim["name"]].format(claim["value"], claim["low"], claim["high"]))
        assert outcome == claim["outcome"]


def test_the_controls_are_those_of_the_page(pools):
    found = {row["name"]: row["explained"] for row in pools.tables["mixtures"].records()}
    _, text = page("generalization")
    assert f"pool reference alone {found['pool']:.2f}, general alone {found['general']:.2f} |" in text
    assert f"fitting the weights at each pool and step gains nothing ({found['fitted']:.2f})" in text


def test_the_last_checkpoints_are_those_of_the_page(pools):
    cells = pools.tables["cells"].records()
    last = [row for row in cells if row["step"] == max(cell["step"] for cell in cells)]
    text, _ = page("generalization")
    for title, (column, factor, form) in ROWS.items():
        shown = []
        for pool in dict.fromkeys(row["pool"] for row in last):
            values = [row[column] for row in last if row["pool"] == pool]
            shown.append("" if None in values else format(factor * np.mean(values), form))
        assert " ".join(f"| {title} | {' | '.join(shown)} |".split()) in text, title


def test_the_errors_at_equal_operations_are_those_of_the_page(sizes):
    text, joined = page("scaling")
    for row in sizes.tables["equal-operations"].records():
        errors = f"{row['ser']:.1f} | {row['low']:.1f} to {row['high']:.1f} |"
        assert f"| `{row['model']}` | {row['weights'] / 1e6:.2f}M | {errors}" in text
    lead = sizes.metric("larger-minus-smaller")
    assert f"{lead.value:.1f} points worse than `mini` ({lead.interval[0]:.1f} to {lead.interval[1]:.1f})" in joined


def test_the_law_is_that_of_the_page(sizes):
    _, text = page("scaling")
    compute, size, held_out, predicted = (
        sizes.metric(name) for name in ("operations-exponent", "size-exponent", "held-out-ser", "predicted-ser")
    )
    low, high = compute.interval
    assert f"to the power {compute.value:.2f} ({low:.2f} to {high:.2f})".replace("-", "−") in text
    low, high = size.interval
    assert f"the weights to the power {size.value:.2f} ({low:.2f} to {high:.2f})" in text
    low, high = held_out.interval
    assert f"predicts {held_out.value:.1f} % ({low:.1f} to {high:.1f} %) for `small`" in text
    low, high = predicted.interval
    assert f"the law predicts {predicted.value:.1f} % ({low:.1f} to {high:.1f} %)" in text
    assert f"misses it by a factor of {sizes.metric('law-misfit').value:.2f}" in text
