"""The trained planted models compute their programs where they are said to, and their decoys do nothing."""

import numpy as np
import pytest
import torch

from alice.causal import Graph
from alice.errors import AliceError
from alice.planted import build, train
from alice.planted.acceptance import REQUIRED, accept
from alice.planted.interchange import drawn, scores, variables
from alice.planted.masks import masks
from alice.planted.programs import PROGRAMS, answers_of, is_letter, present, values_of
from alice.planted.start import Weights, initial_model
from alice.planted.trained import TRAINED_NAMES, folder_of, load_trained
from alice.planted.wiring import RESERVED, WIRINGS
from alice.plugins import RunContext
from alice.plugins.builtin.circuit.contrasts import Contrasts
from alice.plugins.builtin.circuit.faithfulness import circuit_stream
from alice.text import ENGLISH

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def trained_models():
    """Every trained model by name; none of the tests changes them."""
    return {name: load_trained(name) for name in TRAINED_NAMES}


@pytest.fixture(params=TRAINED_NAMES)
def trained(request, trained_models):
    """Each of them in turn."""
    return trained_models[request.param]


@pytest.fixture(scope="module")
def held_out():
    """32 test texts, encrypted, (32, pos)."""
    return next(train.cipher_batches(32, test=True, seed=3, mixed=True))


def ids_of(text):
    return torch.from_numpy(ENGLISH.encode(text).astype("int64"))[None]


def value(program, text, letter):
    """Return frequency and context of a letter in a text."""
    found, symbol = values_of(PROGRAMS[program], ids_of(text)), int(ENGLISH.encode(letter)[0])
    return int(found.frequency[0, symbol]), int(found.context[0, symbol])


def test_frequency_compares_a_count_with_the_number_of_spaces():
    text = "A BB C D E F G"  # six spaces
    assert value("doubles", text, "A")[0] == 1
    assert value("doubles", text, "B")[0] == 2
    assert value("doubles", text + " H", "A")[0] == 0


def test_context_is_what_the_programs_say_it_is():
    assert value("doubles", "ALL OF IT", "L")[1] == 0
    assert value("doubles", "AL LOF IT", "L")[1] == 1
    text = "XA XA BA C D E F G H I J K L M N"  # A is common, X and B are not
    assert value("chain", text, "A") == (1, 0)
    assert value("chain", text.replace("X", "A"), "A")[1] == 1
    assert value("sides", "AAA AAA AAA AAA", "A")[1] == 2


def test_symbols_that_are_not_letters_answer_themselves(held_out):
    found = values_of(PROGRAMS["sides"], held_out)
    answers = answers_of(PROGRAMS["sides"], found.frequency, found.context)
    symbols = torch.arange(ENGLISH.size)
    assert torch.equal(answers[:, ~is_letter(symbols)], symbols[~is_letter(symbols)].expand(len(held_out), -1))


def test_every_answer_of_a_program_is_another_letter():
    for program in PROGRAMS.values():
        assert len(set("".join(program.answers))) == 3 * program.contexts == program.table.numel()


def test_the_files_are_small(trained):
    for file in folder_of(trained.name).iterdir():
        assert file.stat().st_size < MEGABYTE


def test_a_model_passes_its_acceptance_test_on_a_few_texts(trained, held_out):
    found = accept(trained.model, WIRINGS[trained.name], [held_out])
    assert min(found.behaviour, found.strictness, *found.interchange.values()) >= REQUIRED - 0.01
    assert found.without_sharing >= REQUIRED - 0.01
    assert found.without_both < 0.6
    assert ", accepted:" in folder_of(trained.name).joinpath("card.md").read_text()


def test_an_intervention_that_changes_nothing_leaves_the_answers(trained, held_out):
    wiring = WIRINGS[trained.name]
    with torch.no_grad():
        plain = trained.model.decode_symbols(trained.model.resid(held_out), held_out)
        assert torch.equal(scores(trained.model, wiring, drawn(wiring, held_out, {})), plain)


def test_carrying_both_variables_gives_the_answers_of_the_source(held_out):
    wiring = WIRINGS["chain"]
    intervention = drawn(wiring, held_out, {"frequency": 1.0, "context": 1.0})
    same = dict.fromkeys(("frequency", "context"), intervention.carried["context"])
    intervention = type(intervention)(wiring.program, held_out, same, {}, {})
    source, base = intervention.expected().chunk(2)
    symbols = same["context"][1].symbols
    letters = present(held_out)[16:] & is_letter(torch.arange(ENGLISH.size))
    assert torch.equal(base[letters], source.gather(1, symbols)[letters])


def test_every_variable_can_be_carried(trained):
    assert {"count", "frequency", "share", "context"} < set(variables(WIRINGS[trained.name]))


