import gzip
import io
import json
from itertools import chain

import pytest
from click.testing import CliRunner
from rich.console import Console

from alice.cli import main, progress
from alice.text.split import is_test, split_of

SENTENCES = [f"This is sentence {a}{b} of the corpus, and no other." for a in "abcdefghij" for b in "klmnopqrst"]
DIRTY = ["tiny", "Has a number 7 inside of it", SENTENCES[0].upper(), "x" * 400]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text("\n".join(SENTENCES + DIRTY))
    return path


def run(*args):
    return CliRunner().invoke(main, ["data", *map(str, args)], catch_exceptions=False)


def test_prepare_writes_one_cleaned_text_per_line_and_says_what_was_dropped(source, tmp_path):
    result = run("prepare", source, "--out", tmp_path / "out.txt")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert (tmp_path / "out.txt").read_text().splitlines() == [sentence.upper() for sentence in SENTENCES]
    rows = {" ".join(line.split()) for line in result.stdout.splitlines()}
    reasons = ("too short", "too long", "foreign character", "duplicate")
    assert {"kept 100 96.2%", *(f"dropped: {reason} 1 1.0%" for reason in reasons)} <= rows
    assert f"100 lines written to {tmp_path / 'out.txt'}" in result.stdout


def test_the_tally_comes_as_json_too(source, tmp_path):
    out = tmp_path / "out.txt.gz"
    assert json.loads(run("prepare", source, "--out", out, "--json").stdout) == {
        "source": str(source),
        "out": str(out),
        "read": 104,
        "kept": 100,
        "dropped": {
            "empty": 0, "foreign character": 1, "no letters": 0, "too short": 1, "too long": 1, "duplicate": 1,
        },
        "written": 100,
    }  # fmt: skip


def test_a_prepared_file_is_a_source_that_nothing_is_dropped_from(source, tmp_path):
    run("prepare", source, "--out", tmp_path / "once.txt.gz")
    tally = json.loads(run("prepare", tmp_path / "once.txt.gz", "--out", tmp_path / "twice.txt.gz", "--json").stdout)
    assert tally["kept"] == tally["read"] == 100
    once, twice = ((tmp_path / name).read_bytes() for name in ("once.txt.gz", "twice.txt.gz"))
    assert once == twice
    assert gzip.decompress(once).decode().count("\n") == 100


def test_the_splits_make_up_the_whole(source, tmp_path):
    found = {}
    for split in ("train", "validation", "test"):
        run("prepare", source, "--split", split, "--out", tmp_path / f"{split}.txt")
        found[split] = (tmp_path / f"{split}.txt").read_text().splitlines()
        assert {split_of(text) for text in found[split]} == {split}
    assert sorted(chain(*found.values())) == sorted(sentence.upper() for sentence in SENTENCES)


def test_limit_stops_early(source, tmp_path):
    assert "7 lines written" in run("prepare", source, "--limit", 7, "--out", tmp_path / "out.txt").stdout


def test_length_limits_and_alphabet_are_options(source, tmp_path):
    args = ("--alphabet", "letters", "--min-length", 4, "--max-length", 10, "--out", tmp_path / "out.txt")
    run("prepare", source, *args)
    assert (tmp_path / "out.txt").read_text() == "TINY\n"


def test_segments_join_rows_of_any_length(source, tmp_path):
    run("prepare", source, "--segments", 64, "--alphabet", "letters", "--out", tmp_path / "out.txt")
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert lines[0] == "THIS IS SENTENCE AK OF THE CORPUS AND NO OTHER THIS IS SENTENCE AL"
    assert min(map(len, lines)) >= 64
    assert "X" * 400 not in lines  # the last segment was not filled


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--out", "out.csv"], "out.csv ends neither in .txt nor in .txt.gz"),
        (["--out", "nowhere/out.txt"], "the folder nowhere does not exist"),
        (["--out", "out.txt", "--min-length", "40", "--max-length", "30"], "max_length=30 is below min_length=40"),
        (["--out", "out.txt", "--min-length", "290"], "no text of source.txt is left to write (102 too short"),
        (["--out", "out.txt", "--text-column", "quote"], "has no column 'quote'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_no_file(source, monkeypatch, args, complaint):
    monkeypatch.chdir(source.parent)
    result = run("prepare", "source.txt", *args)
    assert result.exit_code == 1
    assert result.stderr.startswith("alice-interp: error: ")
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in source.parent.iterdir()] == ["source.txt"]


