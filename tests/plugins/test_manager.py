import json
import signal
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from workbench import write_plugin

from alice.errors import AliceError
from alice.plugins import discovery, manager
from alice.plugins.manager import BUILTIN, build

NOTHING = {"ALICE_INTERP_LOAD_PLUGINS": ""}


def load(*files, **environ):
    return build(files=files, environ=NOTHING | environ)


def error_of(file):
    return load(file).all[-1].error


def analysis(body, decorator="@dataclass(frozen=True)", head=""):
    """Return the source of a plugin with one class of this body."""
    body = textwrap.indent(textwrap.dedent(body), "    ")
    return (
        "from dataclasses import dataclass\nfrom alice.plugins import hookimpl, Result\n"
        f"{head}\n{decorator}\nclass Odd:\n{body}\n\n@hookimpl\ndef register_analyses():\n    return [Odd]\n"
    )


def install(folder, name, source, *, distribution=None, version="1.2"):
    """Make a folder that looks like an installed distribution with an entry point."""
    write_plugin(folder / f"{name}.py", source=source)
    info = folder / f"{(distribution or name).replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution or name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[alice_interp]\n{name} = {name}\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path, for installed plugins."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("installed"):
            del sys.modules[name]


def test_built_ins_come_first_and_all_load():
    plugins = build(third_party=False).all
    assert [plugin.where for plugin in plugins[: len(BUILTIN)]] == list(BUILTIN)
    assert all(plugin.origin == "built-in" and plugin.error is None for plugin in plugins)
    assert "early-exit" in build(third_party=False).analyses
    assert "quotes" in build(third_party=False).corpora


def test_a_file_is_loaded_with_its_analysis(tmp_path):
    plugins = load(write_plugin(tmp_path / "mine.py"))
    cls, plugin = plugins.find("count")
    assert (plugin.name, plugin.origin, plugin.where) == ("mine", "file", str(tmp_path / "mine.py"))
    assert plugin.seconds > 0
    assert cls(samples=2).samples == 2


def test_the_files_of_a_folder_are_loaded_but_not_the_private_ones(tmp_path):
    write_plugin(tmp_path / "one.py", name="one")
    write_plugin(tmp_path / "_two.py", name="two")
    plugins = build(environ={"ALICE_INTERP_PLUGINS": str(tmp_path)})
    assert "one" in plugins.analyses
    assert "two" not in plugins.analyses
    assert plugins.find("one")[1].origin == "folder"


def test_a_missing_folder_is_reported(tmp_path):
    (plugin,) = build(environ={"ALICE_INTERP_PLUGINS": str(tmp_path / "nowhere")}).broken
    assert "which is not a readable folder (No such file or directory)" in plugin.error


@pytest.mark.parametrize("folder", ["x" * 5000, "file"])
def test_a_folder_that_the_system_refuses_is_reported(tmp_path, folder):
    (tmp_path / "file").write_text("")
    (plugin,) = build(environ={"ALICE_INTERP_PLUGINS": str(tmp_path / folder)}).broken
    assert "which is not a readable folder" in plugin.error


