"""The error that a user can fix: one sentence that says what is wrong, where, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class AliceError(Exception):
    """Something the user can fix; the command line prints it as one line, without a traceback."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        """Describe what is wrong.

        Args:
            message: the sentence.
            hint: what to do on the command line, such as an option to use; `for_command_line` adds it.

        """
        super().__init__(message)
        self.hint = hint

    def for_command_line(self) -> str:
        """Return the message with the hint."""
        return f"{self}; {self.hint}" if self.hint else str(self)


def nearest(name: str, known: Iterable[str], *, count: int = 3) -> str:
    """Return `; did you mean ...?` for the known names closest to `name`, or an empty string; it ends the sentence."""
    names = {one.casefold(): one for one in known}
    matches = [names[match] for match in get_close_matches(name.casefold(), names, n=count, cutoff=0.5)]
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, with its type first unless it is an AliceError."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # the `__str__` of a plugin's error may fail
        text = ""
    if isinstance(error, AliceError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def printable(text: str) -> str:
    """Return a text with control characters escaped, which could change the terminal or hide a part of the line."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
