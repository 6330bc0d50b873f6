"""Sets up a training (folder, data, precision, processes) and carries it out."""

import atexit
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.state import AcceleratorState
from accelerate.utils import broadcast, set_seed

from alice.errors import AliceError
from alice.model import Alice, Block, choose_device
from alice.text import (
    Batches,
    BatchLimit,
    BatchStream,
    Corpus,
    EncodedTexts,
    KeySource,
    is_test,
    key_pool,
    split_of,
    text_keys,
)
from alice.text.pieces import with_pieces
from alice.text.split import select
from alice.training import precision
from alice.training.folder import Training, saw_validation
from alice.training.loop import Row, Trainer
from alice.training.loss import character_weights
from alice.training.memory import check_memory
from alice.training.recipe import Recipe
from alice.training.state import STATE
from alice.training.warm_start import start_from

LONG_STEPS, LONG_HOURS = 500, 0.1
"""Budget from which compiling saves more than the half minute that it takes."""
VALIDATION_SEED = 0
"""Seed of the validation keys, the default of `alice-interp evaluate`."""
PIECE_STREAM = 1_000_037
"""Separates pieces of texts from everything else that is drawn with the same seed."""
SECONDS_TO_SETTLE = 0.5


def train(
    training: Training,
    *,
    resume: bool = False,
    allow_changed_data: bool = False,
    device: torch.device | str | None = None,
    trackers: Iterable[str] = (),
    report: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda line: None,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Carry out a training; return whether its budget was used up.

    Args:
        training: what to train and where.
        resume: whether to continue the training in the folder.
        allow_changed_data: whether it may be continued on other texts.
        device: where to compute; the accelerator if there is one. Under a launcher each process takes its own.
        trackers: services to log to as well.
        report: called with every row of the log.
        say: called with a sentence about each decision.
        stop: called after each step; true saves and stops.

    """
    if not resume:
        training.check_new()
    _check_trackers(trackers)
    chosen = choose_device(device)
    check_memory(training.model, chosen, averaged=training.recipe.ema > 0)
    training = training.located()
    corpus = _corpus(training, resume=resume)
    validation = validation_batches(corpus, training.recipe)
    training = training.trained_on(corpus.fingerprint(), allow_changed=allow_changed_data)
    state = _processes(chosen)
    has_state = resume and (training.folder / STATE).exists()  # killed before its first checkpoint, it starts over
    model = _model(training, has_state=has_state, say=say)  # fails before a folder is created
    training = _decide(training, state, say)
    with training.claimed(new=not resume) if state.is_main_process else nullcontext():
        if state.is_main_process:
            training.describe()
        accelerator = _accelerator(training, list(trackers))
        trainer = _trainer(training, model, corpus, validation, accelerator, resume=has_state, report=report, say=say)
        trainer.save()
        if training.recipe.compile == "yes":
            compile_blocks(trainer.model)
        finished = trainer.fit(stop)
        _end(accelerator)
    return finished


def _end(accelerator: Accelerator) -> None:
    """End the trackers; the processes stay connected until the program ends, for the next training of a sweep."""
    accelerator.wait_for_everyone()
    for tracker in accelerator.trackers:
        tracker.finish()
    if accelerator.num_processes > 1:
        atexit.unregister(_disconnect)
        atexit.register(_disconnect)


def _disconnect() -> None:
    """Close the process group.

    The threads that exchanged gradients free their tensors a little later and need the Python interpreter for that;
    they would abort a program that has already ended.
    """
    time.sleep(SECONDS_TO_SETTLE)
    PartialState().destroy_process_group()


def _corpus(training: Training, *, resume: bool) -> Corpus:
    """Open the corpus of a training."""
    try:
        return training.corpus()
    except AliceError as error:
        raise AliceError(f"{error}; if it has moved, give its place with --data" if resume else str(error)) from error


def _model(training: Training, *, has_state: bool, say: Callable[[str], None]) -> Alice:
    """Return the model of a training, with its initial weights unless there is a state to load."""
    set_seed(training.recipe.seed)
    model = Alice(training.model)
    if training.init is not None and not has_state:
        say(start_from(model, training.init))
        if saw_validation(training.init):
            say(f"{training.init} was trained on validation texts, so error rates on them are too low")
    return model


def _trainer(
    training: Training,
    model: Alice,
    corpus: Corpus,
    validation: Batches,
    accelerator: Accelerator,
    *,
    resume: bool,
    report: Callable[[Row], None],
    say: Callable[[str], None],
) -> Trainer:
    """Return a trainer at the point where the training starts or resumes."""
    trainer = Trainer(
        model,
        training.recipe,
        stream=training_stream(corpus, training.recipe),
        validation=validation,
        folder=training.folder,
        accelerator=accelerator,
        report=report,
    )
    torch.manual_seed(training.recipe.seed + accelerator.process_index)  # different noise in every process
    if resume:
        trainer.resume()
        say(f"resuming at step {trainer.counters.step}")
        if training.recipe.held_out == "test":
            say("this training started before there was a validation split, so it still measures on the test split")
    return trainer


def training_stream(corpus: Corpus, recipe: Recipe) -> BatchStream:
    """Return the endless batches that a recipe trains on."""
    pool = key_pool(recipe.cipher_pool, recipe.seed) if recipe.cipher_pool else None
    return BatchStream(
        lambda: _training_texts(corpus, recipe),
        corpus.cleaner.alphabet,
        limit=BatchLimit(recipe.batch_tokens, recipe.batch_texts),
        seed=recipe.seed,
        keys=KeySource(pool=pool),
        mixed=recipe.batch_lengths == "mixed",
        weigh=partial(character_weights, recipe.loss_weight),
    )


def _training_texts(corpus: Corpus, recipe: Recipe) -> Iterator[str]:
    """Yield the training split and pieces of it, the same each time; a piece that equals a held-out text is left out.

    A training of an earlier version goes on with every text that is not a test text.
    """
    allowed = (
        (lambda text: split_of(text) == "train")
        if recipe.held_out == "validation"
        else (lambda text: not is_test(text))
    )
    pieces = np.random.default_rng((recipe.seed, PIECE_STREAM))
    return filter(allowed, with_pieces(filter(allowed, corpus), recipe.pieces, pieces))


def validation_batches(corpus: Corpus, recipe: Recipe) -> Batches:
    """Return the held-out texts that a training measures on, under the keys of `evaluate`, never one of its pool."""
    pool = key_pool(recipe.cipher_pool, recipe.seed) if recipe.cipher_pool else None
    texts = list(islice(select(corpus, recipe.held_out), recipe.eval_texts))
    if not texts:
        raise AliceError(
            f"{corpus.name} has no text in its {recipe.held_out} split; "
            "use a larger corpus (at least a few hundred texts)"
        )
    alphabet = corpus.cleaner.alphabet
    keys = text_keys(len(texts), VALIDATION_SEED, excluded=pool)
    return Batches(EncodedTexts(texts, alphabet), alphabet, keys=keys)


def _check_trackers(trackers: Iterable[str]) -> None:
    for tracker in trackers:
        if find_spec(tracker) is None:
            raise AliceError(f"--track {tracker} needs a package that is not installed; run: pip install {tracker}")


def _processes(device: torch.device) -> PartialState:
    """Set up this process, and its connection to the others, to compute on a device."""
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return PartialState(cpu=device.type == "cpu")


def _decide(training: Training, state: PartialState, say: Callable[[str], None]) -> Training:
    """Replace `auto` in the recipe by a decision of the first process, the same in all of them.

    The decision is saved with the training, so that a resumed one neither rounds nor compiles differently.
    """
    recipe = training.recipe
    bf16, compiling = recipe.precision == "bf16", recipe.compile == "yes"
    if state.is_main_process:
        if recipe.precision == "auto":
            choice = precision.choose(training.model, str(state.device), recipe.batch_tokens or 4096)
            say(f"precision {choice.precision}: {choice.reason}")
            bf16 = choice.precision == "bf16"
        if recipe.compile == "auto":
            compiling, reason = _compiling_pays(recipe)
            say(reason)
    bf16, compiling = broadcast(torch.tensor([bf16, compiling], dtype=torch.int32, device=state.device)).bool().tolist()
    decided = replace(recipe, precision="bf16" if bf16 else "fp32", compile="yes" if compiling else "no")
    return replace(training, recipe=decided)


def new_accelerator(recipe: Recipe, **options: Any) -> Accelerator:
    """Return what runs a training; an earlier one in this process may have had another number format."""
    AcceleratorState._reset_state()  # or accelerate refuses, or silently goes on with the earlier format
    mixed = "bf16" if recipe.precision == "bf16" else "no"
    return Accelerator(cpu=PartialState().device.type == "cpu", mixed_precision=mixed, **options)


def _accelerator(training: Training, trackers: list[str]) -> Accelerator:
    folder = training.folder if trackers else None
    accelerator = new_accelerator(training.recipe, log_with=trackers or None, project_dir=folder)
    if trackers:
        accelerator.init_trackers("alice-interp", config=training.recipe.to_dict() | training.model.to_dict())
    return accelerator


def _compiling_pays(recipe: Recipe) -> tuple[bool, str]:
    """Return whether a training is long enough to compile and a compiler is there, and the reason as a sentence."""
    if (recipe.steps or 0) < LONG_STEPS and (recipe.hours or 0) < LONG_HOURS:
        return False, "not compiling: the training is too short to make up for the half minute that compiling takes"
    if not torch.cuda.is_available() and not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        return False, "not compiling: there is no C++ compiler"
    return True, "compiling the blocks, which takes about half a minute"


def compile_blocks(model: Alice) -> None:
    """Compile every block, including those of the hypernetwork, for texts of any length."""
    for module in model.modules():
        if isinstance(module, Block):
            module.compile(dynamic=True)
