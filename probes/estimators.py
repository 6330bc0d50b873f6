"""The same probes as scikit-learn classifiers over arrays (token, d), for example for cross-validation.

Split by text: `cross_val_score(LinearProbe(), X, y, groups=text_of_token, cv=GroupKFold())`.
"""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from alice.probes.layers import LEARNING_RATE, PASSES, PENALTY, TOLERANCE, Kind, LayerProbes
from alice.statistics import Floats

NUMBERS = (np.float64, np.float32)
LARGEST_SEED = 2**31 - 1


class _Probe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A probe of one layer, trained with `LayerProbes`."""

    _kind: Kind

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803  (scikit-learn's name)
        """Train on activations (token, d) and their labels (token,)."""
        X, y = validate_data(self, X, y, dtype=NUMBERS)  # noqa: N806
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        options = self.get_params()
        seed = int(check_random_state(options.pop("random_state", 0)).randint(LARGEST_SEED))
        pair = (torch.tensor(X)[None], torch.from_numpy(labels))
        self.probes_ = LayerProbes(self._kind, **options, seed=seed).fit([pair], len(self.classes_))
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return the probability of each class, (token, class), in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=NUMBERS, reset=False)  # noqa: N806
        (scores,) = self.probes_.logits(torch.tensor(X)[None])
        return scores[0].softmax(-1).numpy()

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the predicted class of every token, (token,)."""
        best = self.predict_proba(X).argmax(-1)
        return self.classes_[best]


class LinearProbe(_Probe):
    """A linear probe: softmax regression trained to convergence, with the penalty of `SoftmaxRegression`."""

    _kind = "linear"

    def __init__(self, *, penalty: float = PENALTY, passes: int = PASSES, tolerance: float = TOLERANCE) -> None:
        self.penalty = penalty
        self.passes = passes
        self.tolerance = tolerance


class MLPProbe(_Probe):
    """A probe with one hidden layer of `hidden` units and GELU."""

    _kind = "mlp"

    def __init__(
        self,
        *,
        hidden: int = 128,
        epochs: int = 32,
        batch_size: int = 128,
        learning_rate: float = LEARNING_RATE,
        weight_decay: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state
