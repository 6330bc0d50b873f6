"""The n-gram analysis against answers that are known by other means."""

from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from click.testing import CliRunner
from handmade import reader
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.ngram import Ngram
from alice.plugins.builtin.ngram.measure import HELD_OUT, READERS, Readings, read
from alice.plugins.builtin.ngram.measure import compare as compare_with_nulls
from alice.plugins.builtin.ngram.nulls import NULLS
from alice.plugins.builtin.ngram.report import report
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.plugins.paper import FINAL_SIMILARITY
from alice.probes.tokens import split_texts
from alice.reports.archive import read_report
from alice.text.alphabet import ENGLISH, LETTERS, Alphabet

pytestmark = pytest.mark.usefixtures("cache")
QUICK = {"epochs": 1, "hidden": 8, "null_draws": 1}


def compare(found, longest, draws=1):
    return compare_with_nulls(found, longest, null_draws=draws, seed=0)


def readings(plain, layers, alphabet=ENGLISH, variant="base"):
    """Return readings of texts by hand: `layers` are the answers of each layer to each text, for every reader."""
    answers = np.array([np.concatenate(texts) for texts in layers], dtype=np.uint8)
    owner = np.repeat(np.arange(len(plain)), [len(text) for text in plain])
    ids = np.concatenate(plain).astype(np.uint8)
    return Readings(
        "mine", variant, alphabet, 3, len(plain), owner, ids, dict.fromkeys(READERS, answers), np.arange(len(plain))
    )


def encoded(*texts):
    return [ENGLISH.encode(text) for text in texts]


def in_pieces(text, size):
    """Return a text with its pieces of a size in reverse order: n-grams within a piece stay, all others go."""
    return np.concatenate([text[start : start + size] for start in range(0, len(text), size)][::-1])


def planted():
    """Return readings in which layer k gets n-grams right up to n = k: of texts in which no symbol comes twice."""
    alphabet = Alphabet(LETTERS + "".join(map(chr, range(0x400, 0x400 + 150))))
    rng = np.random.default_rng(0)
    plain = [rng.permutation(np.arange(1, 169)) for _ in range(4)]
    layers = [[np.zeros(168) for _ in plain], *([in_pieces(text, size) for text in plain] for size in range(1, 9))]
    return readings(plain, layers, alphabet)


def test_planted_layers_that_get_longer_ngrams_right_one_after_another_are_found():
    compared = compare(planted(), 8)
    for found in compared.found.values():
        assert found.layers.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
        assert found.trend == pytest.approx(1)
        assert found.trend_interval == pytest.approx((1, 1))
        assert found.excess.shape == (len(NULLS), 9, 8)
    by_text = compared.found["mlp", "texts"].cosine
    assert by_text[:2, 0] == pytest.approx([0, 1])
    # In pieces of 2, 84 of the 167 pairs are left; in pieces of 8, 21 of the 161 8-grams.
    assert by_text[2, 1] == pytest.approx(84 / 167)
    assert by_text[8, 7] == pytest.approx(21 / 161)
    assert np.isnan(compared.found["mlp", "texts"].error).all()  # all texts are alike


def test_perfect_answers_have_similarity_one_by_both_measures():
    plain = encoded("HELLO, WORLD.", "THE CAT SAT.")
    compared = compare(readings(plain, [plain, plain]), 8)
    assert all(found.cosine == pytest.approx(np.ones((2, 8))) for found in compared.found.values())
    # No layer gains anything, so every n has layer 1: no order.
    assert compared.found["exit", "corpus"].trend == 0


def test_the_two_measures_are_what_they_say():
    plain, guess = encoded("ABAB", "XY"), encoded("ABAC", "XY")
    compared = compare(readings(plain, [guess] * 2), 2)
    # Pairs of the first text: (AB 2, BA 1) and (AB 1, BA 1, AC 1); the second is right.
    assert compared.found["linear", "texts"].cosine[0, 1] == pytest.approx((3 / sqrt(15) + 1) / 2)
    assert compared.found["linear", "corpus"].cosine[0, 1] == pytest.approx(4 / sqrt(24))
    assert compared.found["linear", "texts"].error[0, 1] > 0


