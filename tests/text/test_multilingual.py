"""Sources of several languages, and their texts by turns."""

import pytest

from alice.errors import AliceError
from alice.text.multilingual import folder_sources, in_turn, named_sources


def test_texts_come_by_turns_until_one_language_has_no_more():
    rows = list(in_turn({"en": ["A", "B", "C"], "la": iter(["X", "Y"]), "fr": ["P", "Q", "R", "S"]}))
    assert rows == [("A", "en"), ("X", "la"), ("P", "fr"), ("B", "en"), ("Y", "la"), ("Q", "fr")]


def test_files_of_a_folder_are_named_by_language(tmp_path):
    for name in ("la.txt.gz", "EN.csv", "README.md", ".txt"):
        (tmp_path / name).touch()
    assert folder_sources(tmp_path) == {"en": str(tmp_path / "EN.csv"), "la": str(tmp_path / "la.txt.gz")}


def test_a_language_has_one_file(tmp_path):
    for name in ("la.txt", "la.csv"):
        (tmp_path / name).touch()
    with pytest.raises(AliceError, match=r"two files for 'la', la.csv and la.txt"):
        folder_sources(tmp_path)


def test_a_folder_without_languages_is_refused(tmp_path):
    with pytest.raises(AliceError, match="has no file such as"):
        folder_sources(tmp_path)
    with pytest.raises(AliceError, match="is no folder"):
        folder_sources(tmp_path / "nowhere")


def test_sources_can_be_named_one_by_one():
    assert named_sources(["LA=a=b.txt", "fr=hf:some/set:train"]) == {"la": "a=b.txt", "fr": "hf:some/set:train"}


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["latin.txt"], "does not say whose language"),
        (["la="], "does not say whose language"),
        (["=a.txt"], "does not say whose language"),
        (["la=a.txt", "LA=b.txt"], "'la' twice"),
    ],
)
def test_what_names_no_language_or_one_twice_is_refused(pairs, complaint):
    with pytest.raises(AliceError, match=complaint):
        named_sources(pairs)
