"""Checks on known English texts whether a model decodes, and so whether what its file leaves open was guessed right."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations

from alice.model import Alice
from alice.solving.evaluate import score
from alice.text import LETTERS, N_LETTERS, Alphabet, Batches, Cleaner, EncodedTexts

TEXTS = (
    "The old lighthouse keeper had two rules: never let the lamp go out, and never trust a calm evening. "
    "When the fishing boats came home late, he would stand at the rail, counting lights, until the last one was in.",
    "My grandmother kept a notebook of every letter she had ever sent. It didn't say what was in them, only the date, "
    "the weather, and the name of the person who would soon be reading her words in some other town.",
    'When the train stopped between two stations, nobody said a word. Then a child asked, "Are we lost?" and the whole '
    "carriage began to laugh, because each of us had been thinking of the very same question.",
    "A good map leaves out almost everything; that is what makes it useful. Streets, rivers and hills remain, while "
    "the smell of bread, the noise of the market and the quick shadows of the clouds have to be found on foot.",
    "Before you mend a clock, listen to it for a while. Most of what goes wrong can be heard: a wheel that is dry, "
    "a spring that is tired, or just the dust of many quiet years which has settled where it should not be.",
    "They planted the orchard on the north side of the valley, against the advice of all their neighbours. For six "
    "years there was nothing to show for it, but in the seventh spring the hill turned white, and people came to look.",
)
"""Prose of the length that the models were trained on, written for this check."""
KEYS = 2
"""Random keys per text."""
SEED = 6
SURE = 0.05
"""Below this error the order of symbols and the number of cross-attention heads are certainly right."""


@dataclass(frozen=True)
class Check:
    """How well a model decodes the known texts."""

    error: float
    """Symbol error rate as a fraction, mean over texts."""
    guessing: float
    """Error rate of a random key that leaves every other symbol as it is."""
    texts: int

    @property
    def decodes(self) -> bool:
        """Whether the error rate is less than half that of guessing."""
        return self.error < self.guessing / 2

    def __str__(self) -> str:
        return (
            f"{100 * self.error:.1f} % of the characters in {self.texts} English texts under random keys are decoded "
            f"wrongly (guessing: {100 * self.guessing:.0f} %)"
        )


def check(model: Alice, alphabet: Alphabet | None = None, *, keys: int = KEYS) -> Check:
    """Decode the known texts with a model, in its own alphabet or in another one with as many symbols."""
    alphabet = alphabet or model.alphabet
    cleaner = Cleaner(alphabet, min_length=1, max_length=None)
    texts = [cleaner.normalize(text)[: model.config.n_ctx] for text in TEXTS] * keys
    scores = score(model, Batches(EncodedTexts(texts, alphabet), alphabet, seed=(SEED,)))
    letters = [sum(map(text.count, LETTERS)) / len(text) for text in texts]
    guessing = sum(letters) / len(texts) * (1 - 1 / N_LETTERS)
    return Check(float(scores.errors.mean()), guessing, len(texts))


def choose(models: Iterable[Alice]) -> tuple[Alice, Check]:
    """Return the first model that certainly decodes, or the best that at least halves the error rate of the first."""
    others = iter(models)
    best = first = next(others)
    found = begun = check(first)
    while found.error > SURE and (model := next(others, None)) is not None:
        tried = check(model)
        if tried.decodes and tried.error < min(found.error, begun.error / 2):
            best, found = model, tried
    return best, found


def better_order(found: Check, tries: Iterable[tuple[Alice, Alphabet]]) -> tuple[Alice, Alphabet, Check] | None:
    """Return the first model and order that are certainly right, or the best that at least halve the error rate.

    The check cannot detect a wrong order of the punctuation marks, which hardly affects a model.
    """
    best: tuple[Alice, Alphabet, Check] | None = None
    error = found.error / 2
    for model, order in tries:
        tried = check(model, order, keys=1)
        if tried.decodes and tried.error < error:
            best, error = (model, order, tried), tried.error
        if best and error < SURE:
            break
    return best


def other_orders(alphabet: Alphabet) -> list[Alphabet]:
    """Return other likely orders of the same symbols: letters, space and marks permuted, or sorted by code point."""
    marks = "".join(symbol for symbol in alphabet.symbols if symbol not in LETTERS + " ")
    space = " " if " " in alphabet.symbols else ""
    orders = ["".join(parts) for parts in permutations((LETTERS, space, marks))]
    different = dict.fromkeys([*orders, "".join(sorted(alphabet.symbols))])
    return [Alphabet(symbols) for symbols in different if symbols != alphabet.symbols]
