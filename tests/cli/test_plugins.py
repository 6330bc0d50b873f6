import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import write_plugin

from alice.cli import main

pytest_plugins = "pytester"


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No plugins but those of the test, and an empty current folder."""
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plugins(*arguments, code=0):
    result = CliRunner().invoke(main, ["plugins", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_list_shows_what_each_plugin_adds(alone):
    shown = plugins().stdout
    assert "early_exit" in shown
    assert "built-in" in shown
    assert "early-exit" in shown
    assert "corpus quotes" in shown


def test_json_has_name_version_origin_analyses_load_time_and_error(alone):
    write_plugin(alone / "good.py")
    write_plugin(alone / "bad.py", source="print('noise')\nraise RuntimeError('no <b>luck</b>')")
    listed = {p["name"]: p for p in json.loads(plugins("--json", "--plugin", "good.py", "--plugin", "bad.py").stdout)}
    assert listed["good"]["analyses"] == {"count": "Count the texts."}
    assert listed["good"]["error"] is None
    assert listed["bad"]["error"] == "RuntimeError: no <b>luck</b>"
    assert all(plugin["seconds"] >= 0 and plugin.keys() >= {"version", "origin", "where"} for plugin in listed.values())
    assert listed["early_exit"]["origin"] == "built-in"


def test_errors_are_shown_below_the_table_without_markup(alone):
    write_plugin(alone / "bad.py", source="raise RuntimeError('[red]markup[/red]')")
    shown = plugins("--plugin", "bad.py").stdout
    assert "bad failed: RuntimeError: [red]markup[/red]" in shown


def test_the_file_that_is_run_is_named_on_stderr(alone):
    write_plugin(alone / "good.py")
    assert plugins("--plugin", "good.py").stderr == "loading plugin good.py (this runs its code)\n"


def test_a_new_project_passes_its_own_tests_and_loads(alone, pytester, monkeypatch):
    folder, advice = plugins("new", "word-lengths", "--out", str(alone / "my projects")).stdout.splitlines()
    assert folder == f"{alone}/my projects/alice-interp-word-lengths"
    assert f"pip install -e '{folder}'" in advice
    monkeypatch.syspath_prepend(folder)
    done = pytester.runpytest_inprocess("-q", "-W", "error", "-p", "no:cacheprovider", f"{folder}/tests")
    done.assert_outcomes(passed=2)
    listed = json.loads(plugins("--json", "--plugin", f"{folder}/alice_interp_word_lengths.py").stdout)
    assert list(listed[-1]["analyses"]) == ["word-lengths"]


def test_a_new_project_never_overwrites_and_needs_a_proper_name(alone):
    plugins("new", "mine")
    assert "already" in plugins("new", "alice-interp-mine", code=1).stderr
    for name in ("../up", "Mine", "a b", "-x-", "alice-interp-3d", ""):
        assert "cannot be the name of a plugin" in plugins("new", "--", name, code=1).stderr
    assert [path.name for path in alone.iterdir()] == ["alice-interp-mine"]


@pytest.mark.parametrize(("name", "cls"), [("none", "NoneAnalysis"), ("run-context", "RunContextAnalysis")])
def test_a_name_that_python_or_the_module_has_taken_still_gives_a_project_that_loads(alone, name, cls):
    folder = plugins("new", name).stdout.splitlines()[0]
    (file,) = (alone / folder).glob("*.py")
    assert f"class {cls}:" in file.read_text()
    listed = json.loads(plugins("--json", "--plugin", str(file)).stdout)
    assert (list(listed[-1]["analyses"]), listed[-1]["error"]) == ([name], None)


@pytest.mark.parametrize("name", ["all", "early-exit", "alice-interp-early-exit"])
def test_a_name_that_is_taken_is_refused(alone, name):
    assert "is already the name of a built-in analysis; choose another" in plugins("new", name, code=1).stderr
    assert list(alone.iterdir()) == []


def test_a_stale_temporary_folder_is_removed(alone):
    (alone / ".alice-interp-mine.0a1b2c3d.alice-interp-draft" / "old").mkdir(parents=True)
    folder = plugins("new", "mine").stdout.splitlines()[0]
    assert list(alone.iterdir()) == [alone / folder]
    assert not (alone / folder / "old").exists()


def test_a_project_that_cannot_be_finished_leaves_nothing(alone, monkeypatch):
    def full(path, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    assert "No space left on device" in plugins("new", "mine", code=1).stderr
    assert list(alone.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(alone):
    (alone / "file").write_text("")
    assert "cannot create the folder file/deep" in plugins("new", "mine", "--out", "file/deep", code=1).stderr
