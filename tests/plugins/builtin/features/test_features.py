"""What is measured of features, on models and streams whose answers are known."""

import dataclasses

import numpy as np
import pytest
import torch
from handmade import leave_letters_alone, reader

import alice
from alice.errors import AliceError
from alice.plugins import Report, RunContext
from alice.plugins.builtin.features import Features
from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.builtin.features.concepts import Concepts, frequent_ngrams
from alice.plugins.builtin.features.detectors import Detectors, Overlap
from alice.plugins.builtin.features.matching import Matcher, strongest
from alice.plugins.builtin.features.measure import activity_of
from alice.plugins.builtin.features.reconstruction import Reconstruction, reconstruct
from alice.plugins.builtin.features.shown import EffectSums
from alice.plugins.builtin.features.stability import stability
from alice.plugins.builtin.features.summed import Summed
from alice.plugins.conformance import tiny_context, tiny_model, tiny_texts
from alice.probes.tokens import labels_of

TEXTS = ["THE CAT SAT.", "A HAT, THE CAT", "SHE HAD A TEA"]
QUICK = {"training": 24, "fitting": 12, "seeds": 2, "shown": 2, "expansion": 2, "active": 4}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep activations in a folder of this test."""
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """The result over six texts, with a tiny model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALICE_INTERP_CACHE", str(tmp_path_factory.mktemp("cache")))
        return Features(**QUICK).run(tiny_context(tiny_model("bijective"), texts=6))


def autoencoders_of(layers, width, decoder):
    """Return autoencoders that read and write the directions of `decoder`, (feature, d), without centring."""
    decoder = decoder.expand(layers, -1, -1)
    bias = torch.zeros(layers, decoder.shape[1])
    return Autoencoders(torch.zeros(layers, width), decoder, bias, decoder, torch.full((layers,), 1e-6))


def symbols(layers=3):
    """Return autoencoders with a feature for each symbol of the model `reader`."""
    return autoencoders_of(layers, 64, torch.eye(37, 64))


def exact(layers, width):
    """Return autoencoders whose reconstruction is the stream itself."""
    return autoencoders_of(layers, width, torch.cat([torch.eye(width), -torch.eye(width)]))


def measured(ctx, autoencoders):
    parts = {}
    for batch, cache in ctx.activations(*autoencoders.hooks):
        parts |= reconstruct(ctx.model, autoencoders, batch, [cache[name] for name in autoencoders.hooks])
    return Reconstruction.joined(parts)


def shares(found):
    """Return loss recovered and explained variance of each layer."""
    summed = Summed.of(dataclasses.make_dataclass("Found", ["reconstruction"])(found), np.random.default_rng(0))
    return summed.recovered.share, summed.explained.share


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_the_stream_itself_recovers_everything_and_its_mean_nothing(variant):
    model = tiny_model(variant)
    ctx = tiny_context(model, texts=4)
    whole = exact(3, 16)
    for found, expected in (
        (measured(ctx, dataclasses.replace(whole, threshold=torch.zeros(3))), 1),
        (measured(ctx, dataclasses.replace(whole, threshold=torch.full((3,), 1e9))), 0),
    ):
        recovered, explained = shares(found)
        assert recovered == pytest.approx(np.full(3, expected), abs=1e-3)
        assert explained == pytest.approx(np.full(3, expected), abs=1e-5)
    assert found.active == pytest.approx(np.zeros((4, 3)))


def test_a_replaced_layer_is_the_same_as_a_hook_on_it(base):
    ctx = tiny_context(base, texts=3)
    batch = ctx.batches[0]
    half = autoencoders_of(3, 16, torch.eye(8, 16))
    found = measured(ctx.sample(3), half)
    with base.hooks([("blocks.0.hook_resid_post", lambda stream, hook: half.reconstruct(stream, 1))]):
        losses = base(batch.cipher_ids, "loss", plain=batch.plain_ids, loss_per_token=True)
    expected = (losses * batch.mask).sum(1) / batch.mask.sum(1)
    assert found.replaced[batch.index.numpy(), 1] == pytest.approx(expected.detach().numpy(), abs=1e-5)


