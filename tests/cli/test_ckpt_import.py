"""`ckpt import` writes a folder that every command reads, and says whether the model decodes."""

import json
from pathlib import Path

import pytest
import torch
import upstream_reference as reference
from click.testing import CliRunner
from torch.nn.functional import pad
from workbench import save_texts

from alice.cli import main
from alice.model import Alice
from alice.model.config import VARIANTS
from alice.solving import known_text
from alice.solving.known_text import Check
from alice.solving.solution import NO_SYMBOL
from alice.text.alphabet import ENGLISH, LETTERS

SPACE_FIRST = " " + LETTERS + ENGLISH.symbols[27:]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Load no plugins, and work in an empty folder."""
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    monkeypatch.delenv("ALICE_INTERP_PLUGINS", raising=False)
    monkeypatch.chdir(tmp_path)


def invoke(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def save_random(file, variant):
    config = reference.CONFIGS[variant]
    torch.save(reference.file_of(reference.random_state(config), config), file)


def save_trained(file, symbols=ENGLISH.symbols):
    """Write the bundled base model as the authors' code would, with its symbols in some order."""
    model = Alice.from_pretrained("base")
    ours, c = model.state_dict(), model.config
    order = [0, *model.alphabet.encode(symbols).tolist()]
    missing = 512 - c.d_mlp  # their width for 128; units with zero weights change nothing
    state = {
        "embeddings.weight": ours["embed.weight"][order],
        "norm.weight": ours["ln_final.w"],
        "debed.weight": ours["head.unembed.weight"][order],
        "debed.bias": ours["head.unembed.bias"][order],
    }
    for n in range(c.n_layers):
        gate, up = ours[f"blocks.{n}.mlp.gate_up.weight"].chunk(2)
        state |= {
            f"blocks.{n}.attention_norm.weight": ours[f"blocks.{n}.ln1.w"],
            f"blocks.{n}.attention.wqkv.weight": ours[f"blocks.{n}.attn.qkv.weight"],
            f"blocks.{n}.attention.wo.weight": ours[f"blocks.{n}.attn.out.weight"],
            f"blocks.{n}.ffn_norm.weight": ours[f"blocks.{n}.ln2.w"],
            f"blocks.{n}.feed_forward.w1.weight": pad(gate, (0, 0, 0, missing)),
            f"blocks.{n}.feed_forward.w3.weight": pad(up, (0, 0, 0, missing)),
            f"blocks.{n}.feed_forward.w2.weight": pad(ours[f"blocks.{n}.mlp.down.weight"], (0, missing)),
        }
    config = reference.BASE | {"dim": c.d_model, "n_head": c.n_heads, "n_layer": c.n_layers}
    torch.save(reference.file_of(state, config), file)


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_untrained_model_is_imported_with_a_warning_and_works_with_the_commands(variant):
    save_random("theirs.pt", variant)
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    assert done.stdout.splitlines()[-1] == "done: ours"
    assert "warning: that is close to guessing" in done.stderr
    assert "It does not decode" in Path("ours/card.md").read_text()
    shown = json.loads(invoke("ckpt", "show", "ours", "--json").stdout)
    assert (shown["variant"], shown["n_ctx"], shown["whole_vocab"]) == (variant, 1024, True)
    assert shown["hyper_rope_truncated"] == (variant == "dynamic")
    assert "theirs.pt" in invoke("ckpt", "show", "ours").stdout
    text = "Some text to solve, whatever comes out."
    solved = json.loads(invoke("solve", text, "--ckpt", "ours", "--layers", "--json").stdout)
    assert [len(layer) for layer in solved["layers"]] == [len(text)] * 4
    save_texts(Path("texts.txt"), 400)
    measured = invoke("evaluate", "--ckpt", "ours", "--data", "texts.txt", "--samples", "3", "--json")
    assert json.loads(measured.stdout)["texts"] == 3
    arguments = ("--data", "texts.txt", "--split", "all", "--samples", "6", "--examples", "0", "--out", "report")
    assert invoke("run", "early-exit", "--ckpt", "ours", *arguments).stdout.endswith("report.html\n")


def test_a_trained_model_decodes_and_gives_no_warning():
    save_trained("theirs.pt")
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    assert done.stderr == ""
    assert done.stdout.startswith("weights: model_state_dict\ncheck: ")
    assert percent(done.stdout) < 5
    ids = Alice.from_pretrained("base").to_tokens("XBL CDL OJLRBIACRL MLLTLE BDG XYC EAJLR.")
    ours, theirs = (Alice.from_pretrained(name)(ids)[..., 1:] for name in ("ours", "base"))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)


def percent(output):
    return float(output.partition("check: ")[2].split()[0])


def test_a_wrong_order_of_symbols_is_noticed_and_the_right_one_named():
    save_trained("theirs.pt", SPACE_FIRST)
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    assert percent(done.stdout) > 50
    assert "in another order only" in done.stderr
    assert "--force --alphabet ' ABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?-;:" in done.stderr
    again = invoke("ckpt", "import", "theirs.pt", "--out", "ours", "--force", "--alphabet", SPACE_FIRST.lower())
    assert again.stderr == ""
    assert percent(again.stdout) < 5


