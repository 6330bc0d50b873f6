import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import tiny

from alice.checkpoint import folder as checkpoint
from alice.checkpoint.export import round_to_half
from alice.errors import AliceError
from alice.model import Alice


def test_a_saved_model_gives_the_same_answers_bit_for_bit(model, ids, tmp_path):
    model.save_pretrained(tmp_path / "m")
    again = Alice.from_pretrained(tmp_path / "m")
    assert torch.equal(again(ids, soft=True), model(ids, soft=True))
    assert again.config == model.config
    assert not again.training


def test_half_precision_halves_the_file_and_loads_as_fp32(base, ids, tmp_path):
    base.save_pretrained(tmp_path / "whole")
    base.save_pretrained(tmp_path / "half", dtype=torch.float16)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    again = Alice.from_pretrained(tmp_path / "half")
    assert again.W_U.dtype == torch.float32
    assert torch.allclose(again(ids), base(ids), atol=0.1)


def test_a_checkpoint_carries_its_alphabet(tmp_path):
    tiny("base", symbols="ZYXWVUTSRQPONMLKJIHGFEDCBA ").save_pretrained(tmp_path)
    assert Alice.from_pretrained(tmp_path).alphabet.encode("ZA").tolist() == [1, 26]


def test_a_folder_in_the_hub_layout_is_two_files(base, tmp_path):
    base.save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    assert json.loads((tmp_path / "config.json").read_text())["d_model"] == 16


def change_weights(tmp_path, change):
    weights = load_file(tmp_path / "model.safetensors")
    change(weights)
    save_file(weights, tmp_path / "model.safetensors")


def change_config(tmp_path, **changes):
    values = json.loads((tmp_path / "config.json").read_text()) | changes
    (tmp_path / "config.json").write_text(json.dumps(values))


