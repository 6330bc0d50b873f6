import json
import socket
from itertools import islice

import pytest

from alice.errors import AliceError
from alice.text.corpus import open_corpus

RAW = ["A first sentence, long enough", "short", "The second: \u201cwith quotes\u201d", "A FIRST sentence ,long enough"]
CLEANED = ["A FIRST SENTENCE, LONG ENOUGH", 'THE SECOND: "WITH QUOTES"']


def write_rows(path, texts):
    path.write_text("\n".join(json.dumps({"number": 1, "text": text}) for text in texts))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a test reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def dataset_folder(tmp_path, no_network):
    (tmp_path / "data").mkdir()
    write_rows(tmp_path / "data" / "train.jsonl", RAW)
    write_rows(tmp_path / "data" / "test.jsonl", RAW[2:3])
    return tmp_path


def test_a_dataset_folder_is_streamed_by_split(dataset_folder):
    corpus = open_corpus(f"hf:{dataset_folder}")
    assert list(corpus) == list(corpus) == CLEANED
    assert list(open_corpus(f"hf:{dataset_folder}:test")) == CLEANED[1:]


def test_a_dataset_has_a_fingerprint_of_its_texts(dataset_folder):
    train, test = (open_corpus(f"hf:{dataset_folder}:{split}").fingerprint() for split in ("train", "test"))
    assert train != test
    assert train == open_corpus(f"hf:{dataset_folder}").fingerprint()


def test_a_dataset_saved_to_disk_is_read_too(tmp_path, no_network):
    import datasets

    datasets.disable_progress_bars()
    whole = datasets.Dataset.from_dict({"quote": RAW})
    whole.save_to_disk(tmp_path / "whole")
    datasets.DatasetDict({"test": whole}).save_to_disk(tmp_path / "parts")
    assert list(open_corpus(f"hf:{tmp_path}/whole")) == CLEANED
    assert list(open_corpus(f"hf:{tmp_path}/parts:test")) == CLEANED


def test_a_missing_split_column_or_folder_of_a_dataset_is_named(dataset_folder):
    with pytest.raises(AliceError, match=r"no split 'validation', only '.*; put one of them"):
        next(iter(open_corpus(f"hf:{dataset_folder}:validation")))
    with pytest.raises(AliceError, match="has no column 'motto', only 'number', 'text'"):
        next(iter(open_corpus(f"hf:{dataset_folder}", text_column="motto")))
    with pytest.raises(AliceError, match="no dataset folder"):
        open_corpus(f"hf:{dataset_folder}/nowhere")
    with pytest.raises(AliceError, match="names no dataset"):
        open_corpus("hf:")


def test_a_dataset_is_looked_up_with_a_time_limit_before_it_is_streamed(monkeypatch):
    """The library itself would retry for minutes."""
    asked = []

    def never_answer(dataset, timeout):
        asked.append((dataset, timeout))
        raise TimeoutError("no answer")

    monkeypatch.setattr("huggingface_hub.dataset_info", never_answer)
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: pytest.fail("went on without an answer"))
    with pytest.raises(AliceError, match=r"cannot open dataset 'somebody/quotes'.*\(no answer\); check the name"):
        next(iter(open_corpus("hf:somebody/quotes")))
    assert asked == [("somebody/quotes", 10.0)]


def test_a_dataset_that_cannot_be_opened_or_read_is_one_sentence(tmp_path, no_network):
    with pytest.raises(AliceError, match=r"cannot open dataset .*check the name"):
        list(open_corpus(f"hf:{tmp_path}"))
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": RAW[0]}) + "\nnot JSON")
    with pytest.raises(AliceError, match=r"cannot (open|continue reading) dataset"):
        list(islice(open_corpus(f"hf:{tmp_path}"), 5))
