"""Corpus files of every format, whole and damaged: what is whole comes back, what is not is a sentence."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.pieces import ODD_VALUES, Dice, Finding, new_folder

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
    dice = Dice(data)
    ending = dice.pick(list(READERS))
    column = dice.pick([None, None, None, "text", "quote", "other", ""])
    texts = [dice.text() for _ in range(dice.below(4))]
    if dice.below(4):
        content = made = _content(ending, texts, dice)
        content = dice.damaged_bytes(content)
    else:
        content, made = dice.rest(), None
    if ending.endswith(".gz") and made is not None and dice.below(8):
        content = made = gzip.compress(content)
        content = dice.damaged_bytes(content)
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


def _content(ending: str, texts: list[str], dice: Dice) -> bytes:
    if ending == ".parquet":
        return _parquet(texts, dice)
    out = io.StringIO(newline="")
    if ending.startswith(".csv"):
        csv.writer(out).writerows([["id", "text"], *([str(number), text] for number, text in enumerate(texts))])
    elif ending.startswith(".jsonl"):
        records = [{"text": text} for text in texts] + [dice.damaged_document({"text": "a", "b": [1]})]
        out.writelines(json.dumps(record, ensure_ascii=bool(dice.below(2))) + "\n" for record in records)
        out.write(dice.pick(["", "\n", json.dumps(dice.pick(ODD_VALUES)), "[" * 3000, "9" * 5000, "{" * 200_000]))
    else:
        out.writelines(f"{text}\n" for text in texts)
    return out.getvalue().encode(errors="surrogatepass")


def _parquet(texts: list[str], dice: Dice) -> bytes:
    kind = dice.pick(TYPES)
    values = [text.encode(errors="surrogatepass") for text in texts]
    try:
        # Bytes that are no UTF-8 get into a column of texts without a check, as other programs write them.
        column = pa.array(values, pa.binary()).view(pa.string()) if pa.types.is_string(kind) else _column(kind, dice)
        return _stored(column, dice)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return _stored(pa.array([None], kind), dice)


def _stored(column: pa.Array, dice: Dice) -> bytes:
    out = io.BytesIO()
    names = dice.pick([["text"], ["quote"], ["id"], [""], ["te.xt"]])
    pq.write_table(pa.table([column], names=names), out, compression=dice.pick(["none", "snappy", "gzip", "zstd"]))
    return out.getvalue()


def _column(kind: pa.DataType, dice: Dice) -> pa.Array:
    odd = dice.pick([0, 2**62, -(2**62), 1.5, "a", b"\xff", ["a"], {"text": "a"}, None])
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array([odd], whole).view(kind)
    return pa.array([odd], kind)
