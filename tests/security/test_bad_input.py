"""Inputs that once gave a traceback or a wrong answer: each is now one sentence."""

import gzip
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file
from tiny import tiny
from training_folders import made_up_measures

import alice
from alice.checkpoint import folder as checkpoint
from alice.checkpoint.export import export
from alice.cli import main
from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import ModelConfig
from alice.plugins.builtin.generalization.measures import MEASURES, read_measures, write_measures
from alice.plugins.context.models import NamedModel, open_lens
from alice.plugins.manager import build
from alice.reports import Report, Result, archive
from alice.reports.encoding import read_tensors
from alice.reports.explorer import state as explorer
from alice.reports.gallery import read_entries
from alice.solving import language_files
from alice.solving.evaluate import Scores
from alice.solving.language import Language, Languages
from alice.solving.language_model import CharNgrams
from alice.solving.words import WordNgrams
from alice.text.corpus import open_corpus
from alice.training.folder import Totals
from alice.training.recipe import Recipe


def refused(words, call, *arguments):
    with pytest.raises(AliceError, match=words) as caught:
        call(*arguments)
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


@pytest.fixture
def saved(tmp_path):
    tiny("base").save_pretrained(tmp_path)
    return tmp_path


def test_json_lines_nested_too_deeply(tmp_path):
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    refused("line 1: not valid JSON", list, open_corpus(str(tmp_path / "deep.jsonl")))


def test_a_parquet_column_that_is_not_utf8(tmp_path):
    column = pa.array([b"abc\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "bytes.parquet")
    refused("cannot be read as Parquet", list, open_corpus(str(tmp_path / "bytes.parquet")))


def test_an_extension_in_capitals_is_recognised(tmp_path):
    (tmp_path / "TEXTS.TXT.GZ").write_bytes(gzip.compress(b"a text that is long enough\n"))
    assert list(open_corpus(str(tmp_path / "TEXTS.TXT.GZ"))) == ["A TEXT THAT IS LONG ENOUGH"]


@pytest.mark.parametrize("name", ["norm_eps", "rope_theta", "sinkhorn_tau", "gumbel_noise", "init_std"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 10**400])
def test_a_number_out_of_range_in_a_config(name, value):
    refused(f"{name}=", ModelConfig.from_dict, {name: value})


def test_a_long_value_or_key_in_a_config_is_not_repeated_in_full():
    refused("d_model should be int", ModelConfig.from_dict, {"d_model": "a" * 9000})
    refused("unknown key", ModelConfig.from_dict, {"a" * 9000: 1})
    refused("repeats a symbol", ModelConfig.from_dict, {"symbols": "a" * 9000})
    refused("is not one of", ModelConfig.from_dict, {"variant": "a" * 9000})
    refused("above the limit", ModelConfig.from_dict, {"n_ctx": 10**4000})


def test_a_whole_number_in_place_of_a_float_is_read_as_one():
    config = ModelConfig.from_dict({"sinkhorn_tau": 2**64, "rope_theta": 2**64})
    assert all(isinstance(value, float) for value in (config.sinkhorn_tau, config.rope_theta))
    recipe = Recipe.from_dict({"steps": 1, "lr": 2**64, "hours": None}, where="here")
    assert (type(recipe.lr), type(recipe.steps)) == (float, int)


def test_a_model_needs_an_initial_spread():
    refused(r"init_std=0\.0 must be positive", ModelConfig.from_dict, {"init_std": 0})


def test_a_very_long_name_of_a_column(tmp_path):
    (tmp_path / "texts.txt").write_text("a text that is long enough\n")
    refused("has no column 'aaa", list, open_corpus(str(tmp_path / "texts.txt"), text_column="a" * 9000))


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_ctx": 10**6},
        {"n_ctx": 10**6, "n_heads": 64, "hyper_heads": 1, "variant": "dynamic"},
        {"n_ctx": 50_000, "n_layers": 100},
    ],
)
def test_rotary_tables_that_would_fill_the_memory(sizes):
    refused("needs rotary tables of .* above the limit", ModelConfig.from_dict, sizes)


def test_a_config_of_many_blocks_for_few_tensors():
    config = ModelConfig(d_model=4, n_heads=1, hyper_heads=1, d_mlp=1, n_layers=1000)
    weights = {"all": torch.zeros(10**6)}
    with pytest.raises(AliceError, match="its 1000 blocks need 6 tensors each, and there are 1;"):
        checkpoint.check_size(weights, config, where="here")


