"""`alice-interp verify`: says whether a page shows its data, and whether the analysis finds the same again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import PATH, AtLeast, device_option, plugin_option
from alice.cli.progress import track
from alice.cli.root import PROGRAM
from alice.cli.run import announce, load_plugins
from alice.errors import AliceError, printable

if TYPE_CHECKING:
    from alice.reports.verify.compare import Comparison
    from alice.reports.verify.page_check import PageCheck
    from alice.reports.verify.subject import Subject
    from alice.verifying.inputs import Inputs
    from alice.verifying.vary import Varied

DIFFERENT, NOT_REPEATED = 1, 2
"""Exit codes: something differs; the analysis could not be run again."""
MOST = 20
"""Lines of a list that are printed; `--json` has all."""


@click.command(short_help="Run a report again and say whether it holds.")
@click.argument("path", metavar="RUN_OR_REPORT.html", type=PATH)
@click.option("--page-only", is_flag=True, help="Compare the page with its data only; run nothing.")
@click.option("--vary", type=AtLeast(1), metavar="N", help="Also repeat with N other seeds, N samples, other methods.")
@click.option("--ckpt", multiple=True, help="Where a checkpoint of the report is now; repeat for several, in order.")
@click.option("--data", help="Where the texts of the report are now.")
@device_option
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify(path: Path, as_json: bool, vary: int | None, page_only: bool, **options: Any) -> None:
    """Check that a page shows its data, and run the analysis again from its provenance.

    Give the folder of a report, its report.html, or a page alone. The last line says the same, the same within stated
    error, or different. The exit code is 0 for the first two, 1 if something differs, and 2 if the analysis cannot be
    run again because the checkpoint, the texts or the plugin are gone or changed.

    --vary repeats the analysis with other seeds, with other texts, and with the other methods that it has, such as
    other ablations, and marks each verdict of the page that flips.
    """
    if page_only and vary is not None:
        raise click.UsageError("--vary runs the analysis and --page-only runs nothing; leave out one of them")
    ctx, say = click.get_current_context(), _Lines(quiet=as_json)
    try:
        found = _verify(path, say, page_only=page_only, vary=vary, **options)
    except AliceError as error:
        if ctx.find_root().params.get("debug"):
            raise
        if as_json:
            click.echo(json.dumps({"verdict": "not verified", "reason": error.for_command_line()}, indent=2))
        else:
            click.echo(f"{PROGRAM}: error: {printable(error.for_command_line())}", err=True)
        ctx.exit(NOT_REPEATED)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    say(found.last_line())
    ctx.exit(found.code)


@dataclass
class _Found:
    """What all stages found."""

    page: "PageCheck"
    inputs: "Inputs | None" = None
    reason: str = ""
    """Why the analysis was not run again."""
    comparison: "Comparison | None" = None
    varied: "Varied | None" = None
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if not self.page.same:
            return "different"
        return self.comparison.verdict if self.comparison is not None else "not run again"

    @property
    def code(self) -> int:
        if self.verdict == "different":
            return DIFFERENT
        return NOT_REPEATED if self.reason else 0

    def last_line(self) -> str:
        """Return the verdict in one line."""
        from alice.reports.names import counted

        causes = [] if self.page.same else [f"the page in {counted(len(self.page.differences), 'part')}"]
        if self.comparison is not None and self.comparison.different:
            causes.append(f"the run in {counted(len(self.comparison.different), 'part')}")
        text = f"{self.verdict}: {' and '.join(causes)}" if causes else self.verdict
        if self.comparison is None and self.page.same:
            text = f"the page shows its data; {f'not run again: {self.reason}' if self.reason else 'not run again'}"
        if self.comparison is not None and self.comparison.left_out and not causes:
            text += f", apart from {counted(len(self.comparison.left_out), 'timing')}"
        if self.page.same and not self.page.design:
            text += "; design and scripts of the page not compared"
        if self.varied is not None:
            text += f"; {_flips(self.varied)}"
        return text

    def as_json(self) -> dict[str, Any]:
        """Return everything for programs."""
        return {
            "verdict": self.verdict,
            "exit_code": self.code,
            "page": asdict(self.page) | {"same": self.page.same},
            "not_run_again": self.reason or None,
            "inputs": None
            if self.inputs is None
            else {"found": list(self.inputs.found), "notes": list(self.inputs.notes)},
            "run": None if self.comparison is None else vars(self.comparison) | {"verdict": self.comparison.verdict},
            "verdicts": None if self.varied is None else [_verdict_json(one) for one in self.varied.verdicts],
            "failed_repeats": None if self.varied is None else self.varied.failed,
        }


def _verdict_json(one: Any) -> dict[str, Any]:
    return asdict(one) | {"agree": one.agree, "of": len(one.others), "flips": one.flips}


class _Lines:
    """Prints lines unless the output is JSON."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def __call__(self, text: str) -> None:
        if not self.quiet:
            click.echo(printable(text))

    def listed(self, lines: list[str]) -> None:
        for line in lines[:MOST]:
            self(f"  - {line}")
        if len(lines) > MOST:
            self(f"  - and {len(lines) - MOST} more; --json lists all")


