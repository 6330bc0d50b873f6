"""Sets a run up: the folder, the data, the precision, the processes; then hands over to the trainer."""

import shutil
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from itertools import islice

import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import broadcast_object_list, set_seed

from alice import precision
from alice.alphabet import Alphabet
from alice.batch import Batches, BatchLimit, BatchStream, EncodedTexts, KeySource
from alice.checkpoint import check_fit
from alice.cipher import key_pool
from alice.corpus import Corpus, open_corpus
from alice.errors import AliceError
from alice.model import Alice
from alice.recipe import Recipe
from alice.run_folder import Run
from alice.split import select
from alice.trainer import Row, Trainer

LONG_RUN_STEPS, LONG_RUN_HOURS = 500, 0.1
"""From here on the half minute that compiling takes is won back."""
VALIDATION_SEED = 1_000_003


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
    accelerator = _accelerator(run, cpu, list(trackers), say)
    corpus = open_corpus(run.data, alphabet=Alphabet(run.model.symbols), max_length=run.recipe.max_length)
    set_seed(run.recipe.seed)
    model = _new_model(run)
    trainer = Trainer(
        model,
        run.recipe,
        stream=training_stream(corpus, run.recipe),
        validation=validation_batches(corpus, run.recipe),
        folder=run.folder,
        accelerator=accelerator,
        report=report,
    )
    torch.manual_seed(run.recipe.seed + accelerator.process_index)  # different noise in every process
    if resume:
        trainer.resume()
        say(f"resuming at step {trainer.counters.step}")
    if accelerator.is_main_process:
        run.folder.mkdir(parents=True, exist_ok=True)
        trainer.save()
        run.describe(torch.get_num_threads() * accelerator.num_processes)
    _compile(model, run.recipe, say)
    finished = trainer.fit(stop)
    accelerator.end_training()
    return finished


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


def _new_model(run: Run) -> Alice:
    """Return a model with fresh weights, or with those of another checkpoint."""
    model = Alice(run.model)
    if run.init is not None:
        start = Alice.from_pretrained(run.init).state_dict()
        check_fit(start, model.state_dict(), where=run.init)
        model.load_state_dict(start)
    return model


def _accelerator(run: Run, cpu: bool, trackers: list[str], say: Callable[[str], None]) -> Accelerator:
    """Choose the precision in the first process, tell the others, and set accelerate up with it."""
    for tracker in trackers:
        if find_spec(tracker) is None:
            raise AliceError(f"--track {tracker} needs a package that is not here; run: pip install {tracker}")
    state = PartialState(cpu=cpu)
    chosen: list[str] = [run.recipe.precision]
    if state.is_main_process and chosen == ["auto"]:
        choice = precision.choose(run.model, str(state.device), run.recipe.batch_tokens or 4096)
        say(f"precision {choice.precision}: {choice.reason}")
        chosen = [choice.precision]
    broadcast_object_list(chosen)
    accelerator = Accelerator(
        cpu=cpu,
        mixed_precision="bf16" if chosen == ["bf16"] else "no",
        log_with=trackers or None,
        project_dir=run.folder if trackers else None,
    )
    if trackers:
        accelerator.init_trackers("alice-interp", config=run.recipe.to_dict() | run.model.to_dict())
    return accelerator


def _compile(model: Alice, recipe: Recipe, say: Callable[[str], None]) -> None:
    """Compile the blocks if the recipe says so or, on auto, if the run is long and there is a compiler."""
    long = (recipe.steps or 0) >= LONG_RUN_STEPS or (recipe.hours or 0) >= LONG_RUN_HOURS
    able = torch.cuda.is_available() or shutil.which("c++") is not None or shutil.which("g++") is not None
    if recipe.compile == "no" or (recipe.compile == "auto" and not (long and able)):
        say("blocks run as they are, not compiled")
        return
    say("compiling the blocks, which takes about half a minute")
    for block in model.blocks:
        block.compile(dynamic=True)
