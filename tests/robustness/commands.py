"""Commands that write to disk; each must succeed or fail with one sentence."""

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner
from trainings import carry_out, small_training, write_corpus
from workbench import save_checkpoint, save_texts

from alice.cli import main

NAMES = ("train", "run", "store", "export", "prepare", "pack", "explore")
FAST = [
    *("--preset", "mini", "--threads", "1", "--precision", "fp32", "--compile", "no", "--device", "cpu"),
    *("--eval-texts", "4", "--batch-tokens", "256"),
]


@dataclass(frozen=True)
class Inputs:
    """The folder of everything that the commands read: a model, texts, a corpus and a finished training."""

    folder: Path

    @classmethod
    def write(cls, folder: Path) -> "Inputs":
        """Write all inputs into a folder."""
        save_checkpoint(folder / "model")
        save_texts(folder / "texts.txt")
        carry_out(small_training(folder / "trained", write_corpus(folder / "corpus.txt"), steps=2, eval_texts=4))
        return cls(folder)

    def command(self, name: str, out: Path) -> list[str]:
        """Return the arguments of a command that writes into a folder."""
        model, texts, corpus = (str(self.folder / name) for name in ("model", "texts.txt", "corpus.txt"))
        data = ["--ckpt", model, "--data", texts, "--split", "all"]
        fast = ["--samples", "8", "--epochs", "1", "--hidden", "8", "--longest", "2"]
        return {
            "train": ["train", "--out", f"{out}/training", "--data", corpus, "--steps", "2", *FAST],
            "resume": ["train", "--out", f"{out}/training", "--resume", "--steps", "4"],
            "run": ["run", "early-exit", *data, "--samples", "6", "--examples", "0", "--out", f"{out}/runs"],
            "store": ["run", "ngram", *data, *fast, "--out", str(self.folder / "elsewhere")],
            "export": ["ckpt", "export", str(self.folder / "trained"), "--out", f"{out}/export", "--data", corpus,
                       "--samples", "4", "--force"],
            "prepare": ["data", "prepare", corpus, "--out", f"{out}/prepared.txt", "--force"],
            "pack": ["data", "prepare", corpus, "--out", f"{out}/prepared.txt.gz", "--force"],
            "explore": ["explore", "--ckpt", model, "--out", f"{out}/explore.html", "--force"],
            "solve": ["solve", "--ckpt", model, "--lm-data", corpus, "RJ HRIF YF"],
        }[name]  # fmt: skip


def call(arguments: list[str]) -> str:
    """Run a command in this process and return its one-line error, or an empty string if it succeeds."""
    result = CliRunner().invoke(main, arguments)
    if result.exit_code == 0:
        return ""
    assert result.exit_code == 1, f"{result.output}\n{result.exception!r}"
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    errors = [line for line in result.stderr.splitlines() if line.startswith("alice-interp: error: ")]
    assert len(errors) == 1, result.stderr
    return errors[0]
