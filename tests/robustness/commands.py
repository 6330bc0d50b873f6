"""Commands that write to disk, as somebody would type them; they must end well or with one sentence."""

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner
from trainings import carry_out, small_training, write_corpus
from workbench import save_checkpoint, save_texts

from alice.cli import main

FAST = ["--preset", "mini", "--threads", "1", "--precision", "fp32", "--compile", "no", "--device", "cpu", "--eval-texts", "4"]


@dataclass(frozen=True)
class Desk:
    """Where the commands find what they read: a model, texts and a finished training."""

    folder: Path

    @classmethod
    def lay(cls, folder: Path) -> "Desk":
        """Write all that the commands read."""
        save_checkpoint(folder / "model")
        save_texts(folder / "texts.txt")
        carry_out(small_training(folder / "trained", write_corpus(folder / "corpus.txt"), steps=2, eval_texts=4))
        return cls(folder)

    def command(self, name: str, out: Path) -> list[str]:
        """Return the words of a command that writes into a folder."""
        model, texts, corpus = (str(self.folder / name) for name in ("model", "texts.txt", "corpus.txt"))
        data = ["--ckpt", model, "--data", texts, "--split", "all"]
        return {
            "train": ["train", "--out", f"{out}/run", "--data", corpus, "--steps", "2", *FAST],
            "resume": ["train", "--out", f"{out}/run", "--resume", "--steps", "4"],
            "run": ["run", "early-exit", *data, "--samples", "6", "--examples", "0", "--out", f"{out}/runs"],
            "store": ["run", "ngram", *data, "--samples", "30", "--out", str(self.folder / "elsewhere")],
            "export": ["ckpt", "export", str(self.folder / "trained"), "--out", f"{out}/export", "--data", corpus,
                       "--samples", "4"],
            "prepare": ["data", "prepare", corpus, "--out", f"{out}/prepared.txt"],
            "pack": ["data", "prepare", corpus, "--out", f"{out}/prepared.txt.gz"],
        }[name]  # fmt: skip


NAMES = ("train", "run", "store", "export", "prepare", "pack")


def call(words: list[str]) -> str:
    """Run a command and return its one sentence of complaint, or nothing if it ended well."""
    result = CliRunner().invoke(main, words)
    if result.exit_code == 0:
        return ""
    assert result.exit_code == 1, f"{result.output}\n{result.exception!r}"
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    complaints = [line for line in result.stderr.splitlines() if line.startswith("alice-interp: error: ")]
    assert len(complaints) == 1, result.stderr
    return complaints[0]
