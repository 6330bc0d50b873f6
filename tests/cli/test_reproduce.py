"""The whole command on tiny models; where something is missing, the page names the command that makes it."""

import json
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from training_folders import write_training
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins.reproduce.plan import shipped_trainings

SKIPPED = tuple(part for name in ("speed", "ngram", "attention", "baselines", "probe") for part in ("--skip", name))
FEW = (*SKIPPED, "--skip", "relabelling", "--skip", "key-recovery", "--skip", "letter-frequency")
REUSED = "reusing an earlier report on the same inputs"
DATA = ("--ckpt", "one", "--ckpt", "two", "--data", "texts.txt", "--split", "all", "--samples", "8")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with two checkpoints, texts and trainings, and what the command made of them."""
    place = tmp_path_factory.mktemp("world")
    save_checkpoint(place / "one")
    save_checkpoint(place / "two", "bijective")
    save_texts(place / "texts.txt")
    for pool, ser in ((10, 0.8), (1000, 0.02)):
        write_training(place / "pools" / f"pool-{pool}", losses=[(1, 3.0), (10, 0.02)], errors=[(10, ser)], pool=pool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
        patch.delenv("ALICE_INTERP_PLUGINS", raising=False)
        patch.setenv("ALICE_INTERP_CACHE", str(place / "cache"))
        patch.setattr("alice.plugins.reproduce.plan.shipped_trainings", lambda analysis: ())
        patch.chdir(place)
        result = reproduce(*SKIPPED, "--generalization-trainings", "pools")
        yield SimpleNamespace(place=place, result=result, found=document(place / "page"), page=place / "page")


@pytest.fixture
def again(world):
    """A copy of the page and its reports, to go on from; the texts are put back afterwards."""
    texts = (world.place / "texts.txt").read_text()
    shutil.copytree(world.page, world.place / "again")
    yield SimpleNamespace(page=world.place / "again", texts=world.place / "texts.txt", found=world.found)
    shutil.rmtree(world.place / "again")
    (world.place / "texts.txt").write_text(texts)


def reproduce(*arguments, out="page", code=0):
    result = CliRunner().invoke(main, ["reproduce", *DATA, "--out", out, *arguments])
    assert result.exit_code == code, result.output
    return result


def document(page):
    return json.loads((page / "reproduce.json").read_text())


def reports(page):
    return sorted(folder.name for folder in (page / "runs").iterdir() if (folder / "result.json").is_file())


def settled(found, *keys):
    """Return the claims that must be equal in two runs, without the times in the names of folders."""
    return json.loads(re.sub(r"-\d{8}-\d{6}(-\d+)?", "", json.dumps([found["claims"][key] for key in keys])))


def test_one_page_whose_links_lead_somewhere(world):
    index = world.page / "index.html"
    assert world.result.stdout.splitlines()[-1] == str(index.relative_to(world.place))
    addresses = set(re.findall(r'href="(runs/[^"]+)"', index.read_text()))
    assert len(addresses) == 8  # the gallery and seven reports, one of them about the run set
    assert all((world.page / address.replace("%2B", "+")).is_file() for address in addresses)
    assert world.found["claims"]["pools"]["outcome"] == "holds"
    assert world.found["claims"]["layers"]["checks"][0]["models"] == ["one"]
    assert "holds  Few ciphers are memorised, many generalise" in world.result.stdout
    filled = {label for label, item in world.found["items"].items() if item["rows"]}
    assert filled == {f"Table {n}" for n in (1, 2, 3)} | {f"Figure {n}" for n in (2, 3, 4, 6, 10)} | {"Appendix F"}


def test_what_is_missing_names_the_command_that_makes_it(world):
    items = world.found["items"]
    assert "`alice-interp sweep scaling --out DIR`" in items["Figure 8"]["absent"]
    assert "`--scaling-trainings DIR`" in items["Figure 8"]["absent"]
    assert "`--borg FILE --borg-plain FILE`" in items["Table 4"]["absent"]
    assert items["Figure 9"]["absent"] == "Left out by `--skip attention`."
    assert "alice-interp sweep scaling" in (world.page / "index.html").read_text()


def test_the_same_command_reuses_reports_and_an_analysis_that_fails_stops_no_other(again):
    (again.page.parent / "broken").mkdir()
    before = reports(again.page)
    given = ("--scaling-trainings", "broken", "--generalization-trainings", "pools")
    result = reproduce(*SKIPPED, *given, out="again", code=1)
    assert result.stderr.count(REUSED) == 6
    assert len(reports(again.page)) == len(before) + 1  # trainings may have changed and are always read
    assert "alice-interp: error: 1 failed: scaling (broken holds no" in result.stderr
    found = document(again.page)
    assert found["items"]["Figure 8"]["absent"].startswith("scaling failed: broken holds no")
    assert settled(found, *found["claims"]) != settled(again.found, *found["claims"])  # scaling failed
    tested = [key for key in found["claims"] if key != "compute"]
    assert settled(found, *tested) == settled(again.found, *tested)


def test_fresh_runs_everything_again_and_finds_the_same(again):
    before = reports(again.page)
    assert REUSED not in reproduce(*FEW, "--fresh", out="again").stderr
    tested = ("layers", "worse", "one-error", "sigmas")
    assert settled(document(again.page), *tested) == settled(again.found, *tested)
    assert len(reports(again.page)) == len(before) + 3


def test_other_texts_under_the_same_name_are_noticed(again):
    again.texts.write_text(again.texts.read_text().replace("THE ", "A "))
    assert REUSED not in reproduce(*FEW, out="again").stderr


def test_other_texts_to_learn_from_are_noticed_by_the_analysis_whose_solvers_learn(again):
    lines = again.texts.read_text().splitlines(keepends=True)
    lines[8:] = [f"ANOTHER TEXT TO LEARN FROM: {line}" for line in lines[8:]]  # eight are read, more are learned from
    again.texts.write_text("".join(lines))
    before = reports(again.page)
    assert reproduce(*FEW, out="again").stderr.count(REUSED) == 2
    (new,) = set(reports(again.page)) - set(before)  # on the run set no solver learns
    assert new.startswith("errors-by-length-one")


def test_a_wrong_option_is_one_line_before_any_model_is_loaded(world):
    wrong = {
        "there is no such analysis; did you mean 'speed'?": ["--skip", "spead"],
        "there is no such analysis; give one of early-exit, ": ["--skip", "nothing"],
        "there is no file gone.txt": ["--borg", "gone.txt"],
        "there is no folder gone": ["--scaling-trainings", "gone"],
    }
    program = f"""
