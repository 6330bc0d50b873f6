"""Pages of reports: an edited page is found, damaged data are one sentence, and so is a provenance of nonsense."""

import base64
import hashlib
import json
import re
import warnings
import zlib

import torch
from fuzz.pieces import Choices, Finding, new_folder
from fuzz.result_json import PROVENANCE, RESULT

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import ModelConfig
from alice.plugins.context.models import NamedModel
from alice.plugins.manager import build
from alice.reports import Report
from alice.reports.archive import to_document
from alice.reports.html import render_pages
from alice.reports.verify import embedded
from alice.reports.verify.compare import compare
from alice.reports.verify.page_check import check_pages
from alice.reports.verify.subject import open_subject
from alice.verifying.inputs import CannotRepeatError, Places, open_inputs

SEEDS = (b"\x00\x05\x09", b"\x01\x02\x05\x00\x03\x13", b"\x02" + bytes(range(60)))
FOLDER = new_folder()
PAGE, MODEL = FOLDER / "page.html", FOLDER / "model"
torch.manual_seed(0)
TINY = Alice(ModelConfig(d_model=4, n_layers=1, n_heads=1, d_mlp=2, n_ctx=320, cross_heads=1, hyper_heads=1))
TINY.save_pretrained(MODEL)
(FOLDER / "texts.txt").write_text("THE QUICK BROWN FOX JUMPS OVER A DOG\n" * 2 + "AND THE OTHER ONE SITS\n")
MADE = {
    **PROVENANCE,
    "analysis": "early-exit",
    "checkpoints": [{"name": "model", "sha256": NamedModel("model", TINY).fingerprint, "place": str(MODEL)}],
    "data": [{"model": "model", "source": str(FOLDER / "texts.txt"), "split": "all", "texts": 1, "sha256": "0"}],
    "options": {"samples": 1, "lens": None, "examples": [0]},
    "seed": 0,
    "plugin": {"name": "early_exit", "version": "0.2.0"},
    "machine": {"threads": 1},
}
WHOLE = render_pages(Report(RESULT, MADE), main="page.html")["page.html"]
PLUGINS = build(third_party=False)
NONCE = re.compile(r'[0-9a-f]{32}(?="|&#39;)')


def try_input(data: bytes) -> None:
    """Damage a page or the data inside it, and verify it as far as that goes without running an analysis."""
    choices = Choices(data)
    kind = choices.below(3)
    if kind == 0:
        PAGE.write_bytes(choices.damaged_bytes(WHOLE.encode()))
    else:
        document = to_document(RESULT, MADE) | {"arrays": {}}
        part = choices.pick(["result", "provenance", None])
        damaged = choices.damaged_document(document[part] if part else document, most=4)
        whole = {**document, part: damaged} if part else damaged
        PAGE.write_bytes(embedded.replaced(WHOLE, json.dumps(_packed(choices.written(whole)))).encode())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy and plotly warn of deprecated values
            _verify()
    except AliceError as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise Finding(f"the error is not one sentence: {str(error)[:300]!r}") from error


def _packed(content: bytes) -> dict[str, object]:
    """Return what a page would carry of any content, with its hash."""
    data = base64.b64encode(zlib.compress(content)).decode()
    return {"version": 1, "sha256": hashlib.sha256(content).hexdigest(), "data": data}


def _verify() -> None:
    subject = open_subject(PAGE)
    check = check_pages(subject)
    if any("\n" in line or len(line) > 1000 for line in [*check.differences, *check.notes]):
        raise Finding(f"a difference is not one line: {check}")
    if check.same and not _shows_the_same(PAGE.read_bytes()):
        raise Finding("an edited page passes")
    compare(RESULT, subject.report.result, arrays=False)
    try:
        open_inputs(subject.report, PLUGINS, Places())
    except CannotRepeatError:
        return


def _shows_the_same(page: bytes) -> bool:
    """Return whether a page is the whole one apart from its nonces, its line ends and where the gallery lies."""

    def plain(text: str) -> str:
        text = re.sub(r'(?:src|href)="[^"]*/(plotly\.min\.js|index\.html)"', r"\1", NONCE.sub("", text))
        return embedded.replaced(text.replace("\r\n", "\n"), "")

    return plain(page.decode()) == plain(WHOLE)
