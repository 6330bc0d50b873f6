"""`data prepare --multilingual` from sources with known segments."""

import csv
import gzip
import json

import pytest
from click.testing import CliRunner
from made_up_books import make_library

from alice.cli import main
from alice.text.corpus import open_corpus
from alice.text.split import is_test, select


def run(*args):
    return CliRunner().invoke(main, ["data", "prepare", "--multilingual", *map(str, args)], catch_exceptions=False)


def rows_of(file):
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", newline="") as lines:
        return list(csv.reader(lines))


@pytest.fixture
def folder(tmp_path):
    """Three languages of 10, 30 and 20 rows; a Latin one has 25 characters as letters and spaces."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for code, word, count in (("la", "Lún a", 10), ("en", "Moo-n", 30), ("nl", "MA'AN.E", 20)):
        rows = (f"{word}, nūmber {chr(97 + row // 10)}{chr(97 + row % 10)} of a text!" for row in range(count))
        (folder / f"{code}.txt").write_text("\n".join(rows))
    return folder


def test_every_language_has_as_many_segments_as_the_smallest_allows(folder, tmp_path):
    done = run(folder, "--segments", 40, "--out", tmp_path / "out.csv")
    assert done.exit_code == 0
    header, *rows = rows_of(tmp_path / "out.csv")
    assert header == ["text", "language"]
    assert [language for _, language in rows] == ["en", "la", "nl"] * (len(rows) // 3)
    assert rows[1][0] == "LUN A NUMBER AA OF A TEXT LUN A NUMBER AB"
    assert rows[2][0].startswith("MAAN E NUMBER AA")  # an apostrophe leaves nothing behind, a stop a space
    assert all(40 <= len(text) < 50 for text, _ in rows)
    assert len(rows) == 18  # 259 characters of Latin make six segments of 41 to 43 with a space after each
    assert "la Latin 10 0 6" in {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert f"18 segments written to {tmp_path / 'out.csv'}" in done.stdout


def test_the_limit_is_for_each_language(folder, tmp_path):
    run(folder, "--segments", 40, "--limit", 2, "--out", tmp_path / "out.csv.gz")
    assert [language for _, language in rows_of(tmp_path / "out.csv.gz")[1:]] == ["en", "la", "nl"] * 2


def test_without_options_segments_are_as_long_as_in_the_paper(folder, tmp_path):
    run(folder, "--out", tmp_path / "out.csv")
    (_, *rows) = rows_of(tmp_path / "out.csv")
    assert len(rows) == 3
    assert all(256 <= len(text) < 266 for text, _ in rows)


def test_the_test_split_of_the_file_is_the_one_of_its_segments(folder, tmp_path):
    for split in ("all", "train", "test"):
        run(folder, "--segments", 30, "--split", split, "--out", tmp_path / f"{split}.csv")
    whole = [text for text, _ in rows_of(tmp_path / "all.csv")[1:]]
    corpus = open_corpus(str(tmp_path / "all.csv"))
    assert list(corpus) == whole
    assert list(select(corpus, "test")) == [text for text in whole if is_test(text)]
    assert not any(is_test(text) for text, _ in rows_of(tmp_path / "train.csv")[1:])


def test_sources_are_named_one_by_one_and_replace_those_of_the_folder(folder, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("terra et mare " * 30)
    done = run(folder, "--source", f"la={other}", "--out", tmp_path / "out.csv", "--json")
    counts = json.loads(done.stdout)
    assert counts["languages"]["la"]["source"] == str(other)
    assert counts["written"] == 3
    done = run("--source", f"la={other}", "--source", f"it={other}", "--out", tmp_path / "two.csv", "--json")
    assert list(json.loads(done.stdout)["languages"]) == ["it", "la"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--out", "out.csv"], "needs two languages or more"),
        (["sources", "--out", "out.txt"], "out.txt ends neither in .csv nor in .csv.gz"),
        (["sources", "--segments", "5000", "--out", "out.csv"], "not every language has a segment of 5000 characters"),
        (["sources", "--source", "fr=nowhere.txt", "--out", "out.csv"], "there is no file nowhere.txt"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_no_file(folder, monkeypatch, args, complaint):
    monkeypatch.chdir(folder.parent)
    done = run(*args)
    assert done.exit_code == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in folder.parent.iterdir()] == ["sources"]


def test_a_source_is_never_overwritten(folder):
    out = (folder / "la.txt").rename(folder / "la.csv")
    before = out.write_text("text\n" + "terra et mare " * 30)
    done = run(folder, "--segments", 40, "--out", out)
    assert "is read by this command" in done.stderr
    assert len(out.read_text()) == before


def test_a_source_of_a_language_needs_the_flag(tmp_path):
    done = CliRunner().invoke(main, ["data", "prepare", "--source", "la=a.txt", "--out", str(tmp_path / "out.txt")])
    assert "--source is for --multilingual" in done.stderr


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with two made-up languages, and the libraries in them."""
    folder = tmp_path_factory.mktemp("libraries")
    made = {"en": make_library(seed=1), "la": make_library(seed=2)}
    for code, library in made.items():
        (folder / f"{code}.txt").write_text("\n".join(library.rows))
    return folder, made


