"""`alice-interp plugins`: what is loaded, from where, and what failed; `plugins new` starts a new one."""

import json
import shlex
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from alice.cli.options import FOLDER, NearestGroup, plugin_option
from alice.cli.run import announce
from alice.outputs import check_parent
from alice.plugins.analysis import summary_of
from alice.plugins.manager import Plugin, build

EPILOG = (
    "Plugins of others are the installed ones and the Python files in the folder that ALICE_INTERP_PLUGINS names; "
    "their code runs whenever plugins are loaded. ALICE_INTERP_LOAD_PLUGINS limits them to a comma-separated list of "
    "names; if it is empty, none is loaded."
)


@click.group(cls=NearestGroup, invoke_without_command=True, epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@plugin_option
@click.pass_context
def plugins(ctx: click.Context, as_json: bool, plugin: tuple[Path, ...]) -> None:
    """List the plugins: what each adds, where it comes from, and why one failed."""
    if ctx.invoked_subcommand is not None:
        return
    announce(plugin)
    found = build(files=plugin).all
    if as_json:
        click.echo(json.dumps([_as_json(one) for one in found], indent=2))
    else:
        _show(found)


@plugins.command(short_help="Write the project of a new plugin.")
@click.argument("name")
@click.option("--out", type=FOLDER, default=Path(), help="Folder to put it in.")
def new(name: str, out: Path) -> None:
    """Write a project called NAME: an analysis that runs, its test, and the metadata to install it."""
    from alice.plugins.scaffold import write_project

    folder = str(write_project(name, check_parent(out)))
    quoted = shlex.quote(folder)
    click.echo(f"{folder}\nnext: pip install -e {quoted} && pytest {quoted}")


def _as_json(plugin: Plugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "origin": plugin.origin,
        "where": plugin.where,
        "analyses": {str(cls.name): summary_of(cls) for cls in plugin.analyses},
        "corpora": list(plugin.corpora),
        "solvers": list(plugin.solvers),
        "seconds": round(plugin.seconds, 6),
        "error": plugin.error,
    }


def _show(found: tuple[Plugin, ...]) -> None:
    """Print a table; `Text` escapes markup in plugin names."""
    console = Console(highlight=False)
    table = Table("plugin", "version", "from", "adds", "load time", box=None)
    table.columns[-1].justify = "right"
    for plugin in found:
        adds = [str(cls.name) for cls in plugin.analyses]
        adds += [f"corpus {name}" for name in plugin.corpora] + [f"solver {name}" for name in plugin.solvers]
        origin = plugin.origin if plugin.origin == "built-in" else f"{plugin.origin}: {plugin.where}"
        status = Text("failed", style="red") if plugin.error is not None else Text(", ".join(adds))
        cells = (Text(plugin.name), Text(plugin.version), Text(origin, overflow="fold"), status)
        table.add_row(*cells, f"{1000 * plugin.seconds:.0f} ms")
    console.print(table)
    for plugin in found:
        if plugin.error is not None:
            console.print(Text(f"\n{plugin.name} failed: {plugin.error}"), soft_wrap=True)
