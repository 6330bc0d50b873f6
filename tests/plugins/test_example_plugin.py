"""The example plugin, installed as anybody would install it, through its entry point."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workbench import save_checkpoint, save_texts

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "alice-interp-vowels"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the example installed in it."""
    source, target = tmp_path_factory.mktemp("source") / "project", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*command, "--no-build-isolation", "--target", target, source], check=True, capture_output=True)
    return target


def python(site, *arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    environment.pop("ALICE_INTERP_LOAD_PLUGINS", None)
    return subprocess.run(
        [sys.executable, "-m", *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=True
    ).stdout


def test_it_is_listed_with_its_distribution_and_version(site, tmp_path):
    listed = json.loads(python(site, "alice.cli", "plugins", "--json", cwd=tmp_path))
    (plugin,) = [plugin for plugin in listed if plugin["name"] == "vowels"]
    assert plugin["error"] is None
    assert (plugin["version"], plugin["origin"]) == ("0.1.0", "entry point")
    assert plugin["where"] == "alice-interp-vowels alice_interp_vowels"
    assert list(plugin["analyses"]) == ["vowels"]


def test_it_runs_from_the_command_line_and_its_report_names_it(site, tmp_path):
    ckpt, texts = save_checkpoint(tmp_path / "model"), save_texts(tmp_path / "texts.txt")
    arguments = ("run", "vowels", "--ckpt", ckpt, "--data", texts, "--split", "all", "--samples", "7")
    shown = python(site, "alice.cli", *map(str, arguments), cwd=tmp_path)
    report = Path(shown.splitlines()[-1])
    assert report.is_relative_to(tmp_path / "runs")
    provenance = json.loads((report.parent / "result.json").read_text())["provenance"]
    assert provenance["plugin"]["version"] == "0.1.0"
    assert provenance["options"] == {"samples": 7}
    assert provenance["data"]["texts"] == 7


def test_its_own_tests_pass(site, tmp_path):
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    shown = python(site, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path / "tests"), cwd=tmp_path)
    assert "2 passed" in shown