@pytest.fixture(scope="module")
def held_out(libraries, tmp_path_factory):
    """The two files that are made of these, and the counts that the command prints."""
    files = tmp_path_factory.mktemp("files")
    train, test = files / "train.csv", files / "test.csv.gz"
    done = run(libraries[0], "--segments", 100, "--out", train, "--held-out-books", test, "--json")
    return train, test, json.loads(done.stdout)


def test_no_book_is_in_both_files(libraries, held_out):
    books = [
        {(code, libraries[1][code].book_of.get(word)) for text, code in rows_of(file)[1:] for word in text.split()}
        - {(code, None) for code in libraries[1]}
        for file in held_out[:2]
    ]
    assert books[0].isdisjoint(books[1])
    for code in libraries[1]:
        assert sum(language == code for language, _ in books[0]) > 50
        assert sum(language == code for language, _ in books[1]) == 2


def test_languages_have_equal_shares_in_both_files_and_the_counts_are_theirs(held_out):
    counts = held_out[2]
    for file, name in zip(held_out[:2], ("written", "held_out"), strict=True):
        header, *rows = rows_of(file)
        assert header == ["text", "language"]
        assert [language for _, language in rows] == ["en", "la"] * (len(rows) // 2)
        assert counts[name] == len(rows)
        assert {each[name] for each in counts["languages"].values()} == {len(rows) // 2}
    assert {each["held_out_rows"] for each in counts["languages"].values()} == {80}


def test_the_limit_does_not_apply_to_held_out_books(libraries, held_out, tmp_path):
    args = "--segments", 100, "--limit", 3, "--out", tmp_path / "out.csv", "--held-out-books", tmp_path / "test.csv.gz"
    done = run(libraries[0], *args)
    assert len(rows_of(tmp_path / "out.csv")) == 7
    assert (tmp_path / "test.csv.gz").read_bytes() == held_out[1].read_bytes()
    assert "6 segments written to" in done.stdout
    assert f"{held_out[2]['held_out']} segments of held-out books written to {tmp_path / 'test.csv.gz'}" in done.stdout


@pytest.mark.parametrize(
    ("source", "held_out", "complaint"),
    [
        ("--multilingual sources", "a.csv", "are both a.csv; give two files"),
        ("--multilingual sources", "b.csv", "no books of 'en' can be held out"),
        ("--multilingual sources", "b.txt", "b.txt ends neither in .csv nor"),
        ("--multilingual sources", "sources/b.csv", "is read by this command"),
        ("sources/la.txt", "b.csv", "--held-out-books is for --multilingual"),
    ],
)
def test_books_that_cannot_be_held_out_are_one_line_and_leave_no_file(folder, monkeypatch, source, held_out, complaint):
    monkeypatch.chdir(folder.parent)
    command = f"data prepare {source} --out a.csv --held-out-books {held_out}"
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in folder.parent.iterdir()] == ["sources"]
