"""The script that takes the pictures of the documentation."""

import sys
from pathlib import Path

from alice.checkpoint.folder import bundled


def test_models_in_one_picture_have_the_same_alphabet(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parent.parent / "docs")
    import take_pictures

    monkeypatch.delitem(sys.modules, "take_pictures")
    assert take_pictures.comparable() == ["base", "bijective", "dynamic"]
    assert "multilingual" in bundled()
