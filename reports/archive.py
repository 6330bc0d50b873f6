"""Writes a report into a folder and reads it back unchanged: `result.json`, its arrays and its artefacts.

Reading is strict, because a folder may come from an untrusted source. The same result and provenance give the same
bytes.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.files import atomic_write, read_json
from alice.reports import checks, encoding
from alice.reports.checks import Array
from alice.reports.explorer.state import Trial
from alice.reports.names import listed
from alice.reports.parts import KINDS, Card, Figure, HeatText, Metric, Section, Table
from alice.reports.result import Result

RESULT = "result.json"
ARRAYS = "arrays.npz"
FORMAT = "alice-interp result"
VERSION = 4
READABLE = (2, 3, VERSION)
"""Versions that can be read; version 2 had no sections, texts with heat, cards and titles, version 3 no trials."""
VOLATILE = ("time", "machine", "duration")
"""Entries of the provenance that differ between two reports of the same analysis with the same inputs."""


@dataclass(frozen=True, eq=False)
class Report:
    """A result with its provenance: what `alice.run` returns, what `save` writes, what a report folder holds."""

    result: Result
    """What was found."""
    provenance: Mapping[str, Any]
    """How it was made: analysis, options, seed, checkpoints, data, plugin, versions, time, machine, duration.

    Every entry is optional.
    """
    folder: Path | None = None
    """Where it is stored; None if it is not."""

    @property
    def title(self) -> str:
        """Heading of the report."""
        return self.result.title

    @property
    def summary(self) -> str:
        """What it shows, in words."""
        return self.result.summary

    @property
    def metrics(self) -> Sequence[Metric]:
        """Single numbers, texts or truth values."""
        return self.result.metrics

    @property
    def tables(self) -> Mapping[str, Table]:
        """Tables by name."""
        return self.result.tables

    @property
    def figures(self) -> Mapping[str, Figure]:
        """Figures by name."""
        return self.result.figures

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Arrays by name."""
        return self.result.arrays

    @property
    def texts(self) -> Mapping[str, HeatText]:
        """Texts with heat by name."""
        return self.result.texts

    @property
    def cards(self) -> Mapping[str, Card]:
        """Cards by name."""
        return self.result.cards

    @property
    def sections(self) -> Sequence[Section]:
        """Parts of the report under headings."""
        return self.result.sections

    @property
    def artefacts(self) -> Mapping[str, Mapping[str, Array]]:
        """Named tensors, as numpy arrays, by the name of the artefact."""
        return self.result.artefacts

    @property
    def analysis(self) -> str:
        """Name of the analysis, or an empty string."""
        return _text(self.provenance.get("analysis"))

    @property
    def models(self) -> list[str]:
        """Names of the checkpoints."""
        checkpoints = self.provenance.get("checkpoints")
        entries = checkpoints if isinstance(checkpoints, list | tuple) else ()
        return [name for entry in entries if isinstance(entry, Mapping) and (name := _text(entry.get("name")))]

    @property
    def date(self) -> str:
        """When the analysis ran, to the minute, or an empty string."""
        return _text(self.provenance.get("time"))[:16].replace("T", " ")

    @property
    def stored_in(self) -> Path:
        """The folder of a stored report."""
        if self.folder is None:
            raise AliceError("this report is not stored yet; call save() first")
        return self.folder

    def metric(self, name: str, model: str | None = None) -> Metric:
        """Return a metric by name; `model` may be omitted if only one model has it."""
        return self.result.metric(name, model)

    def figure(self, name: str, model: str = "") -> Figure:
        """Return a figure by name, and by model if it belongs to one."""
        return self.result.figure(name, model)

    def array(self, name: str, model: str = "") -> Array:
        """Return an array by name, and by model if it belongs to one."""
        return self.result.array(name, model)

    def artefact(self, name: str, model: str = "") -> Mapping[str, Array]:
        """Return the tensors of an artefact by name, and by model if it belongs to one, as numpy arrays."""
        return self.result.artefact(name, model)

    def save(self, out: Path | str = "runs", *, standalone: bool = False) -> "Report":
        """Write the report into a new folder of `out`, with its page, and add it to the gallery there."""
        from alice.reports.publish import publish

        return publish(self, out, standalone=standalone)

    def __repr__(self) -> str:
        parts = (self.analysis, f"on {listed(self.models)}" if self.models else "")
        about = " ".join(part for part in parts if part) or self.title
        headline = self.result.headline_text()
        stored = f"; saved in {self.folder}" if self.folder is not None else ""
        return f"<Report {about}{f': {headline}' if headline else ''} | {self.result.contents()}{stored}>"

    def __str__(self) -> str:
        """Return title, metrics and folder, one per line."""
        several = len({metric.model for metric in self.metrics if metric.model}) > 1
        metrics = [
            f"  {metric.label}{f', {metric.model}' if several and metric.model else ''}: {metric}"
            for metric in self.metrics
        ]
        stored = f"saved in {self.folder}" if self.folder is not None else "not saved; call save()"
        return "\n".join([self.title, *metrics, stored])

    def _repr_html_(self) -> str:
        """Show title, summary and metrics in a notebook."""
        rows = "".join(
            f"<tr><td>{escape(metric.label)}</td><td>{escape(metric.model)}</td><td>{escape(str(metric))}</td></tr>"
            for metric in self.metrics
        )
        table = f"<table><tr><th>metric</th><th>model</th><th>value</th></tr>{rows}</table>" if rows else ""
        return f"<h3>{escape(self.title)}</h3><p>{escape(self.summary)}</p>{table}"