def test_concepts_are_worked_out_by_hand(base):
    ctx = RunContext.open(base, data=["THE HAT, THE CAT"], split="all")
    concepts = Concepts.of(ctx.alphabet, ctx.plaintexts)
    batch = ctx.batches[0]
    members = concepts.members(labels_of(batch, concepts.tasks, torch.arange(16)))
    cipher = ctx.alphabet.decode(batch.cipher_ids[0].numpy())

    def places(kind, name):
        (number,) = (n for n, one in enumerate(concepts.each) if (one.kind, one.name) == (kind, name))
        return members[:, number].nonzero()[:, 0].tolist()

    assert places("plain", "T") == [0, 6, 9, 15]
    assert places("cipher", cipher[0]) == [0, 6, 9, 15]
    assert places("cipher", " ") == [3, 8, 12]
    assert places("position", "1") == [0, 4, 9, 13]
    assert places("position", "3") == [2, 6, 11, 15]
    assert places("bigram", "TH") == [1, 10]
    assert places("trigram", "THE") == [2, 11]
    assert places("trigram", "HAT") == [6]
    assert not any(one.name == "TT" for one in concepts.each)  # n-grams do not cross the end of a word


def test_frequent_ngrams_are_sorted_by_count_and_then_by_name():
    (_, _, bigrams), (kind, length, trigrams) = frequent_ngrams(["THE THE", "AN-AT"])
    assert bigrams == ["HE", "TH", "AN", "AT"]
    assert (kind, length, trigrams) == ("trigram", 3, ["THE"])


def test_the_best_feature_and_the_best_concept_are_chosen():
    # Feature 0 is active at characters 0 and 1, feature 1 at 1 to 3, more strongly at 3.
    autoencoders = autoencoders_of(1, 2, torch.eye(2))
    streams = torch.tensor([[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 9.0]]])
    members = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1]]).bool()
    overlap = Overlap(autoencoders, torch.tensor([[1.0, 9.0]]), 3)
    overlap.add(streams[:, :2], members[:2])
    overlap.add(streams[:, 2:], members[2:])
    best = Detectors.by_concept(overlap.f1)
    assert (best.features.tolist(), best.f1.tolist()) == ([[0, 1, 1]], [[1, 1, 1]])
    assert best.levels.tolist() == [[0, 0, 1]]  # the last concept needs the stronger activation
    nearest = Detectors.by_feature(overlap.f1, np.array([[1, 0]]))
    assert nearest.concepts.tolist() == [[1, 0]]
    found = best.found(autoencoders.encode(streams[0], 0), torch.tensor([[1.0, 9.0]]), 0)
    assert torch.equal(found, members)


def test_features_that_are_symbols_name_symbols_perfectly_and_letters_only_by_the_key(monkeypatch):
    leave_letters_alone(monkeypatch)
    ctx = RunContext.open(reader(), data=tiny_texts(40), split="all")
    autoencoders = symbols()
    peaks = activity_of(ctx, autoencoders).peak
    energy = np.zeros((3, 37))
    energy[:, [1, 5]] = [2, 1]
    matcher = Matcher.fit(ctx, autoencoders, peaks=peaks, energy=energy, shown=2)
    for batch, cache in ctx.activations(*autoencoders.hooks):
        matcher.add(batch, [cache[name] for name in autoencoders.hooks])
    naming = matcher.naming
    kinds = np.array([one.kind for one in naming.concepts])
    seen = naming.members > 0
    for kind in ("plain", "cipher"):  # under this key they are the same
        assert naming.f1[:, (kinds == kind) & seen] == pytest.approx(1)
    assert naming.characters == sum(map(len, ctx.plaintexts))
    assert [naming.concepts[number].name for number in naming.nearest.concepts[0]] == ["A", "E"]
    assert naming.nearest_f1 == pytest.approx(np.ones((3, 2)))
    assert (naming.f1[:, kinds == "position"][:, 1] < 0.9).all()


def test_few_features_of_one_concept_are_shown_while_there_are_others():
    energy, concepts = np.array([[5.0, 4, 3, 2, 1, 0]]), np.array([[7, 7, 7, 8, 8, 9]])
    assert strongest(energy, concepts, 4).tolist() == [[0, 1, 3, 4]]
    assert strongest(energy, concepts, 6).tolist() == [[0, 1, 3, 4, 2, 5]]


