"""The planted models, and real texts to read with them."""

from itertools import islice

import pytest
import torch

from alice.planted import NAMES, build
from alice.text import ENGLISH, QUOTES, Batches, EncodedTexts, open_corpus, text_keys

BUILT = [("frequency", "base"), ("frequency", "bijective"), ("neighbours", "base")]


@pytest.fixture(scope="session")
def planted_models():
    """Every planted model that is set by hand, by name and variant; none of the tests changes them."""
    assert {name for name, _ in BUILT} <= set(NAMES)
    return {(name, variant): build(name, variant) for name, variant in BUILT}


@pytest.fixture(params=BUILT, ids="-".join)
def name(request):
    """Name and variant of each of them in turn."""
    return request.param


@pytest.fixture
def planted(name, planted_models):
    """Each of them in turn."""
    return planted_models[name]


@pytest.fixture(scope="session")
def batches():
    """200 short quotations, each with a key of its own."""
    texts = list(islice(open_corpus(QUOTES, max_length=80), 200))
    return list(Batches(EncodedTexts(texts, ENGLISH), ENGLISH, keys=text_keys(len(texts), 0)))


@pytest.fixture(scope="session")
def answers(planted_models, batches):
    """What each model answers to each batch, by name and variant."""
    with torch.inference_mode():
        return {
            name: [planted.model(batch.cipher_ids).argmax(-1).numpy() for batch in batches]
            for name, planted in planted_models.items()
        }