def test_texts_without_ngrams_are_left_out_and_counted():
    plain, guess = encoded("AB", "ABC"), encoded("AB", "ABD")
    compared = compare(readings(plain, [guess] * 2), 8)
    assert compared.texts == [2, 2, 1]  # no text has 4-grams
    assert compared.found["linear", "texts"].cosine[0] == pytest.approx([(1 + 2 / 3) / 2, 0.75, 0])
    errors = compared.found["linear", "texts"].error[0]
    assert np.isnan(errors).tolist() == [False, False, True]  # one text alone has none
    result = report([compared], letters_only=False)
    rows = result.figure("linear-probe", model="mine").data.records()
    assert [row["similarity_error"] is None for row in rows[:3]] == [False, False, True]
    assert result.tables["texts"].rows == (("mine", 1, 2, 0), ("mine", 2, 2, 0), ("mine", 3, 1, 1))


def test_a_single_text_has_no_interval_and_says_so():
    one = compare(
        readings(encoded("A BEE SEES"), [[text] for text in encoded("ABEESEES  ", "A BEE SEES")]),
        2,
    )
    result = report([one], letters_only=False)
    assert {found.trend_interval for found in one.found.values()} == {None}
    assert "(a single text has no interval);" in result.summary
    assert result.metric("spearman-linear").interval is None
    assert all((row["low"], row["high"]) == (None, None) for row in result.tables["trends"].records())


def test_letters_only_leaves_out_the_places_where_the_plaintext_has_none():
    whole = readings(encoded("A B.", "C"), [encoded("AXB.", "."), encoded("A BC", "C")])
    letters = whole.letters_only()
    assert ENGLISH.decode(letters.plain) == "ABC"
    assert [ENGLISH.decode(ids) for ids in letters.answers["exit"]] == ["AB.", "ABC"]
    assert letters.owner.tolist() == [0, 0, 1]
    assert len(whole.plain) == 5
    with pytest.raises(AliceError, match="none of the held-out texts has a letter"):
        compare(readings(encoded("..."), [encoded("...")]).letters_only(), 8)


def cosine(one, other, n):
    left, right = (Counter(zip(*(text[start:] for start in range(n)), strict=False)) for text in (one, other))
    product = sum(count * right[ngram] for ngram, count in left.items())
    return product / sqrt(sum(c * c for c in left.values()) * sum(c * c for c in right.values()))


def test_the_exits_of_a_model_that_repeats_its_input_are_as_like_the_plaintext_as_the_ciphertext_is():
    ctx = tiny_context(reader(), texts=10)
    _, held = split_texts(10, ctx.rng, held_out=HELD_OUT)
    pairs = []
    for batch in ctx.batches:
        for index, cipher, plain in zip(
            batch.index.tolist(), batch.cipher_ids.tolist(), batch.plain_ids.tolist(), strict=True
        ):
            if held[index]:
                pairs.append(([i for i in cipher if i], [i for i in plain if i]))
    result = Ngram(samples=10, **QUICK).run(ctx)
    found = result.array("similarity-exit-texts", model=ctx.checkpoint)
    assert found.shape == (3, 8)
    assert len(pairs) == result.metric("texts").value == 4
    for n in range(1, 9):
        expected = np.mean([cosine(*pair, n) for pair in pairs])
        assert found[:, n - 1] == pytest.approx([expected] * 3)


def test_the_probes_are_trained_on_other_texts_and_read_what_is_there():
    texts = tiny_texts(60)
    found = read(RunContext.open(reader(), data=texts, split="all"), epochs=12, hidden=16)
    assert (found.texts, found.trained_on) == (24, 36)
    _, held = split_texts(60, np.random.default_rng(0), held_out=HELD_OUT)
    counted = [ENGLISH.decode(found.plain[found.owner == number]) for number in range(24)]
    assert sorted(counted) == sorted(text for text, is_held in zip(texts, held, strict=True) if is_held)
    # A key leaves spaces alone, so the symbol reveals them, but not the letters.
    space = found.plain == ENGLISH.encode(" ")[0]
    for kind in ("linear", "mlp"):
        right = found.answers[kind] == found.plain
        assert right[:, space].all()
        assert right[:, ~space].mean() < 0.5


