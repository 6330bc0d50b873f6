"""The causal programs of the trained planted models: variables for each cipher symbol, and a table of answers.

Every program guesses a letter from two variables of its cipher symbol. `frequency` has three values and compares the
count of the symbol with the number of spaces. `context` says where the symbol stands, and differs between programs.
Both are comparisons of whole numbers, so that no symbol is arbitrarily close to an edge.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alice.text import ENGLISH, PAD

SPACE = int(ENGLISH.encode(" ")[0])
FREQUENCY_FACTORS = (6, 3)
"""A symbol is common if it occurs at least 1/6 as often as spaces, and frequent if at least 1/3 as often."""
ROUNDING = 1e-4
"""Shares are compared with their edges up to this, far less than two shares of one text differ by."""


@dataclass(frozen=True)
class Program:
    """What a planted model computes."""

    name: str
    """Name of the model."""
    summary: str
    """What it computes, in one sentence."""
    flags: tuple[str, ...]
    """What is noticed at each position of a letter: keys of `FLAGS`."""
    edges: tuple[float, ...]
    """`context` is how many of these the share of the flags that are set at the symbol's places reaches."""
    answers: tuple[str, str, str]
    """The letter for each context, from 0 on, for rare, common and frequent symbols."""

    @property
    def contexts(self) -> int:
        """Number of values of `context`."""
        return len(self.edges) + 1

    @property
    def table(self) -> Tensor:
        """Id of the answer, (frequency, context)."""
        return torch.tensor([[int(ENGLISH.encode(letter)[0]) for letter in row] for row in self.answers])


PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            "chain",
            "guesses a letter from its frequency and from whether common letters come before it",
            ("after-common",),
            (1 / 2,),
            ("WG", "IN", "AE"),
        ),
        Program(
            "doubles",
            "guesses a letter from its frequency and from whether it is ever doubled",
            ("single",),
            (1.0,),
            ("PW", "LH", "ET"),
        ),
        Program(
            "sides",
            "guesses a letter from its frequency and from how many of its neighbours on both sides are frequent",
            ("after-frequent", "before-frequent"),
            (1 / 3, 1 / 2),
            ("YWV", "ISH", "ETN"),
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Values:
    """The variables of a program for some texts."""

    ids: Tensor
    """Cipher symbols, (batch, pos)."""
    frequency: Tensor
    """0 for rare, 1 for common, 2 for frequent symbols, (batch, symbol)."""
    flags: Mapping[str, Tensor]
    """Flags that are noticed at each position, (batch, pos)."""
    context: Tensor
    """Context of each symbol, (batch, symbol)."""


def letter_ids() -> Tensor:
    """Return the ids of A to Z, (26,)."""
    return torch.from_numpy(ENGLISH.letter_ids)


def is_letter(ids: Tensor) -> Tensor:
    """Say which characters are letters, of the shape of the ids."""
    return torch.isin(ids, letter_ids().to(ids.device))


def frequency_of(ids: Tensor) -> Tensor:
    """Return the variable `frequency`, (batch, pos) -> (batch, symbol)."""
    counts = _members(ids).sum(1)
    reached = [factor * counts >= counts[:, SPACE, None] for factor in FREQUENCY_FACTORS]
    return torch.stack(reached).sum(0)


def flag_of(name: str, ids: Tensor, frequency: Tensor) -> Tensor:
    """Return a flag at each position, (batch, pos); the first and last character count as their own neighbours."""
    beside = neighbour_of(name, ids)
    if name == "single":
        first = torch.arange(ids.shape[1], device=ids.device) == 0
        return (beside != ids) | first
    return is_letter(beside) & (frequency.gather(1, beside) >= (2 if name.endswith("frequent") else 1))


def neighbour_of(name: str, ids: Tensor) -> Tensor:
    """Return the character that a flag looks at, (batch, pos): the next one for `before-...`, else the previous one."""
    if not name.startswith("before"):
        return torch.cat([ids[:, :1], ids[:, :-1]], 1)
    after = torch.cat([ids[:, 1:], ids[:, -1:]], 1)
    return torch.where(after == PAD, ids, after)


def context_of(program: Program, ids: Tensor, flags: Mapping[str, Tensor]) -> Tensor:
    """Return the variable `context`, (batch, symbol), from the flags, (batch, pos) each."""
    members = _members(ids).transpose(1, 2)  # (batch, symbol, pos)
    mean = torch.stack([flags[name].float() for name in program.flags]).mean(0)
    share = (members @ mean.unsqueeze(-1)).squeeze(-1) / members.sum(-1).clamp(min=1)
    return torch.stack([share > edge - ROUNDING for edge in program.edges]).sum(0)


def values_of(program: Program, ids: Tensor) -> Values:
    """Run a program on texts, (batch, pos)."""
    frequency = frequency_of(ids)
    flags = {name: flag_of(name, ids, frequency) for name in program.flags}
    return Values(ids, frequency, flags, context_of(program, ids, flags))


def answers_of(program: Program, frequency: Tensor, context: Tensor) -> Tensor:
    """Return what each symbol stands for, (batch, symbol); symbols that are not letters stand for themselves."""
    symbols = torch.arange(ENGLISH.size, device=frequency.device).expand_as(frequency)
    return torch.where(is_letter(symbols), program.table.to(frequency.device)[frequency, context], symbols)


def present(ids: Tensor) -> Tensor:
    """Say which symbols a text has, (batch, pos) -> (batch, symbol); padding is none."""
    found = _members(ids).sum(1) > 0
    found[:, PAD] = False
    return found


def _members(ids: Tensor) -> Tensor:
    """Return which symbol stands at each position, (batch, pos, symbol), as 0 and 1; nothing at padding."""
    return torch.nn.functional.one_hot(ids, ENGLISH.size).float() * (ids != PAD).unsqueeze(-1)