def test_the_edges_are_edges_of_the_model_and_connected(trained):
    graph = Graph(trained.model.config)
    labels = graph.labels(np.arange(len(graph)))
    assert trained.truth.edges <= set(labels)
    chosen = np.isin(labels, list(trained.truth.edges))
    assert np.array_equal(graph.connected(chosen), chosen)
    assert trained.truth.nodes == {edge.split(" → ")[0] for edge in trained.truth.edges} - {"embedding"}


def test_the_edges_of_the_circuit_alone_give_the_same_answers(trained, held_out):
    ctx = RunContext.open(trained.model, data=trained.model.to_string(held_out))
    same = []
    for contrast in Contrasts(ctx, counterfactual="other-text", replacement="resample", testing=False):
        if contrast is None:
            continue
        labels = contrast.graph.labels(np.arange(len(contrast.graph)))
        stream = circuit_stream(contrast, np.isin(labels, list(trained.truth.edges)))
        letters = present(contrast.ids) & is_letter(torch.arange(ENGLISH.size))
        with torch.no_grad():
            clean, kept = (
                trained.model.decode_symbols(x, contrast.ids).argmax(-1) for x in (contrast.clean.sum(0), stream)
            )
        same.append((clean == kept)[letters])
    share = torch.cat(same).float()
    assert len(share) > 300
    assert share.mean() >= 0.98


def test_nodes_of_the_circuit_keep_to_the_coordinates_of_their_variables(trained):
    allowed = masks(trained.model, WIRINGS[trained.name])
    for name, parameter in trained.model.named_parameters():
        assert not parameter[allowed[name] == 0].any()


def test_training_changed_every_node_of_the_circuit_noticeably(trained):
    start, now = Weights(initial_model(WIRINGS[trained.name], 0)), Weights(trained.model)
    for part in WIRINGS[trained.name].circuit:
        reading, before = now.trained(part)[0], start.trained(part)[0]
        assert (reading - before).norm() > 0.2 * before.norm()


def test_the_silent_head_writes_nothing_and_nothing_reads_what_the_unread_head_writes(trained):
    wiring, weights = WIRINGS[trained.name], Weights(trained.model)
    assert not weights.head(wiring.silent)[3].any()
    out = weights.head(wiring.unread)[3]
    outside = torch.ones(len(out), dtype=torch.bool)
    outside[RESERVED] = False
    assert out[RESERVED].any()
    assert not out[outside].any()
    for name, parameter in trained.model.named_parameters():
        if name.endswith(("qkv.weight", "gate_up.weight", "unembed.weight")):
            assert not parameter[:, RESERVED].any()


def test_the_character_before_can_be_read_from_the_reserved_coordinates(trained, held_out):
    wiring = WIRINGS[trained.name]
    name = f"blocks.{wiring.unread.block}.hook_resid_post"
    with torch.no_grad():
        _, cache = trained.model.run_with_cache(held_out, names_filter=name)
        _, _, values, out = Weights(trained.model).head(wiring.unread)
        codes = (out @ values)[RESERVED, : ENGLISH.size - 1]  # (coordinate, symbol)
        stream = cache[name][..., RESERVED]
        likeness = stream @ (codes / codes.norm(dim=0))
    found, wanted = likeness[:, 1:].argmax(-1) + 1, held_out[:, :-1]
    text = held_out[:, 1:] != 0
    assert (found == wanted)[text].float().mean() > 0.99


def test_a_model_that_does_not_exist_is_an_error_that_names_the_others():
    with pytest.raises(AliceError, match="chain, doubles, sides"):
        build("pairs")


def test_the_permutation_head_is_refused():
    with pytest.raises(AliceError, match="the planted model chain has the linear head only"):
        build("chain", "bijective")


def test_too_few_texts_for_a_batch_are_an_error():
    with pytest.raises(AliceError, match="do not fill a batch of 32"):
        next(train.cipher_batches(4, test=False, seed=0))


def test_a_step_of_training_leaves_what_is_set_by_hand(monkeypatch):
    monkeypatch.setattr(train, "TRAINING_TEXTS", 400)
    wiring = WIRINGS["doubles"]
    model = train.train(wiring, train.Settings(steps=1, fit_steps=2, fit_batches=1))
    start = initial_model(wiring, 0)
    assert torch.equal(model.embed.weight, start.embed.weight)
    for part in (*wiring.noticing.values(), wiring.counting, wiring.sharing):
        now, before = Weights(model).head(part), Weights(start).head(part)
        assert all(map(torch.equal, now[:2], before[:2]))
        assert not any(map(torch.equal, now[2:], before[2:]))
    for part in wiring.circuit:
        assert not any(map(torch.equal, Weights(model).trained(part), Weights(start).trained(part)))
    for part in (wiring.silent, wiring.unread, wiring.backup):
        assert all(map(torch.equal, Weights(model).head(part), Weights(start).head(part)))
