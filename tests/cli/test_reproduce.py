"""The whole command on tiny models; what it cannot know is there with the command that would tell."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from training_folders import write_training
from workbench import save_checkpoint, save_texts

from alice.cli import main

LEFT_OUT = ("--skip", "speed", "--skip", "relabelling", "--skip", "ngram")
FEW = (*LEFT_OUT, "--skip", "attention", "--skip", "key-recovery", "--skip", "letter-frequency")
LEAST = (*FEW, "--skip", "errors-by-length")
DATA = ("--ckpt", "one", "--ckpt", "two", "--data", "texts.txt", "--split", "all", "--samples", "8", "--out", "page")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two checkpoints, texts and trainings, to stand in."""
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    monkeypatch.delenv("ALICE_INTERP_PLUGINS", raising=False)
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "one")
    save_checkpoint(tmp_path / "two", "bijective")
    save_texts(tmp_path / "texts.txt")
    for pool, ser in ((10, 0.8), (1000, 0.02)):
        write_training(
            tmp_path / "pools" / f"pool-{pool}", losses=[(1, 3.0), (10, 0.02)], errors=[(10, ser)], pool=pool
        )
    return tmp_path


def reproduce(*arguments, code=0):
    result = CliRunner().invoke(main, ["reproduce", *DATA, *arguments])
    assert result.exit_code == code, result.output
    return result


def document(place):
    return json.loads((place / "page" / "reproduce.json").read_text())


def settled(found):
    """Return what must be the same in two runs: all but times and the names of folders."""
    text = re.sub(r"-\d{8}-\d{6}(-\d+)?", "", json.dumps({name: found[name] for name in ("about", "claims", "items")}))
    return json.loads(text)


def test_one_page_with_links_that_lead_somewhere(place):
    result = reproduce(*LEFT_OUT, "--generalization-runs", "pools")
    page = place / "page" / "index.html"
    assert result.stdout.splitlines()[-1] == str(page.relative_to(place))
    addresses = set(re.findall(r'href="(runs/[^"]+)"', page.read_text()))
    assert len(addresses) == 7  # the gallery and six reports
    assert all((place / "page" / address.replace("%2B", "+")).is_file() for address in addresses)
    found = document(place)
    assert found["claims"]["pools"]["outcome"] == "holds"
    assert found["claims"]["layers"]["checks"][0]["subject"] == "one"
    assert found["items"]["Table 1"]["rows"]
    assert "holds  Few ciphers are memorised, many generalise" in result.stdout


def test_what_is_missing_says_which_command_makes_it(place):
    reproduce(*LEAST)
    items = document(place)["items"]
    assert "`alice-interp sweep scaling --out DIR`" in items["Figure 8"]["absent"]
    assert "`alice-interp sweep generalization --out DIR`" in items["Figure 3"]["absent"]
    assert "`--borg FILE --borg-plain FILE`" in items["Table 4"]["absent"]
    assert items["Figure 9"]["absent"] == "Left out by `--skip attention`."
    assert "alice-interp sweep scaling" in (place / "page" / "index.html").read_text()


def test_again_it_takes_what_is_there_and_fresh_finds_the_same(place):
    reproduce(*FEW)
    first, before = document(place), set((place / "page" / "runs").iterdir())
    result = reproduce(*FEW)
    assert result.stderr.count("as it was run before on the same inputs") == 2
    assert set((place / "page" / "runs").iterdir()) == before
    assert settled(document(place)) == settled(first)
    assert "as it was" not in reproduce(*FEW, "--fresh").stderr
    assert settled(document(place)) == settled(first)
    assert len(set((place / "page" / "runs").iterdir())) == len(before) + 2
    (place / "texts.txt").write_text((place / "texts.txt").read_text().replace("THE ", "A "))
    assert "as it was" not in reproduce(*FEW).stderr  # the file is the same by name only


def test_a_result_is_not_taken_again_if_its_solvers_would_learn_from_other_texts(place):
    reproduce(*FEW)
    lines = (place / "texts.txt").read_text().splitlines(keepends=True)
    lines[8:] = [f"ANOTHER TEXT TO LEARN FROM: {line}" for line in lines[8:]]  # eight are read, more are learned from
    (place / "texts.txt").write_text("".join(lines))
    said = reproduce(*FEW).stderr
    assert said.count("as it was run before on the same inputs") == 1
    names = sorted(
        folder.name.partition("-one")[0] for folder in (place / "page" / "runs").iterdir() if folder.is_dir()
    )
    assert names == ["early-exit", "errors-by-length", "errors-by-length"]


def test_an_analysis_that_fails_is_told_and_stops_no_other(place):
    (place / "broken").mkdir()
    result = reproduce(*LEAST, "--scaling-runs", "broken", "--generalization-runs", "pools", code=1)
    assert "alice-interp: error: 1 failed: scaling (broken holds no run folder" in result.stderr
    found = document(place)
    assert found["items"]["Figure 8"]["absent"].startswith("scaling failed: broken holds no run folder")
    assert found["claims"]["pools"]["outcome"] == "holds"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--skip", "spead"], "--skip spead: that is none of the analyses; did you mean 'speed'?"),
        (["--borg", "gone.txt"], "there is no file gone.txt"),
        (["--scaling-runs", "gone"], "there is no folder gone"),
    ],
)
def test_a_wrong_option_is_one_line_before_any_model_is_loaded(place, arguments, complaint):
    program = (
        f"import sys; from alice.cli import main\ntry: main(['reproduce', *{[*DATA, *arguments]!r}])\n"
        "except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert complaint in done.stderr.splitlines()[-1]
    assert done.stdout == "1 False\n"


def test_a_page_of_somebody_else_is_left_alone(place):
    (place / "page").mkdir()
    (place / "page" / "index.html").write_text("mine")
    assert "would be overwritten" in reproduce(code=1).stderr
