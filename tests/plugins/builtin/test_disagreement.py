"""Disagreement: answers that are known, counted by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.disagreement import Disagreement
from alice.plugins.builtin.disagreement.measure import Answers, measure
from alice.plugins.builtin.disagreement.report import CASES, cases_of, report
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.solving import GuidedSearch, learn


@pytest.fixture
def answers():
    """Five letters of two texts, one for each case; the search follows whoever is right."""
    truth = np.array([0, 1, 2, 3, 4])
    network, language = np.array([0, 1, 9, 9, 9]), np.array([0, 9, 2, 9, 8])
    return Answers(
        model="tiny",
        learned=7,
        text=np.array([0, 0, 0, 1, 1]),
        truth=truth,
        network=np.stack([np.full(5, 9), network], axis=1),
        language=language,
        guided=np.stack([language, np.array([0, 1, 2, 9, 4])], axis=1),
        misled=np.full(5, 9),
        nats=np.array([np.nan, np.nan, 2.0, np.nan, 1.0]),
        confidence=np.array([1.0, 0.8, 0.9, 0.6, 0.6]),
    )


def test_every_letter_is_one_of_the_cases(answers):
    cases = cases_of(answers)
    assert list(cases) == list(CASES)
    assert [np.flatnonzero(chosen).tolist() for chosen in cases.values()] == [[0], [1], [2], [3], [4]]


def test_errors_and_who_wins_are_counted(answers):
    found = report(answers, rng=np.random.default_rng(0))
    values = {metric.name: metric.value for metric in found.metrics}
    assert values["letter-error-network"] == pytest.approx(60)
    assert values["letter-error-language"] == pytest.approx(60)
    assert values["letter-error-guided"] == pytest.approx(20)
    assert values["letter-error-misled"] == 100
    assert all(values[f"share-{case}"] == pytest.approx(20) for case in CASES)
    assert values["settled-network-right"] == values["settled-language-right"] == 100
    assert values["settled-same-wrong"] == 0
    rows = found.tables["layers"].records()
    assert [row["guided"] for row in rows] == pytest.approx([60, 20])
    assert "only the network is right, the search follows it in 100 %" in found.summary


def test_confidence_is_compared_with_how_often_letters_are_right(answers):
    rows = report(answers, rng=np.random.default_rng(0)).tables["reliability"].records()
    by_bin = {row["low"]: (row["letters"], row["right"]) for row in rows}
    assert by_bin[0.5] == (2, 50)
    assert by_bin[0.9] == (1, 100)


def test_a_band_is_drawn_only_if_every_layer_has_an_error(answers):
    def drawn(found):
        figure = report(found, rng=np.random.default_rng(0)).figures["layers"]
        return [trace for trace in json.loads(figure.json)["data"] if trace.get("fill")], figure.caption

    assert len(drawn(replace(answers, guided=answers.guided[:, [0, 0]]))[0]) == 1
    bands, caption = drawn(replace(answers, guided=np.stack([answers.guided[:, 0], answers.truth], axis=1)))
    assert bands == []  # all draws of a layer without mistakes are alike, so its error is unknown
    assert "No band: a standard error is unknown" in caption


def test_the_exits_are_those_of_the_model_and_every_text_counts():
    ctx = tiny_context(tiny("dynamic"), texts=4)
    found = measure(ctx, GuidedSearch(learn(ctx.plaintexts * 3), wide=(10, 4)))
    assert set(found.text.tolist()) == set(range(4))
    for number, plain in enumerate(ctx.plaintexts):
        letters = {ord(letter) - 65 for letter in plain if letter.isalpha()}
        assert set(found.truth[found.text == number].tolist()) == letters
    assert found.layers == ctx.model.config.n_layers + 1
    for number, batch_text in enumerate(ctx.batches[0].cipher_ids):
        own = ctx.model.decode_symbols(ctx.model.resid(batch_text[None]), batch_text[None], soft=False)[0]
        letters = ctx.model.letter_ids
        present = sorted(set(batch_text.tolist()) & set(letters.tolist()))
        index = int(ctx.batches[0].index[number])
        answer = own[present][:, letters].argmax(-1).tolist()
        assert found.network[found.text == index, -1].tolist() == answer


def test_it_needs_texts_to_learn_from():
    ctx = RunContext.open(tiny("base"), data=tiny_texts(4), split="all")
    with pytest.raises(AliceError, match="no text of the training split is left to learn from"):
        Disagreement().run(ctx)
