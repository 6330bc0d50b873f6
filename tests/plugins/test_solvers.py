"""Solvers of plugins: they are found and used, and their errors become one sentence."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from tiny import tiny
from workbench import write_plugin

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.baseline_solvers import BASELINES, REFERENCE
from alice.plugins.builtin.classical_solvers import CLIMBER_TEXTS, register_solvers
from alice.plugins.builtin.solver_scores import run_solvers
from alice.plugins.conformance import tiny_texts
from alice.plugins.manager import build
from alice.plugins.solvers import SolverSetup, open_solver, solutions, solvers_of
from alice.solving.solution import unsolved

SOURCE = """
    from alice.plugins import hookimpl

    def open_caesar(setup):
        return lambda text: "".join(chr((ord(c) - 68) %% 26 + 65) if c.isalpha() else c for c in text)

    @hookimpl
    def register_solvers():
        return {%r: open_caesar}
"""
SETUP = SolverSetup(lambda count: tiny_texts(200)[:count])


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")


def answering(answer):
    return {"mine": lambda setup: lambda text: answer}


def failing(*_):
    raise ValueError("two\nlines")


def run(*arguments, stdin=None):
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


def test_a_solver_of_a_file_is_found_and_one_whose_name_is_taken_is_refused(tmp_path):
    good = write_plugin(tmp_path / "good.py", source=SOURCE % "caesar")
    thief = write_plugin(tmp_path / "thief.py", source=SOURCE % "beam")
    plugins = build(files=[good, thief])
    assert plugins.solvers.keys() == {"guided", "beam", "hill-climbing", "subbreaker", "bayes", *BASELINES, "caesar"}
    (broken,) = plugins.broken
    assert broken.error.startswith("two plugins register the solver 'beam': classical_solvers (built-in")
    assert broken.solvers == {}


def test_solvers_must_come_as_a_dict_of_functions(tmp_path):
    source = "from alice.plugins import hookimpl\n@hookimpl\ndef register_solvers(): return {'a': 3}"
    (broken,) = build(files=[write_plugin(tmp_path / "odd.py", source=source)]).broken
    assert broken.error == "register_solvers must return a dict from names to functions that open a solver"


@pytest.mark.parametrize(
    ("solvers", "complaint"),
    [
        ({"mine": failing}, "solver 'mine' could not be opened: ValueError: two lines"),
        ({"mine": lambda setup: None}, "solver 'mine' is None, which cannot be called"),
        ({"mine": lambda setup: failing}, "solver 'mine' failed on 'ABC': ValueError: two lines"),
        (answering("AB"), "solver 'mine' returned 2 characters for a ciphertext of 3 characters"),
        (answering(None), "solver 'mine' returned None for a ciphertext of 3"),
        ({"mien": failing}, "no solver 'mine'; did you mean 'mien'"),
        ({"zzz": failing}, "no solver 'mine'; there are zzz"),
    ],
)
def test_whatever_goes_wrong_in_a_solver_is_one_sentence(solvers, complaint):
    with pytest.raises(AliceError, match=complaint) as error:
        open_solver("mine", solvers, SETUP)("ABC")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (["HI", "HO"], "the solver 'mine' returned 'HI', which is not a Solution"),
        ([unsolved("A", "")], "the solver 'mine' returned 1 solutions for 2 texts"),
        (None, "the solver 'mine' failed: TypeError"),
    ],
)
def test_a_solver_of_many_texts_must_return_a_solution_for_each(found, complaint):
    class Many:
        def __call__(self, text):
            return text

        def solutions(self, texts):
            return found

    with pytest.raises(AliceError, match=complaint):
        list(solutions("mine", {"mine": lambda setup: Many()}, SETUP, ["A", "B"]))


def test_a_context_has_the_solvers_it_is_given_or_those_that_are_built_in():
    mine = answering("")
    texts = tiny_texts(3)
    assert solvers_of(RunContext.open(tiny("base"), data=texts, split="all", solvers=mine).sample(1)) is mine
    assert solvers_of(RunContext()).keys() == {*register_solvers(), *BASELINES}


def test_a_solver_that_fails_is_told_and_the_others_go_on():
    learned = []

    def open_honest(setup):
        learned.extend(setup.training_texts(5))
        return lambda text: "X" * len(text)

    solvers = {"bad": lambda setup: failing, "honest": open_honest}
    ctx = RunContext.open(tiny("base"), data=tiny_texts(40), split="all", solvers=solvers).sample(4)
    (solved,), (failed,) = run_solvers(ctx, [("AB", "XB"), ("CD", "XX")], solvers, training=3)
    assert failed == "bad is left out: the solver 'bad' failed on 'AB': ValueError: two lines."
    assert (solved.solver, solved.errors.tolist(), solved.learned) == ("honest", [0.5, 0], 3)
    assert len(learned) == 3
    assert not set(learned) & set(ctx.texts.texts)


def test_solvers_that_share_language_models_are_said_to_have_learned_from_the_same_texts():
    def open_languages(setup):
        assert len(setup.languages().known) == 1
        return lambda text: text

    solvers = {"first": open_languages, "second": open_languages}
    ctx = RunContext.open(tiny("base"), data=tiny_texts(400), split="test", solvers=solvers).sample(2)
    (first, second), _ = run_solvers(ctx, [("AB", "XB")], solvers)
    assert 0 < first.learned == second.learned < len(ctx.training_texts(400))


@pytest.mark.parametrize("name", ["guided", "beam", "bayes", "hill-climbing"])
def test_the_built_in_ones_learn_from_the_texts_they_are_given_and_say_when_there_are_none(name):
    solver = open_solver(name, register_solvers(), SETUP)
    plain = "THEY SAID THAT ONE WORD WAS NOT WHAT YOU HAD FOR EACH OTHER WHEN THERE WERE FEW."
    cipher = plain.translate(str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "QWERTYUIOPASDFGHJKLZXCVBNM"))
    answer = solver(cipher)
    assert sum(said == meant for said, meant in zip(answer, plain, strict=True)) > 0.8 * len(plain)
    with pytest.raises(AliceError, match="no text of the training split is left"):
        open_solver(name, register_solvers(), SolverSetup(lambda count: []))


def test_a_text_that_the_reference_cannot_read_does_not_come_back_as_its_own_answer():
    solver = open_solver(REFERENCE, solvers_of(RunContext()), SETUP)
    with pytest.raises(AliceError, match=r"the solver 'alice-same-compute' failed on .* reads at most 1024"):
        solver("AB " * 400)


def test_subbreaker_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("alice.solving.hill_climbing.has_subbreaker", lambda: False)
    with pytest.raises(AliceError, match="pip install 'alice-interp"):
        open_solver("subbreaker", register_solvers(), SETUP)


def test_solve_takes_the_solver_of_a_plugin_and_keeps_case_and_foreign_characters(tmp_path):
    file = write_plugin(tmp_path / "caesar.py", source=SOURCE % "caesar")
    result = run("solve", "Khoor, zruog — «5 Fdhvdu»", "--solver", "caesar", "--plugin", file, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["plaintext"] == "Hello, world — «5 Caesar»"
    assert (found["key"]["K"], found["confidence"], found["layers"]) == ("H", {}, [])
    assert "more than one solution" in found["note"]
    shown = run("solve", "-", "--solver", "caesar", "--plugin", file, stdin="Khoor\n123\n").stdout.splitlines()
    assert shown[0] == "Hello"
    assert [line.split()[0] for line in shown[1:3]] == ["cipher", "plain"]
    assert "confidence" not in "".join(shown)
    assert any(line.startswith("not solved: there is no letter") for line in shown)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["A", "--solver", "baem"], "there is no solver 'baem'; did you mean 'beam'"),
        (["A", "--solver", "modl"], "there is no solver 'modl'; did you mean 'model'"),
        (["A", "--solver", "beam", "--layers"], "--layers is for models and cannot be combined with --solver"),
        (["A", "--solver", "beam", "--ckpt", "base"], "--ckpt is for models and cannot be combined with --solver"),
        (["A", "--plugin", "x.py"], "choose one with --solver"),
        (["123", "--solver", "subbreaker"], "there is no letter to solve"),
    ],
)
def test_solve_refuses_what_does_not_go_together(arguments, complaint, monkeypatch):
    monkeypatch.setattr("alice.plugins.builtin.classical_solvers.open_installed", lambda setup: failing)
    result = run("solve", *arguments)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert result.stdout == ""


def test_the_help_says_how_much_the_built_in_ones_learn_from():
    shown = " ".join(run("solve", "--help").output.split())
    assert f"hill-climbing (over quadgrams of the first {CLIMBER_TEXTS:,} training texts)" in shown
    assert "learned from the training split of quotes on first use" in shown


def test_solving_without_a_model_does_not_import_torch(tmp_path):
    file = write_plugin(tmp_path / "caesar.py", source=SOURCE % "caesar")
    program = (
        "import sys; from alice.cli import main\n"
        f"try: main(['solve', 'KHOOR', '--solver', 'caesar', '--plugin', {str(file)!r}])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'transformer_lens'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("HELLO\n")
