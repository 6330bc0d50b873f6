"""Where plugins are found: installed with an entry point, in a folder, or in a file that the user names."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import EntryPoint, distributions, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from alice.errors import AliceError
from alice.files import regular_file, user_path
from alice.plugins.hookspecs import PROJECT

FOLDER_VARIABLE = "ALICE_INTERP_PLUGINS"
"""Names a folder whose Python files are plugins."""
LIMIT_VARIABLE = "ALICE_INTERP_LOAD_PLUGINS"
"""Comma-separated list of third-party plugins to load; empty for none. A file given with --plugin always loads."""


@dataclass(frozen=True)
class Candidate:
    """A plugin to load."""

    name: str
    """Name of the plugin."""
    version: str
    """Version of its distribution, if it has one."""
    origin: Literal["built-in", "entry point", "folder", "file"]
    """How it was found."""
    where: str
    """Its module, distribution or file."""
    load: Callable[[], Any]
    """Imports it."""


def find_candidates(environ: Mapping[str, str] | None, files: Iterable[Path]) -> Iterator[Candidate]:
    """Yield the plugins to load: installed ones and those of the folder unless `environ` is None, then the files."""
    if environ is not None:
        found = [*_installed(), *_in_folder(environ.get(FOLDER_VARIABLE, ""))]
        yield from _limited(found, environ.get(LIMIT_VARIABLE))
    for file in {os.path.realpath(file): file for file in files}.values():  # the same file may be given twice
        yield _from_file(file, "file")


def _limited(found: list[Candidate], limit: str | None) -> Iterator[Candidate]:
    """Keep the plugins that the user lists, by plugin or distribution name."""
    if limit is None:
        yield from found
        return
    wanted = {name.strip() for name in limit.split(",") if name.strip()}
    names_of = {candidate: {candidate.name, candidate.where.split(" ")[0]} for candidate in found}
    yield from (candidate for candidate in found if names_of[candidate] & wanted)
    for name in sorted(wanted - set().union(*names_of.values())):
        yield Candidate(name, "", "entry point", f"{LIMIT_VARIABLE} lists it", _refusing("it is not installed"))


def _installed() -> Iterator[Candidate]:
    for entry in sorted(_entry_points(), key=lambda entry: entry.name):
        yield _from_entry_point(entry)


def _entry_points() -> list[EntryPoint]:
    try:
        return list(entry_points(group=PROJECT))
    except Exception:  # some other distribution has a broken entry_points.txt; leave that one out
        found: list[EntryPoint] = []
        for distribution in distributions():
            with suppress(Exception):
                found += distribution.entry_points.select(group=PROJECT)
        return found


def _from_entry_point(entry: EntryPoint) -> Candidate:
    about: Any = {"Name": "?", "Version": ""}
    if entry.dist:
        try:
            about = entry.dist.metadata
        except Exception:  # where the package importlib_metadata is loaded, missing metadata are an error
            about = {}
    name, version, load = about.get("Name"), about.get("Version"), entry.load
    if name is None or version is None:
        load = _refusing("the METADATA of its distribution is missing or broken; install it again")
    return Candidate(entry.name, version or "", "entry point", f"{name or '?'} {entry.value}", load)


def _in_folder(folder: str) -> Iterator[Candidate]:
    if not folder:
        return
    path = Path(folder)
    with suppress(RuntimeError):  # unknown `~user`: reported below as not a folder
        path = path.expanduser()
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".py" and file.name[0] not in "_.")
    except OSError as error:
        load = _refusing(f"{FOLDER_VARIABLE} names {folder}, which is not a readable folder ({error.strerror})")
        yield Candidate(path.name or folder, "", "folder", str(path), load)
        return
    yield from (_from_file(file, "folder") for file in files)


def _from_file(file: Path, origin: Literal["folder", "file"]) -> Candidate:
    return Candidate(file.stem, "", origin, str(file), lambda: _import_file(file))


def _refusing(reason: str) -> Callable[[], Any]:
    def load() -> Any:
        raise AliceError(reason)

    return load


def _import_file(file: Path) -> ModuleType:
    """Run a Python file as a module with a unique name."""
    file = regular_file(user_path(file))
    if not file.exists():
        raise AliceError(f"there is no file {file}")
    place = sha256(str(file.resolve()).encode()).hexdigest()[:8]
    name = f"alice_interp_plugin_{place}_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise AliceError(f"{file} is not a Python file; its name must end in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module there while the file runs
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
