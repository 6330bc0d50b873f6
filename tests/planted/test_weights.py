"""Weights set by hand: norms that change nothing, heads that point at one place, gates that are open or closed."""

import pytest
import torch

from alice.planted.weights import CONSTANT, D_MODEL, Draft
from alice.text import ENGLISH


@pytest.fixture(scope="module")
def draft():
    """Heads that attend to the previous, the next, equal and boundary symbols, and a unit that multiplies."""
    made = Draft(n_layers=1, variant="base")
    symbols = list(made.symbol.values())
    made.attend_offset(0, 0, 1)
    made.attend_offset(0, 1, -1)
    made.attend_equal(0, 2, symbols)
    made.attend_to(0, 3, made.boundaries())
    made.move(0, 3, [made.symbol[27]], made.field("copied", layer=1))
    return made


def patterns(draft, ids):
    """Return the attention of all heads, (head, query, key)."""
    with torch.inference_mode():
        _, cache = draft.model.run_with_cache(ids, names_filter="blocks.0.attn.hook_pattern")
    return cache["blocks.0.attn.hook_pattern"][0]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 355, 711, 1024])
def test_rotary_positions_point_at_the_previous_and_the_next_character(draft, length):
    ids = torch.randint(1, ENGLISH.size, (1, length), generator=torch.Generator().manual_seed(length))
    previous, following = patterns(draft, ids)[:2]
    place = torch.arange(length)
    assert (previous[place, (place - 1).clamp(min=0)] > 0.99).all()  # the first character is its own predecessor
    assert (following[place, (place + 1).clamp(max=length - 1)] > 0.99).all()


def test_every_shorter_text_has_the_same_neighbours(draft):
    """Fewer keys only raise the attention to the others, and the ends of a text prefer themselves to other places."""
    with torch.inference_mode():
        ids = torch.ones(1, 1024, dtype=torch.int64)
        _, cache = draft.model.run_with_cache(ids, names_filter="blocks.0.attn.hook_attn_scores")
    previous, following = cache["blocks.0.attn.hook_attn_scores"][0, :2]
    assert (previous.softmax(-1).diagonal(-1) > 0.99).all()
    assert (following.softmax(-1).diagonal(1) > 0.99).all()
    assert previous[0, 0] > previous[0, 1:].max() + 100
    assert following[-1, -1] > following[-1, :-1].max() + 100


def test_equal_symbols_and_word_boundaries_share_the_attention(draft):
    text = "THAT CAT'S HAT."
    _, _, equal, boundary = patterns(draft, draft.model.to_tokens(text))
    assert equal[0] == pytest.approx(torch.tensor([1 / 4 if symbol == "T" else 0.0 for symbol in text]), abs=1e-4)
    assert boundary[3] == pytest.approx(torch.tensor([1 / 3 if symbol in " ." else 0.0 for symbol in text]), abs=1e-4)


def test_norms_read_the_stream_exactly_as_it_is(draft):
    """Up to a sum of squares of 64, which is more than any planted model has in its stream."""
    stream = torch.randn(1000, D_MODEL, generator=torch.Generator().manual_seed(0))
    stream *= 63**0.5 / stream.norm(dim=1, keepdim=True)
    stream[:, draft.constant] = CONSTANT
    read = draft.model.ln_final(stream)
    stream[:, draft.constant] = 1.0
    assert torch.equal(read, stream)


def test_streams_of_planted_models_are_small_beside_the_constant(planted, batches):
    with torch.inference_mode():
        _, cache = planted.model.run_with_cache(batches[0].cipher_ids, names_filter=lambda name: "hook_resid" in name)
    for stream in cache.values():
        assert (stream[..., 0] == CONSTANT).all()
        assert (stream[..., 1:].square().sum(-1) < 16).all()


def test_a_unit_multiplies_its_input_by_zero_or_one():
    made = Draft(n_layers=1, variant="base")
    (target,) = made.field("target", layer=1)
    made.unit(0, gate={made.symbol[1]: 1.0}, up={made.constant: 0.3, made.symbol[1]: 0.1}, target=target)
    with torch.inference_mode():
        stream = made.model.resid(torch.arange(1, ENGLISH.size)[None])[0, :, target]
    assert stream.tolist() == pytest.approx([0.4] + [0.0] * (ENGLISH.size - 2))
    assert (stream[1:] == 0).all()
