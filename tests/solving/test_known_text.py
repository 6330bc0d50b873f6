import pytest

from alice.model import Alice
from alice.solving import known_text
from alice.solving.known_text import Check, better_order, choose, other_orders
from alice.text.alphabet import ENGLISH, LETTERS, LETTERS_AND_SPACE, Alphabet

ORDERS = other_orders(ENGLISH)


def test_other_orders_are_all_different_orders_of_the_same_symbols():
    assert len({order.symbols for order in ORDERS}) == len(ORDERS) == 6
    assert all(sorted(order.symbols) == sorted(ENGLISH.symbols) for order in ORDERS)
    assert ENGLISH not in ORDERS
    assert [order.symbols for order in other_orders(LETTERS_AND_SPACE)] == [" " + LETTERS]


@pytest.mark.parametrize(
    ("found", "errors", "wanted"),
    [
        (0.9, {2: 0.01, 4: 0.001}, 2),  # the first beyond doubt
        (0.9, {1: 0.3, 4: 0.2}, 4),  # the best, if none is
        (0.08, {3: 0.01}, 3),
        (0.08, {3: 0.045}, None),  # not half
        (0.99, {3: 0.45}, None),  # half, but near guessing all the same
        (0.9, {}, None),
    ],
)
def test_a_better_order_is_the_one_with_which_the_model_decodes(found, errors, wanted, monkeypatch):
    def check(model, order, *, keys):
        return Check(errors.get(ORDERS.index(order), 0.9), 0.75, 6)

    monkeypatch.setattr(known_text, "check", check)
    better = better_order(Check(found, 0.75, 12), ((None, order) for order in ORDERS))
    assert (better and ORDERS.index(better[1])) == wanted


def test_a_better_order_may_need_another_model(monkeypatch):
    monkeypatch.setattr(
        known_text, "check", lambda model, order, *, keys: Check(0.9 if model == "a" else 0.01, 0.75, 6)
    )
    found = better_order(Check(0.9, 0.75, 12), ((model, order) for model in "ab" for order in ORDERS))
    assert found[:2] == ("b", ORDERS[0])


@pytest.mark.parametrize(
    ("errors", "wanted", "checked"),
    [
        ([0.01, 0.001], 0, 1),  # beyond doubt, so the others are not tried
        ([0.8, 0.9, 0.02], 2, 3),
        ([0.8, 0.3, 0.2], 2, 3),
        ([0.8, 0.6, 0.7], 0, 3),  # none decodes: the first stays
        ([0.3, 0.2], 0, 2),  # not half
        ([0.8], 0, 1),
    ],
)
def test_the_first_model_is_chosen_unless_another_decodes_far_better(errors, wanted, checked, monkeypatch):
    seen = []

    def check(model):
        seen.append(model)
        return Check(errors[model], 0.75, 12)

    monkeypatch.setattr(known_text, "check", check)
    assert choose(range(len(errors))) == (wanted, Check(errors[wanted], 0.75, 12))
    assert len(seen) == checked


def test_the_bundled_model_decodes_in_its_own_order_only():
    model = Alice.from_pretrained("base")
    found = known_text.check(model)
    assert found.error < 0.05
    assert found.decodes
    assert found == known_text.check(model)  # the keys are always the same
    backwards = Alphabet(LETTERS[::-1] + ENGLISH.symbols[26:])
    assert not known_text.check(model, backwards).decodes


def test_guessing_is_wrong_in_all_letters_but_one_in_26(base):
    found = known_text.check(base)
    letters = sum(character.isalpha() for text in known_text.TEXTS for character in text)
    share = letters / sum(map(len, known_text.TEXTS))
    assert found.guessing == pytest.approx(share * 25 / 26, abs=0.005)
    assert not found.decodes
