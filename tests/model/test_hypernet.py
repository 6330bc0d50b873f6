"""The table of embeddings that the hypernetwork writes for each text."""

import torch
from tiny import tiny


def test_a_symbol_has_one_embedding_wherever_it_stands():
    model = tiny("dynamic")
    ids = model.to_tokens("ABBA AB")
    embedded = model.hypernet(ids, None)[0]
    torch.testing.assert_close(embedded[0], embedded[3])
    torch.testing.assert_close(embedded[1], embedded[6])


def test_the_table_is_what_the_queries_gather_from_the_text():
    model = tiny("dynamic")
    ids = model.to_tokens("HELLO")
    _, cache = model.run_with_cache(ids)
    gathered = cache["hypernet.hook_pattern"] @ cache["hypernet.blocks.0.hook_resid_post"]
    torch.testing.assert_close(cache["hypernet.hook_table"], gathered)


def test_the_skip_adds_the_fixed_embedding_of_the_symbol():
    plain, skipping = tiny("dynamic"), tiny("dynamic", hyper_skip=True)
    ids = plain.to_tokens("HELLO")
    skipping.load_state_dict(plain.state_dict())
    added = skipping.hypernet(ids, None) - plain.hypernet(ids, None)
    torch.testing.assert_close(added, plain.hypernet.embed(ids))


def test_padding_reaches_the_hypernetwork_in_training_only_and_only_if_asked(ids):
    longer = torch.nn.functional.pad(ids, (0, 6))
    for sees in (False, True):
        model = tiny("dynamic", hyper_sees_padding=sees)
        for training in (True, False):
            short, padded = (model.train(training)(batch)[:, : ids.shape[1]] for batch in (ids, longer))
            same = torch.allclose(short[ids != 0][:, 1:], padded[ids != 0][:, 1:], atol=1e-4)
            assert same != (sees and training)
