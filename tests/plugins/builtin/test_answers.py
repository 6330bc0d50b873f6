"""Whether answers are consistent within a text."""

from dataclasses import replace

import pytest
from tiny import tiny

from alice.plugins.builtin.answers import answer
from alice.plugins.conformance import tiny_context


@pytest.fixture(scope="module", params=["base", "bijective", "dynamic"])
def found(request):
    ctx = tiny_context(tiny(request.param), texts=40)
    return answer(ctx.model, max(ctx.batches, key=len), probabilities=True)


def test_every_model_gives_a_symbol_the_same_answer_everywhere(found):
    assert found.consistent.tolist() == [True] * len(found.batch)


def test_one_different_answer_is_found_in_its_text_only(found):
    ids = found.batch.cipher_ids
    row = 1
    place = next(
        place for place in range(ids.shape[1]) if int((ids[row] == ids[row, place]).sum()) > 1 and ids[row, place]
    )
    outputs = found.outputs.clone()
    outputs[row, place] += 1
    expected = [number != row for number in range(len(ids))]
    assert replace(found, outputs=outputs).consistent.tolist() == expected


def test_padding_does_not_count(found):
    outputs = found.outputs.clone()
    padding = ~found.batch.mask
    assert padding.any()
    outputs[padding] = (outputs[padding] + padding.nonzero()[:, 1]) % 7
    assert replace(found, outputs=outputs).consistent.all()


def test_consistency_needs_outputs(found):
    with pytest.raises(ValueError, match="have no outputs"):
        _ = replace(found, outputs=None).consistent
