import pytest
import torch

from alice.errors import AliceError
from alice.model.activations import Activations
from alice.plugins.conformance import tiny_context, tiny_model

HOOK = "blocks.1.hook_resid_post"


@pytest.fixture
def batches(tiny_alice):
    return tiny_context(tiny_alice, texts=30).batches


def hooks_left(model):
    return [name for name, point in model.hook_dict.items() if point.fwd_hooks]


def test_what_is_streamed_is_what_the_model_computes(tiny_alice, batches):
    seen = 0
    for batch, cache in Activations(tiny_alice, batches, HOOK):
        assert list(cache.cache_dict) == [HOOK]
        assert torch.equal(tiny_alice.decode(cache[HOOK], batch.cipher_ids), tiny_alice(batch.cipher_ids))
        seen += len(batch)
    assert seen == 30


def test_it_can_be_gone_through_twice(tiny_alice, batches):
    stream = Activations(tiny_alice, batches, "hook_embed")
    first, second = ([cache["hook_embed"].sum().item() for _, cache in stream] for _ in range(2))
    assert first == second
    assert len(first) == len(stream)


def test_a_misspelt_hook_is_refused_before_the_model_runs(tiny_alice, batches):
    with pytest.raises(
        AliceError, match=r"no hook 'blocks.1.hook_resid_pots'; did you mean 'blocks.1.hook_resid_post'"
    ):
        Activations(tiny_alice, batches, "blocks.1.hook_resid_pots")


def test_hooks_come_off_when_the_loop_breaks_off_or_the_model_fails(tiny_alice, batches, monkeypatch):
    for _ in Activations(tiny_alice, batches, HOOK):
        break
    assert not hooks_left(tiny_alice)
    monkeypatch.setattr(tiny_alice.pool, "forward", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(iter(Activations(tiny_alice, batches, HOOK)))
    assert not hooks_left(tiny_alice)


def test_gradients_are_neither_recorded_nor_switched_off_for_the_caller(tiny_alice, batches):
    for _, cache in Activations(tiny_alice, batches, HOOK):
        assert not cache[HOOK].requires_grad
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_streamed_tensors_can_be_used_in_training(tiny_alice, batches):
    scale = torch.ones(1, requires_grad=True)
    _, cache = Activations(tiny_alice, batches, HOOK)[0]
    (cache[HOOK] * scale).sum().backward()
    assert scale.grad is not None


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_a_gradient_says_how_the_answer_changes_with_an_activation(variant):
    model = tiny_model(variant)
    batch, cache = Activations(model, tiny_context(model, texts=3).batches, "blocks.0.hook_mlp_out", HOOK, grad=True)[0]
    early, late = cache["blocks.0.hook_mlp_out"], cache[HOOK]

    def score(resid):
        table = model.log_probabilities(resid, batch.cipher_ids)
        texts = torch.arange(len(batch))[:, None]
        return table[texts, batch.cipher_ids, batch.plain_ids][batch.mask].sum()

    (gradient,) = torch.autograd.grad(score(late), early)
    step = 1e-2 * gradient / gradient.norm()
    both = []
    for sign in (1, -1):
        with torch.no_grad(), model.hooks([("blocks.0.hook_mlp_out", lambda x, hook, sign=sign: x + sign * step)]):
            both.append(float(score(model.resid(batch.cipher_ids))))
    assert (both[0] - both[1]) / 2 == pytest.approx(float((gradient * step).sum()), rel=0.02)
    assert all(weight.grad is None for weight in model.parameters())


def test_a_batch_can_be_read_by_its_number(tiny_alice, batches):
    stream = Activations(tiny_alice, batches, HOOK)
    assert torch.equal(stream[1][1][HOOK], list(stream)[1][1][HOOK])
    with pytest.raises(TypeError, match="only be read in order"):
        Activations(tiny_alice, iter(batches), HOOK)[0]