def cut(path, length):
    path.write_bytes(path.read_bytes()[:length])


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda d: (d / "config.json").unlink(), "has no config.json"),
        (lambda d: (d / "model.safetensors").unlink(), "has no model.safetensors"),
        (lambda d: (d / "config.json").write_text("{"), "cannot be read"),
        (lambda d: (d / "config.json").write_text("[1]"), "is not a JSON object"),
        (lambda d: (d / "config.json").write_text('{"model_type": "bert"}'), "format None, not 1"),
        (lambda d: (d / "config.json").write_text('{"format": 1, "hidden_size": 3}'), "unknown key 'hidden_size'"),
        (lambda d: (d / "config.json").write_bytes(b"\xff\xfe\x00"), "cannot be read"),
        (lambda d: change_config(d, n_layers=1000), "its blocks alone need 2,176,000 of them"),
        (lambda d: change_config(d, n_layers=10**9), "n_layers=1000000000 is above the limit of 1,000"),
        (lambda d: change_config(d, n_layers=1), r"6 unknown \(first: blocks.1"),
        (lambda d: change_config(d, n_ctx=10**12), "n_ctx=1000000000000 is above the limit"),
        (lambda d: cut(d / "model.safetensors", 0), "empty, truncated or not a safetensors"),
        (lambda d: cut(d / "model.safetensors", 999), "empty, truncated or not a safetensors"),
        (lambda d: (d / "model.safetensors").write_text("hello, I am a text"), "not a safetensors file"),
        (lambda d: change_weights(d, lambda w: w.pop("ln_final.w")), r"1 missing \(first: ln_final.w\)"),
        (lambda d: change_weights(d, lambda w: w.update(extra=torch.ones(1))), r"1 unknown \(first: extra\)"),
        (
            lambda d: change_weights(d, lambda w: w.update({"ln_final.w": torch.ones(9)})),
            r"ln_final.w has shape \(9,\)",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_in_one_sentence(base, tmp_path, damage, complaint):
    base.save_pretrained(tmp_path)
    damage(tmp_path)
    with pytest.raises(AliceError, match=complaint) as caught:
        Alice.from_pretrained(tmp_path)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_suggests_the_nearest(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "bundled", lambda: {"bijective": tmp_path})
    with pytest.raises(AliceError, match="no checkpoint 'bijectiv'; did you mean 'bijective'"):
        checkpoint.resolve("bijectiv")


def test_a_file_is_not_a_checkpoint(tmp_path):
    (tmp_path / "x.pt").write_text("")
    with pytest.raises(AliceError, match="is a file; a checkpoint is a folder"):
        checkpoint.resolve(tmp_path / "x.pt")


@pytest.fixture
def hub(base, tmp_path, monkeypatch):
    """A hub on this machine that holds one checkpoint; it accepts requests for names in `stalled` and never answers."""
    base.save_pretrained(tmp_path / "repository")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.daemon_threads, server.block_on_close = True, False
        server.files, server.asked, server.stalled = tmp_path / "repository", [], set()
        server.closing = threading.Event()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        yield server
        server.closing.set()
        server.shutdown()


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        file = self.server.files / Path(self.path).name
        self.server.asked.append(file.name)
        if file.name in self.server.stalled:
            self.server.closing.wait()
            return
        self.send_response(200 if file.exists() else 404)
        self.send_header("X-Repo-Commit", "c" * 40)
        if file.exists():
            self.send_header("ETag", f'"{file.name}"')
            self.send_header("Content-Length", str(file.stat().st_size))
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write((self.server.files / Path(self.path).name).read_bytes())

    def log_message(self, *args):
        pass


def test_a_hub_id_is_fetched_and_loaded(hub, base, ids):
    (hub.files / "card.md").write_text("# A card")
    assert torch.equal(Alice.from_pretrained("somebody/alice-base")(ids), base(ids))
    assert (checkpoint.resolve("somebody/alice-base") / "card.md").read_text() == "# A card"


@pytest.mark.parametrize("stalled", ["config.json", "model.safetensors"])
def test_a_hub_that_stalls_is_one_sentence(hub, monkeypatch, stalled):
    monkeypatch.setattr(checkpoint, "HUB_SECONDS", 1.0)
    hub.stalled = {stalled}
    with pytest.raises(AliceError, match=r"could not be downloaded from the hub \(\w*Timeout\)"):
        checkpoint.resolve("somebody/alice-base")
    assert hub.asked.count(stalled) == 1


@pytest.mark.parametrize("stalled", ["config.json", "model.safetensors", "card.md"])
def test_what_was_fetched_before_is_found_when_the_hub_stalls(hub, monkeypatch, stalled):
    first = checkpoint.resolve("somebody/alice-base")
    monkeypatch.setattr(checkpoint, "HUB_SECONDS", 1.0)
    hub.stalled = {stalled}
    assert checkpoint.resolve("somebody/alice-base") == first


def test_a_hub_without_weights_is_one_sentence(hub):
    (hub.files / "model.safetensors").unlink()
    with pytest.raises(AliceError, match="could not be downloaded from the hub"):
        checkpoint.resolve("somebody/alice-base")


@pytest.mark.parametrize("name", ["runs/mien", "./runs/mien", "~/mien", "/mien", "a/b/c", Path("owner/model")])
def test_what_looks_like_a_path_is_never_asked_for_at_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(checkpoint, "_fetch", lambda hub_id: pytest.fail(f"asked the hub for {hub_id}"))
    with pytest.raises(AliceError, match="there is no checkpoint"):
        checkpoint.resolve(name)


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(AliceError, match="could not be downloaded from the hub"):
        checkpoint.resolve("nobody/there-is-no-such-model")


def test_an_older_checkpoint_survives_a_failed_write(base, ids, tmp_path, monkeypatch):
    base.save_pretrained(tmp_path)
    before = base(ids)

    def full_disk(tensors, metadata=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full_disk)
    with pytest.raises(AliceError, match="no room left"):
        tiny("base", init_std=0.1).save_pretrained(tmp_path)
    assert torch.equal(Alice.from_pretrained(tmp_path)(ids), before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_never_replace_good_ones(base, ids, tmp_path, value):
    base.save_pretrained(tmp_path)
    before = base(ids)
    spoilt = tiny("base")
    spoilt.ln_final.w.data[3] = value
    with pytest.raises(AliceError, match=r"was not written, because ln_final.w .* what was saved before is intact"):
        spoilt.save_pretrained(tmp_path)
    assert torch.equal(Alice.from_pretrained(tmp_path)(ids), before)


def test_a_weight_too_large_for_half_precision_is_refused(tmp_path):
    model = tiny("base")
    model.ln_final.w.data[3] = -65_504.0
    model.save_pretrained(tmp_path / "half", dtype=torch.float16)
    model.ln_final.w.data[3] = -70_000.0
    with pytest.raises(AliceError, match=r"ln_final.w has a weight of 7e\+04, and float16 ends at 65504"):
        model.save_pretrained(tmp_path / "half", dtype=torch.float16)
    with pytest.raises(AliceError, match="float16 ends at 65504"):
        round_to_half(model)
    assert float(Alice.from_pretrained(tmp_path / "half").ln_final.w.detach().min()) == -65_504


def test_sizes_beyond_any_model_are_one_sentence(base, tmp_path):
    base.save_pretrained(tmp_path)
    for name in ("d_model", "n_layers", "d_mlp", "hyper_layers", "hyper_mlp", "n_heads", "n_ctx"):
        values = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(values | {name: 10**4000}))
        with pytest.raises(AliceError, match=f"config.json: .*{name}=10000000") as caught:
            Alice.from_pretrained(tmp_path)
        assert len(str(caught.value)) < 500
        (tmp_path / "config.json").write_text(json.dumps(values))
