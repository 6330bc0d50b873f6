"""`result.json` of a report: what loads can be stored again unchanged, and its page can be made."""

import json
import warnings

import numpy as np
import plotly.graph_objects as go
from fuzz.pieces import Choices, Finding, new_folder

from alice.errors import AliceError
from alice.reports import Card, Figure, HeatText, Metric, Result, Section, Table, archive
from alice.reports.encoding import encode
from alice.reports.html import render_pages
from alice.reports.thumbnail import sketch

SEEDS = (b"\x01", b"\x02\x01\x05\x00\x03\x13\x22", b"\x03" + bytes(range(80)))
FOLDER, AGAIN = new_folder(), new_folder()
PLAIN = {"template": {}}
"""Plotly's own template would take nearly all of the time."""
TRACES = [
    go.Scatter(x=np.arange(3), y=[1.0, 2.0, 0.5], mode="lines"),
    go.Heatmap(z=np.eye(2), x=["a", "b"]),
    go.Bar(x=["a", "b"], y=[1, 2], marker={"color": "#123456"}),
]
RESULT = Result(
    "Title",
    "Words.\n\nMore.",
    ["Beware."],
    [
        Metric("ser", 0.25, 0.1, unit="%", model="base", label="symbol error rate"),
        Metric("ser", 0.5, interval=(0.1, 0.9), model="tiny"),
        Metric("none", float("nan")),
        Metric("name", "tiny"),
        Metric("good", True),
    ],
    "ser",
    {"texts": Table(["layer", "text"], [[0, "abc"], [1, None]], "Texts.", {"text": "a text"}, ["text"])},
    {"all": Figure(go.Figure(TRACES, {"xaxis": {"title": {"text": "x"}}} | PLAIN), "Three.", Table(["x"], [[1.5]]))},
    texts={"heat": HeatText("AB", {"A": [1.0, float("nan")], "B": [0, -2]}, below="CD", notes=["", "n"], limit=3)},
    cards={"card": Card("Card", "Words.", [Metric("m", 1)], [HeatText("A", [1])])},
    sections=[
        Section("first", "First", figures=["all"], sections=[Section("inner", "Inner", texts=["heat"])]),
        Section("page", "Page", cards=["card"], page=True),
    ],
)
PROVENANCE = {"analysis": "a", "checkpoints": [{"name": "tiny"}], "options": {"n": [1, None]}, "time": "2026-01"}
archive.write_result(FOLDER, RESULT, PROVENANCE)
DOCUMENT = json.loads((FOLDER / archive.RESULT).read_text())


def try_input(data: bytes) -> None:
    """Damage a result and read it, store it again and make its page."""
    choices = Choices(data)
    shown = not choices.below(4)
    (FOLDER / archive.RESULT).write_bytes(choices.written(choices.damaged_document(DOCUMENT, most=4)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy and plotly warn of deprecated values
            run = archive.read_report(FOLDER)
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise Finding(f"the error is not one sentence: {str(error)[:300]!r}") from error
        return
    archive.write_result(AGAIN, run.result, run.provenance)
    again = archive.read_report(AGAIN)
    if archive.fingerprint(again.result) != archive.fingerprint(run.result):
        raise Finding(f"the stored result differs: {run.result} and {again.result}")
    if repr(encode(again.provenance, "")) != repr(encode(run.provenance, "")):
        raise Finding(f"the stored provenance differs: {run.provenance} and {again.provenance}")
    if shown:
        render_pages(run)
        for figure in run.result.figures.values():
            sketch(figure.json)