def test_a_very_long_format_of_a_config(saved):
    file = saved / checkpoint.CONFIG
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": "a" * 9000}))
    refused("this version cannot read it", checkpoint.read_config, saved)


def test_a_repeated_key_in_a_config(saved):
    file = saved / checkpoint.CONFIG
    file.write_text(file.read_text().replace('"d_model": 16', '"d_model": 16, "d_model": 32'))
    refused("an object repeats a key", checkpoint.read_config, saved)


@pytest.mark.parametrize("kind", [torch.int32, torch.bool, torch.complex64, torch.float8_e4m3fn])
def test_weights_that_are_not_floating_point_numbers(saved, kind):
    weights = load_file(saved / checkpoint.WEIGHTS)
    save_file({name: tensor.to(kind) for name, tensor in weights.items()}, saved / checkpoint.WEIGHTS)
    refused("not a floating-point one", Alice.from_pretrained, saved)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_weights_that_are_not_finite(saved, number):
    weights = load_file(saved / checkpoint.WEIGHTS)
    weights["ln_final.w"][3] = number
    save_file(weights, saved / checkpoint.WEIGHTS)
    refused("ln_final.w has values that are not finite", Alice.from_pretrained, saved)


def test_a_tensor_name_of_several_lines(saved):
    weights = load_file(saved / checkpoint.WEIGHTS)
    save_file(weights | {"a\nb" + "c" * 900: torch.zeros(1)}, saved / checkpoint.WEIGHTS)
    refused(r"1 unknown \(first: a\\nbc+\)", Alice.from_pretrained, saved)


def test_weights_of_a_dtype_unknown_to_torch(saved):
    header = b'{"a":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1]}}'
    (saved / checkpoint.WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + b"\0")
    with pytest.raises(AliceError):
        Alice.from_pretrained(saved)


def test_a_result_with_a_very_long_version(tmp_path):
    archive.write_result(tmp_path, Result("T"), {})
    document = json.loads((tmp_path / archive.RESULT).read_text()) | {"version": "a" * 9000}
    (tmp_path / archive.RESULT).write_text(json.dumps(document))
    refused("upgrade the program", archive.read_report, tmp_path)