def write_result(folder: Path | str, result: Result, provenance: Mapping[str, Any]) -> Report:
    """Write a result into an existing folder; `result.json` is written last, so a folder that has it is complete."""
    folder = Path(folder)
    packed = encoding.pack_arrays(result.arrays)
    document = _document(result, provenance, hashlib.sha256(packed).hexdigest())
    with atomic_write(folder / ARRAYS, "wb") as file:
        file.write(packed)
    for name, tensors in result.artefacts.items():
        encoding.write_tensors(folder, name, tensors, document["provenance"])
    with atomic_write(folder / RESULT) as file:
        file.write(encoding.write_json(document))
    return Report(result, encoding.decode(document["provenance"]), folder)


def read_report(folder: Path | str) -> Report:
    """Read a report from its folder."""
    return _read(Path(folder), with_arrays=True)


def read_without_arrays(folder: Path | str) -> Report:
    """Read a report except for its arrays, which no page shows."""
    return _read(Path(folder), with_arrays=False)


def fingerprint(result: Result) -> str:
    """Return a hash of everything in a result: two results are the same if their fingerprints are."""
    return hashlib.sha256(encoding.write_json(to_document(result, {})).encode()).hexdigest()


def to_document(result: Result, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `result.json`, in which arrays and artefacts are named by their hashes."""
    return _document(result, provenance, hashlib.sha256(encoding.pack_arrays(result.arrays)).hexdigest())


def from_document(document: Any, where: str) -> Report:
    """Return the report of such a content without its arrays and artefacts; `where` begins the sentence of an error."""
    return _report(_check_document(document, where), where)


def _read(folder: Path, *, with_arrays: bool) -> Report:
    path = folder / RESULT
    return _report(_parse(path), str(path), folder, with_arrays=with_arrays)


def _report(document: dict[str, Any], where: str, folder: Path | None = None, *, with_arrays: bool = False) -> Report:
    """Return the report of a document, with the arrays and artefacts in its folder if asked."""
    try:
        arrays = encoding.read_arrays(folder / ARRAYS, document["arrays_sha256"]) if folder and with_arrays else {}
        stored = _read_artefacts(folder, document.get("artefacts", {})) if folder and with_arrays else {}
        provenance = encoding.decode(document["provenance"])
        result = _result(document["result"], arrays, stored)
    except encoding.BrokenArraysError:
        raise
    except Exception as error:  # numpy and plotly may raise any exception for a damaged document
        raise AliceError(f"{where} is damaged: {_sentence(error)}") from error
    if not isinstance(provenance, dict):
        raise AliceError(f"{where} is damaged: its provenance is not an object")
    return Report(result, provenance, folder)


def _read_artefacts(folder: Path, hashes: Mapping[str, str]) -> dict[str, dict[str, Array]]:
    """Read artefacts that must have the given hashes."""
    found = {}
    for name, sha256 in hashes.items():
        path = folder / f"{checks.name(name, 'artefacts')}{encoding.SUFFIX}"
        found[name] = encoding.read_tensors(path)[0]
        if encoding.tensors_hash(found[name]) != sha256:
            raise encoding.BrokenArraysError(f"{path} does not belong to its result.json; run the analysis again")
    return found


def _parse(path: Path) -> dict[str, Any]:
    """Return the document of a file in our format and version."""
    try:
        document = read_json(path)
    except FileNotFoundError as error:
        raise AliceError(f"{path} does not exist; give the folder of a complete report") from error
    except OSError as error:
        raise AliceError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, MemoryError) as error:
        raise AliceError(f"{path} is not valid JSON: {_sentence(error)}") from error
    return _check_document(document, str(path))


def _check_document(document: Any, where: str) -> dict[str, Any]:
    """Return a document of our format and version; raise if it is another."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise AliceError(f"{where} is not a result of alice-interp; give the folder of a report")
    version = document.get("version")
    if version == 1:
        raise AliceError(f"{where} has the old format version 1, which cannot be read any more; run the analysis again")
    if version not in READABLE:
        raise AliceError(f"{where} has format version {version!r:.60}, not {VERSION}; upgrade the program to read it")
    return document


def _sentence(error: BaseException) -> str:
    """Return the first line of a library's error, shortened: it may quote the whole file."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip()[:160]


def _document(result: Result, provenance: Mapping[str, Any], arrays_sha256: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "result": {
            "title": result.title,
            "summary": result.summary,
            "caveats": list(result.caveats),
            "metrics": [_metric_document(metric) for metric in result.metrics],
            "headline": result.headline,
            "tables": {name: _table_document(table) for name, table in result.tables.items()},
            "figures": {name: _figure_document(figure) for name, figure in result.figures.items()},
            "texts": {name: _text_document(text) for name, text in result.texts.items()},
            "cards": {name: _card_document(card) for name, card in result.cards.items()},
            "sections": [_section_document(section) for section in result.sections],
            "trials": [_trial_document(trial) for trial in result.trials],
        },
        "arrays_sha256": arrays_sha256,
        "artefacts": {name: encoding.tensors_hash(tensors) for name, tensors in result.artefacts.items()},
        "provenance": encoding.encode(provenance, "the provenance"),
    }


def _metric_document(metric: Metric) -> dict[str, Any]:
    return {name: encoding.encode(value, metric.name) for name, value in vars(metric).items()}


def _table_document(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.columns),
        "labels": dict(table.labels),
        "caption": table.caption,
        "monospace": list(table.monospace),
        "title": table.title,
        "rows": [encoding.encode(row, "a table") for row in table.rows],
    }


def _figure_document(figure: Figure) -> dict[str, Any]:
    table = None if figure.data is None else _table_document(figure.data)
    return {"caption": figure.caption, "title": figure.title, "table": table, "plotly": json.loads(figure.json)}


def _text_document(text: HeatText) -> dict[str, Any]:
    weights = [[symbol, encoding.encode(values, "the weights")] for symbol, values in text.by_symbol.items()]
    return {**vars(text), "weights": weights, "notes": list(text.notes)}


def _card_document(card: Card) -> dict[str, Any]:
    return {
        "title": card.title,
        "text": card.text,
        "metrics": [_metric_document(metric) for metric in card.metrics],
        "texts": [_text_document(text) for text in card.texts],
    }


def _section_document(section: Section) -> dict[str, Any]:
    names = {kind: list(getattr(section, kind)) for kind in KINDS}
    below = [_section_document(inner) for inner in section.sections]
    return {**vars(section), **names, "sections": below}


def _trial_document(trial: Trial) -> dict[str, Any]:
    return {"label": trial.label, "model": trial.model, "state": encoding.encode(trial.state, "a trial")}


def _result(document: dict[str, Any], arrays: Mapping[str, Any], stored: Mapping[str, Any]) -> Result:
    fields = {**document}
    tables, figures, metrics = fields.pop("tables"), fields.pop("figures"), fields.pop("metrics")
    texts, cards, sections = fields.pop("texts", {}), fields.pop("cards", {}), fields.pop("sections", ())
    trials = fields.pop("trials", ())
    return Result(
        **fields,  # an unknown field is a TypeError
        metrics=[_metric(metric) for metric in metrics],
        tables={name: _table(table) for name, table in tables.items()},
        figures={name: _figure(figure) for name, figure in figures.items()},
        arrays=arrays,
        artefacts=stored,
        texts={name: _heat_text(text) for name, text in texts.items()},
        cards={name: _card(card) for name, card in cards.items()},
        sections=[_section(section) for section in sections],
        trials=[Trial(**{**trial, "state": encoding.decode(trial["state"])}) for trial in trials],
    )


def _metric(document: dict[str, Any]) -> Metric:
    return Metric(**{name: encoding.decode(value) for name, value in document.items()})


def _table(document: dict[str, Any]) -> Table:
    return Table(**{**document, "rows": [encoding.decode(row) for row in document["rows"]]})


def _figure(document: dict[str, Any]) -> Figure:
    import plotly.graph_objects as go

    caption, table, drawn = (document[name] for name in ("caption", "table", "plotly"))
    return Figure(go.Figure(drawn), caption, None if table is None else _table(table), document.get("title", ""))


def _heat_text(document: dict[str, Any]) -> HeatText:
    return HeatText(**{**document, "weights": {symbol: encoding.decode(row) for symbol, row in document["weights"]}})


def _card(document: dict[str, Any]) -> Card:
    metrics = [_metric(metric) for metric in document["metrics"]]
    return Card(**{**document, "metrics": metrics, "texts": [_heat_text(text) for text in document["texts"]]})


def _section(document: dict[str, Any]) -> Section:
    return Section(**{**document, "sections": [_section(inner) for inner in document["sections"]]})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
