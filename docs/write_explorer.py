"""A hook of mkdocs: writes the explorer page of the model `base` into the site, where docs/explorer.md shows it."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from alice.checkpoint.packed import pack
from alice.reports.explorer.write import render

PAGE = "explore.html"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to the files of the site."""
    packed = pack("base")
    files.append(File.generated(config, PAGE, content=render(packed.header, packed.weights)))
    return files
