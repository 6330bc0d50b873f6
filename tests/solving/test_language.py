"""Languages: learned from texts, kept in the cache, and never taken from a damaged file."""

import numpy as np
import pytest
from made_up_language import language

from alice.cache import FOLDER_VARIABLE
from alice.errors import AliceError
from alice.solving import language as module
from alice.solving import language_files
from alice.solving.language import learn
from alice.solving.language_files import open_languages, read, write
from alice.text import LETTERS
from alice.text.split import split_of


@pytest.fixture(scope="module")
def texts():
    return [language(12, seed=seed) for seed in range(400)]


def test_a_text_of_the_language_fits_better_than_its_letters_in_another_order(texts):
    main = learn(texts).main
    plain = language(12, seed=999)
    assert main.fit(main.symbols(plain)) > main.fit(main.symbols(plain[::-1])) + 1


def test_most_texts_of_a_language_are_usual(texts):
    main = learn(texts).main
    usual = [main.fit(main.symbols(language(12, seed=seed))) >= main.usual for seed in range(1000, 1100)]
    assert 0.7 < np.mean(usual) < 1


def test_texts_that_fit_worst_get_a_model_of_their_own(texts, monkeypatch):
    rng, learned, learn_one = np.random.default_rng(0), [], module.learn_one
    strange = [" ".join("".join(rng.choice(list(LETTERS), 6)) for _ in range(10)) for _ in range(12)]
    monkeypatch.setattr(module, "FEWEST_OTHER", 5)
    monkeypatch.setattr(module, "learn_one", lambda *given: learned.append(given[0]) or learn_one(*given))
    main, other = learn([*texts, *strange], texts[:20]).known
    assert len(learned[1]) == other.texts == int(module.OTHER_SHARE * 412)
    assert set(learned[1]) < set(strange)
    assert other.name.endswith(module.OTHER)
    assert main.share + other.share == 1


def test_without_texts_there_is_no_language():
    with pytest.raises(AliceError, match="no text to learn a language from; give a corpus with more texts"):
        learn([])


@pytest.fixture
def corpus(tmp_path, monkeypatch, texts):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(texts))
    return str(file)


def test_it_is_learned_once_from_the_training_split_and_then_read(corpus, texts, monkeypatch):
    found = open_languages([corpus])
    assert found.texts == sum(split_of(text) == "train" for text in set(texts))
    monkeypatch.setattr(language_files, "learn", None)  # would fail
    again = open_languages([corpus])
    np.testing.assert_array_equal(again.main.chars.table, found.main.chars.table)
    assert (again.main.usual, again.main.share) == (found.main.usual, found.main.share)


def test_several_corpora_are_several_languages(corpus, tmp_path):
    (tmp_path / "more.txt").write_text("\n".join(language(12, seed=seed) for seed in range(500, 600)))
    known = open_languages([corpus, str(tmp_path / "more.txt")]).known
    assert [one.name for one in known] == ["texts.txt", "more.txt"]


def test_more_languages_than_are_kept_at_other_times_are_still_learned_once(corpus, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(language_files, "KEPT", 1)
    monkeypatch.setattr(language_files, "KEPT", 1)
    (tmp_path / "more.txt").write_text("\n".join(texts[:100]))
    both = [corpus, str(tmp_path / "more.txt")]
    found = open_languages(both)
    monkeypatch.setattr(language_files, "learn", None)  # would fail
    assert [one.name for one in open_languages(both).known] == [one.name for one in found.known]


@pytest.mark.parametrize("damage", ["cut", "bit", "other", "empty"])
def test_a_damaged_file_is_learned_again(corpus, damage):
    found = open_languages([corpus])
    (file,) = language_files._files(language_files.cache_folder(language_files.FOLDER))
    content = bytearray(file.read_bytes())
    if damage == "bit":
        content[len(content) // 2] ^= 1
    file.write_bytes({"cut": content[:-100], "bit": content, "other": b"something else", "empty": b""}[damage])
    again = open_languages([corpus])
    np.testing.assert_array_equal(again.main.chars.table, found.main.chars.table)
    read(file)  # it is whole again


def test_only_the_files_used_last_are_kept_and_foreign_ones_stay(texts, tmp_path, monkeypatch):
    found = learn(texts[:50])
    (tmp_path / "thesis.npz").write_text("mine")
    for number in range(language_files.KEPT + 2):
        write(found, tmp_path / f"{number:032d}.npz")
    language_files._remove_old(tmp_path)
    assert len(list(language_files._files(tmp_path))) == language_files.KEPT
    assert (tmp_path / "thesis.npz").read_text() == "mine"