def test_removing_a_symbols_feature_costs_that_symbol_and_no_other(monkeypatch):
    leave_letters_alone(monkeypatch)
    ctx = RunContext.open(reader(), data=["AB"], split="all")
    sums = EffectSums(ctx.model, symbols(), np.array([[1, 2, 9]] * 3))
    for batch, cache in ctx.activations(*symbols().hooks):
        sums.add(batch, [cache[name] for name in symbols().hooks])
    means = sums.means
    assert (means.active[:, :2] < -0.5).all()
    assert means.elsewhere[:, :2] == pytest.approx(0, abs=1e-6)
    assert np.isnan(means.active[:, 2]).all()  # its symbol does not occur
    assert means.characters[:, :2].tolist() == [[1, 1]] * 3
    assert (means.direct[:, 0].argmax(1) == 1).all()
    assert means.direct[:, 0, 1] == pytest.approx(-means.active[:, 0], abs=1e-5)


def test_equal_seeds_agree_wholly_and_random_ones_as_much_as_the_control():
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 400, 64))
    one, other = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (one, other))
    same = stability([[one], [one[::-1]]], rng)
    assert (same.cosine[0], same.found[0]) == pytest.approx((1, 1))
    different = stability([[one], [other]], rng)
    assert different.cosine[0] == pytest.approx(different.random[0], abs=0.02)
    assert different.found[0] == 0
    assert stability([[one]], rng) is None
    assert np.isnan(stability([[one], [one[:0]]], rng).cosine[0])
    assert stability([[one], [one[::-1]], [other]], rng).nearest[0] == pytest.approx((one @ other.T).max(1).clip(0))
    assert not stability([[one], [one[:0]]], rng).nearest[0].any()


def test_stored_features_read_the_same_after_loading(result, tmp_path):
    folder = Report(result, {"analysis": "features"}).save(tmp_path / "runs").folder
    tensors = result.artefact("features", model="bijective")
    stream = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    expected = Autoencoders.of({name: torch.from_numpy(array.copy()) for name, array in tensors.items()})
    for found in (alice.load_features(folder), alice.load_features(folder, "bijective")):
        assert found.hooks == ["hook_embed", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post"]
        assert torch.equal(found.encode(stream, 1), expected.encode(stream, 1))
    with pytest.raises(AliceError, match="has no artefact 'features@other'"):
        alice.load_features(folder, "other")


def test_the_report_has_a_page_and_cards_for_every_layer(result):
    pages = [section for section in result.sections if section.page]
    assert [page.name for page in pages] == ["layer-0", "layer-1", "layer-2"]
    for page in pages:
        assert 1 <= len(page.cards) <= 2
        for name in page.cards:
            for text in result.cards[name].texts:
                assert len(text.below) == len(text.characters) <= 49
                assert max(text.by_symbol[""]) > 0
    assert result.array("energy", model="bijective").shape == (3, 32)


def test_findings_are_the_directions_that_the_other_seed_finds_too(result):
    found = Features().findings(result).directions
    scores = [claim.score for claim in found]
    assert scores == sorted(scores, reverse=True)
    nearest, frequency, energy = (result.array(name, model="bijective") for name in ("nearest", "frequency", "energy"))
    assert (nearest[frequency == 0] == 0).all()
    assert len(found) == (nearest >= 0.9).sum()
    shares = energy / energy.sum(1, keepdims=True)
    assert sum(scores) == pytest.approx(shares[nearest >= 0.9].sum())
    repeated = dataclasses.replace(result, arrays={**result.arrays, "nearest@bijective": np.ones_like(nearest)})
    claims = Features().findings(repeated).directions
    layer, feature = np.unravel_index(shares.argmax(), shares.shape)
    assert (len(claims), claims[0].layer) == (nearest.size, layer)
    decoder = result.artefact("features", model="bijective")["decoder"]
    assert np.array_equal(claims[0].vector, decoder[layer, feature].astype(np.float64))


def test_one_seed_has_no_stability_and_one_text_no_interval(base):
    result = Features(**QUICK | {"seeds": 1}).run(tiny_context(base, texts=1))
    assert "stability" not in result.figures
    assert not [metric for metric in result.metrics if metric.name.startswith("stability")]
    assert result.metric("loss-recovered").interval is None
    assert Features().findings(result).directions == ()


@pytest.mark.parametrize("option", ["samples", "training", "fitting", "expansion", "active", "seeds", "shown"])
def test_options_without_work_are_errors(option):
    with pytest.raises(AliceError, match=f"{option}=0 is too small; give 1 or more"):
        Features(**{option: 0})
