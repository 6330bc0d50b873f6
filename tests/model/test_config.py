import json

import pytest

from alice.errors import AliceError
from alice.model.config import ModelConfig


def test_a_config_survives_the_way_through_json():
    config = ModelConfig(variant="bijective", d_model=64, n_heads=2, gumbel_noise=0.5, cross_skip=True)
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"d_modle": 64}, "unknown key 'd_modle'; did you mean 'd_model'"),
        ({"d_model": "64"}, "d_model should be int, not '64'"),
        ({"d_model": True}, "d_model should be int, not True"),
        ({"d_model": 100, "n_heads": 3}, "d_model=100 does not divide into n_heads=3"),
        ({"d_model": 6, "n_heads": 2}, "must be even"),
        ({"variant": "bijectiv"}, "not one of base, bijective, dynamic; did you mean 'bijective'"),
        ({"n_layers": 0}, "n_layers=0 must be a whole number of at least 1"),
        ({"dropout": 1.0}, "dropout=1.0 must be"),
        ({"sinkhorn_tau": 0.0}, "must be positive"),
        ({"sinkhorn_iters": 10**9}, "above the limit of 1,000"),
        ({"symbols": "ABC"}, "needs all of A-Z"),
    ],
)
def test_a_wrong_config_is_refused_with_its_reason(values, complaint):
    with pytest.raises(AliceError, match=complaint):
        ModelConfig.from_dict(values)
