"""A corpus to train on, and a training that is done."""

from pathlib import Path

import pytest
from trainings import carry_out, small_training, write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a few hundred made-up sentences."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """The folder of a finished training of 20 steps; copy it before changing it."""
    training = small_training(tmp_path_factory.mktemp("trained") / "base", corpus, steps=20)
    carry_out(training)
    return training.folder
