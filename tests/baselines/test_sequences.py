"""The networks that write: they see no future, what they keep of the past changes nothing, padding neither."""

import pytest
import torch

from alice.baselines.generation import generate
from alice.baselines.sequences import SequenceModel
from alice.baselines.shipped import NETWORKS
from alice.errors import AliceError
from alice.model import ModelConfig
from alice.text import ENGLISH, PAD

CONFIG = ModelConfig(d_model=16, n_layers=4, n_heads=2, d_mlp=24, n_ctx=64, init_std=0.3)
READERS = [name for name in NETWORKS if name != "language-model"]


def model_of(name: str) -> SequenceModel:
    """Return a network with random weights."""
    torch.manual_seed(0)
    return SequenceModel(CONFIG, NETWORKS[name]).eval()


def ids_of(*texts: str) -> torch.Tensor:
    """Return texts of equal length as a batch."""
    return torch.stack([torch.from_numpy(ENGLISH.encode(text).astype("int64")) for text in texts])


CIPHER = ids_of("XQ ZXXQ, ABCA", "LM NOLM. PQR ")
PLAIN = ids_of("HE THHE, AEIA", "IT WASN. THE ")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_later_character_does_not_change_earlier_scores_and_an_earlier_one_changes_later_scores(name):
    model, changed = model_of(name), PLAIN.clone()
    changed[:, 7] = ENGLISH.encode("Z")[0]
    before, after = model(CIPHER, PLAIN), model(CIPHER, changed)
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.isclose(before[:, 8:], after[:, 8:]).all(-1).any()


@pytest.mark.parametrize("name", READERS)
def test_every_character_depends_on_the_whole_ciphertext(name):
    model, changed = model_of(name), CIPHER.clone()
    changed[:, -1] = ENGLISH.encode("X")[0]
    assert not torch.isclose(model(CIPHER, PLAIN)[:, 0], model(changed, PLAIN)[:, 0]).all(-1).any()


def test_the_language_model_does_not_depend_on_the_ciphertext():
    model = model_of("language-model")
    assert torch.equal(model(CIPHER, PLAIN), model(CIPHER.flip(1), PLAIN))


@pytest.mark.parametrize("name", READERS)
def test_what_is_written_is_the_best_letter_given_what_was_written_before(name):
    model = model_of(name)
    written = generate(model, CIPHER)
    letters = torch.from_numpy(ENGLISH.letter_ids)
    best = letters[model(CIPHER, written)[..., letters].argmax(-1)]
    is_letter = torch.isin(CIPHER, letters)
    assert torch.equal(written, torch.where(is_letter, best, CIPHER))


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_one_character_at_a_time_are_those_of_all_at_once(name):
    model = model_of(name)
    memory, found = model.read(CIPHER), []
    for place in range(PLAIN.shape[1]):
        last = PLAIN[:, place - 1 : place] if place else torch.full((2, 1), PAD)
        logits, memory = model.write(last, memory)
        found.append(logits)
    torch.testing.assert_close(torch.cat(found, 1), model(CIPHER, PLAIN), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_padding_does_not_change_the_scores(name):
    model = model_of(name)
    cipher, plain = (torch.nn.functional.pad(ids, (0, 5)) for ids in (CIPHER, PLAIN))
    torch.testing.assert_close(model(cipher, plain)[:, :13], model(CIPHER, PLAIN), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", READERS)
def test_the_answer_does_not_depend_on_the_names_of_the_cipher_letters(name):
    model = model_of(name)
    letters = torch.from_numpy(ENGLISH.letter_ids)
    table = torch.arange(ENGLISH.size)
    table[letters] = letters.roll(7)
    assert torch.equal(generate(model, CIPHER), generate(model, table[CIPHER]))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_text_that_is_too_long_is_one_sentence(name):
    ids = torch.ones(1, CONFIG.n_ctx + 1, dtype=torch.long)
    with pytest.raises(AliceError, match="a text is longer than the 64 characters this model reads; split it"):
        model_of(name)(ids, ids)
