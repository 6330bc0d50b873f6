"""Claims about models beside one another and about runs, from results that were written by hand or faked."""

import numpy as np
import pytest
from handmade import leave_letters_alone, reader
from reproductions import MODELS, assembled, of_result, ran

from alice.plugins import RunContext
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.reproduce.items import ITEMS
from alice.reports import Table

SHORT_AND_LONG = ("solver", "from", "<128, %", "± <128", ">=128, %", "± >=128")
MEASURED = "measured here"
FIRST = "measured here, first 100"


def test_a_bijective_head_that_collides_refutes_the_claim(tmp_path, monkeypatch):
    leave_letters_alone(monkeypatch)
    model = reader("bijective")

    def collide(perm, hook):
        perm = perm.clone()
        perm[:, 1] = perm[:, 0]
        return perm

    with model.hooks(fwd_hooks=[("head.hook_perm", collide)]):
        result = KeyRecovery().run(RunContext.open(model, data=["ABBA", "BEE"], split="all"))
    claims, items, failed = assembled(of_result("key-recovery", tmp_path, result, MODELS[1:]))
    assert (claims["valid"].outcome, claims["valid"].checks[0].value, failed) == ("does not hold", 0.5, [])
    assert items["Section 2.1"].outcome == "does not hold"


def errors_by_length(tmp_path, more_of=0, length=30, wrong=None):
    """Return texts of one length in which base has no to five errors, and the bijective model some more."""
    errors = np.random.default_rng(0).integers(0, 6, 400) if wrong is None else np.full(400, wrong)
    more = np.random.default_rng(1).integers(0, 2, 400) * more_of
    arrays = {"lengths-base": np.full(400, length), "errors-base": errors}
    arrays |= {"lengths-bijective": np.full(400, length), "errors-bijective": errors + more}
    rows = [
        ("base", MEASURED, 1.0, 0.1, None, None),
        ("bijective", MEASURED, 2.0, 0.2, None, None),
        ("base", FIRST, 1.5, 0.3, None, None),
        ("beam", FIRST, 20.0, 3.0, 0.5, 0.1),
        ("Beam + 6-gram (Nuhn et al. 2013)", "the paper", 22.0, None, 0.0, None),
    ]
    columns = ("length", "texts", "median", "16th", "84th", "paper's median")
    tables = {"short-and-long": Table(SHORT_AND_LONG, rows)}
    tables |= {f"by-length-{name}": Table(columns, []) for name, _ in MODELS}
    return ran("errors-by-length", tmp_path, arrays=arrays, tables=tables)


@pytest.mark.parametrize(("more", "outcome"), [(1, "holds"), (-1, "does not hold"), (0, "undecided")])
def test_table_1_says_whether_bijective_is_worse_on_short_texts(tmp_path, more, outcome):
    claims, items, failed = assembled(errors_by_length(tmp_path, more))
    assert (claims["worse"].outcome, items["Table 1"].outcome, failed) == (outcome, outcome, [])
    claims, _, _ = assembled(errors_by_length(tmp_path, more, length=40))
    assert claims["worse"].outcome == "undecided"  # there is no text below 32 characters


def test_table_2_says_whether_bijective_is_within_three_sigma(tmp_path):
    for more, outcome in ((0, "holds"), (5, "does not hold")):
        claims, _, _ = assembled(errors_by_length(tmp_path, more))
        short, long = claims["sigmas"].checks
        assert (short.outcome, long.outcome) == (outcome, "undecided")


def test_table_2_has_our_beam_search_beside_the_papers(tmp_path):
    _, items, _ = assembled(errors_by_length(tmp_path))
    rows = {row.what: row for row in items["Table 2"].rows}
    assert len(rows) == 6
    short = rows["beam, first 100 texts, <128 characters, %"]
    assert (short.ours, short.paper) == ("20 ± 3", "22.00 (Beam + 6-gram (Nuhn et al. 2013), its own texts)")
    assert rows["beam, first 100 texts, >=128 characters, %"].ours == "0.5 ± 0.1"
    assert rows["base, <128 characters, %"].ours == "1 ± 0.1"


@pytest.mark.parametrize(
    ("wrong", "length", "outcome"), [(1, 75, "holds"), (2, 75, "does not hold"), (1, 69, "undecided")]
)
def test_figure_2_says_whether_texts_of_75_characters_have_one_error_at_most(tmp_path, wrong, length, outcome):
    claims, items, _ = assembled(errors_by_length(tmp_path, length=length, wrong=wrong))
    assert (claims["one-error"].outcome, items["Figure 2"].outcome) == (outcome, outcome)


def test_without_a_pair_or_a_base_model_the_claims_say_what_to_give(tmp_path):
    alone = ran("errors-by-length", tmp_path, [("dynamic", "dynamic")])
    claims, _, _ = assembled(alone)
    for key in ("worse", "sigmas", "one-error"):
        assert (claims[key].outcome, "`--ckpt`" in claims[key].absent) == ("not tested", True)
    assert "a bijective" not in claims["one-error"].absent


@pytest.mark.parametrize(("changed", "outcome"), [(1, "holds"), (0, "undecided")])
def test_one_changed_answer_shows_that_names_matter(tmp_path, changed, outcome):
    letters = np.zeros(50)
    letters[:changed] = 0.1
    claims, items, _ = assembled(ran("relabelling", tmp_path, MODELS[:1], arrays={"letters-changed": letters}))
    assert (claims["relabelling"].outcome, items["Appendix F"].outcome) == (outcome, outcome)
    assert "cannot be refuted by a sample" in claims["relabelling"].note


@pytest.mark.parametrize(("factor", "outcome"), [(1.5, "holds"), (0.7, "does not hold"), (1.0, "undecided")])
def test_speed_says_whether_bijective_is_slower_in_batches_on_one_core(tmp_path, factor, outcome):
    rounds = np.array([1.0, 1.1, 0.9, 1.0])
    times = [9 * rounds, rounds, 9 * rounds, factor * (rounds + 0.01 * np.array([1, -1, 1, -1]))]
    rows = [(name, texts, 1) for name, _ in MODELS for texts in (1.0, 9.0)]
    tables = {"models": Table(("model", "batch", "threads"), rows)}
    claims, items, _ = assembled(ran("speed", tmp_path, arrays={"model-seconds": np.array(times)}, tables=tables))
    assert (claims["slower"].outcome, items["Appendix H"].outcome) == (outcome, outcome)


@pytest.mark.parametrize(("ends", "outcome"), [((4, 2, 1.1, 0.5), "holds"), ((0.5, 1, 2, 4.1), "does not hold")])
def test_compute_is_judged_by_the_ends_of_the_runs_too(tmp_path, ends, outcome):
    arrays = {
        f"curve-{number}": np.stack([np.geomspace(1e6, 1e9 * 2**number, 9), np.geomspace(1.0, end / 100, 9)])
        for number, end in enumerate(ends)
    }
    sizes = Table(("size", "FLOPs", "final SER"), [])
    claims, items, failed = assembled(ran("scaling", tmp_path, [], arrays=arrays, tables={"sizes": sizes}))
    training, size = claims["compute"].checks
    assert (training.outcome, size.outcome, claims["compute"].outcome) == ("holds", outcome, outcome)
    assert training.measure.startswith("more training lowers the error")
    assert (items["Figure 8"].outcome, failed) == (outcome, [])


def test_what_has_no_claim_is_known():
    without = {printed.label for printed in ITEMS if not printed.claim}
    assert "Table 4" in without
    assert not {"Table 1", "Table 2", "Figure 2", "Appendix F", "Appendix H"} & without
