"""The shipped networks: small files that load, and solve a text better than chance."""

import pytest

from alice.baselines import NETWORKS, REFERENCE, load_network
from alice.baselines.shipped import folder_of
from alice.errors import AliceError
from alice.plugins.builtin.baseline_solvers import BASELINES, register_solvers
from alice.plugins.solvers import SolverSetup, open_solver
from alice.text import Key

PLAIN = "THE ONLY WAY TO HAVE A FRIEND IS TO BE ONE, AND THE BEST THING THAT YOU CAN DO IS TO LISTEN."
CIPHER = Key("QWERTYUIOPASDFGHJKLZXCVBNM").encrypt(PLAIN)
CHANCE = sum(character in " ,." for character in PLAIN) / len(PLAIN) + 0.1
"""Share of characters that are right if every letter is E: those that are not encrypted, and the Es."""


@pytest.mark.parametrize("name", [*NETWORKS, REFERENCE])
def test_the_files_are_small_and_described(name):
    folder = folder_of(name)
    assert (folder / "model.safetensors").stat().st_size < 1_500_000
    assert f"alice.baselines.train {name}" in (folder / "card.md").read_text()


@pytest.mark.parametrize("name", BASELINES)
def test_it_solves_a_text_better_than_chance(name):
    solver = open_solver(name, register_solvers(), SolverSetup(lambda count: []))
    answer = solver(CIPHER)
    assert sum(said == meant for said, meant in zip(answer, PLAIN, strict=True)) / len(PLAIN) > CHANCE + 0.1


def test_an_unknown_network_is_one_sentence():
    with pytest.raises(AliceError, match="there is no baseline 'causal'; did you mean 'causal-freq'"):
        load_network("causal")
