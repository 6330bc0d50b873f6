"""Loads plugins: the built-in ones first, then installed ones, those in a folder and those given as files.

A plugin that fails to load, or that takes longer than `TIME_LIMIT`, is listed with its error; the others still load.
Nothing is global: every call of `build` loads all plugins again.
"""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import pluggy

from alice.errors import AliceError, nearest, one_line, printable
from alice.plugins import hookspecs
from alice.plugins.analysis import Analysis, check_class
from alice.plugins.discovery import Candidate, find_candidates

if TYPE_CHECKING:
    from alice.plugins.hookspecs import CorpusOpener
    from alice.plugins.solvers import SolverOpener

TIME_LIMIT = 60.0
"""Seconds that a plugin of others may take to load, where the system has SIGALRM and in the main thread only."""
LAST_RESORT = 10.0
"""Seconds after that in which a plugin may clean up; one that cannot be interrupted ends the program."""
BUILTIN = (
    "alice.plugins.builtin.quotes",
    "alice.plugins.builtin.classical_solvers",
    "alice.plugins.builtin.baseline_solvers",
    "alice.plugins.builtin.early_exit",
    "alice.plugins.builtin.lens",
    "alice.plugins.builtin.attention",
    "alice.plugins.builtin.circuit",
    "alice.plugins.builtin.evidence",
    "alice.plugins.builtin.features",
    "alice.plugins.builtin.generalization",
    "alice.plugins.builtin.scaling",
    "alice.plugins.builtin.key_recovery",
    "alice.plugins.builtin.letter_frequency",
    "alice.plugins.builtin.errors_by_length",
    "alice.plugins.builtin.probe",
    "alice.plugins.builtin.ngram",
    "alice.plugins.builtin.speed",
    "alice.plugins.builtin.disagreement",
    "alice.plugins.builtin.relabelling",
    "alice.plugins.builtin.borg",
    "alice.plugins.builtin.ablation",
    "alice.plugins.builtin.patching",
)


@dataclass(frozen=True)
class Plugin:
    """A plugin with what it adds, or the reason why it failed to load."""

    name: str
    """Its name in the list of plugins."""
    version: str
    """Version of its distribution; empty for a file."""
    origin: Literal["built-in", "entry point", "folder", "file"]
    """How it was found."""
    where: str
    """Its module, its distribution and module, or its file."""
    analyses: tuple[type[Analysis], ...] = ()
    """Classes that it adds."""
    corpora: "Mapping[str, CorpusOpener]" = field(default_factory=dict)
    """Corpora that it adds, by name."""
    solvers: "Mapping[str, SolverOpener]" = field(default_factory=dict)
    """Solvers that it adds, by name."""
    seconds: float = 0.0
    """How long it took to load."""
    error: str | None = None
    """Why it failed to load, in one line; None if it loaded."""

    def __str__(self) -> str:
        return f"{self.name} ({self.origin}, {self.where})"


@dataclass(frozen=True)
class Plugins:
    """All plugins in the order of loading."""

    all: tuple[Plugin, ...]
    """Those that loaded and those that failed."""

    @property
    def broken(self) -> list[Plugin]:
        """The plugins that failed to load."""
        return [plugin for plugin in self.all if plugin.error is not None]

    @property
    def analyses(self) -> dict[str, type[Analysis]]:
        """Every analysis by name."""
        return {name: cls for name, (cls, _) in self._owned().items()}

    @property
    def corpora(self) -> "dict[str, CorpusOpener]":
        """Every corpus of a plugin by name."""
        return {name: opener for plugin in self.all for name, opener in plugin.corpora.items()}

    @property
    def solvers(self) -> "dict[str, SolverOpener]":
        """Every solver by name."""
        return {name: opener for plugin in self.all for name, opener in plugin.solvers.items()}

    def find(self, name: str) -> tuple[type[Analysis], Plugin]:
        """Return an analysis and its plugin; an unknown name is an error that suggests the nearest."""
        owned = self._owned()
        if name not in owned:
            raise AliceError(f"there is no analysis {name!r}{nearest(name, owned) or self._failures()}")
        return owned[name]

    def _failures(self) -> str:
        """Return how many plugins did not load and the command that says why, with the files given to this one."""
        if not self.broken:
            return ""
        files = [f" --plugin {shlex.quote(plugin.where)}" for plugin in self.all if plugin.origin == "file"]
        count = "1 plugin" if len(self.broken) == 1 else f"{len(self.broken)} plugins"
        return f"; {count} did not load, see: alice-interp plugins{''.join(files)}"

    def _owned(self) -> dict[str, tuple[type[Analysis], Plugin]]:
        return {_name(cls): (cls, plugin) for plugin in self.all for cls in plugin.analyses}


