import pytest
import torch
from tiny import tiny
from torch.utils.flop_counter import FlopCounterMode
from trainings import carry_out, small_training, write_corpus

from alice.model.flops import training_flops
from alice.text.corpus import open_corpus
from alice.training.folder import read_metrics
from alice.training.setup import training_stream


def test_it_counts_what_torch_counts_in_the_blocks(base):
    x = torch.randn(3, 20, 16)
    # Torch cannot look into fused attention; a hook on the pattern takes it apart.
    hooks = [(name, lambda pattern, hook: pattern) for name in base.match_hooks("blocks.*.attn.hook_pattern")]
    with base.hooks(fwd_hooks=hooks), FlopCounterMode(display=False) as counter:
        for block in base.blocks:
            x = block(x, None)
    assert 3 * counter.get_total_flops() == training_flops(base.config, 3 * 20, 3 * 20**2)


def test_the_hypernetwork_counts_too():
    base, dynamic = tiny("base").config, tiny("dynamic", n_layers=1, hyper_layers=1).config
    assert training_flops(dynamic, 10, 50) == training_flops(base, 10, 50)


def test_a_training_logs_the_operations_of_the_texts_it_has_read(tmp_path):
    run = small_training(tmp_path / "run", write_corpus(tmp_path / "texts.txt"), steps=10)
    carry_out(run)
    batches = training_stream(open_corpus(run.data), run.recipe).start(0)
    lengths = torch.cat([next(batches).mask.sum(1) for _ in range(10)])
    row = read_metrics(run.folder)[-1]
    assert row["tokens"] == int(lengths.sum())
    assert row["flops"] == pytest.approx(training_flops(run.model, int(lengths.sum()), int(lengths.square().sum())))
    assert len(lengths.unique()) > 5
