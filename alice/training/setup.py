"""Sets a run up: the folder, the data, the precision, the processes; then hands over to the trainer."""

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice

import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import broadcast, set_seed

from alice.errors import AliceError
from alice.model import Alice
from alice.model.layers import Block
from alice.text.alphabet import Alphabet
from alice.text.batches import Batches, BatchLimit, BatchStream, EncodedTexts, KeySource
from alice.text.cipher import key_pool
from alice.text.corpus import Corpus, open_corpus
from alice.text.split import select
from alice.training import precision
from alice.training.folder import Run
from alice.training.loop import Row, Trainer
from alice.training.recipe import Recipe
from alice.training.state import STATE
from alice.training.warm_start import start_from

LONG_RUN_STEPS, LONG_RUN_HOURS = 500, 0.1
"""From here on the half minute that compiling takes is won back."""
VALIDATION_SEED = 1_000_003
SECONDS_TO_SETTLE = 0.5


def train(
    run: Run,
    *,
    resume: bool = False,
    cpu: bool = False,
    trackers: Iterable[str] = (),
    report: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda line: None,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Carry out a run; return whether its budget was used up."""
    if not resume:
        run.check_new()
    _check_trackers(trackers)
    alphabet, longest = Alphabet(run.model.symbols), run.recipe.max_length
    corpus = open_corpus(run.data, alphabet=alphabet, max_length=longest, text_column=run.text_column)
    validation = validation_batches(corpus, run.recipe)
    run = _decide(run, PartialState(cpu=cpu), say)
    with run.claimed(new=not resume) if PartialState().is_main_process else nullcontext():
        if PartialState().is_main_process:
            run.describe()
        accelerator = _accelerator(run, cpu, list(trackers))
        trainer = _trainer(run, corpus, validation, accelerator, resume=resume, report=report, say=say)
        trainer.save()
        if run.recipe.compile == "yes":
            compile_blocks(trainer.model)
        finished = trainer.fit(stop)
        _end(accelerator)
    return finished


def _end(accelerator: Accelerator) -> None:
    """End trackers and the group of processes, in all of them together.

    Threads that exchanged gradients free their tensors only after the exchange is over, and they need Python for that:
    they would abort a program that has ended meanwhile.
    """
    accelerator.wait_for_everyone()
    if accelerator.num_processes > 1:
        time.sleep(SECONDS_TO_SETTLE)
    accelerator.end_training()


def _trainer(
    run: Run,
    corpus: Corpus,
    validation: Batches,
    accelerator: Accelerator,
    *,
    resume: bool,
    report: Callable[[Row], None],
    say: Callable[[str], None],
) -> Trainer:
    """Return a trainer at the point where the run starts or goes on."""
    set_seed(run.recipe.seed)
    going_on = resume and (run.folder / STATE).exists()  # a run that died at once starts over
    model = Alice(run.model)
    if run.init is not None and not going_on:
        say(start_from(model, run.init))
    trainer = Trainer(
        model,
        run.recipe,
        stream=training_stream(corpus, run.recipe),
        validation=validation,
        folder=run.folder,
        accelerator=accelerator,
        report=report,
    )
    torch.manual_seed(run.recipe.seed + accelerator.process_index)  # different noise in every process
    if going_on:
        trainer.resume()
        say(f"resuming at step {trainer.counters.step}")
    return trainer


def training_stream(corpus: Corpus, recipe: Recipe) -> BatchStream:
    """Return the endless batches that a recipe trains on."""
    pool = key_pool(recipe.cipher_pool, recipe.seed) if recipe.cipher_pool else None
    return BatchStream(
        lambda: select(corpus, "train"),
        corpus.cleaner.alphabet,
        limit=BatchLimit(recipe.batch_tokens, recipe.batch_texts),
        seed=recipe.seed,
        keys=KeySource(pool=pool),
    )


def validation_batches(corpus: Corpus, recipe: Recipe) -> Batches:
    """Return the held-out texts that a run measures itself on, under keys that its pool does not have."""
    pool = key_pool(recipe.cipher_pool, recipe.seed) if recipe.cipher_pool else None
    texts = list(islice(select(corpus, "test"), recipe.eval_texts))
    if not texts:
        raise AliceError(
            f"{corpus.name} has no text on the test side; use a larger corpus (some hundred texts at least)"
        )
    alphabet = corpus.cleaner.alphabet
    return Batches(EncodedTexts(texts, alphabet), alphabet, seed=(VALIDATION_SEED,), keys=KeySource(excluded=pool))


def _check_trackers(trackers: Iterable[str]) -> None:
    for tracker in trackers:
        if find_spec(tracker) is None:
            raise AliceError(f"--track {tracker} needs a package that is not here; run: pip install {tracker}")


def _decide(run: Run, state: PartialState, say: Callable[[str], None]) -> Run:
    """Settle in the first process what the recipe leaves open, and tell the others.

    What was settled is kept with the run: a resumed one must not round or compile differently.
    """
    recipe = run.recipe
    bf16, compiling = recipe.precision == "bf16", recipe.compile == "yes"
    if state.is_main_process:
        if recipe.precision == "auto":
            choice = precision.choose(run.model, str(state.device), recipe.batch_tokens or 4096)
            say(f"precision {choice.precision}: {choice.reason}")
            bf16 = choice.precision == "bf16"
        if recipe.compile == "auto":
            compiling, reason = _compiling_pays(recipe)
            say(reason)
    bf16, compiling = broadcast(torch.tensor([bf16, compiling], dtype=torch.int32, device=state.device)).bool().tolist()
    settled = replace(recipe, precision="bf16" if bf16 else "fp32", compile="yes" if compiling else "no")
    return replace(run, recipe=settled)


def _accelerator(run: Run, cpu: bool, trackers: list[str]) -> Accelerator:
    accelerator = Accelerator(
        cpu=cpu,
        mixed_precision="bf16" if run.recipe.precision == "bf16" else "no",
        log_with=trackers or None,
        project_dir=run.folder if trackers else None,
    )
    if trackers:
        accelerator.init_trackers("alice-interp", config=run.recipe.to_dict() | run.model.to_dict())
    return accelerator


def _compiling_pays(recipe: Recipe) -> tuple[bool, str]:
    """Say whether a run is long enough to win back the time and whether there is a compiler, and say so in words."""
    if (recipe.steps or 0) < LONG_RUN_STEPS and (recipe.hours or 0) < LONG_RUN_HOURS:
        return False, "not compiling: the run is too short to win back the half minute that it takes"
    if not torch.cuda.is_available() and not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        return False, "not compiling: there is no C++ compiler"
    return True, "compiling the blocks, which takes about half a minute"


def compile_blocks(model: Alice) -> None:
    """Compile every block, the hypernetwork's too, for any length of text."""
    for module in model.modules():
        if isinstance(module, Block):
            module.compile(dynamic=True)