def test_an_unreadable_folder_is_reported(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(discovery.os, "listdir", refuse)
    (plugin,) = build(environ={"ALICE_INTERP_PLUGINS": str(tmp_path)}).broken
    assert plugin.error.endswith("which is not a readable folder (Permission denied)")


def test_the_same_file_given_twice_is_one_plugin(tmp_path):
    file = write_plugin(tmp_path / "mine.py")
    (tmp_path / "link.py").symlink_to(file)
    plugins = load(file, file, tmp_path / "link.py")
    assert "count" in plugins.analyses
    assert not plugins.broken


@pytest.mark.parametrize("content", [b"[alice_interp]\nno equals sign\n", b"[console_scripts]\n\xff = x\n"])
def test_a_broken_distribution_leaves_the_others_alone(site, content):
    install(site, "installed_fine", analysis('"""Fine."""\nname = "fine"\ndef run(self, ctx): ...'))
    info = site / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_bytes(content)
    assert "fine" in build(environ={"ALICE_INTERP_LOAD_PLUGINS": "installed_fine"}).analyses


def test_a_folder_of_an_unknown_user_is_reported():
    (plugin,) = build(environ={"ALICE_INTERP_PLUGINS": "~nosuch/x"}).broken
    assert "names ~nosuch/x, which is not a readable folder" in plugin.error


def test_an_installed_plugin_without_metadata_is_reported(site):
    install(site, "installed_bare", "")
    (site / "installed_bare-1.2.dist-info" / "METADATA").unlink()
    (plugin,) = build(environ={"ALICE_INTERP_LOAD_PLUGINS": "installed_bare"}).broken
    assert plugin.error == "the METADATA of its distribution is missing or broken; install it again"


def test_an_installed_plugin_is_found_with_its_distribution_and_version(site):
    install(
        site,
        "installed_good",
        analysis('"""Fine."""\nname = "good"\ndef run(self, ctx): ...'),
        distribution="good-dist",
    )
    _, plugin = build(environ={}).find("good")
    assert (plugin.name, plugin.version, plugin.origin) == ("installed_good", "1.2", "entry point")
    assert plugin.where == "good-dist installed_good"


def test_the_variable_limits_installed_plugins_by_either_name_and_empty_disables_all(site):
    good = '"""Fine."""\nname = "{}"\ndef run(self, ctx): ...'
    install(site, "installed_a", analysis(good.format("aa")), distribution="dist-a")
    install(site, "installed_b", analysis(good.format("bb")), distribution="dist-b")

    def found(limit):
        return {"aa", "bb"} & build(environ={"ALICE_INTERP_LOAD_PLUGINS": limit}).analyses.keys()

    assert found("installed_a") == {"aa"}
    assert found("dist-b") == {"bb"}
    assert found("installed_a, dist-b") == {"aa", "bb"}
    assert found("") == set()
    assert {"aa", "bb"} & build(third_party=False).analyses.keys() == set()


def test_a_name_in_the_limit_that_is_not_installed_is_reported():
    (plugin,) = build(environ={"ALICE_INTERP_LOAD_PLUGINS": "ghost"}).broken
    assert (plugin.name, plugin.error) == ("ghost", "it is not installed")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: "),
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("alice_interp_api = 99", "written for version 99 of the plugin interface, but this is version 2"),
        (
            "from alice.plugins import hookimpl\n@hookimpl\ndef register_analysis(): return []",
            "unknown hook 'register_analysis'",
        ),
        (
            "from alice.plugins import hookimpl\n@hookimpl\ndef register_analyses(extra): return []",
            "hook 'register_analyses'",
        ),
        (
            "from alice.plugins import hookimpl\n@hookimpl\ndef register_analyses(): return 3",
            "returned 3; return a list",
        ),
        (
            "from alice.plugins import hookimpl\n@hookimpl\ndef register_analyses(): return ['x']",
            "'x', which is not a class",
        ),
        ("from alice.plugins import hookimpl\n@hookimpl\ndef register_analyses(): 1 / 0", "ZeroDivisionError"),
        ("from alice.plugins import hookimpl\n@hookimpl\ndef register_corpora(): return ['a']", "must return a dict"),
    ],
)
def test_a_broken_plugin_is_reported_in_one_line_and_the_others_stay(tmp_path, source, error):
    broken, good = write_plugin(tmp_path / "broken.py", source=source), write_plugin(tmp_path / "good.py")
    plugins = load(broken, good)
    (plugin,) = plugins.broken
    assert error in plugin.error
    assert "\n" not in plugin.error
    assert plugin.analyses == ()
    assert {"count", "early-exit"} <= plugins.analyses.keys()


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        (analysis('"""Doc."""\nname = "odd"\ndef run(self, ctx): ...', decorator=""), "is not a frozen dataclass"),
        (
            analysis('"""Doc."""\nname = "odd"\ndef run(self, ctx): ...', decorator="@dataclass"),
            "is not a frozen dataclass",
        ),
        (analysis('name = "odd"\ndef run(self, ctx): ...'), "has no docstring"),
        (analysis('"""Doc."""\ndef run(self, ctx): ...'), "has no name"),
        (analysis('"""Doc."""\nname = "Odd One"\ndef run(self, ctx): ...'), "has the name 'Odd One'"),
        (analysis('"""Doc."""\nname = "all"\ndef run(self, ctx): ...'), "has the name 'all'"),
        (analysis('"""Doc."""\nname = "odd"'), "has no method run"),
        (analysis('"""Doc."""\nname = "odd"\ndef run(self): ...'), "does not take exactly one argument"),
        (analysis('"""Doc."""\nname = "odd"\nx: int\ndef run(self, ctx): ...'), "field 'x' without a default"),
        (analysis('"""Doc."""\nname = "odd"\nx: dict = None\ndef run(self, ctx): ...'), "'x' has type dict"),
        (analysis('"""Doc."""\nname = "odd"\nx: "Gone" = 1\ndef run(self, ctx): ...'), "type cannot be found"),
        (analysis('"""Doc."""\nname = "odd"\nckpt: str = ""\ndef run(self, ctx): ...'), "field 'ckpt', which every"),
        (analysis('"""Doc."""\nname = "odd"\nneeds = ("x",)\ndef run(self, ctx): ...'), "needs=('x',)"),
        (analysis('"""Doc."""\nname = "odd"\ncheckpoints = "two"\ndef run(self, ctx): ...'), "checkpoints='two'"),
    ],
)
def test_a_class_that_is_not_an_analysis_is_refused_with_what_is_wrong(tmp_path, source, missing):
    error = error_of(write_plugin(tmp_path / "odd.py", source=source))
    assert error.startswith("the analysis Odd ")
    assert missing in error


