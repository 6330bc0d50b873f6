"""Pieces of a long computation on disk, so that an interrupted run continues where it stopped.

All are in `pieces/` of the folder that `ALICE_INTERP_CACHE` names, by default `~/.cache/alice-interp`. A computation is
a folder named by a hash of the checkpoint, the texts with their keys, its name and options, and the versions that
compute; each piece is a file that appears when it is complete. The first piece that a run finds there is computed
again; if it differs, the computation has changed, and all pieces are discarded. The newest computations are kept, so
that the same options do not compute twice; the folder may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from alice.cache import cache_folder, make_private
from alice.errors import AliceError
from alice.files import atomic_write, read_json, remove_drafts
from alice.plugins.context.models import hooks_on
from alice.plugins.context.store import ABOUT, number_type

if TYPE_CHECKING:
    from alice.plugins.context.models import NamedModel
    from alice.plugins.context.sample import Sample
    from alice.reports.checks import Array

FORMAT, VERSION = "alice-interp pieces", 1
KEPT = 32
"""Computations that are kept, the most recently used ones."""
TOLERANCE = 1e-3
"""Largest difference between a kept piece and a computed one, as a share of its largest entry."""
Plain = str | int | float | bool
_PIECE = re.compile(r"[a-z0-9-]+\.npy")


class Pieces:
    """Arrays by name that are computed once and kept in a folder."""

    def __init__(self, named: NamedModel, texts: Sample, name: str, options: Mapping[str, Plain]) -> None:
        """Open the pieces of a computation; refuse a model that is hooked or changed.

        Args:
            named: the model.
            texts: the texts and keys.
            name: name of the computation.
            options: everything else that the pieces depend on.

        """
        if hooks_on(named.model) or not named.is_unchanged():
            raise AliceError(f"{named.name} has hooks or changed weights, so nothing computed with it can be kept")
        about = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "options": dict(options),
            "model": named.name,
            "checkpoint": named.fingerprint,
            "computed": number_type(named),
            "data": texts.fingerprint,
            "versions": {package: version(package) for package in ("alice-interp", "torch")},
        }
        root = cache_folder("pieces")
        unnamed = {key: value for key, value in about.items() if key != "model"}  # a copy of a checkpoint is the same
        self.folder = root / sha256(json.dumps(unnamed, sort_keys=True).encode()).hexdigest()[:32]
        self._verified = False
        make_private(self.folder)
        remove_drafts(self.folder)
        with atomic_write(self.folder / ABOUT) as file:
            json.dump(about, file, indent=2)
        os.utime(self.folder)
        _remove_oldest(root, keep=self.folder)

    def array(self, piece: str, compute: Callable[[], Array]) -> Array:
        """Return a piece, (any shape): read if it is there, otherwise computed and kept."""
        if not _PIECE.fullmatch(f"{piece}.npy"):
            raise AliceError(f"a piece cannot be called {piece!r}; use lower-case letters, digits and hyphens")
        found = self._read(piece)
        if found is not None and self._verified:
            return found
        computed = compute()
        if found is not None and _agree(found, computed):
            self._verified = True
            return found
        if found is not None:  # something that the options do not name has changed
            _remove(self.folder, with_marker=False)
        self._verified = True
        with atomic_write(self.folder / f"{piece}.npy", "wb") as file:
            np.save(file, computed, allow_pickle=False)
        return computed

    def _read(self, piece: str) -> Array | None:
        """Read a piece; None if it must be computed (again)."""
        try:
            found: Array = np.load(self.folder / f"{piece}.npy", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return found


def _agree(found: Array, computed: Array) -> bool:
    if found.shape != computed.shape or found.dtype != computed.dtype:
        return False
    largest = float(np.nanmax(np.abs(computed), initial=0.0))
    return np.allclose(found, computed, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True)


def _remove_oldest(root: Path, *, keep: Path) -> None:
    """Remove all computations but the most recently used ones; folders without our marker stay."""
    used: dict[Path, float] = {}
    for folder in root.iterdir():
        with suppress(OSError, ValueError):  # another process removes it, or it is not ours
            about = read_json(folder / ABOUT)
            ours = isinstance(about, dict) and about.get("format") == FORMAT
            if ours and folder != keep and not folder.is_symlink():
                used[folder] = folder.stat().st_mtime
    for folder in sorted(used, key=used.__getitem__, reverse=True)[KEPT - 1 :]:
        _remove(folder, with_marker=True)


def _remove(folder: Path, *, with_marker: bool) -> None:
    """Remove the pieces in a folder, and with the marker the folder; other files stay."""
    with suppress(OSError):  # another process removes it too, or there is something else in it
        remove_drafts(folder)
        for path in list(folder.iterdir()):
            if _PIECE.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)
        if with_marker:
            (folder / ABOUT).unlink(missing_ok=True)
            folder.rmdir()
