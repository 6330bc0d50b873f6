"""`alice-interp reproduce`: the tables and figures of the paper on given models, and whether its claims hold there."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli import options as shared
from alice.cli.options import FILE, FOLDER, AtLeast, NearestChoice
from alice.cli.run import Job, open_context, places, run_one
from alice.errors import AliceError, nearest
from alice.files import regular_file
from alice.plugins.manager import Plugins, build

if TYPE_CHECKING:
    from alice.plugins import RunContext
    from alice.plugins.reproduce.findings import Finding
    from alice.plugins.reproduce.plan import Request, Step

MODELS = ("base", "bijective", "dynamic")
"""Bundled models of the paper's three variants."""
MULTILINGUAL = "multilingual"
"""Name of the bundled model for the Borg cipher, if there is one."""
TRAININGS_HELP = "Trainings of: alice-interp sweep {0}; may be repeated."


@click.command()
@click.option("--ckpt", multiple=True, default=MODELS, show_default=True, help="Model to test; may be repeated.")
@click.option("--generalization-trainings", type=FOLDER, multiple=True, help=TRAININGS_HELP.format("generalization"))
@click.option("--scaling-trainings", type=FOLDER, multiple=True, help=TRAININGS_HELP.format("scaling"))
@click.option("--borg", type=FILE, help="Transcription of a page of the Borg cipher, as for `run borg --file`.")
@click.option("--borg-plain", type=FILE, help="Its plaintext.")
@click.option(
    "--borg-symbols",
    type=NearestChoice(("characters", "tokens", "letters")),
    default="characters",
    show_default=True,
    help="What a symbol of the transcription is.",
)
@click.option("--borg-ignore", default="", help="Symbols that do not belong to the cipher.")
@click.option("--multilingual", help="Model for the Borg cipher.  [default: the bundled one, else the first --ckpt]")
@shared.data_option
@shared.split_option
@shared.seed_option
@click.option("--samples", type=AtLeast(2), help="Texts of each analysis.  [default: 32 to 2000]")
@click.option("--skip", multiple=True, metavar="NAME", help="Analysis to leave out; may be repeated.")
@click.option("--fresh", is_flag=True, help="Run everything again instead of reusing reports on the same inputs.")
@shared.device_option
@click.option("--out", type=FOLDER, default=Path("reproduction"), show_default=True, help="Folder of the page.")
def reproduce(ckpt: tuple[str, ...], out: Path, fresh: bool, **given: Any) -> None:
    """Run the analyses behind the paper's tables and figures, test its claims, and put everything on one page.

    The page is index.html in the folder of --out; reproduce.json holds the same for programs, and the reports are in
    runs/ next to it. Where something cannot be computed, the page says why and which command changes that. The same
    command again continues where it stopped. If an analysis fails, the others still run and the exit code is 1. A claim
    that does not hold is a result, not a failure.
    """
    from alice.files import make_folder
    from alice.plugins.reproduce.page import REPORTS, check_place, write_reproduction

    request = _request(given)  # before anything is computed
    check_place(out)

    from alice.plugins.reproduce.assemble import assemble  # after the cheap checks, since it imports torch
    from alice.plugins.reproduce.facts import facts
    from alice.plugins.reproduce.plan import plan, run_set, unequal

    plugins = build(third_party=False)
    inputs = {name: given[name] for name in ("data", "split", "seed", "device")}
    models = open_context(ckpt, plugins, **inputs)
    differing = unequal(models)
    alike = open_context(folders, plugins, **inputs) if differing and (folders := list(map(str, run_set()))) else None
    steps = plan(models, _multilingual(given, plugins, inputs), request, alike)
    make_folder(out)  # a wrong name of a model leaves no empty folder
    findings = _run(steps, plugins, out / REPORTS, unequal=differing, reuse=not fresh)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    found, broken = assemble(findings, seed=given["seed"], about=_about(models, given), time=time)
    page = write_reproduction(out, replace(found, facts=facts()))
    for claim in found.claims:
        click.echo(f"{claim.outcome:>13}  {claim.sentence}")
    click.echo(str(page))
    failed = [f"{one.analysis} ({one.error})" for one in findings if one.error] + broken
    if failed:
        raise AliceError(f"{len(failed)} failed: {'; '.join(failed)}; the page {page} has the rest")


def _request(given: dict[str, Any]) -> "Request":
    """Check what the user asked for, before any model is loaded."""
    from alice.plugins.reproduce.plan import ANALYSES, Request

    for name in given["skip"]:
        if name not in ANALYSES:
            advice = nearest(name, ANALYSES) or f"; give one of {', '.join(ANALYSES)}"
            raise AliceError(f"--skip {name}: there is no such analysis{advice}")
    for name in ("borg", "borg_plain"):
        if given[name] is not None and not regular_file(given[name]).exists():
            raise AliceError(f"there is no file {given[name]}; docs/reproduce.md says what --borg takes")
    for folder in (*given["generalization_trainings"], *given["scaling_trainings"]):
        if not folder.is_dir():
            raise AliceError(f"there is no folder {folder}; give a training folder, or a folder of them")
    borg = {name: given[f"borg_{name}"] for name in ("plain", "symbols", "ignore")}
    return Request(
        given["generalization_trainings"],
        given["scaling_trainings"],
        {"file": given["borg"], **borg},
        given["samples"],
        given["skip"],
    )


def _multilingual(given: dict[str, Any], plugins: Plugins, inputs: dict[str, Any]) -> "RunContext | None":
    """Open the model for the Borg cipher, if there is one and a transcription to read."""
    from alice.checkpoint import bundled

    name = given["multilingual"] or (MULTILINGUAL if MULTILINGUAL in bundled() else None)
    return open_context([name], plugins, **inputs) if name and given["borg"] is not None else None


def _run(steps: "list[Step]", plugins: Plugins, reports: Path, *, unequal: str, reuse: bool) -> "list[Finding]":
    """Run the analyses and return a finding for each step, in the order of the steps."""
    from alice.plugins.reproduce.findings import Finding, models_of
    from alice.plugins.reproduce.plan import RUN_AS

    jobs = {
        n: Job(RUN_AS.get(step.analysis, step.analysis), step.ctx, step.options)
        for n, step in enumerate(steps)
        if step.ctx is not None
    }
    findings = [Finding(step.analysis, absent=step.absent, alike=step.alike) for step in steps]
    for number, (job, place) in zip(jobs, places(list(jobs.values())), strict=True):
        outcome = run_one(job, plugins, out=reports, place=place, reuse=reuse)
        found = replace(findings[number], models=models_of(job.ctx), unequal="" if steps[number].alike else unequal)
        if isinstance(outcome, AliceError):
            findings[number] = replace(found, error=str(outcome))
        else:
            findings[number] = replace(found, stored=outcome)
    return findings


def _about(models: "RunContext", given: dict[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    named = [one.named_model for one in models.each if one.named_model is not None]
    return {
        "checkpoints": {model.name: model.fingerprint for model in named},
        **{name: given[name] for name in ("data", "split", "seed", "samples")},
        "left out": list(given["skip"]),
        "alice-interp": version("alice-interp"),
    }
