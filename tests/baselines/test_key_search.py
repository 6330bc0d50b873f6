"""The beam search over keys that a language model scores."""

import pytest
import torch

from alice.baselines.key_search import NeuralBeamSearch
from alice.baselines.sequences import SequenceModel
from alice.baselines.shipped import NETWORKS
from alice.model import ModelConfig
from alice.text import ENGLISH, Key

CONFIG = ModelConfig(d_model=16, n_layers=2, n_heads=2, d_mlp=24, n_ctx=64)
PLAIN = "THE HEN, THE TENTH HEN!"


class Knows(SequenceModel):
    """A language model that expects the characters of one text, whatever came before."""

    def write(self, before, memory):
        wanted = torch.from_numpy(ENGLISH.encode(PLAIN).astype("int64"))
        logits = torch.zeros(*before.shape, ENGLISH.size)
        logits[:, torch.arange(len(wanted)), wanted] = 5.0
        return logits, memory


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_it_finds_the_key_of_the_text_that_the_model_expects(weight):
    search = NeuralBeamSearch(Knows(CONFIG, NETWORKS["language-model"]), frequency_weight=weight)
    key = Key("QWERTYUIOPASDFGHJKLZXCVBNM")
    assert search.solve(key.encrypt(PLAIN)) == PLAIN


def test_the_frequency_term_prefers_letters_that_are_as_frequent_as_they_should_be():
    torch.manual_seed(0)
    model = SequenceModel(CONFIG, NETWORKS["language-model"]).eval()
    cipher = "XXXX" + "ABCDEFGHIJKLMNOPQRSTUVWYZ" + "XX"
    assert NeuralBeamSearch(model, frequency_weight=1e3).solve(cipher)[0] == "E"


def test_every_key_is_one_to_one():
    torch.manual_seed(0)
    search = NeuralBeamSearch(SequenceModel(CONFIG, NETWORKS["language-model"]).eval(), beam=2)
    cipher = "THE QUICK BROWN FOX, JUMPS OVER THE LAZY DOG"
    pairs = set(zip(cipher, search.solve(cipher), strict=True))
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)


def test_the_score_of_a_decided_text_is_its_log_probability():
    torch.manual_seed(0)
    model = SequenceModel(CONFIG, NETWORKS["language-model"]).eval()
    ids = torch.from_numpy(ENGLISH.encode(PLAIN).astype("int64"))
    found = NeuralBeamSearch(model)._score(torch.arange(ENGLISH.size)[None], ids, torch.bincount(ids, minlength=37))
    logs = model(ids[None], ids[None]).log_softmax(-1)
    torch.testing.assert_close(found.scores[0], logs[0, torch.arange(len(ids)), ids].sum())
