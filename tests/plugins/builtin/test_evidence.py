"""Evidence in models where what decides a letter is known."""

import numpy as np
import pytest
import torch
from handmade import leave_letters_alone, reader
from tiny import tiny

from alice.causal import mean_activations
from alice.errors import AliceError
from alice.model.config import VARIANTS
from alice.plugins import RunContext
from alice.plugins.builtin.evidence import Evidence
from alice.plugins.builtin.evidence.attribution import (
    FRACTIONS,
    deletion,
    integrated_gradients,
    log_probabilities,
    scores,
    word_losses,
)
from alice.plugins.builtin.evidence.case import PLACES, Case
from alice.plugins.builtin.evidence.measure import ORDERS, Settings, measure
from alice.text import Words

TEXTS = ["THE CAT SAT.", "A HAT, THE CAT", "SHE HAD A TEA"]
QUICK = {"steps": 2, "draws": 1}


def open_texts(*models, texts=TEXTS):
    return RunContext.open(*models, data=texts, split="all")


def case_of(model, text="THE CAT SAT.", **options):
    ctx = open_texts(model, texts=[text])
    return Case.of(model, ctx.batches[0], 0, title="x", **options)


def mean_of(model, texts=TEXTS):
    return mean_activations(model, open_texts(model, texts=texts).batches, ["hook_embed"])["hook_embed"]


def symbol_of(case, letter):
    """Return the cipher symbol that stands for a plain letter."""
    return int(case.cipher_ids[case.alphabet.decode(case.plain_ids.numpy()).index(letter)])


def settings(**changes):
    return Settings(**{"symbols": 1, "steps": 4, "baseline": "mean", "removal": "mean", "draws": 2} | changes)


def losses_of(model, case, removal, **options):
    given = {"others": Words(TEXTS), "rng": np.random.default_rng(0), "draws": 2} | options
    return word_losses(model, case, removal, mean=mean_of(model), **given)


def test_places_are_worked_out_by_hand():
    case = case_of(tiny("base"), "AB CA. B'C D")
    places = case.places(symbol_of(case, "A"))
    names = [list(PLACES)[place] for place in places]
    own, beside, dot, far = "own", "beside", "not-letters", "elsewhere"
    assert names == [own, beside, dot, beside, own, dot, dot, far, dot, far, dot, "other-letters"]
    assert case.words.tolist() == [0, 0, -1, 1, 1, -1, -1, 2, -1, 3, -1, 4]
    case = case_of(tiny("base"), "ABC")
    assert case.places(symbol_of(case, "A")).tolist() == [
        list(PLACES).index(name) for name in (own, beside, "same-word")
    ]


@pytest.mark.parametrize("baseline", ["mean", "zero", "other-text"])
def test_a_model_whose_blocks_add_nothing_has_evidence_only_at_the_symbol_itself(baseline):
    numbers = measure(open_texts(reader()), settings(baseline=baseline)).numbers
    known = ~np.isnan(numbers.shares[:, 0])  # another text may have the same letter there
    assert known.any()
    assert numbers.shares[known, 0] == pytest.approx(1)
    assert (numbers.nats[:, 1:] == 0).all()