def _verify(path: Path, say: _Lines, *, page_only: bool, vary: int | None, **options: Any) -> _Found:
    from alice.reports.verify.page_check import check_pages
    from alice.reports.verify.subject import open_subject

    subject = open_subject(path)
    found = _Found(check_pages(subject))
    pages = "1 page shows" if found.page.pages == 1 else f"{found.page.pages} pages show"
    said = f"{pages} what the data say" if found.page.same else "the page does not show its data"
    say(f"page    {said}")
    say.listed(found.page.differences)
    say.listed([f"note: {note}" for note in found.page.notes])
    if not page_only:
        _run(subject, found, say, vary, **options)
    return found


def _run(
    subject: "Subject",
    found: _Found,
    say: _Lines,
    vary: int | None,
    *,
    ckpt: tuple[str, ...],
    data: str | None,
    device: str | None,
    plugin: tuple[Path, ...],
) -> None:
    """Find the inputs, run the analysis again, compare, and repeat it with variations if asked."""
    announce(plugin)
    plugins = load_plugins(plugin)

    from alice.verifying.again import run_again  # imports torch
    from alice.verifying.inputs import CannotRepeatError, Places, open_inputs

    page = subject.page.absolute().parent
    folders = [Path(), page, page.parent, page.parent.parent]
    try:
        inputs = open_inputs(subject.report, plugins, Places(ckpt, data, device, folders), tracker=track)
    except CannotRepeatError as error:
        found.reason = error.for_command_line()
        say(f"inputs  {found.reason}")
        return
    found.inputs = inputs
    unchanged = f"{' and '.join(inputs.found)} found, unchanged"
    say(f"inputs  {unchanged if inputs.found else f'{inputs.analysis.name} reads no checkpoint and no texts'}")
    say.listed([f"note: {note}" for note in inputs.notes])
    result, found.comparison = run_again(subject, inputs)
    _show_comparison(found.comparison, say)
    if vary is not None:
        _vary(subject, found, inputs, result, vary, say)


def _show_comparison(compared: "Comparison", say: _Lines) -> None:
    from alice.reports.names import counted
    from alice.reports.verify.compare import RULES

    counts = ", ".join(counted(count, kind.removesuffix("s")) for kind, count in compared.compared.items())
    said = "equal to the last bit" if compared.exact else compared.verdict
    say(f"run     {said}: {counts}")
    say.listed(compared.different)
    say.listed(compared.moved)
    if compared.left_out:
        say.listed([f"note: times are not compared: {', '.join(compared.left_out)}"])
    say.listed([f"note: {note}" for note in compared.notes])
    if not compared.exact:
        say(f"  rule: {RULES}")


def _vary(subject: "Subject", found: _Found, inputs: "Inputs", result: Any, count: int, say: _Lines) -> None:
    from alice.verifying.vary import repeats, vary

    entries = subject.report.provenance.get("data") or ()
    texts = max((int(one["texts"]) for one in entries if isinstance(one, Mapping)), default=0)

    def told(label: str) -> None:
        click.echo(f"repeating with {printable(label)}", err=True)

    varied = found.varied = vary(inputs, result, repeats(inputs, count, texts), texts=texts, told=told)
    say(f"vary    {_flips(varied)}")
    width = max((len(one.name) for one in varied.verdicts), default=0)
    for one in sorted(varied.verdicts, key=lambda one: not one.flips):
        mark = "flips" if one.flips else "stays" if one.others else "alone"
        say(f"  {mark}  {one.name:{width}}  {one.agree:>2} of {len(one.others)}  {_shown(one.outcome)}{_others(one)}")
    say.listed([f"not repeated: {line}" for line in varied.failed])


def _flips(varied: "Varied") -> str:
    from alice.reports.names import counted

    if not varied.verdicts:
        return "the page states no verdict that could flip"
    untried = f", no repeat says anything of {len(varied.untried)}" if varied.untried else ""
    return f"{len(varied.flipped)} of {counted(len(varied.verdicts), 'verdict')} flip{untried}"


def _shown(outcome: str | bool) -> str:
    return ("yes" if outcome else "no") if isinstance(outcome, bool) else outcome


def _others(one: Any) -> str:
    """Return what the repeats that disagree say, each outcome with what was different."""
    groups: dict[str, list[str]] = {}
    for label, outcome in one.others.items():
        if outcome != one.outcome:
            groups.setdefault(_shown(outcome), []).append(label)
    return "".join(f"; {outcome} with {', '.join(labels)}" for outcome, labels in groups.items())