def test_a_model_with_averaged_weights_says_which_it_took():
    config = reference.BASE
    state = reference.random_state(config)
    averaged = {f"module._orig_mod.{name}": tensor for name, tensor in state.items()} | {"n_averaged": torch.tensor(3)}
    torch.save(reference.file_of(state, config, ema_model_state_dict=averaged), "both.pt")
    plain = invoke("ckpt", "import", "both.pt", "--out", "ours").stdout
    assert plain.startswith("weights: model_state_dict; --ema takes the averaged ones\n")
    assert invoke("ckpt", "import", "both.pt", "--out", "averaged", "--ema").stdout.startswith(
        "weights: ema_model_state_dict\n"
    )


def test_a_model_of_letters_and_space_is_checked_in_its_own_alphabet():
    config = reference.BASE | {"extra_chars": ""}
    torch.save(reference.file_of(reference.random_state(config, vocabulary=28), config), "theirs.pt")
    assert "in 12 English texts" in invoke("ckpt", "import", "theirs.pt", "--out", "ours").stdout
    assert Alice.from_pretrained("ours").alphabet.symbols == LETTERS + " "


def test_a_bad_file_is_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "x.pt").write_text("hello")
    done = invoke("ckpt", "import", "x.pt", "--out", "ours", code=1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("alice-interp: error: x.pt is empty, truncated")
    assert not (tmp_path / "ours").exists()


def test_an_answer_that_is_padding_is_written_as_a_dot():
    config = reference.BASE
    state = reference.random_state(config)
    state["debed.bias"][0] = 1e3
    torch.save(reference.file_of(state, config), "theirs.pt")
    invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    solved = json.loads(invoke("solve", "All of it?", "--ckpt", "ours", "--solver", "model", "--json").stdout)
    assert solved["plaintext"] == "All of it?".translate({ord(c): NO_SYMBOL for c in "Alofit"})
    assert set(solved["key"].values()) == {NO_SYMBOL}


def save_bijective(file, **changes):
    config = reference.CONFIGS["bijective"] | {"n_head": 2} | changes
    torch.save(reference.file_of(reference.random_state(config), config), file)


@pytest.fixture
def decodes(monkeypatch):
    """Let the check find that a model decodes with one number of heads and in one order only."""

    def set_truth(heads, order=ENGLISH.symbols):
        def check(model, alphabet=None, *, keys=2):
            right = model.config.cross_heads == heads and (alphabet or model.alphabet).symbols == order
            return Check(0.01 if right else 0.8, 0.75, 12)

        monkeypatch.setattr(known_text, "check", check)

    return set_truth


@pytest.mark.parametrize(
    ("stated", "truth", "says"),
    [
        (4, 1, "cross-attention with 1 head decodes; the file states 4"),
        (4, 2, "cross-attention with 2 heads decodes; the file states 4"),  # n_head
        (None, 2, "cross-attention with 2 heads decodes; the file states no number"),
        (5, 2, "cross-attention with 2 heads decodes; the file states 5"),  # 5 does not divide the width
        (4, 4, None),
        (None, 1, None),
    ],
)
def test_the_number_of_cross_heads_that_decodes_is_imported_and_named(stated, truth, says, decodes):
    save_bijective("theirs.pt", cross_n_head=stated)
    decodes(truth)
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if "cross-attention" in line] == ([says] if says else [])
    assert Alice.from_pretrained("ours").config.cross_heads == truth
    card = Path("ours/card.md").read_text()
    assert f"has {truth} head{'s' * (truth > 1)}; the file states {stated or 'no number'}." in card


def test_the_number_of_cross_heads_can_be_given():
    save_bijective("theirs.pt", cross_n_head=4)
    invoke("ckpt", "import", "theirs.pt", "--out", "ours", "--cross-heads", 8)
    assert Alice.from_pretrained("ours").config.cross_heads == 8
    wrong = invoke("ckpt", "import", "theirs.pt", "--out", "other", "--cross-heads", 5, code=1)
    assert "d_model=32 does not divide into cross_heads=5" in wrong.stderr


def test_a_model_without_cross_attention_takes_no_number_of_cross_heads():
    save_random("theirs.pt", "base")
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours", "--cross-heads", 1, code=1)
    assert "is a base model, which has no cross-attention head; leave out --cross-heads" in done.stderr


def test_another_order_and_another_number_of_cross_heads_are_named_together(decodes):
    save_bijective("theirs.pt", cross_n_head=4)
    decodes(1, SPACE_FIRST)
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    assert "in another order only 1.0 %" in done.stderr
    assert done.stderr.endswith(" --cross-heads 1\n")


@pytest.mark.parametrize(("variant", "blamed"), [("base", False), ("bijective", True)])
def test_a_model_that_does_not_decode_is_not_blamed_on_the_order_alone(variant, blamed):
    save_random("theirs.pt", variant)
    done = invoke("ckpt", "import", "theirs.pt", "--out", "ours")
    for text in (done.stderr, Path("ours/card.md").read_text()):
        assert "or the model is not trained" in text
        assert ("number of cross-attention heads may be another one" in text) == blamed
