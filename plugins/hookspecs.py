"""The plugin interface: its markers, its version, and one function per hook.

A plugin is a module with functions of these names marked with `@hookimpl`. It is found through the entry-point group
`alice_interp`, in a file given with `--plugin`, or in the folder that `ALICE_INTERP_PLUGINS` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from alice.plugins.analysis import Analysis
    from alice.plugins.solvers import SolverOpener
    from alice.text import Alphabet, Corpus

    CorpusOpener = Callable[[Alphabet], Corpus]

PROJECT = "alice_interp"
"""Name of the markers and of the entry-point group."""
API_VERSION = 2
"""Version of this interface; it is raised when existing plugins would stop working."""
API_ATTRIBUTE = "alice_interp_api"
"""Module attribute with the version that a plugin was written for; a module without it is always accepted."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_analyses() -> Iterable[type[Analysis]]:
    """Return the analysis classes that this plugin adds.

    Each is a frozen dataclass with a `name`, a docstring, a default for every field, and `run(ctx) -> Result`.
    """
    return ()


@hookspec
def register_corpora() -> Mapping[str, CorpusOpener]:
    """Return corpora by name, for `--data NAME`: functions that take the model's alphabet and open the corpus.

    The function is called when the corpus is needed, so it may import and read anything.
    """
    return {}


@hookspec
def register_solvers() -> Mapping[str, SolverOpener]:
    """Return solvers by name, for `solve --solver NAME` and for analyses that compare models with other solvers.

    Each is a function that takes a `SolverSetup` and returns a function from ciphertexts to plaintexts. It is called
    when the solver is needed, so it may import and read anything.
    """
    return {}
