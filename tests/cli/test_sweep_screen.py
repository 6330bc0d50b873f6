"""The screen of a sweep on workers reads the logs in the training folders."""

import json
from io import StringIO

import pytest
from rich.console import Console

from alice.cli.train import screen as train_screen
from alice.cli.train.screen import SweepScreen
from alice.training.folder import Training, latest_rows
from alice.training.presets import model_config
from alice.training.recipe import Recipe
from alice.training.sweep import Member


def row(step, **values):
    return {"step": step, "tokens": 100 * step, "flops": 1.0, "seconds": 2.0 * step, **values}


def log(folder, *rows):
    folder.mkdir(exist_ok=True)
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)


@pytest.fixture
def members(tmp_path):
    model = model_config("tiny", "base")
    names = ("pool-3", "pool-30", "pool-all")
    return [Member(Training(model, Recipe(steps=10), "quotes", tmp_path / name)) for name in names]


def shown(screen):
    """Return the lines of the table."""
    screen.console.print(screen.render())
    return screen.console.file.getvalue().splitlines()


def test_all_trainings_are_in_one_table(members, tmp_path):
    screen = SweepScreen(members, Console(file=StringIO(), width=120))
    log(
        tmp_path / "pool-3",
        row(1, loss=3.0, lr=1e-3),
        row(3, loss=2.5, lr=1e-3),
        row(3, ser={"all": 0.25, "<128": 0.3}),
    )
    log(tmp_path / "pool-30", row(10, loss=1.0, lr=1e-3))
    screen.look()
    header, first, second, third = shown(screen)
    assert header.split() == ["training", "step", "loss", "SER", "time", "left"]
    assert [line.split()[0] for line in (first, second, third)] == ["pool-3", "pool-30", "pool-all"]
    assert " ".join(first.split()).endswith("3 of 10 2.5000 25.00 % 0:00:14")
    assert " ".join(second.split()).endswith("10 of 10 1.0000 - finished")
    assert third.split()[-1] == "waiting"


def test_a_log_has_a_line_for_each_training_that_went_on(members, tmp_path, monkeypatch):
    monkeypatch.setattr(train_screen, "SECONDS_BETWEEN_LINES", 0)
    screen = SweepScreen(members, Console(file=StringIO(), width=200))
    log(tmp_path / "pool-3", row(1, loss=3.0, lr=1e-3))
    log(tmp_path / "pool-30", row(2, loss=1.0, lr=1e-3))
    screen.look()
    log(tmp_path / "pool-30", row(4, loss=0.5, lr=1e-3), row(4, ser={"all": 0.1}))
    screen.look()
    screen.say("pool-3: \x1b[31mred")
    lines = screen.console.file.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["pool-3", "pool-30", "pool-30", "pool-3"]
    assert "step 4 of 10  loss 0.5000" in lines[2]
    assert "SER all 10.00 %" in lines[2]
    assert all(line.isprintable() for line in lines)


def test_a_training_without_a_loss_yet_is_starting(members, tmp_path, monkeypatch):
    monkeypatch.setattr(train_screen, "SECONDS_BETWEEN_LINES", 0)
    screen = SweepScreen(members, Console(file=StringIO(), width=120))
    log(tmp_path / "pool-3", row(0, weight_norm=20.0))
    screen.look()
    assert screen.console.file.getvalue() == "pool-3: starting\n"
    assert shown(screen)[2].split()[-1] == "starting"


def test_a_log_that_is_being_written_is_read_as_far_as_it_goes(tmp_path):
    assert latest_rows(tmp_path / "missing") == []
    log(tmp_path / "a", *(row(step, loss=1.0) for step in range(2000)))
    with (tmp_path / "a" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2000, "lo')
    found = latest_rows(tmp_path / "a")
    assert 100 < len(found) < 2000
    assert [one["step"] for one in found] == list(range(2000 - len(found), 2000))
    (tmp_path / "a" / "metrics.jsonl").write_text("[]\nnonsense\n")
    assert latest_rows(tmp_path / "a") == []
