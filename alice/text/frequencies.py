"""How often letters occur in English."""

import numpy as np

from alice.statistics import Floats
from alice.text.alphabet import LETTERS

LEWAND = {
    "A": 8.167,
    "B": 1.492,
    "C": 2.782,
    "D": 4.253,
    "E": 12.702,
    "F": 2.228,
    "G": 2.015,
    "H": 6.094,
    "I": 6.966,
    "J": 0.153,
    "K": 0.772,
    "L": 4.025,
    "M": 2.406,
    "N": 6.749,
    "O": 7.507,
    "P": 1.929,
    "Q": 0.095,
    "R": 5.987,
    "S": 6.327,
    "T": 9.056,
    "U": 2.758,
    "V": 0.978,
    "W": 2.360,
    "X": 0.150,
    "Y": 1.974,
    "Z": 0.074,
}
"""Frequencies in percent of all letters, from R. E. Lewand, Cryptological Mathematics (2000): the paper's source."""


def lewand() -> Floats:
    """Return Lewand's frequencies of A to Z as shares, (26,)."""
    return np.array([LEWAND[letter] for letter in LETTERS]) / 100