def build(*, third_party: bool = True, files: Iterable[Path] = (), environ: Mapping[str, str] = os.environ) -> Plugins:
    """Load every plugin.

    Args:
        third_party: whether to load installed plugins and those in the folder of `ALICE_INTERP_PLUGINS`.
        files: Python files to load as plugins.
        environ: where to look up `ALICE_INTERP_PLUGINS` and `ALICE_INTERP_LOAD_PLUGINS`.

    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    loaded: list[Plugin] = []
    for candidate in _candidates(third_party, files, environ):
        loaded.append(_load(manager, candidate, loaded))
    return Plugins(tuple(loaded))


def _candidates(third_party: bool, files: Iterable[Path], environ: Mapping[str, str]) -> Iterator[Candidate]:
    for module in BUILTIN:
        yield Candidate(module.rpartition(".")[2], "", "built-in", module, partial(import_module, module))
    yield from find_candidates(environ if third_party else None, files)


def _load(manager: pluggy.PluginManager, candidate: Candidate, before: list[Plugin]) -> Plugin:
    """Import a plugin, register it and call its hooks; any exception becomes its error."""
    plugin = Plugin(candidate.name, candidate.version, candidate.origin, candidate.where)
    started, module = perf_counter(), None
    try:
        # What a plugin prints must not end up in --json output.
        with redirect_stdout(sys.stderr), _time_limit(plugin):
            module = candidate.load()
            _check_version(module)
            manager.register(module, f"{candidate.origin}: {candidate.where}")
            manager.check_pending()  # a misspelt hook is an error, not silence
            plugin = _ask(manager, module, plugin)
        _check_clashes(plugin, before)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything, also SystemExit
        if module is not None and manager.is_registered(module):
            manager.unregister(module)
        plugin = replace(plugin, analyses=(), corpora={}, solvers={}, error=one_line(error))
    return replace(plugin, seconds=perf_counter() - started)


class _TooSlowError(BaseException):
    """Not an Exception, so that a plugin that catches all exceptions does not catch it."""


@contextmanager
def _time_limit(plugin: Plugin) -> Iterator[None]:
    """Interrupt a plugin of others that takes too long; in another thread or on Windows, do nothing."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if plugin.origin == "built-in" or not in_main_thread or not hasattr(signal, "SIGALRM"):
        yield
        return
    seconds = TIME_LIMIT

    def stop(number: int, frame: object) -> None:
        raise _TooSlowError(f"it was not ready after {seconds:g} seconds")

    last_resort = threading.Timer(seconds + LAST_RESORT, _end_program, [plugin])
    last_resort.daemon = True
    last_resort.start()
    started, before = perf_counter(), signal.signal(signal.SIGALRM, stop)
    others = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again every second, in case a plugin catches it
    try:
        yield
    except _TooSlowError as error:
        raise AliceError(str(error)) from error
    finally:
        last_resort.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if others[0]:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, others[0] - (perf_counter() - started)), others[1])


def _end_program(plugin: Plugin) -> None:
    """End the program because of a plugin that catches or ignores every interruption."""
    sentence = f"the plugin {plugin} does not finish loading and cannot be interrupted; remove it"
    os.write(2, f"alice-interp: error: {printable(sentence)}\n".encode(errors="backslashreplace"))
    os._exit(1)


def _ask(manager: pluggy.PluginManager, module: Any, plugin: Plugin) -> Plugin:
    """Call the hooks of one plugin only, so that its answers are known to be its own."""
    others = [other for other in manager.get_plugins() if other is not module]

    def answers(hook: str) -> Iterator[Any]:
        return (answer for answer in manager.subset_hook_caller(hook, others)() if answer is not None)

    classes = [check_class(cls) for answer in answers("register_analyses") for cls in _list_of(answer)]
    corpora = _dict_of(answers("register_corpora"), "register_corpora", "a corpus")
    solvers = _dict_of(answers("register_solvers"), "register_solvers", "a solver")
    return replace(plugin, analyses=tuple(classes), corpora=corpora, solvers=solvers)


def _list_of(answer: Any) -> list[Any]:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise AliceError(f"register_analyses returned {answer!r}; return a list of classes")
    return list(answer)


def _dict_of(answers: Iterator[Any], hook: str, what: str) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for answer in answers:
        if not isinstance(answer, Mapping) or not all(isinstance(k, str) and callable(v) for k, v in answer.items()):
            raise AliceError(f"{hook} must return a dict from names to functions that open {what}")
        found |= answer
    return found


def _check_version(module: Any) -> None:
    wanted = getattr(module, hookspecs.API_ATTRIBUTE, hookspecs.API_VERSION)
    if wanted != hookspecs.API_VERSION:
        raise AliceError(
            f"it was written for version {wanted!r} of the plugin interface, but this is version "
            f"{hookspecs.API_VERSION}; install a matching release of it or of alice-interp"
        )


def _check_clashes(plugin: Plugin, before: list[Plugin]) -> None:
    """Refuse names that an earlier plugin, or the plugin itself, has already registered."""
    kinds: tuple[tuple[str, Callable[[Plugin], list[str]]], ...] = (
        ("analysis", _analysis_names),
        ("corpus", lambda one: list(one.corpora)),
        ("solver", lambda one: list(one.solvers)),
    )
    for what, names_of in kinds:
        taken = {name: owner for owner in before for name in names_of(owner)}
        for name in names_of(plugin):
            if name in taken:
                raise AliceError(f"two plugins register the {what} {name!r}: {taken[name]} and {plugin}; rename one")
            taken[name] = plugin


def _analysis_names(plugin: Plugin) -> list[str]:
    return [_name(cls) for cls in plugin.analyses]


def _name(cls: type[Analysis]) -> str:
    return str(cls.name)  # the protocol declares a property, but on the class it is the string itself
