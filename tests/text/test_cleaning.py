import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH, LETTERS, LETTERS_AND_SPACE, Alphabet
from alice.text.cleaning import Cleaner, Reason

english = Cleaner()
letters = Cleaner(LETTERS_AND_SPACE)
SPACELESS = Alphabet(LETTERS + ".-")
FRENCH = Alphabet(LETTERS + "É '")

# Half of what hypothesis tries is ordinary text with the marks that the rules are about, in any order.
marks = st.text(alphabet="ab Z.,!?-;:'\"`\t\n\u2019\u201c\u201d\u2018\u2014\u2013\u2026\u00a0\u00ad\u200bé\u0301ßæ™7")
any_text = st.one_of(st.text(), marks)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("Plain words stay", "PLAIN WORDS STAY"),
        ("  too \t many\r\n spaces  ", "TOO MANY SPACES"),
        ("\u201cShe\u2019s here,\u201d he said\u2026", '"SHE\'S HERE," HE SAID...'),
        ("It`s a l\u00b4heure thing", "IT'S A L'HEURE THING"),
        ("\u00abOui\u00bb and \u201eJa\u201c", '"OUI" AND "JA"'),
        ("Crème brûlée, naïve façade, Dvořák", "CREME BRULEE, NAIVE FACADE, DVORAK"),
        ("Straße, œuvre, Ærø, Łódź, þing, ﬁn, Ĳssel", "STRASSE, OEUVRE, AERO, LODZ, THING, FIN, IJSSEL"),
        ("e\u0301te\u0301", "ETE"),
        ("soft\u00adly zero\u200bwidth\ufeff \u202aleft\u202c", "SOFTLY ZEROWIDTH LEFT"),
        ("no\u00a0break\u2028line\u3000wide", "NO BREAK LINE WIDE"),
        ("\u00bfQué? \u00a1Sí!", "QUE? SI!"),
    ],
)
def test_characters_are_brought_to_the_alphabet(raw, cleaned):
    assert english.normalize(raw) == cleaned


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("one ,two . three", "ONE, TWO. THREE"),
        ("what ? !no", "WHAT?! NO"),
        ("wait . . . what", "WAIT... WHAT"),
        ("so...yes", "SO... YES"),
        ("a list:one;two", "A LIST: ONE; TWO"),
        ("don't 'tis o'clock the boys' hats", "DON'T 'TIS O'CLOCK THE BOYS' HATS"),
        ('He said, "Go." Then left.', 'HE SAID, "GO." THEN LEFT.'),
        ('He left."Go," she said', 'HE LEFT. "GO," SHE SAID'),
        ('Who?""Me," he said', 'WHO?" "ME," HE SAID'),
        ("Who?\u201dShe asked.\u201cMe.\u201d", 'WHO?" SHE ASKED. "ME."'),
        ("a well-known thing", "A WELL-KNOWN THING"),
        ("this--or that\u2014or \u2013 those", "THIS - OR THAT - OR - THOSE"),
        ("--Anon", "- ANON"),
        ("the end. ", "THE END."),
    ],
)
def test_spacing_around_punctuation_is_repaired(raw, cleaned):
    assert english.normalize(raw) == cleaned


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("Don't stop, well-known friend!", "DONT STOP WELL KNOWN FRIEND"),
        ("one\u2014two,three...four", "ONE TWO THREE FOUR"),
        ("\u201cQuoted\u201d 'words'", "QUOTED WORDS"),
        ("\u00bfQué hora es?", "QUE HORA ES"),
    ],
)
def test_without_punctuation_in_the_alphabet_it_is_taken_out(raw, cleaned):
    assert letters.normalize(raw) == cleaned


def test_letters_of_the_alphabet_keep_their_accents():
    cleaner = Cleaner(FRENCH)
    assert cleaner.normalize("l'été - e\u0301te\u0301 à No\u00ebl") == "L'ÉTÉ ÉTÉ A NOEL"


def test_an_alphabet_without_space_closes_the_words_up():
    assert Cleaner(SPACELESS).normalize("One two -- three. Four") == "ONETWO--THREE.FOUR"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", Reason.EMPTY),
        (" \n\u200b ", Reason.EMPTY),
        ("The year 1984 was long ago", Reason.FOREIGN),
        ("An (important) thing to say", Reason.FOREIGN),
        ("Не всё то золото, что блестит", Reason.FOREIGN),
        ("A trade mark\u2122 is not two letters", Reason.FOREIGN),
        ("A square\u00b2 is not a two either", Reason.FOREIGN),
        ("Half a loaf, \u00bd of it, is enough", Reason.FOREIGN),
        ("A smile \U0001f600 is no letter at all", Reason.FOREIGN),
        ("A bell\x07 rings in every text", Reason.FOREIGN),
        ("... --- ... !?! ... --- ...", Reason.NO_LETTERS),
        ("Far too short.", Reason.TOO_SHORT),
        ("A" * 301, Reason.TOO_LONG),
        ("A " * 151, Reason.TOO_LONG),
        ("A -" * 151, Reason.TOO_LONG),
    ],
)
def test_what_cannot_be_used_is_dropped_for_a_named_reason(raw, reason):
    assert english.clean(raw) is reason


@pytest.mark.parametrize("length", [15, 300])
def test_both_length_limits_are_allowed(length):
    assert english.clean("a" * length) == "A" * length


def test_lengths_count_after_cleaning():
    assert english.clean("a" * 298 + ",b") is Reason.TOO_LONG
    assert english.clean("a" * 297 + "  , ") == "A" * 297 + ","


def test_length_limits_can_be_changed_or_lifted():
    assert Cleaner(min_length=1, max_length=3).clean("abc") == "ABC"
    assert Cleaner(max_length=None).clean("a" * 5000) == "A" * 5000


@pytest.mark.parametrize(("low", "high"), [(0, 10), (20, 10)])
def test_impossible_length_limits_are_an_error(low, high):
    with pytest.raises(AliceError, match=f"{low}"):
        Cleaner(min_length=low, max_length=high)


@given(any_text)
@example('."b." .a,\u201d\u2019"a')
@pytest.mark.parametrize("alphabet", [ENGLISH, LETTERS_AND_SPACE, SPACELESS, FRENCH], ids=lambda a: a.symbols[26:])
def test_cleaning_twice_is_cleaning_once(alphabet, text):
    cleaner = Cleaner(alphabet)
    once = cleaner.normalize(text)
    assert cleaner.normalize(once) == once


@given(any_text)
@pytest.mark.parametrize("cleaner", [english, letters, Cleaner(SPACELESS, 1)], ids=["english", "letters", "spaceless"])
def test_a_cleaned_text_is_within_the_alphabet_and_the_limits(cleaner, text):
    cleaned = cleaner.clean(text)
    if not isinstance(cleaned, Reason):
        assert cleaner.alphabet.encode(cleaned).all()
        assert cleaner.min_length <= len(cleaned) <= cleaner.max_length
        assert cleaner.clean(cleaned) == cleaned


@given(any_text)
def test_no_space_stands_before_a_stop_or_at_an_end_and_no_letter_right_after_a_stop(text):
    cleaned = english.normalize(text)
    assert cleaned == cleaned.strip()
    assert not re.search(r" [.,!?;: ]|[.,!?;:][A-Z]|--", cleaned)


@given(any_text)
def test_clean_gives_what_normalize_gives(text):
    cleaned = Cleaner(min_length=1, max_length=None).clean(text)
    assert isinstance(cleaned, Reason) or cleaned == english.normalize(text)
