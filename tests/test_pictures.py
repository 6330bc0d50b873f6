"""The pictures of the documentation: each comes from a command that its page names, and each analysis has one."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from alice.checkpoint.folder import bundled, read_config
from alice.cli import main
from alice.plugins.manager import build
from alice.training.bundled import locate_trainings

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def tool():
    """The module docs/take_pictures.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        import take_pictures

        yield take_pictures


def test_every_picture_has_a_command_and_every_analysis_a_picture(tool):
    files = {file.stem for file in (DOCS / "images").glob("*.png")}
    assert files == set(tool.PICTURES)
    shown = {name for name, picture in tool.PICTURES.items() if picture.page == f"analyses/{name}.md"}
    assert shown == set(build(third_party=False).analyses)


def test_every_page_shows_its_picture_and_names_the_command(tool):
    for name, picture in tool.PICTURES.items():
        page = (DOCS / picture.page).read_text(encoding="utf-8")
        assert f"images/{name}.png)" in page, picture.page
        assert f"alice-interp {picture.command}" in page, picture.page


def test_every_option_of_the_commands_exists(tool):
    for picture in tool.PICTURES.values():
        words = shlex.split(picture.command)
        subcommand = words[: 1 if words[0] == "explore" else 2]
        shown = CliRunner().invoke(main, [*subcommand, "--help"], prog_name="alice-interp").output
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"{option}\b", shown), picture.command


def test_the_trainings_of_the_commands_are_in_the_project(tool):
    named = [word for one in tool.PICTURES.values() for word in re.findall(r"--trainings (\S+)", one.command)]
    assert named
    for word in named:
        assert (DOCS.parent / locate_trainings(Path(word))).is_dir(), word


def test_models_in_one_picture_have_the_same_alphabet(tool):
    symbols = {name: read_config(folder).symbols for name, folder in bundled().items()}
    for picture in tool.PICTURES.values():
        models = re.findall(r"--ckpt (\S+)", picture.command)
        assert set(models) <= set(bundled()), picture.command
        assert len({symbols[model] for model in models}) <= 1, picture.command


def test_a_name_that_is_no_picture_is_an_error(tool):
    result = CliRunner().invoke(tool.take, ["earlyexit"])
    assert result.exit_code
    assert "there is no picture 'earlyexit'" in result.output