def test_an_answer_with_errors_anywhere_has_no_excess_over_such_errors():
    rng = np.random.default_rng(1)
    plain = [ENGLISH.encode("A TEXT OF SOME LENGTH IS MADE OF LETTERS IN SOME ORDER") for _ in range(40)]
    letters = np.isin(plain[0], ENGLISH.letter_ids)
    layers = []
    for share in (0.9, 0.5, 0.1):
        wrong = [letters & (rng.random(len(text)) < share) for text in plain]
        layers.append([np.where(at, rng.integers(1, 27, len(at)), text) for at, text in zip(wrong, plain, strict=True)])
    found = compare(readings(plain, layers), 4, draws=3).found["exit", "texts"]
    independent = list(NULLS).index("independent")
    low, high = found.excess_interval[:, independent]
    assert (np.sign(low) * np.sign(high) < 0).mean() > 0.7
    assert np.abs(found.excess[independent]).max() < 0.04


@pytest.fixture(scope="module")
def found():
    return compare(planted(), 8)


@pytest.fixture(scope="module")
def result(found):
    return report([found], letters_only=False)


def test_the_papers_figures_are_next_to_ours_where_it_has_them(result):
    table = result.tables["last-layer"]
    for kind, printed in (("linear", FINAL_SIMILARITY["base", "linear"]), ("mlp", FINAL_SIMILARITY["base", "mlp"])):
        assert tuple(row["paper"] for row in table.records(reader=kind, measure="corpus")) == printed
    assert {row["paper"] for row in table.records(reader="exit")} == {None}
    dynamic = compare(readings(encoded("AB"), [encoded("AB")] * 2, variant="dynamic"), 2)
    rows = report([dynamic], letters_only=False).tables["last-layer"].records()
    assert {row["paper"] for row in rows} == {None}


def test_the_report_says_where_each_n_gains_most_and_how_certain_that_is(result):
    headline = result.headline_metric()
    assert (headline.name, headline.model, headline.interval) == ("spearman-linear", "mine", pytest.approx((1, 1)))
    gains = result.tables["gains"].records(model="mine", reader="linear", measure="texts")
    assert [(row["n"], row["layer"]) for row in gains] == [(n, n) for n in range(1, 9)]
    (trend,) = result.tables["trends"].records(model="mine", reader="linear", measure="texts")
    assert (trend["spearman"], trend["low"], trend["high"]) == pytest.approx((1, 1, 1))
    figure = result.figure("linear-probe", model="mine")
    assert len(figure.data.rows) == 2 * 9 * 8
    left, right = figure.figure.data[:16:8]
    assert right.y == pytest.approx(np.diff(left.y))
    assert (left.xaxis, right.xaxis) == ("x", "x2")


def test_models_with_texts_of_other_lengths_share_the_tables():
    long = compare(readings(encoded("ABCD"), [encoded("ABCD")] * 2), 8)
    short = compare(readings(encoded("AB"), [encoded("AB")] * 2), 8)
    short = replace(short, readings=replace(short.readings, model="short"))
    result = report([long, short], letters_only=True)
    gains = result.tables["gains"].records(model="short", reader="linear", measure="texts")
    assert [row["n"] for row in gains] == [1, 2]
    assert {"linear-probe@mine", "mlp-probe@short", "early-exit@short"} <= result.figures.keys()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 1}, "samples=1 is too small; give 2 or more"),
        ({"longest": 0}, "longest=0 is not a supported"),
        ({"longest": 13}, "choose 1 to 12"),
        ({"epochs": 0}, "epochs=0 is too small"),
        ({"hidden": 0}, "hidden=0 is too small"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Ngram(**options)


def test_it_runs_from_the_command_line(tmp_path, monkeypatch):
    for variant in ("base", "bijective"):
        save_checkpoint(tmp_path / variant, variant)
    save_texts(tmp_path / "texts.txt", 12)
    monkeypatch.chdir(tmp_path)
    data = ("--ckpt", "./base", "--ckpt", "./bijective", "--data", "texts.txt", "--split", "all", "--out", "out")
    quick = ("--epochs", "1", "--longest", "2", "--hidden", "8")
    done = CliRunner().invoke(main, ["run", "ngram", *data, "--characters", "letters", *quick])
    assert done.exit_code == 0, done.output
    (folder,) = {file.parent for file in (tmp_path / "out").rglob("result.json")}
    assert "positions where the plaintext has a letter" in read_report(folder).result.summary
