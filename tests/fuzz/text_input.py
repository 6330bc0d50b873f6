"""Texts to solve, clean and transcribe: only letters change, and cleaned texts are in the alphabet."""

from string import ascii_letters
from typing import get_args

from fuzz.pieces import Choices, Finding, new_folder

from alice.errors import AliceError
from alice.plugins.builtin.borg.transcription import Style, align, plain_words, read_transcription
from alice.solving.solution import read, solve_with
from alice.text.alphabet import ALPHABETS, LETTERS, Alphabet
from alice.text.cleaning import Cleaner, Reason

SEEDS = (b"\x01", b"\x00Uifsf jt b ufyu, \xe2\x80\x94 boe \xc3\xa9!", b"\x05\x02,,\n- \n<a> #b\n[c] (d) s12  / s13")
NEXT = str.maketrans(ascii_letters, "bcdefghijklmnopqrstuvwxyzaBCDEFGHIJKLMNOPQRSTUVWXYZA")
ALPHABET = [*ALPHABETS.values(), Alphabet(LETTERS + " .é—'"), Alphabet(LETTERS + "ßı-")]
CLEANERS = [Cleaner(alphabet, shortest, shortest + 40) for alphabet in ALPHABET for shortest in (1, 5)]
FOLDER = new_folder()


def try_input(data: bytes) -> None:
    """Solve, clean and transcribe a text made from the bytes."""
    choices = Choices(data)
    cleaner, style, longest = choices.pick(CLEANERS), choices.pick(get_args(Style)), 1 + choices.below(20)
    raw = bool(choices.below(2))
    text = choices.rest().decode(errors="surrogateescape") if raw else choices.text(200)
    _try_reading(text, cleaner.alphabet)
    _try_solving(text)
    _try_cleaning(text, cleaner)
    _try_transcribing(text, style, longest)


def _try_reading(text: str, alphabet: Alphabet) -> None:
    reading = read(text, alphabet)
    plain = alphabet.decode(reading.ids)
    if reading.write_back(plain) != text:
        raise Finding(f"read and written back, {text!r} is {reading.write_back(plain)!r}")
    fault = reading.fault(5)
    if (len(reading.ids) <= 5 and any(sign in ascii_letters for sign in text)) == bool(fault):
        raise Finding(f"{text!r} has the fault {fault!r}")


def _try_solving(text: str) -> None:
    (solution,) = solve_with(lambda cipher: cipher.translate(NEXT), [text])
    solved = bool(solution.key)
    if solution.plaintext != (text.translate(NEXT) if solved else text) or not (solved or solution.note):
        raise Finding(f"{text!r} is solved as {solution!r}")


def _try_cleaning(text: str, cleaner: Cleaner) -> None:
    cleaned = cleaner.clean(text)
    once = cleaner.normalize(text)
    if cleaner.normalize(once) != once:
        raise Finding(f"cleaning {text!r} twice gives {cleaner.normalize(once)!r}, not {once!r}")
    if isinstance(cleaned, Reason):
        return
    cleaner.alphabet.encode(cleaned)
    longest = cleaner.max_length or len(cleaned)
    if cleaner.clean(cleaned) != cleaned or not cleaner.min_length <= len(cleaned) <= longest:
        raise Finding(f"{text!r} is cleaned to {cleaned!r}, and that to {cleaner.clean(cleaned)!r}")


def _try_transcribing(text: str, style: Style, longest: int) -> None:
    file = FOLDER / "cipher.txt"
    file.write_bytes(text.encode(errors="surrogatepass"))
    try:
        found = read_transcription(file, style, ignored=text[:2])
        meant = align(found, plain_words(text).words)
    except AliceError:
        return
    if set(meant.values()) - set(LETTERS) or not set(meant) <= set(found.symbols):
        raise Finding(f"{text!r} is aligned as {meant}")
    passages = found.passages(longest)
    if any(sum(map(len, part.words)) + len(part.words) - 1 > longest for part in passages):
        raise Finding(f"a passage of {text!r} is longer than {longest}")
    if {symbol for part in passages for symbol in part.symbols} != set(found.symbols):
        raise Finding(f"passages of {text!r} lose symbols")