def test_the_source_is_never_overwritten(source):
    before = source.read_text()
    result = run("prepare", source, "--out", source)
    assert result.exit_code == 1
    assert "is read by this command and would be overwritten" in result.stderr
    assert source.read_text() == before


def test_markup_in_a_file_name_is_shown_literally(source, monkeypatch):
    (source.parent / "a[").mkdir()
    monkeypatch.chdir(source.parent)
    source.rename("a[/b].txt")
    assert "a[/b].txt: 100 texts" in run("stats", "a[/b].txt").stdout
    shown = run("prepare", "a[/b].txt", "--out", "c[bold].txt").stdout
    assert "a[/b].txt: 104 texts read" in shown
    assert "written to c[bold].txt" in shown


@pytest.mark.parametrize("name", ["~nobody-has-this-name/a.txt", "x" * 5000 + ".txt"])
def test_a_source_that_the_system_refuses_is_one_line(name):
    result = run("stats", name)
    assert result.exit_code == 1
    assert "cannot be used" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_error_in_the_middle_leaves_the_old_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "A sentence of this kind"}\nnot JSON\n')
    (tmp_path / "out.txt").write_text("old\n")
    assert run("prepare", tmp_path / "a.jsonl", "--out", tmp_path / "out.txt").exit_code == 1
    assert (tmp_path / "out.txt").read_text() == "old\n"


def test_the_default_source_is_quotes(tmp_path):
    result = run("prepare", "--limit", 5, "--out", tmp_path / "out.txt", "--json")
    assert json.loads(result.stdout)["source"] == "quotes"


def test_stats_show_lengths_and_letters(source):
    result = run("stats", source)
    assert result.exit_code == 0
    assert "100 texts, 4,800 characters" in result.stdout
    assert "[32,64)    100.00%  ████" in result.stdout
    assert result.stdout.index(" O ") < result.stdout.index(" Q ")


def test_stats_come_as_json_too(source):
    found = json.loads(run("stats", source, "--json").stdout)
    assert found["texts"] == 100
    assert found["characters"] == 4_800
    assert found["length_bins"]["[32,64)"] == 100
    assert found["test_share"] == sum(map(is_test, SENTENCES)) / 100


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_on_a_terminal_when_it_takes_long(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 0)
    file = Terminal()
    console = Console(file=file, force_terminal=True)
    assert list(progress.track(range(3), "Counting", total=3, console=console)) == [0, 1, 2]
    assert "Counting" in file.getvalue()


def test_no_bar_is_drawn_for_a_moment_or_into_a_pipe(monkeypatch):
    quick, pipe = Terminal(), io.StringIO()
    assert list(progress.track(range(3), "Counting", console=Console(file=quick, force_terminal=True))) == [0, 1, 2]
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 0)
    assert list(progress.track(range(3), "Counting", console=Console(file=pipe, force_terminal=True))) == [0, 1, 2]
    assert "Counting" not in quick.getvalue() + pipe.getvalue()


def test_a_log_file_gets_a_line_now_and_then_and_none_for_short_steps(monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    long, unknown = io.StringIO(), io.StringIO()
    assert list(progress.track(range(4), "Reading", total=4000, console=Console(file=long))) == [0, 1, 2, 3]
    assert long.getvalue().splitlines()[0] == "Reading: 2 of 4,000, 0:01:00"
    assert list(progress.track(range(4), "Reading", console=Console(file=unknown))) == [0, 1, 2, 3]
    assert unknown.getvalue().splitlines()[0] == "Reading: 2, 0:01:00"
    assert "\x1b" not in long.getvalue()
