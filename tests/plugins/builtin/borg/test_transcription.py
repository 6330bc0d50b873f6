"""Transcriptions of made-up ciphers, and their alignment with a plaintext."""

import pytest

from alice.errors import AliceError
from alice.plugins.builtin.borg.transcription import (
    Transcription,
    align,
    plain_words,
    read_plain,
    read_transcription,
    shared_letters,
)


def transcription(text):
    return Transcription(tuple(tuple(word) for word in text.split()))


def words(found):
    return [" ".join(word) if any(len(symbol) > 1 for symbol in word) else "".join(word) for word in found.words]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file."""

    def write(text, name="page.txt"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_characters_are_symbols_and_remarks_are_skipped(written):
    file = written("#CIPHER: 7\n4m9 Mq,\n<CLEARTEXT in two\nlines>\nR. 4m,, \n9q; 'm-\nM9'\n")
    assert words(read_transcription(file)) == ["4m9", "Mq", "R", "4m9q", "mM9"]
    found = read_transcription(file, ignored="RM")
    assert words(found) == ["4m9", "q", "4m9q", "m9"]
    assert found.marks == {"comment": 1, "remark": 1, "ignored": 3}


@pytest.mark.parametrize(
    ("text", "read", "marks"),
    [
        ("un [t]ortam", ["un", "tortam"], {"supplied": 1}),
        ("v[o]l[ens]", ["volens"], {"supplied": 2}),
        ("[t][o]rtam", ["tortam"], {"supplied": 2}),
        ("d<=l>e, od<=l>", ["le", "ol"], {"corrected": 2}),
        ("x d<=lm>e", ["x", "lme"], {"corrected": 1}),  # never reaches into the word before
        ("aque[=paste] id", ["paste", "id"], {"corrected": 1}),
        ("aque [=paste] id", ["aque", "id"], {"remark": 1}),
        ("d(omi)nus", ["dominus"], {"expanded": 1}),
        ("ce<o>mmuni", ["ceommuni"], {"added": 1}),
        ("ce<COMMENT two words>mmuni", ["ce", "mmuni"], {"remark": 1}),
        ("t?ortam x[?]y quid?", ["tortam", "xy", "quid"], {"uncertain": 2}),
        ("[...]tam", ["tam"], {"illegible": 1}),
        ("un <IMAGE> (sic) do", ["un", "do"], {"remark": 2}),
        ("un (do", ["un", "do"], {}),
    ],
)
@pytest.mark.parametrize("style", ["characters", "letters"])
def test_editorial_marks_are_read_as_the_transcriber_means_them(written, style, text, read, marks):
    found = read_transcription(written(text), style)
    assert words(found) == (read if style == "characters" else [word.upper() for word in read])
    assert found.marks == marks


def test_marks_of_tokens_are_remarks(written):
    found = read_transcription(written("s1 <note> s2 / s3\n# no\n"), "tokens")
    assert words(found) == ["s1", "s2", "s3"]
    assert found.marks == {"remark": 1, "comment": 1}


def test_tokens_are_separated_by_spaces(written):
    file = written("s1 s22 / s3  s1 s1\ns4 X\n")
    assert words(read_transcription(file, "tokens")) == ["s1 s22", "s3", "s1 s1", "s4 X"]
    assert words(read_transcription(file, "tokens", ignored="X s22")) == ["s1", "s3", "s1 s1", "s4"]


def test_letters_are_those_of_an_ordinary_text(written):
    assert words(read_transcription(written("Ünus [note] duo, 3 très\n"), "letters")) == ["UNUS", "DUO", "TRES"]


def test_symbols_are_named_by_letters_in_the_order_of_the_text():
    found = transcription("qm9 mZ")
    assert found.symbols == ["q", "m", "9", "Z"]
    assert found.names == {"q": "A", "m": "B", "9": "C", "Z": "D"}


@pytest.mark.parametrize(
    ("text", "style", "complaint"),
    [
        ("<only a remark> .", "characters", "no cipher symbol"),
        ("abcdefghijklmnopqrstuvwxyz A", "characters", "has 27 different symbols"),
        ("abc", "words", "'words' is unknown"),
    ],
)
def test_an_invalid_transcription_is_refused(written, text, style, complaint):
    with pytest.raises(AliceError, match=complaint):
        read_transcription(written(text), style)


@pytest.mark.parametrize(
    ("text", "longest", "passages"),
    [
        ("aaa bb ccc dd", 100, ["aaa bb ccc dd"]),
        ("aaa bb ccc dd ee", 9, ["aaa bb", "ccc dd ee"]),
        ("aaa bb ccc dd", 10, ["aaa bb ccc", "bb ccc dd"]),  # the last is as long as the others
        ("abcdefg h", 3, ["abc", "def", "g h"]),
    ],
)
def test_a_text_is_cut_between_words(text, longest, passages):
    assert [" ".join(words(passage)) for passage in transcription(text).passages(longest)] == passages


def test_a_plaintext_loses_remarks_and_keeps_additions_of_the_scribe(written):
    found = plain_words("[A]ut ce<o>m (wrong for x) [=y] 7 Qüi.")
    assert found.words == ["AUT", "CEOM", "QUI"]
    assert found.marks == {"supplied": 1, "added": 1, "remark": 2}
    with pytest.raises(AliceError, match="has no letter"):
        read_plain(written("[...] 12"))


def test_words_of_the_same_pattern_give_the_letters():
    found = align(transcription("1213 45 6 1"), ["PAPE", "NO", "E"])
    assert found == {"1": "P", "2": "A", "3": "E", "4": "N", "5": "O", "6": "E"}


def test_letters_shared_by_several_symbols_are_found():
    assert shared_letters({"q": "R", "m": "E", "R": "R"}) == {"R": ["q", "R"]}
    assert shared_letters({"q": "R", "m": "E"}) == {}


def test_words_that_are_split_differently_give_letters_too():
    assert align(transcription("12 3456 12"), ["EX", "TR", "AC", "EX"]) == dict(zip("123456", "EXTRAC", strict=True))


def test_mistakes_are_outvoted_and_gaps_skipped():
    found = align(transcription("121 344 121 121 55"), ["ANA", "OTT", "AXA", "ANA", "REMARKS", "EE"])
    assert found == {"1": "A", "2": "N", "3": "O", "4": "T", "5": "E"}


def test_a_foreign_plaintext_is_refused():
    with pytest.raises(AliceError, match="no word of the plaintext matches"):
        align(transcription("11 22"), ["ABC"])