def test_a_report_behind_a_link_out_of_the_folder_is_not_shown(tmp_path):
    folder = Report(Result("Secret"), {}).save(tmp_path / "other").folder
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(folder)
    (listed,) = read_entries(tmp_path / "runs")
    assert (listed.entry, listed.problem) == (None, "it is a link out of this folder; copy the report itself")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class Odd(BaseException): pass\nraise Odd('stop')", "Odd: stop"),
        ("class Odd(Exception):\n    def __str__(self): return 5\nraise Odd", "Odd"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_a_plugin_that_raises_an_unusual_exception(tmp_path, source, words):
    (tmp_path / "odd.py").write_text(source)
    *others, plugin = build(third_party=False, files=[tmp_path / "odd.py"]).all
    assert plugin.error == words
    assert not any(one.error for one in others)


def test_a_plugin_can_be_interrupted(tmp_path):
    (tmp_path / "odd.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        build(third_party=False, files=[tmp_path / "odd.py"])


def test_invalid_utf8_on_standard_input():
    result = CliRunner(charset="utf-8").invoke(main, ["solve", "-"], input=b"abc \xff hello\n")
    assert (result.exit_code, len(result.stderr.strip().splitlines())) == (1, 1)
    assert "UTF-8" in result.stderr


def test_invalid_utf8_in_an_argument():
    result = CliRunner().invoke(main, ["solve", "abc \udcff hello"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the text is not valid UTF-8" in result.stderr


def test_names_that_are_not_utf8_on_a_card(saved):
    training = {"data": "\udcff.txt", "recipe": Recipe(steps=1).to_dict(), "totals": vars(Totals())}
    errors = Scores(np.array([20]), np.array([0.1])).table(np.random.default_rng(0))
    rates = {part: (errors.mean[part], errors.median[part], errors.per_character[part]) for part in errors.mean}
    export(saved, tiny("base"), name="\udcff\n", training=training, log=b"", errors=rates, command="x \udcff")
    lines = (saved / checkpoint.CARD).read_text().splitlines()
    assert lines[0] == r"# \udcff\n"
    assert any(r"split of \udcff.txt" in line for line in lines)


def test_control_characters_in_the_path_of_a_plugin_are_escaped():
    result = CliRunner().invoke(main, ["run", "absent", "--plugin", "\x7f\n.py"])
    assert r"loading plugin \x7f\n.py" in result.stderr


@pytest.mark.parametrize("name", ["\x1b]0;title\x07", "\x7f", "\u202e", "\udcff"])
def test_control_characters_in_a_path_are_escaped(name):
    result = CliRunner().invoke(main, ["report", name])
    assert result.exit_code == 1
    assert f"error: {name.encode('unicode_escape').decode()}/result.json does not exist" in result.stderr


def test_a_lens_of_a_model_whose_name_has_several_lines(tmp_path):
    about = {"provenance": json.dumps({"checkpoints": [{"name": "a\nb" * 100, "sha256": "0"}]})}
    save_file({"hook_embed.A": torch.eye(4)}, tmp_path / "lens.safetensors", about)
    refused("was made for a", open_lens, NamedModel("tiny", tiny("base")), tmp_path / "lens.safetensors")


@pytest.mark.parametrize("depth", [900, 100_000])
def test_an_artefact_whose_provenance_is_nested_too_deeply(tmp_path, depth):
    save_file({"a": torch.ones(1)}, tmp_path / "a.safetensors", {"provenance": "[" * depth + "]" * depth})
    refused("is not an artefact", read_tensors, tmp_path / "a.safetensors")


FEATURES = {"mean": (1, 2), "encoder": (1, 3, 2), "encoder_bias": (1, 3), "decoder": (1, 3, 2), "threshold": (1,)}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mean": torch.full((1, 2), math.nan)}, "mean of these features has values that are not finite"),
        ({"decoder": torch.ones(1, 3, 2, dtype=torch.int32)}, "decoder of these features has values that are not"),
        ({"threshold": torch.ones(1, dtype=torch.float16)}, "different number types"),
        ({name: torch.ones(0, *shape[1:]) for name, shape in FEATURES.items()}, "these features are empty"),
        ({"a\nb" * 100: torch.ones(1)}, "these tensors are not features"),
    ],
    ids=["NaN", "whole numbers", "two types", "no layers", "long name"],
)
def test_features_that_cannot_be_used(tmp_path, changed, words):
    save_file({name: torch.ones(shape) for name, shape in FEATURES.items()} | changed, tmp_path / "f.safetensors")
    refused(words, alice.load_features, tmp_path / "f.safetensors")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight_norm", 10**400),
        ("weight_norm", None),
        ("accuracy_new", 1.5),
        ("accuracy_new", [0.5]),
        ("exits_new", 0.5),
        ("attention", []),
        ("symmetry", [0.5]),
    ],
)
def test_measures_of_another_shape_or_range(tmp_path, name, value):
    write_measures(tmp_path, [made_up_measures(1, 0.5)])
    row = json.loads((tmp_path / MEASURES).read_text()) | {name: value}
    (tmp_path / MEASURES).write_text(json.dumps(row))
    refused("cannot be read", read_measures, tmp_path)


def test_measures_nested_too_deeply(tmp_path):
    (tmp_path / MEASURES).write_text('{"version":1,"step":1,"texts":1,"general_error":' + "[" * 900 + "]" * 900 + "}")
    refused("cannot be read", read_measures, tmp_path)


def test_a_state_of_the_explorer_with_half_a_surrogate_pair():
    refused("the field 'text'", explorer.check, explorer.parse('{"text": "\\ud800"}'))


def test_a_language_model_in_the_cache_whose_description_was_changed(tmp_path):
    texts = ["THE CAT RUNS OVER THE BRIDGE", "A DOG SLEEPS UNDER THE STONE"]
    language = Language("small", CharNgrams.count(texts, 2), WordNgrams.count(texts), -2.5, 2)
    language_files.write(Languages((language,)), tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz", allow_pickle=False) as opened:
        arrays = dict(opened.items())
    changed = arrays["about"].tobytes().replace(b'"texts": 2', b'"texts": 3')
    assert language_files.read(tmp_path / "whole.npz").known[0].texts == 2
    np.savez(tmp_path / "changed.npz", **arrays | {"about": np.frombuffer(changed, dtype=np.uint8)})
    with pytest.raises(ValueError, match="damaged or of another version"):
        language_files.read(tmp_path / "changed.npz")