import sys
from alice.cli import main
for arguments in {list(wrong.values())!r}:
    try: main(["reproduce", *{DATA!r}, "--out", "page", *arguments])
    except SystemExit as end: print(end.code, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n" * len(wrong)
    for complaint, line in zip(wrong, done.stderr.splitlines(), strict=True):
        assert complaint in line


def test_a_model_that_is_not_there_leaves_no_empty_folder(tmp_path):
    done = CliRunner().invoke(main, ["reproduce", "--ckpt", "gone", "--out", str(tmp_path / "page")])
    assert done.exit_code == 1
    assert "there is no checkpoint 'gone'" in done.stderr
    assert not (tmp_path / "page").exists()


def test_a_page_of_somebody_else_is_left_alone(world):
    (world.place / "mine").mkdir()
    (world.place / "mine" / "index.html").write_text("mine")
    assert "is not empty" in reproduce(out="mine", code=1).stderr
    (world.place / "mine" / "reproduce.json").write_text('{"format": "alice-interp reproduction"}')
    assert "would be lost" in reproduce(out="mine", code=1).stderr


def test_variants_are_compared_on_the_run_set_unless_their_training_was_equal(world):
    claims = world.found["claims"]
    for key in ("worse", "sigmas"):
        assert {tuple(check["models"]) for check in claims[key]["checks"]} == {("mini-bijective", "mini-base")}
    assert claims["layers"]["checks"][0]["models"] == ["one"]


def test_without_the_run_set_the_difference_is_named(world, monkeypatch):
    monkeypatch.setattr("alice.plugins.reproduce.plan.run_set", list)
    reproduce(*FEW, out="alone")
    found = document(world.place / "alone")["claims"]["worse"]
    assert found["outcome"] == "not tested"
    assert found["absent"].startswith("Not testable: the models differ in training (one: no record of its training;")


def test_shipped_trainings_are_used_where_none_are_given(world, monkeypatch):
    shipped = world.place / "shipped"
    for seed in (0, 1):
        for pool, ser in ((10, 0.8), (None, 0.02)):
            name = f"pool-{pool or 'all'}-seed-{seed}"
            errors = [(10, ser)]
            write_training(shipped / "pools" / name, losses=[(1, 3.0), (10, 0.02)], errors=errors, pool=pool, seed=seed)
        for size in (16, 32):
            errors = [(step, 0.9 / (step * size)) for step in range(1, 9)]
            model = {"d_mlp": size}
            write_training(
                shipped / "sizes" / f"{size}-seed-{seed}", losses=[(8, 1.0)], errors=errors, model=model, seed=seed
            )
    monkeypatch.setattr("alice.plugins.reproduce.plan.RUN_SET", shipped)
    monkeypatch.setattr("alice.plugins.reproduce.plan.shipped_trainings", shipped_trainings)
    reproduce(*FEW, "--skip", "early-exit", "--skip", "errors-by-length", out="with-shipped")
    found = document(world.place / "with-shipped")
    assert found["claims"]["pools"]["outcome"] == "holds"
    assert found["claims"]["compute"]["checks"][0]["outcome"] == "holds"
    assert found["evidence"]["equal-operations"]["sentence"].endswith("the larger model wins.")
    assert "`alice-interp sweep measure DIR`" in found["evidence"]["phases"]["absent"]
    assert {"generalization-training", "scaling-error-by-operations", "scaling-error-by-size"} <= set(found["figures"])
    shutil.rmtree(shipped / "pools")
    reproduce(*FEW, "--skip", "early-exit", "--skip", "errors-by-length", out="without-pools")
    absent = document(world.place / "without-pools")["items"]["Figure 3"]["absent"]
    assert "`alice-interp sweep generalization --out DIR`" in absent
