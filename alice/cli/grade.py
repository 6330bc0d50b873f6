"""`alice-interp grade NAME`: tests an analysis on models whose mechanism is known."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from alice.cli import options as shared
from alice.cli.options import AtLeast, dataclass_options, given
from alice.cli.progress import track
from alice.cli.run import AnalysisGroup
from alice.fields import field_kinds, flags_of
from alice.front_door import build_analysis
from alice.plugins.analysis import ALL, Analysis, can_be_graded, grading_of, is_for_all, summary_of
from alice.plugins.manager import Plugin, Plugins

LEAGUE = ("edges-auroc", "nodes-auroc", "kinds", "answer-layer", "verdicts", "decoys-rejected", "directions-f1")
"""Measures that are printed; the page has all."""


def grade_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every grading has."""
    for decorate in (
        shared.plugin_option,
        click.option("--standalone", is_flag=True, help="Put the drawing script into the page, to send it."),
        shared.out_option,
        shared.data_option,
        click.option("--trials", type=AtLeast(1), default=3, show_default=True, help="Seeds for each planted model."),
        click.option("--planted", multiple=True, metavar="NAME", help="Planted model; repeatable.  [default: all]"),
    ):
        command = decorate(command)
    return command


def _analysis_command(cls: type[Analysis], plugin: Plugin, plugins: Plugins) -> click.Command:
    @grade_options
    @dataclass_options(cls)
    def call(**options: Any) -> None:
        names = ("planted", "trials", "data", "out", "standalone", "plugin")
        about = {name: options.pop(name) for name in names}
        _grade([build_analysis(cls, {**grading_of(cls), **given(options)})], plugins, about)

    can = "" if can_be_graded(cls) else " (cannot be graded)"
    text = f"Grade {cls.name} on planted models: {summary_of(cls)}{_smaller(cls)}"
    return click.command(str(cls.name), help=text, short_help=f"{summary_of(cls)}{can}")(call)


def _smaller(cls: type[Analysis]) -> str:
    """Say which options differ from the defaults of the analysis."""
    kinds, options = field_kinds(cls), list[str]()
    for name, value in grading_of(cls).items():
        (flag, *_), values = flags_of(name, kinds[name]), value if isinstance(value, tuple) else (value,)
        options += [f"{flag} {one}" for one in values]
    return f"\n\nUnless given: {' '.join(options)}." if options else ""


def _all_command(plugins: Plugins) -> click.Command:
    @click.command(ALL, short_help="Every analysis that says what its results claim.")
    @grade_options
    def call(**about: Any) -> None:
        """Grade every analysis that says what its results claim."""
        _grade(
            [build_analysis(cls, grading_of(cls)) for cls in plugins.analyses.values() if is_for_all(cls)],
            plugins,
            about,
        )

    return call


@click.group(cls=AnalysisGroup, make=_analysis_command, make_all=_all_command)
@shared.plugin_option
def grade(plugin: tuple[Path, ...]) -> None:
    """Test an analysis, or all, on planted models: networks whose mechanism is known because it was put there."""


def _grade(analyses: Sequence[Analysis], plugins: Plugins, about: dict[str, Any]) -> None:
    """Grade analyses, store the league table and print its main rows."""
    from alice.plugins.grade import grade as grade_analyses  # imports torch
    from alice.reports.publish import check_place

    out = check_place(about["out"], standalone=about["standalone"])
    options = {name: about[name] for name in ("planted", "trials", "data")}
    found = grade_analyses(analyses, plugins, tracker=track, **options).save(out, standalone=about["standalone"])
    for row in found.tables["league"].records():
        if row["measure"] in LEAGUE:
            click.echo(f"{row['value']:.2f}  (shuffled {row['shuffled']:.2f})  {row['what']}: {row['method']}")
    click.echo(str(found.stored_in / "report.html"))
