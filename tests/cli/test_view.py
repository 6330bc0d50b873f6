import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from alice.cli import main
from alice.reports import Report, Result


@pytest.fixture
def runs(tmp_path):
    Report(Result("Depth"), {}).save(tmp_path / "runs")
    return tmp_path / "runs"


def start(*arguments, **environment):
    command = [sys.executable, "-u", "-m", "alice.cli", "view", *map(str, arguments)]
    environment = {**os.environ, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_the_gallery_is_served_at_the_printed_address_until_interrupted(runs):
    (runs / "vanished").mkdir()
    (runs / "entries.js").write_text("// Written by alice-interp long ago\n")
    with start(runs, "--no-browser") as process:
        address = re.match(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        with urllib.request.urlopen(address + "entries.js", timeout=10) as answer:  # noqa: S310 - our own server
            assert "Depth" in answer.read().decode()
        assert "Depth" in (runs / "entries.js").read_text()  # brought up to date on disk, too
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert output.strip() == "stopped"
    assert errors == ""


def test_the_browser_is_opened_at_the_gallery(runs, tmp_path):
    note = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {note}.part && mv {note}.part {note}\n')
    browser.chmod(0o755)
    with start(runs, BROWSER=f"{browser} %s") as process:
        address = process.stdout.readline().split()[0]
        for _ in range(100):
            if note.exists():
                break
            process.poll()
            signal.sigtimedwait([], 0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert note.read_text().strip() == address


def test_a_missing_folder_is_one_line(tmp_path):
    done = CliRunner().invoke(main, ["view", str(tmp_path / "nowhere"), "--no-browser"])
    assert done.exit_code == 1
    assert "there is no folder" in done.stderr


def test_a_wrong_port_is_told_before_anything_is_served(runs):
    assert CliRunner().invoke(main, ["view", str(runs), "--port", "70000"]).exit_code == 2


def test_the_folder_is_runs_if_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["view", "--no-browser"])
    assert "there is no folder runs" in done.stderr
