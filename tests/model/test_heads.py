import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny

from alice.errors import AliceError
from alice.model.heads import assign, log_sinkhorn
from alice.text.alphabet import ENGLISH, LETTERS


def test_pooling_averages_each_symbol_and_ignores_padding(base):
    ids = torch.tensor([[1, 2, 1, 0]])
    x = torch.arange(4 * 16.0).reshape(1, 4, 16)
    pooled, counts = base.pool(x, ids)
    assert torch.equal(pooled[0, 1], (x[0, 0] + x[0, 2]) / 2)
    assert torch.equal(pooled[0, 2], x[0, 1])
    assert torch.equal(pooled[0, 0], torch.zeros(16))
    assert counts[0, :4].tolist() == [0, 2, 1, 0]


def test_sinkhorn_rows_and_columns_sum_to_one():
    matrix = log_sinkhorn(torch.randn(4, 26, 26), 50).exp()
    assert torch.allclose(matrix.sum(-1), torch.ones(4, 26), atol=1e-4)
    assert torch.allclose(matrix.sum(-2), torch.ones(4, 26), atol=1e-4)


def test_sinkhorn_leaves_a_doubly_stochastic_matrix_alone():
    matrix = torch.full((1, 5, 5), 0.2).log()
    assert torch.allclose(log_sinkhorn(matrix, 3), matrix)


def test_assignment_is_the_best_of_all_permutations():
    scores = torch.tensor([[[9.0, 8.0, 0.0], [8.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    assert assign(scores)[0].tolist() == [1, 0, 2]  # 8 + 8 + 1 beats 9 + 1 + 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_assignment_survives_scores_that_are_not_finite(value):
    scores = torch.zeros(1, 4, 4)
    scores[0, 1, 2] = value
    assert sorted(assign(scores)[0].tolist()) == [0, 1, 2, 3]


BIJECTIVE = tiny("bijective")
ciphertexts = st.text(alphabet=ENGLISH.symbols, min_size=1, max_size=120)


def assert_permutation(table: torch.Tensor) -> None:
    letters = torch.from_numpy(ENGLISH.letter_ids)
    block = table[letters][:, letters]
    assert torch.equal(block.sum(0), torch.ones(26))
    assert torch.equal(block.sum(1), torch.ones(26))
    others = [i for i in range(ENGLISH.size) if i not in set(letters.tolist())]
    assert torch.equal(table[others], torch.eye(ENGLISH.size)[others])


@settings(max_examples=60, deadline=None)
@given(st.lists(ciphertexts, min_size=1, max_size=4))
def test_every_bijective_output_is_a_permutation_of_the_letters(texts):
    ids = BIJECTIVE.to_tokens(texts)
    with torch.no_grad():
        tables = BIJECTIVE.decode_symbols(BIJECTIVE.resid(ids), ids)
    for table in tables:
        assert_permutation(table)


@pytest.mark.parametrize("text", ["A", "QQQQQ QQ", LETTERS, ". , ! ?"])
def test_texts_with_one_letter_all_letters_or_none_give_a_permutation(text):
    ids = BIJECTIVE.to_tokens(text)
    assert_permutation(BIJECTIVE.decode_symbols(BIJECTIVE.resid(ids), ids)[0])


def test_spaces_and_punctuation_map_to_themselves():
    text = "WHAT - NO, 'NEVER'; \"YES\": WHY? OH!"
    answer = BIJECTIVE.alphabet.decode(BIJECTIVE(BIJECTIVE.to_tokens(text))[0].argmax(-1).numpy())
    assert [c for c in answer if c not in LETTERS] == [c for c in text if c not in LETTERS]
    assert all((a in LETTERS) == (b in LETTERS) for a, b in zip(answer, text, strict=True))


def test_attending_to_symbols_with_log_counts_equals_attending_to_every_position(bijective):
    head, ids = bijective.head, bijective.to_tokens("ABACA, BCA")
    pooled, counts = bijective.pool(bijective.ln_final(bijective.resid(ids)), ids)
    sequence = pooled[0][ids[0]]  # what each position carries after pooling
    expected = []
    for half in (slice(0, 8), slice(8, 16)):  # two heads, split without projections
        weights = (head.query[:, half] @ sequence[:, half].T / 8**0.5).softmax(-1)
        expected.append(weights @ sequence[:, half])
    assert torch.allclose(head._gather(pooled, counts)[0], torch.cat(expected, -1), atol=1e-5)


def test_the_skip_adds_the_symbols_own_pooled_vector():
    with_skip, without = tiny("bijective", cross_skip=True), tiny("bijective", cross_skip=False)
    ids = with_skip.to_tokens("SKIP OR NOT")
    pooled, counts = with_skip.pool(with_skip.ln_final(with_skip.resid(ids)), ids)
    letters = with_skip.head.letter_ids
    rows = without.head._gather(pooled, counts) + pooled
    scores = without.head.unembed(rows)[:, letters][:, :, letters]
    expected = without.head._relax(scores)
    assert torch.allclose(with_skip.head(pooled, counts, soft=True)[:, letters][:, :, letters], expected, atol=1e-5)


def test_soft_output_is_the_log_of_the_relaxed_permutation(bijective):
    ids = bijective.to_tokens("SOFT AND HARD")
    table = bijective.decode_symbols(bijective.resid(ids), ids, soft=True).exp()
    letters = bijective.head.letter_ids
    assert torch.allclose(table[:, letters][:, :, letters].sum(-2), torch.ones(1, 26), atol=1e-4)


def test_gumbel_noise_is_drawn_in_training_only(bijective):
    ids = bijective.to_tokens("NOISE OR NOT")
    quiet = [bijective(ids, soft=True) for _ in range(2)]
    assert torch.equal(*quiet)
    bijective.train()
    noisy = [bijective(ids, soft=True) for _ in range(2)]
    assert not torch.equal(*noisy)


@pytest.mark.parametrize("variant", ["base", "bijective"])
@pytest.mark.parametrize("size", [1e10, float("inf"), float("nan")])
def test_scores_that_would_lose_against_an_impossible_answer_are_an_error(variant, size):
    model = tiny(variant)
    with torch.no_grad():
        model.head.unembed.weight.fill_(size)
    with pytest.raises(AliceError, match="not finite or beyond 1e\\+09"):
        model("TOO LARGE")
