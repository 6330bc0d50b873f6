"""What tests of plugins and of `run` work on: checkpoint folders, text files and plugin files."""

from pathlib import Path
from textwrap import dedent

from tiny import tiny

from alice.plugins.conformance import tiny_texts


def save_checkpoint(folder: Path, variant: str = "base", **changes: object) -> Path:
    """Write a tiny model as a checkpoint."""
    tiny(variant, **changes).save_pretrained(folder)
    return folder


def save_texts(file: Path, count: int = 30) -> Path:
    """Write some texts, one per line."""
    file.write_text("".join(f"{text}\n" for text in tiny_texts(count)))
    return file


COUNT = '''
    from dataclasses import dataclass, field
    from alice.plugins import Metric, Result, hookimpl

    @dataclass(frozen=True)
    class Count:
        """Count the texts.

        More words.
        """
        name = "{name}"
        samples: int = field(default=5, metadata={{"help": "Texts to count."}})
        word: str = ""

        def run(self, ctx):
            {body}
            texts = sum(len(batch) for batch in ctx.sample(self.samples).batches)
            return Result("Count", metrics=[Metric("texts", texts)])

    @hookimpl
    def register_analyses():
        return [Count]
'''


def write_plugin(file: Path, *, name: str = "count", body: str = "pass", source: str | None = None) -> Path:
    """Write a plugin file: an analysis that counts texts after running `body`, or any other source."""
    file.write_text(dedent(COUNT.format(name=name, body=body) if source is None else source))
    return file
