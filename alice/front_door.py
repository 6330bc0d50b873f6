"""What `import alice` offers: load a model, solve cryptograms, run an analysis and list the analyses.

The command line takes the same road: it builds analyses and opens models and texts with the functions here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from alice.cluster import asks_for_workers
from alice.errors import AliceError, nearest
from alice.fields import Kind, field_kinds, flags_of
from alice.plugins.analysis import Analysis, check_can_be_divided, check_needs, checkpoints_of, summary_of
from alice.plugins.context import RunContext, Tracker, silent
from alice.plugins.manager import Plugins, build
from alice.text import QUOTES

if TYPE_CHECKING:
    import torch

    from alice.model import Alice, Lens
    from alice.plugins.builtin.features.autoencoders import Autoencoders
    from alice.reports import Report
    from alice.solving import Languages, Solution
    from alice.text import Split

    Checkpoint = str | Path | Alice
    Device = torch.device | str


MODEL = "model"
"""Name of the solver that is the model itself."""


def load(checkpoint: str | Path = "base", *, device: "Device | None" = None) -> "Alice":
    """Load a bundled model, a checkpoint folder, a hub id or `planted:NAME`, onto the accelerator if there is one."""
    from alice.plugins.context.models import open_model

    return open_model(checkpoint, device)


def load_artefact(
    path: str | Path, name: str | None = None, *, device: "Device | None" = None
) -> "dict[str, torch.Tensor]":
    """Load the tensors of an artefact by name, such as the translators of a lens.

    Args:
        path: the folder of a report, or the file of an artefact.
        name: name of the artefact in the folder; may be omitted if there is only one.
        device: where to put the tensors; the CPU if None.

    """
    import torch

    from alice.reports.encoding import find_artefact, read_tensors

    tensors, _ = read_tensors(find_artefact(Path(path), *([name] if name is not None else [])))
    return {key: torch.from_numpy(array.copy()).to(device or "cpu") for key, array in tensors.items()}


def load_lens(path: str | Path, model: "Checkpoint | None" = None, *, device: "Device | None" = None) -> "Lens":
    """Load a lens with the model that it was made for: `alice.load_lens("runs/lens-base-...").read(hook, resid, ids)`.

    Args:
        path: the folder of a report with translators, such as one of `lens`, or their file.
        model: a loaded model, or the checkpoint to load it from; if None, the checkpoint named in the file. A lens of
            another model is refused.
        device: where to load the model; the accelerator if there is one.

    """
    from alice.plugins.context.models import lens_checkpoint, load_models, open_lens

    (named,) = load_models([lens_checkpoint(path) if model is None else model], device)
    return open_lens(named, path)


def load_features(path: str | Path, model: str = "", *, device: "Device | None" = None) -> "Autoencoders":
    """Load the sparse autoencoders of all layers that `alice-interp run features` stored.

        features = alice.load_features("runs/features-base-...")
        features.encode(cache["blocks.3.hook_resid_post"], layer=4)  # (batch, pos, feature)

    Args:
        path: the folder of a report, or the file of an artefact.
        model: name of the model, if the folder has features of several.
        device: where to put them; the CPU if None.

    """
    from alice.plugins.builtin.features.autoencoders import FEATURES, Autoencoders
    from alice.reports.names import model_key

    tensors = load_artefact(path, model_key(FEATURES, model) if model else None, device=device)
    try:
        return Autoencoders.of(tensors)
    except AliceError as error:
        raise AliceError(f"{path}: {error}") from error


@overload
def solve(
    texts: str,
    *,
    model: "Checkpoint" = ...,
    solver: str = ...,
    languages: "Languages | str | Path | Sequence[str | Path]" = ...,
    layers: bool = ...,
    device: "Device | None" = ...,
) -> "Solution": ...
@overload
def solve(
    texts: list[str] | tuple[str, ...],
    *,
    model: "Checkpoint" = ...,
    solver: str = ...,
    languages: "Languages | str | Path | Sequence[str | Path]" = ...,
    layers: bool = ...,
    device: "Device | None" = ...,
) -> "list[Solution]": ...
def solve(
    texts: str | list[str] | tuple[str, ...],
    *,
    model: "Checkpoint" = "base",
    solver: str = "model",
    languages: "Languages | str | Path | Sequence[str | Path]" = QUOTES,
    layers: bool = False,
    device: "Device | None" = None,
) -> "Solution | list[Solution]":
    """Solve a cryptogram, or a list of them.

    A text that cannot be solved comes back unchanged, with an empty key and a note that says why. The last checkpoint
    loaded is kept for the next call.

    Args:
        texts: one text, or a list.
        model: a loaded model, or the checkpoint to load it from.
        solver: `model` for its own answer; `guided` for a search with language models that it guides, which makes
            far fewer errors; or another solver, such as `beam`, which uses no model.
        languages: for other solvers than the model, what they learn the language from: corpora, a language each, which
            are learned on first use and kept in the user's cache; or languages that are learned already.
        layers: whether to record the answer of every layer; for the model alone.
        device: where to load the model; the accelerator if there is one.

    """
    given = [texts] if isinstance(texts, str) else texts
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        raise AliceError(f"{texts!r:.60} is not a text to solve; give a string or a list of strings")
    if not isinstance(solver, str):
        raise AliceError(f"{solver!r:.60} is not a solver; give its name, such as 'guided'")
    if layers and solver != MODEL:
        raise AliceError(f"only a model has layers, and the solver is {solver!r}; leave out layers, or the solver")
    found = _solutions(given, model, solver, languages, layers=layers, device=device)
    return found[0] if isinstance(texts, str) else found


def _solutions(
    texts: Sequence[str],
    model: "Checkpoint",
    solver: str,
    languages: "Languages | str | Path | Sequence[str | Path]",
    *,
    layers: bool,
    device: "Device | None",
) -> "list[Solution]":
    from alice.model import Alice
    from alice.solving import Languages, open_languages
    from alice.solving import solve as solve_texts

    def open_model() -> Alice:
        return model if isinstance(model, Alice) else load_kept(model, device)

    if solver == MODEL:
        return list(solve_texts(open_model(), texts, layers=layers))

    from alice.plugins.solvers import SolverSetup, check_solver, solutions

    solvers = build().solvers
    check_solver(solver, solvers.keys() | {MODEL})
    sources = languages if isinstance(languages, Languages) else _corpora(languages)

    def known() -> Languages:
        return sources if isinstance(sources, Languages) else open_languages(sources)

    def training_texts(count: int) -> list[str]:
        return [] if isinstance(sources, Languages) else first_training_texts(sources[0], count)

    setup = SolverSetup(training_texts, open_model=open_model, open_languages=known)
    return list(solutions(solver, solvers, setup, texts))


def _corpora(languages: "str | Path | Sequence[str | Path]") -> list[str]:
    """Return the names of corpora, at least one."""
    given = [languages] if isinstance(languages, str | Path) else languages
    if not isinstance(given, list | tuple) or not given or not all(isinstance(one, str | Path) for one in given):
        raise AliceError(f"{languages!r:.60} is no language to solve in; give the name of a corpus, or a list of them")
    return list(map(str, given))


def first_training_texts(source: str, count: int) -> list[str]:
    """Return the first texts of the training split of a corpus."""
    from alice.text import open_corpus
    from alice.text.split import select

    return list(islice(select(open_corpus(source), "train"), count))


def load_kept(checkpoint: str | Path, device: "Device | None") -> "Alice":
    """Load a checkpoint unless it was the last one to be loaded and its files are the same."""
    from alice.checkpoint import WEIGHTS, resolve
    from alice.checkpoint.folder import CONFIG
    from alice.plugins.context.models import PLANTED

    if str(checkpoint).startswith(PLANTED):
        return load(checkpoint, device=device)
    folder = resolve(checkpoint)
    files = [folder / name for name in (CONFIG, WEIGHTS)]  # a training may be adding and removing others
    state = tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists())
    return _load_folder(folder, state, device)


@lru_cache(maxsize=1)
def _load_folder(folder: Path, state: object, device: "Device | None") -> "Alice":
    return load(folder, device=device)


def run(
    analysis: str | Analysis,
    *checkpoints: "Checkpoint",
    data: str | Path | Iterable[str] = QUOTES,
    split: "Split | None" = None,
    seed: int = 0,
    device: "Device | None" = None,
    workers: int | None = None,
    scheduler: str | None = None,
    **options: Any,
) -> "Report":
    """Run an analysis and return its report, which `save()` stores as the command line does.

    Args:
        analysis: its name, such as `early-exit`, or an analysis of your own with its options set.
        checkpoints: bundled models, checkpoint folders, hub ids or loaded models, as many as the analysis reads.
        data: a corpus by name, a file, or a list of cleaned texts.
        split: `test`, `validation`, `train` or `all`; by default the test split of a corpus, and all texts of a list.
        seed: seed of the keys and of everything else that is random.
        device: where to compute; the accelerator if there is one.
        workers: processes of one thread that share the texts; the result is the same for any number of them.
        scheduler: address of a Dask scheduler whose workers share the texts instead.
        options: options of the analysis, named as its fields.

    """
    plugins = build()
    cls, plugin = plugins.find(analysis) if isinstance(analysis, str) else (type(analysis), None)
    with _errors_in_python(cls):
        if isinstance(analysis, str):
            analysis = build_analysis(cls, options)
        elif options:
            raise AliceError(f"{analysis.name} is built already; set {', '.join(options)} where you build it")
        check_inputs(analysis, checkpoints, divided=asks_for_workers(None, workers, scheduler))
        ctx = open_context(checkpoints, plugins, data=data, split=split, seed=seed, device=device)

        from alice.plugins.context.cluster import divided
        from alice.plugins.runner import analyse

        with divided(ctx, workers=workers, scheduler=scheduler) as shared:
            return analyse(analysis, shared, plugin=plugin)


@contextmanager
def _errors_in_python(cls: type[Analysis]) -> Iterator[None]:
    """Replace flags of the command line in the message of an error by the names of arguments: `--text` by `text`."""
    try:
        yield
    except AliceError as error:
        message = str(error)
        for name, kind in field_kinds(cls).items():
            for flag in flags_of(name, kind):
                message = re.sub(rf"(?<![\w-]){flag}(?![\w-])", name, message)
        message = re.sub(r"--(workers|scheduler)\b", r"\1", message)
        error.args = (message,)
        raise


def analyses() -> dict[str, str]:
    """Return the one-line summary of every analysis by name, those of installed plugins included."""
    return {name: summary_of(cls) for name, cls in build().analyses.items()}


def build_analysis(cls: type[Analysis], options: Mapping[str, Any]) -> Analysis:
    """Build an analysis from its options; lists become tuples and strings become paths where the field says so."""
    kinds, values = field_kinds(cls), {}
    for name, value in options.items():
        if name not in kinds:
            raise AliceError(f"{cls.name} has no option {name!r}{nearest(name, kinds) or f', only {sorted(kinds)}'}")
        values[name] = _converted(value, kinds[name])
        if not kinds[name].fits(values[name]):
            (annotation,) = (field.type for field in fields(cast(Any, cls)) if field.name == name)
            written = annotation.__name__ if isinstance(annotation, type) else annotation
            raise AliceError(f"{cls.name} cannot take {name}={value!r:.60}; its type is {written}")
    try:
        return cls(**values)
    except AliceError:
        raise
    except Exception as error:
        raise AliceError(f"{cls.name} refuses its options: {error}") from error


def _converted(value: Any, kind: Kind) -> Any:
    """Return a list as a tuple and a string as a path if the field holds one; anything else as it is."""
    if isinstance(value, list | tuple):
        kinds = kind.items * len(value) if kind.repeated else kind.items
        if len(kinds) == len(value):
            return tuple(_converted(entry, one) for entry, one in zip(value, kinds, strict=True))
    return Path(value) if kind.scalar is Path and isinstance(value, str) else value


def check_inputs(analysis: Analysis, checkpoints: Sequence["Checkpoint"], *, divided: bool = False) -> None:
    """Raise if an analysis lacks what it needs or cannot be divided as asked, before any model is loaded."""
    wanted, count = checkpoints_of(type(analysis)), len(checkpoints)
    if wanted == "none" and count:
        raise AliceError(f"{analysis.name} reads no checkpoint; leave it out")
    if wanted != "none" and not count:
        known = "a bundled model, a checkpoint folder or a hub id"
        raise AliceError(f"{analysis.name} needs a checkpoint: {known}", hint="give it with --ckpt")
    if wanted == "one" and count > 1:
        raise AliceError(f"{analysis.name} reads one checkpoint, not {count}; name one")
    check_needs(analysis)
    if divided:
        check_can_be_divided(analysis)


def open_context(
    checkpoints: Sequence["Checkpoint"],
    plugins: Plugins,
    *,
    data: str | Path | Iterable[str] = QUOTES,
    split: "Split | None" = None,
    seed: int = 0,
    device: "Device | None" = None,
    tracker: Tracker = silent,
) -> RunContext:
    """Load the models and open the texts, with the corpora and solvers of all plugins."""
    if not checkpoints:
        return RunContext(seed=seed, tracker=tracker)
    return RunContext.open(
        *checkpoints,
        data=data,
        split=split,
        seed=seed,
        device=device,
        tracker=tracker,
        corpora=plugins.corpora,
        solvers=plugins.solvers,
    )
