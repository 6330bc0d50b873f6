"""What is verified: a stored report, its page, and the data that belong to both."""

from dataclasses import dataclass
from pathlib import Path

from alice.errors import AliceError
from alice.files import read_text
from alice.reports.archive import RESULT, Report, read_report
from alice.reports.html import BYTES_OF_HEAD, MARK, REPORT
from alice.reports.verify.embedded import Embedded

LARGEST_PAGE = 256_000_000
"""Bytes of a page that is read; the drawing script of a standalone page has 5 MB."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A report to verify."""

    report: Report
    """The report; without arrays and artefacts if it was read from a page alone."""
    page: Path
    """Its page, which may be missing from a folder."""
    embedded: Embedded
    """The data as a page carries them."""
    stored: bool
    """Whether the data come from a report folder, and not from the page."""

    @property
    def text(self) -> str:
        """The text of the page."""
        return read_page(self.page)


def open_subject(path: Path) -> Subject:
    """Open a report folder, a page in one, or a page alone."""
    if path.is_dir():
        if not (path / RESULT).is_file():
            raise AliceError(f"{path} has no {RESULT}; give the folder of a report, or its {REPORT}")
        return _stored(path, path / REPORT)
    text = read_page(path)
    if (path.parent / RESULT).is_file():
        return _stored(path.parent, path)
    embedded = Embedded.read(text, str(path))
    return Subject(embedded.report(f"the data inside {path}"), path, embedded, stored=False)


def _stored(folder: Path, page: Path) -> Subject:
    report = read_report(folder)
    return Subject(report, page, Embedded.of(report), stored=True)


def read_page(path: Path) -> str:
    """Return the text of a page of ours, with plain line ends; raise if it is something else."""
    try:
        text = read_text(path, most=LARGEST_PAGE)
    except FileNotFoundError as error:
        raise AliceError(f"{path} does not exist; give the folder of a report, or its {REPORT}") from error
    except OSError as error:
        raise AliceError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise AliceError(f"{path} is not a page of a report: it is not UTF-8") from error
    if MARK.decode() not in text[:BYTES_OF_HEAD]:
        raise AliceError(f"{path} is not a page of a report; give the folder of a report, or its {REPORT}")
    return text.replace("\r\n", "\n")
