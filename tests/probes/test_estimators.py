"""The probes as scikit-learn estimators."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from alice.errors import AliceError
from alice.probes.estimators import LinearProbe, MLPProbe
from alice.probes.layers import LayerProbes


@parametrize_with_checks([LinearProbe(), MLPProbe(hidden=16)])
def test_they_follow_scikit_learns_conventions(estimator, check):
    check(estimator)


def labelled(texts=12, tokens=40, seed=0):
    """Return activations whose first two features encode three classes, their labels, and the text of each token."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(texts * tokens, 6)), rng.integers(3, size=texts * tokens)
    x[:, :2] += 4 * np.array([[0, 1], [1, -1], [-1, -1]])[y]
    return x, np.array(["low", "mid", "top"])[y], np.repeat(np.arange(texts), tokens)


@pytest.mark.parametrize("probe", [LinearProbe(), MLPProbe(hidden=8, random_state=0)])
def test_cross_validation_splits_by_text(probe):
    x, y, text = labelled()
    scores = cross_val_score(probe, x, y, groups=text, cv=GroupKFold(4))
    assert scores.shape == (4,)
    assert scores.min() > 0.95


def test_an_estimator_is_a_layer_of_the_joint_probes():
    x, y, _ = labelled()
    probe = LinearProbe(penalty=3.0, passes=20).fit(x, y)
    labels = torch.from_numpy(np.searchsorted(probe.classes_, y))
    stack = torch.stack([torch.randn(len(x), 6, dtype=torch.float64), torch.from_numpy(x)])
    joint = LayerProbes("linear", penalty=3.0, passes=20).fit([(stack, labels)], 3)
    expected = joint.logits(stack)[0][1].softmax(-1).numpy()
    assert probe.predict_proba(x) == pytest.approx(expected, abs=1e-9)


def test_only_the_mlp_has_the_option_hidden():
    assert "hidden" in MLPProbe().get_params()
    assert "hidden" not in LinearProbe().get_params()
    x, y, _ = labelled(texts=2)
    with pytest.raises(AliceError, match="1 or more"):
        MLPProbe(hidden=0).fit(x, y)
