"""Repeats an analysis with other seeds, other texts and other methods, and counts which of its verdicts stay."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from alice.errors import AliceError
from alice.plugins.analysis import Analysis, methods_of
from alice.plugins.context import RunContext
from alice.plugins.runner import compute
from alice.plugins.verdicts import OWN, Outcome, verdicts_of
from alice.reports import Result
from alice.verifying.inputs import Inputs


@dataclass(frozen=True, eq=False)
class Repeat:
    """One more run of an analysis, in which one thing is different."""

    label: str
    """What is different, such as `seed 3` or `replacement zero`."""
    analysis: Analysis
    ctx: RunContext


@dataclass(frozen=True)
class Verdict:
    """What became of one verdict of a page."""

    name: str
    outcome: Outcome
    """What the page says."""
    others: Mapping[str, Outcome]
    """What each repeat says, by what was different in it."""

    @property
    def agree(self) -> int:
        """How many repeats say the same."""
        return sum(outcome == self.outcome for outcome in self.others.values())

    @property
    def flips(self) -> bool:
        """Whether a repeat says something else."""
        return self.agree < len(self.others)


@dataclass
class Varied:
    """What all repeats found."""

    verdicts: list[Verdict] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Repeats that could not be made, one line each."""

    @property
    def flipped(self) -> list[Verdict]:
        """The verdicts that a repeat contradicts."""
        return [verdict for verdict in self.verdicts if verdict.flips]

    @property
    def untried(self) -> list[Verdict]:
        """The verdicts of which no repeat says anything."""
        return [verdict for verdict in self.verdicts if not verdict.others]


def repeats(inputs: Inputs, count: int, texts: int) -> Iterator[Repeat]:
    """Yield `count` repeats with other seeds, `count` with other texts, and one for each other method.

    Args:
        inputs: what the report was made with.
        count: how many.
        texts: how many texts it read; 0 if none.

    """
    analysis, ctx = inputs.analysis, inputs.ctx
    for number in range(1, count + 1):
        yield Repeat(f"seed {ctx.seed + number}", analysis, _seeded(ctx, ctx.seed + number))
    for number in range(1, count + 1) if texts else ():
        yield Repeat(f"texts from {number * texts:,}", analysis, ctx.after(number * texts))
    for name, values in methods_of(type(analysis)).items():
        for value in values:
            if value != getattr(analysis, name):
                shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
                yield Repeat(f"{name} {shown}", cast(Analysis, replace(cast(Any, analysis), **{name: value})), ctx)


def vary(
    inputs: Inputs, result: Result, made: Iterable[Repeat], *, texts: int, told: Callable[[str], object] = str
) -> Varied:
    """Make the repeats and compare what each claims with the result; a repeat that fails is named.

    Where the result states no verdict, nothing can flip and nothing is repeated.

    Args:
        inputs: what the report was made with.
        result: what it found.
        made: the repeats to make.
        texts: how many texts each reads; 0 if none.
        told: called with what is different before each repeat.

    """
    own = verdicts_of(inputs.analysis, result)
    found = Varied()
    if not own[OWN]:
        return found
    said: dict[str, Mapping[str, Outcome]] = {method: named for method, named in own.items() if method != OWN}
    for repeat in made:
        told(repeat.label)
        try:
            _check_enough(repeat, texts)
            said[repeat.label] = verdicts_of(repeat.analysis, compute(repeat.analysis, repeat.ctx))[OWN]
        except AliceError as error:
            found.failed.append(f"{repeat.label}: {error}")
    for name, outcome in own[OWN].items():
        others = {label: named[name] for label, named in said.items() if name in named}
        found.verdicts.append(Verdict(name, outcome, others))
    return found


def _check_enough(repeat: Repeat, texts: int) -> None:
    """Raise if a later sample has fewer texts than the report."""
    for one in repeat.ctx.each:
        if texts and one.texts is not None and len(one.texts.pool.first(texts)) < texts:
            raise AliceError("the data have too few texts for another sample")


def _seeded(ctx: RunContext, seed: int) -> RunContext:
    """Return the context with another seed of the keys and of everything random."""
    texts = replace(ctx.texts, seed=seed) if ctx.texts is not None else None
    return replace(ctx, seed=seed, texts=texts, others=tuple(_seeded(other, seed) for other in ctx.others))
