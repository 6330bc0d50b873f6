"""Corpus files of every format, intact and damaged: they are read as texts, or the error is one sentence."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.pieces import ODD_VALUES, Choices, Finding, new_folder

from alice.errors import AliceError
from alice.text.corpus import open_corpus
from alice.text.formats import READERS

SEEDS = (b"\x01", b"\x06\x03\x00\x00abc", b"\x04\x01\x01\x05hello", b"\x02\x00\x02")
FOLDER = new_folder()
TYPES = (
    pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.float16(), pa.timestamp("ns"), pa.timestamp("s"),
    pa.list_(pa.string()), pa.struct([("text", pa.string())]), pa.dictionary(pa.int32(), pa.string()), pa.null(),
    pa.decimal128(38, 3), pa.duration("s"), pa.date64(), pa.time64("ns"),
)  # fmt: skip


def try_input(data: bytes) -> None:
    """Write a file of any format and read it as a corpus."""
    choices = Choices(data)
    ending = choices.pick(list(READERS))
    column = choices.pick([None, None, None, "text", "quote", "other", ""])
    texts = [choices.text() for _ in range(choices.below(4))]
    if choices.below(4):
        content = made = _content(ending, texts, choices)
        content = choices.damaged_bytes(content)
    else:
        content, made = choices.rest(), None
    if ending.endswith(".gz") and made is not None and choices.below(8):
        content = made = gzip.compress(content)
        content = choices.damaged_bytes(content)
    file = FOLDER / f"corpus{ending}"
    file.write_bytes(content)
    try:
        corpus = open_corpus(str(file), min_length=1, text_column=column)
        kept = list(corpus)
        raw = list(corpus.raw_texts())
        corpus.fingerprint()
    except AliceError as error:
        if "\n" in str(error) and not any("\n" in text or "\r" in text for text in texts):
            raise Finding(f"{error} has several lines") from error
        return
    if any(not isinstance(text, str) for text in raw) or len(kept) > len(raw):
        raise Finding(f"{ending} gives {raw} and keeps {kept}")


def _content(ending: str, texts: list[str], choices: Choices) -> bytes:
    if ending == ".parquet":
        return _parquet(texts, choices)
    out = io.StringIO(newline="")
    if ending.startswith(".csv"):
        csv.writer(out).writerows([["id", "text"], *([str(number), text] for number, text in enumerate(texts))])
    elif ending.startswith(".jsonl"):
        records = [{"text": text} for text in texts] + [choices.damaged_document({"text": "a", "b": [1]})]
        out.writelines(json.dumps(record, ensure_ascii=bool(choices.below(2))) + "\n" for record in records)
        out.write(choices.pick(["", "\n", json.dumps(choices.pick(ODD_VALUES)), "[" * 3000, "9" * 5000, "{" * 200_000]))
    else:
        out.writelines(f"{text}\n" for text in texts)
    return out.getvalue().encode(errors="surrogatepass")


def _parquet(texts: list[str], choices: Choices) -> bytes:
    kind = choices.pick(TYPES)
    values = [text.encode(errors="surrogatepass") for text in texts]
    try:
        # Invalid UTF-8 gets into a text column without a check, as other programs write it.
        column = pa.array(values, pa.binary()).view(pa.string()) if pa.types.is_string(kind) else _column(kind, choices)
        return _stored(column, choices)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return _stored(pa.array([None], kind), choices)


def _stored(column: pa.Array, choices: Choices) -> bytes:
    out = io.BytesIO()
    names = choices.pick([["text"], ["quote"], ["id"], [""], ["te.xt"]])
    pq.write_table(pa.table([column], names=names), out, compression=choices.pick(["none", "snappy", "gzip", "zstd"]))
    return out.getvalue()


def _column(kind: pa.DataType, choices: Choices) -> pa.Array:
    odd = choices.pick([0, 2**62, -(2**62), 1.5, "a", b"\xff", ["a"], {"text": "a"}, None])
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array([odd], whole).view(kind)
    return pa.array([odd], kind)
