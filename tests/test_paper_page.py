"""The rendered reproduction in the documentation is up to date, and says when it is not."""

import hashlib
import json
import re
import sys
from pathlib import Path

import pytest

from alice.plugins.reproduce import facts as facts_module
from alice.plugins.reproduce.facts import facts, folder_hash

DOCS = Path(__file__).resolve().parent.parent / "docs"
STALE = "docs/paper.md is out of date: run `make paper`"


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import write_paper

    yield write_paper
    monkeypatch.delitem(sys.modules, "write_paper")


@pytest.fixture(scope="module")
def record():
    return json.loads((DOCS / "paper.json").read_text(encoding="utf-8"))


def test_the_page_was_made_from_what_the_package_ships_and_claims_now(writer, record):
    assert record["facts"] == writer.as_json(facts()), STALE


def test_the_page_shows_what_is_recorded(writer, record):
    assert (DOCS / "paper.md").read_text(encoding="utf-8") == writer.render(record), STALE


def test_the_pictures_are_those_that_were_drawn(writer, record):
    found = {path.name: path.read_bytes() for path in (DOCS / "images" / "paper").iterdir()}
    assert {name: hashlib.sha256(picture).hexdigest() for name, picture in found.items()} == record["pictures"], STALE
    assert sum(map(len, found.values())) <= writer.LARGEST


def test_a_changed_threshold_claim_or_shipped_file_is_noticed(monkeypatch, tmp_path, record):
    monkeypatch.setattr("alice.plugins.reproduce.verdicts.SIGMAS", 4.0)
    assert facts()["thresholds"] != record["facts"]["thresholds"]
    monkeypatch.setattr(facts_module, "CLAIMS", facts_module.CLAIMS[1:])
    assert list(facts()["claims"]) != list(record["facts"]["claims"])
    (tmp_path / "pools" / "pool-10").mkdir(parents=True)
    (tmp_path / "pools" / "pool-10" / "metrics.jsonl").write_text("{}\n")
    before = folder_hash(tmp_path / "pools")
    (tmp_path / "pools" / "pool-10" / "card.md").write_text("for readers")
    assert folder_hash(tmp_path / "pools") == before
    (tmp_path / "pools" / "pool-10" / "metrics.jsonl").write_text('{"step": 1}\n')
    assert folder_hash(tmp_path / "pools") != before
    monkeypatch.setattr(facts_module, "RUN_SET", tmp_path)
    assert list(facts()["run set"]) == ["pools"]


def test_only_a_reproduction_with_the_default_options_is_rendered(writer):
    about = {"checkpoints": dict.fromkeys(("base", "bijective", "dynamic"), "hash"), "samples": None, "left out": []}
    document = {"about": about, "analyses": [{"analysis": "speed", "error": ""}], "facts": writer.as_json(facts())}
    assert writer.why_not(document) == ""
    assert "--samples" in writer.why_not({**document, "about": {**about, "samples": 8}})
    assert "--skip" in writer.why_not({**document, "about": {**about, "left out": ["speed"]}})
    assert "its models are base" in writer.why_not({**document, "about": {**about, "checkpoints": {"base": ""}}})
    failed = [{"analysis": "speed", "error": "speed failed: no clock"}]
    assert "these analyses failed: speed" in writer.why_not({**document, "analyses": failed})
    assert "other models" in writer.why_not({**document, "facts": {}})


def test_every_link_within_the_page_has_a_heading(writer, record):
    text = writer.render(record)
    headings = {writer.slug(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings
