"""Finds what a report was made from: the analysis with its options, the checkpoints and the texts, by their hashes.

A page may come from anybody, so nothing that it names is run or fetched: plugins, hub ids and datasets of the hub are
used only if the user names them again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from alice.errors import AliceError
from alice.front_door import build_analysis, check_inputs, open_context
from alice.plugins.analysis import Analysis
from alice.plugins.context import RunContext, Tracker, silent
from alice.plugins.manager import Plugin, Plugins
from alice.reports import Report
from alice.reports.names import counted
from alice.text import QUOTES
from alice.text.corpus import HUB_PREFIX
from alice.training.bundled import bundled_trainings

SPLITS = ("test", "validation", "train", "all")
TRAININGS = "trainings"


class CannotRepeatError(AliceError):
    """The analysis cannot be run again here: something that it was made from is gone, changed or not named."""


@dataclass(frozen=True)
class Places:
    """Where to look for what a report was made from."""

    ckpt: Sequence[str] = ()
    """Checkpoints that the user names, in the order of the report; none to find them."""
    data: str | None = None
    """Corpus that the user names."""
    device: str | None = None
    """Where to compute."""
    folders: Sequence[Path] = (Path(),)
    """Folders that relative paths of the report may start from."""

    def find(self, place: str) -> Path | None:
        """Return the first of the folders' paths that exists."""
        for folder in self.folders:
            try:
                path = folder / Path(place).expanduser()
                if path.exists():
                    return path
            except (OSError, ValueError, RuntimeError):  # too long, null bytes, or an unknown ~user
                return None
        return None


@dataclass(frozen=True, eq=False)
class Inputs:
    """What an analysis is run again with."""

    analysis: Analysis
    plugin: Plugin
    ctx: RunContext
    found: Sequence[str] = ()
    """What was found unchanged, in a few words each."""
    notes: Sequence[str] = ()
    """What differs without being an obstacle, one line each."""


def open_inputs(report: Report, plugins: Plugins, places: Places, *, tracker: Tracker = silent) -> Inputs:
    """Find the analysis, the checkpoints and the texts of a report, and check that they are unchanged."""
    try:
        return _open(report.provenance, plugins, places, tracker)
    except CannotRepeatError:
        raise
    except AliceError as error:
        raise CannotRepeatError(f"the analysis cannot be run again: {error}", hint=error.hint) from error


def _open(about: Mapping[str, Any], plugins: Plugins, places: Places, tracker: Tracker) -> Inputs:
    cls, plugin = _analysis(about, plugins)
    analysis = _located(build_analysis(cls, _options(about)), places)
    checkpoints = list(_checkpoints(about, places))
    check_inputs(analysis, [place for place, _ in checkpoints])
    texts = _texts(about)
    ctx = open_context(
        [place for place, _ in checkpoints],
        plugins,
        data=places.data or _source(texts, plugins, places),
        split=cast(Any, texts[0]["split"] if texts else None),
        seed=_seed(about),
        device=places.device,
        tracker=tracker,
    )
    _check_models(ctx, [entry for _, entry in checkpoints])
    _check_texts(ctx, texts)
    found = [counted(len(checkpoints), "checkpoint")] if checkpoints else []
    found += [f"{texts[0]['texts']:,} texts of {texts[0]['source']}"] if texts else []
    notes = [*_other_names(checkpoints), *_other_versions(about, analysis, ctx, plugin), *_unchecked(analysis)]
    return Inputs(analysis, plugin, ctx, found, notes)


def _analysis(about: Mapping[str, Any], plugins: Plugins) -> tuple[type[Analysis], Plugin]:
    """Return the analysis of a report; raise if it comes from a plugin that is not here."""
    name, recorded = about.get("analysis"), about.get("plugin")
    if not isinstance(name, str) or not name:
        raise CannotRepeatError("the report does not say which analysis made it, so it cannot be run again")
    wanted = recorded if isinstance(recorded, Mapping) else {}
    whose = f"the plugin {wanted.get('name')!s:.60} ({wanted.get('where')!s:.100})" if wanted else "a plugin"
    if name not in plugins.analyses:
        raise CannotRepeatError(
            f"the analysis {name!r:.60} is not here, so it cannot be run again; it came from {whose}",
            hint="install that, or give its file with --plugin",
        )
    cls, plugin = plugins.find(name)
    if wanted and wanted.get("name") != plugin.name:
        raise CannotRepeatError(
            f"the analysis {name!r} came from {whose}, but here it comes from {plugin}",
            hint="see: alice-interp plugins",
        )
    return cls, plugin


def _options(about: Mapping[str, Any]) -> dict[str, Any]:
    options = about.get("options")
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise CannotRepeatError("the report does not say with which options it was made, so it cannot be run again")
    return dict(options)


def _seed(about: Mapping[str, Any]) -> int:
    seed = about.get("seed")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise CannotRepeatError(f"the report has the seed {seed!r:.60}, so it cannot be run again")
    return seed


def _checkpoints(about: Mapping[str, Any], places: Places) -> Iterator[tuple[str | Path, Mapping[str, Any]]]:
    """Yield where each checkpoint of a report is, with its entry."""
    given = about.get("checkpoints")
    entries = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    if places.ckpt and len(places.ckpt) != len(entries):
        raise CannotRepeatError(f"the report has {counted(len(entries), 'checkpoint')}; give --ckpt as often")
    for number, entry in enumerate(entries):
        if not isinstance(entry.get("name"), str) or not isinstance(entry.get("sha256"), str):
            raise CannotRepeatError("the report does not say which checkpoints it read, so it cannot be run again")
        yield (places.ckpt[number] if places.ckpt else _find_checkpoint(entry, places)), entry


def _find_checkpoint(entry: Mapping[str, Any], places: Places) -> str | Path:
    """Return a bundled or planted model, or the folder of a checkpoint; nothing is fetched from the hub."""
    from alice.checkpoint import bundled
    from alice.plugins.context.models import PLANTED

    name, place = str(entry["name"]), str(entry.get("place") or entry["name"])
    for one in (place, name, f"{TRAININGS}/{name}"):
        if one in bundled() or one.startswith(PLANTED):
            return one
        if (path := places.find(one)) is not None and path.is_dir():
            return path
    raise CannotRepeatError(f"the checkpoint {place!r:.100} is not here", hint="say where it is with --ckpt")


def _check_models(ctx: RunContext, entries: Sequence[Mapping[str, Any]]) -> None:
    """Give the models their names in the report; raise if one is not the same model."""
    for one, entry in zip(ctx.each, entries, strict=False):
        if one.named_model is None:
            continue
        one.named_model.name = str(entry["name"])
        if (found := one.named_model.fingerprint) != entry["sha256"]:
            raise CannotRepeatError(
                f"the checkpoint {entry['name']!s:.60} has changed: its hash is {found[:12]}, and that of the report "
                f"{entry['sha256']:.12}",
                hint="give the right one with --ckpt",
            )


def _texts(about: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the entries of a report about texts, which must be of one source and split."""
    given = about.get("data")
    entries = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    for entry in entries:
        known = isinstance(entry.get("source"), str) and entry.get("split") in SPLITS
        if not known or not isinstance(entry.get("texts"), int):
            raise CannotRepeatError("the report does not say which texts it read, so it cannot be run again")
    if len({(entry["source"], entry["split"]) for entry in entries}) > 1:
        raise CannotRepeatError("the report read texts of several sources, so it cannot be run again")
    return entries


def _source(texts: Sequence[Mapping[str, Any]], plugins: Plugins, places: Places) -> str:
    """Return the corpus of a report: one by name or a file; nothing is fetched from the hub."""
    source = str(texts[0]["source"]) if texts else QUOTES
    if source == QUOTES or source in plugins.corpora:
        return source
    if not source.startswith(HUB_PREFIX) and (path := places.find(source)) is not None:
        return str(path)
    raise CannotRepeatError(f"the texts {source!r:.100} are not here", hint="say where they are with --data")


def _check_texts(ctx: RunContext, texts: Sequence[Mapping[str, Any]]) -> None:
    """Raise if a model would not read the same texts as before."""
    from alice.plugins.reuse import reads_alike

    entries = {entry.get("model"): entry for entry in texts}
    for one in ctx.each:
        entry = entries.get(one.checkpoint) if one.named_model is not None else None
        if entry is not None and one.texts is not None and not reads_alike(one.texts, entry):
            raise CannotRepeatError(
                f"the texts {entry['source']!s:.100} have changed since the report was made, or are others",
                hint="say where the right ones are with --data",
            )


def _located(analysis: Analysis, places: Places) -> Analysis:
    """Return an analysis whose paths exist, each looked for in the folders that it may start from."""

    def located(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(located, value))
        if not isinstance(value, Path) or str(value) in bundled_trainings():
            return value
        if (path := places.find(str(value))) is None:
            raise CannotRepeatError(f"{str(value)!r:.100}, an input of {analysis.name}, is not here; put it back")
        return path

    found = {
        option.name: located(getattr(analysis, option.name)) for option in fields(cast(Any, analysis)) if option.init
    }
    return cast(Analysis, replace(cast(Any, analysis), **found))


def _files(analysis: Analysis) -> Iterator[Path]:
    """Yield the paths among the options of an analysis."""
    for option in fields(cast(Any, analysis)):
        value = getattr(analysis, option.name)
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Path))


def _unchecked(analysis: Analysis) -> Iterator[str]:
    """Say which inputs have no hash in a provenance."""
    names = [path.name for path in _files(analysis)]
    if names:
        yield f"not checked, because reports have no hash of them: {', '.join(names)}"


def _other_names(checkpoints: Sequence[tuple[str | Path, Mapping[str, Any]]]) -> Iterator[str]:
    """Say which models have the name of a bundled model in the report, and are others."""
    from alice.checkpoint import bundled

    for place, entry in checkpoints:
        name = str(entry["name"])
        if name in bundled() and Path(place) not in (Path(name), bundled()[name]):
            yield f"the model that the report calls {name} is {place!s:.100}, not the bundled model of that name"


def _other_versions(about: Mapping[str, Any], analysis: Analysis, ctx: RunContext, plugin: Plugin) -> Iterator[str]:
    """Say which versions differ from those that made the report."""
    from alice.plugins.provenance import describe

    now = describe(analysis, ctx, plugin)
    versions, before = now["versions"], about.get("versions")
    recorded = before if isinstance(before, Mapping) else {}
    changed = [
        f"{name} {recorded[name]!s:.30} (now {here})"
        for name, here in versions.items()
        if name in recorded and recorded[name] != here
    ]
    made = about.get("plugin")
    if isinstance(made, Mapping) and now["plugin"] is not None and made.get("version") != now["plugin"]["version"]:
        changed.append(f"plugin {plugin.name} {made.get('version')!s:.30} (now {now['plugin']['version']})")
    if changed:
        yield f"made with {', '.join(changed)}"