def test_without_attention_other_characters_are_no_evidence():
    model = tiny("base")
    with torch.no_grad():
        for block in model.blocks:
            block.attn.hook_z.add_hook(lambda z, hook: torch.zeros_like(z))
    case = case_of(model)
    found = integrated_gradients(model, case, mean_of(model).expand_as(case.embedding), case.letters, steps=3)
    model.reset_hooks()
    own = case.ids == case.letters[:, None]
    assert (found[~own] == 0).all()
    assert (found[own] != 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("baseline", ["mean", "other-text"])
def test_attributions_sum_to_the_difference_of_the_scores(variant, baseline):
    numbers = measure(open_texts(tiny(variant)), settings(steps=200, baseline=baseline)).numbers
    assert (numbers.difference > 0.01).any()
    assert numbers.gap.sum() < 1e-2 * numbers.difference.sum()
    assert np.abs(numbers.nats.sum(1)) == pytest.approx(numbers.difference, abs=0.05 * numbers.difference.max())


def test_few_steps_leave_a_gap_that_many_steps_close():
    few, many = (measure(open_texts(tiny("base")), settings(steps=steps)).numbers.gap.sum() for steps in (2, 100))
    assert many < 0.1 * few


def test_attributions_from_zero_sum_to_the_difference_with_a_norm_that_forgives_it():
    # The norm divides by the length, so near zero everything happens at once; a large epsilon spreads it out.
    model = tiny("base", norm_eps=0.1)
    numbers = measure(open_texts(model), settings(steps=300, baseline="zero")).numbers
    assert numbers.gap.sum() < 1e-2 * numbers.difference.sum()


def test_another_text_says_nothing_about_spaces_and_punctuation():
    numbers = measure(open_texts(tiny("base")), settings(baseline="other-text")).numbers
    assert (numbers.nats[:, list(PLACES).index("not-letters")] == 0).all()
    assert (measure(open_texts(tiny("base")), settings()).numbers.nats[:, -1] != 0).any()


@pytest.mark.parametrize("removal", ["mean", "mask"])
def test_leaving_out_a_word_costs_a_reader_only_the_symbols_in_it(removal):
    model = reader()
    case = case_of(model, "THE CAT")
    losses = losses_of(model, case, removal)
    c, h, t = (symbol_of(case, letter) for letter in "CHT")
    assert losses[0, c] == pytest.approx(0, abs=1e-5)
    assert losses[1, h] == pytest.approx(0, abs=1e-5)
    if removal == "mask":
        assert np.isnan(losses[[0, 1], [h, c]]).all()  # no place is left
        assert losses[:, t] == pytest.approx(0, abs=1e-5)  # the other place says the same
    else:
        assert np.abs(losses[[0, 1], [h, c]]).min() > 0.01


def test_a_masked_word_is_the_same_as_padding():
    model = tiny("base")
    case = case_of(model)
    ids = case.masked(torch.from_numpy(case.word_members))
    padded = scores(case, model.log_probabilities(model.resid(ids), ids)).detach()
    clean = scores(case, log_probabilities(model, case, case.embedding[None])).detach()
    losses = losses_of(model, case, "mask")
    known = ~np.isnan(losses)
    assert known[:, case.letters].any()
    assert losses[known] == pytest.approx((clean - padded).numpy()[known], abs=1e-5)


def test_a_word_is_replaced_under_the_same_key():
    model = reader()
    case = case_of(model, "THE CAT")
    losses = losses_of(model, case, "word", others=Words(["THE", "DOG"]), draws=1)
    t = symbol_of(case, "T")
    # DOG instead of THE: one of two places of T is now read as D.
    assert losses[0, t] > 0.01 or losses[0, t] < -0.01
    assert losses[0, symbol_of(case, "A")] == pytest.approx(0, abs=1e-6)
    with pytest.raises(AliceError, match="needs the key of --text"):
        Evidence(removal="word", text="Uif dbu")


def test_a_text_of_one_word_can_be_masked():
    case = case_of(tiny("base"), "THAT")
    assert np.isnan(losses_of(tiny("base"), case, "mask")).all()


def test_deleting_everything_leaves_the_mean_and_nothing_leaves_the_text():
    model = tiny("base")
    case, mean = case_of(model), mean_of(model)
    symbol = int(case.letters[0])
    orders = np.stack([np.arange(len(case.ids)), np.arange(len(case.ids))[::-1]])
    curves, right = deletion(model, case, symbol, orders, mean=mean)
    ends = torch.stack([case.embedding, mean.expand_as(case.embedding)])
    found = scores(case, log_probabilities(model, case, ends))[:, symbol].detach().numpy()
    assert curves[:, [0, -1]] == pytest.approx(np.stack([found, found]), abs=1e-5)
    assert right.shape == (2, len(FRACTIONS))
    half = FRACTIONS.index(0.5)
    removed = torch.arange(len(case.ids)) < round(0.5 * len(case.ids))
    table = log_probabilities(model, case, torch.where(removed[:, None], mean, case.embedding)[None])
    assert curves[0, half] == pytest.approx(scores(case, table)[0, symbol].item(), abs=1e-5)


def test_deleting_by_evidence_is_quicker_than_at_random_where_that_is_known(monkeypatch):
    leave_letters_alone(monkeypatch)
    texts = ["ABCDEFGHIJKLMNOPQRST"] * 12
    curves = measure(open_texts(reader(), texts=texts), settings(draws=6)).numbers.curves
    at = {name: curves[:, number, FRACTIONS.index(0.3)] for number, name in enumerate(ORDERS)}
    assert at["evidence"] == pytest.approx(curves[:, 0, -1], abs=1e-5)  # its single place is gone
    assert at["least"] == pytest.approx(curves[:, 0, 0], abs=1e-5)  # and here it is still there
    assert at["evidence"].mean() < at["random"].mean() < at["least"].mean()


def test_what_is_explained_is_the_models_own_answer_if_the_solution_is_not_known():
    model = reader(B="A")
    ctx = open_texts(model)
    (example,) = measure(ctx, settings(), text="Abba!").examples
    names = ["", *ctx.alphabet.symbols]
    assert not example.case.known
    assert [names[example.case.answers[symbol]] for symbol in example.case.letters] == ["A", "A"]
    (example,) = measure(ctx, settings(), text="Abba!", encrypt=True).examples
    assert [names[example.case.answers[symbol_of(example.case, letter)]] for letter in "AB"] == ["A", "B"]


def test_a_text_shows_its_evidence_by_symbol():
    result = Evidence(text="That hat", encrypt=True, **QUICK).run(open_texts(tiny("base")))
    shown = result.texts["evidence-given-text@base"]
    assert len(shown.characters) == len(shown.below) == 8
    assert set(shown.choices) == set(shown.characters) - {" "}
    assert {row["symbol"] for row in result.tables["symbols"].records()} == set(shown.choices)
    words = result.texts["words-given-text@base"]
    for weights in words.by_symbol.values():
        assert len(set(weights[:4])) == 1
        assert np.isnan(weights[4])


def test_examples_are_shown_in_the_order_in_which_they_are_asked_for():
    result = Evidence(examples=(2, 0), **QUICK).run(open_texts(tiny("base")))
    assert [name for name in result.texts if name.startswith("evidence")] == [
        "evidence-example-2@base",
        "evidence-example-0@base",
    ]
    with pytest.raises(AliceError, match="no example 3 among 3 texts"):
        Evidence(examples=(3,), **QUICK).run(open_texts(tiny("base")))


def test_shares_sum_to_the_whole_for_the_model_and_its_controls():
    result = Evidence(**QUICK, symbols=2).run(open_texts(tiny("bijective")))
    rows = result.tables["shares"].records()
    assert len(rows) == len(PLACES)
    for column in ("share", "even", "random_weights"):
        assert sum(row[column] for row in rows) == pytest.approx(100)
    over = result.tables["shares-over-controls"].records(control="evenly spread")
    assert [row["difference"] for row in over] == pytest.approx([row["share"] - row["even"] for row in rows])


def test_texts_without_letters_are_left_out_and_one_text_has_no_interval():
    result = Evidence(**QUICK).run(open_texts(tiny("base"), texts=["?!", "A CAT"]))
    assert result.metric("texts").value == 1
    assert result.metric("deletion-area").interval is None
    assert result.texts["evidence-example-0@base"].choices == ("",)
    with pytest.raises(AliceError, match="texts with letters"):
        Evidence(**QUICK, text="A cat").run(open_texts(tiny("base"), texts=["?!"]))


def test_a_large_gap_is_a_caveat():
    model = tiny("base")
    caveats = Evidence(steps=1, draws=1).run(open_texts(model)).caveats
    assert any("--steps" in caveat for caveat in caveats)
    caveats = Evidence(steps=200, draws=1).run(open_texts(model)).caveats
    assert not any("--steps" in caveat for caveat in caveats)


def test_the_evidence_of_a_text_does_not_depend_on_the_other_texts():
    model = tiny("base")
    alone, together = (
        measure(open_texts(model, texts=texts), settings(baseline="other-text", removal="mask")).numbers
        for texts in (TEXTS[:1], TEXTS[:1] * 2)
    )
    assert alone.nats[0] == pytest.approx(together.nats[0], abs=1e-6)


@pytest.mark.parametrize("options", [{"steps": 0}, {"symbols": 0}, {"draws": 0}, {"samples": 0}])
def test_options_without_work_are_errors(options):
    with pytest.raises(AliceError, match=next(iter(options))):
        Evidence(**options)
