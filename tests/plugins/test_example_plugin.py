"""The example plugin, installed as any user would install it, through its entry point."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "alice-interp-vowels"
PIP = ("pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the example installed in it."""
    source, target = tmp_path_factory.mktemp("source") / "project", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    subprocess.run([sys.executable, "-m", *PIP, "--target", target, source], check=True, capture_output=True)
    return target


@pytest.fixture
def run(site, tmp_path, monkeypatch):
    """A function that runs a command where the example is installed."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delenv("ALICE_INTERP_LOAD_PLUGINS", raising=False)
    monkeypatch.chdir(tmp_path)
    yield lambda *arguments: CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False).stdout
    sys.modules.pop("alice_interp_vowels", None)


def test_it_is_listed_with_its_distribution_and_version(run):
    (plugin,) = [plugin for plugin in json.loads(run("plugins", "--json")) if plugin["name"] == "vowels"]
    assert plugin["error"] is None
    assert (plugin["version"], plugin["origin"]) == ("0.1.0", "entry point")
    assert plugin["where"] == "alice-interp-vowels alice_interp_vowels"
    assert list(plugin["analyses"]) == ["vowels"]


def test_it_runs_from_the_command_line_and_its_report_names_it(run, tmp_path):
    ckpt, texts = save_checkpoint(tmp_path / "model"), save_texts(tmp_path / "texts.txt")
    shown = run("run", "vowels", "--ckpt", ckpt, "--data", texts, "--split", "all", "--samples", 7)
    report = Path(shown.splitlines()[-1])
    assert report.is_relative_to(tmp_path / "runs")
    provenance = json.loads((report.parent / "result.json").read_text())["provenance"]
    assert provenance["plugin"]["version"] == "0.1.0"
    assert provenance["options"] == {"samples": 7}
    assert provenance["data"][0]["texts"] == 7


def test_its_own_tests_pass(site, tmp_path):
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    command = ["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", tmp_path / "tests"]
    environment = os.environ | {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