HOOK = "from alice.plugins import hookimpl\n@hookimpl\ndef register_analyses():\n    {body}\n"
CATCHING = "while True:\n    try:\n        time.sleep(60)\n    except Exception:\n        pass"


@pytest.mark.parametrize(
    "source",
    ["time.sleep(600)", CATCHING, HOOK.format(body="time.sleep(600)"), "while True: pass"],
    ids=["import", "catches errors", "hook", "busy"],
)
def test_a_plugin_that_never_finishes_loading_is_reported_and_the_others_stay(tmp_path, monkeypatch, source):
    monkeypatch.setattr(manager, "TIME_LIMIT", 0.3)
    slow = write_plugin(tmp_path / "slow.py", source=f"import time\n{source}")
    before = signal.getsignal(signal.SIGALRM)
    plugins = load(slow, write_plugin(tmp_path / "good.py"))
    assert [plugin.error for plugin in plugins.broken] == ["it was not ready after 0.3 seconds"]
    assert "count" in plugins.analyses
    assert signal.getsignal(signal.SIGALRM) is before


def test_the_time_limit_restores_an_earlier_timer_and_is_not_used_in_other_threads(tmp_path):
    good = write_plugin(tmp_path / "good.py")
    signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        load(good)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert 50 < left < 100
    with ThreadPoolExecutor(1) as pool:
        assert "count" in pool.submit(load, good).result().analyses


@pytest.mark.parametrize("source", ["exit(0)", "raise SystemExit", "raise BaseException('no')", "raise GeneratorExit"])
@pytest.mark.parametrize("hook", [False, True])
def test_a_plugin_that_would_end_the_program_is_reported(tmp_path, source, hook):
    file = write_plugin(tmp_path / "ends.py", source=HOOK.format(body=source) if hook else source)
    assert error_of(file).startswith(("SystemExit", "BaseException: no", "GeneratorExit"))


def test_a_clash_of_names_breaks_the_later_plugin_and_names_both(tmp_path):
    first, second = write_plugin(tmp_path / "first.py"), write_plugin(tmp_path / "second.py")
    plugins = load(first, second)
    (plugin,) = plugins.broken
    assert plugin.name == "second"
    assert plugin.error.startswith("two plugins register the analysis 'count': first (file, ")
    assert str(second) in plugin.error
    assert plugins.find("count")[1].name == "first"


def test_a_plugin_cannot_take_the_name_of_a_built_in(tmp_path):
    plugins = load(write_plugin(tmp_path / "thief.py", name="early-exit"))
    assert "early_exit (built-in" in plugins.broken[0].error
    assert plugins.find("early-exit")[1].origin == "built-in"


def test_a_corpus_of_a_plugin_is_found_and_the_name_quotes_is_taken(tmp_path):
    source = "from alice.plugins import hookimpl\n@hookimpl\ndef register_corpora(): return {%r: lambda alphabet: []}"
    plugins = load(
        write_plugin(tmp_path / "a.py", source=source % "mine"),
        write_plugin(tmp_path / "b.py", source=source % "quotes"),
    )
    assert plugins.corpora["mine"](None) == []
    assert "register the corpus 'quotes'" in plugins.broken[0].error


def test_two_files_with_the_same_name_are_two_plugins(tmp_path):
    (tmp_path / "sub").mkdir()
    files = write_plugin(tmp_path / "same.py", name="one"), write_plugin(tmp_path / "sub" / "same.py", name="two")
    assert {"one", "two"} <= load(*files).analyses.keys()


def test_what_a_plugin_prints_goes_to_stderr(tmp_path, capsys):
    load(write_plugin(tmp_path / "chatty.py", source="print('hello')"))
    assert capsys.readouterr() == ("", "hello\n")


def test_a_build_keeps_nothing_from_the_one_before(tmp_path):
    load(write_plugin(tmp_path / "mine.py"))
    assert "count" not in load().analyses


def test_an_unknown_analysis_names_the_command_that_shows_what_did_not_load(tmp_path):
    good, bad = write_plugin(tmp_path / "my good.py"), tmp_path / "bad.py"
    bad.write_text("1 / 0")
    with pytest.raises(AliceError) as raised:
        load(good, bad).find("something-else-entirely")
    command = f"alice-interp plugins --plugin '{good}' --plugin {bad}"
    assert str(raised.value).endswith(f"; 1 plugin did not load, see: {command}")


def test_an_unknown_analysis_is_answered_with_the_nearest():
    with pytest.raises(AliceError, match="no analysis 'early-exits'; did you mean 'early-exit'"):
        build(third_party=False).find("early-exits")


def test_names_that_are_html_survive_as_they_are(tmp_path):
    plugins = load(write_plugin(tmp_path / "<b>x<!-- .py"))
    assert json.dumps([plugin.name for plugin in plugins.all])
    assert plugins.all[-1].name == "<b>x<!-- "
