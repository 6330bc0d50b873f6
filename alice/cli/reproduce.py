"""`alice-interp reproduce`: the tables and figures of the paper as far as they go here, and whether its claims hold."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import AtLeast, NearestChoice
from alice.cli.run import Job, open_context, places, run_one
from alice.errors import AliceError
from alice.plugins.manager import Plugins, build
from alice.text.corpus import QUOTES

if TYPE_CHECKING:
    from alice.plugins import RunContext
    from alice.plugins.reproduce.found import Ran
    from alice.plugins.reproduce.plan import Step

MODELS = ("base", "bijective", "dynamic")
"""Bundled models of the paper's three variants."""
MULTILINGUAL = "multilingual"
"""Name of the bundled model for the Borg cipher, if there is one."""
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--ckpt", multiple=True, default=MODELS, show_default=True, help="Model to test; once for each.")
@click.option("--generalization-runs", type=FOLDER, multiple=True, help="Runs of: alice-interp sweep generalization.")
@click.option("--scaling-runs", type=FOLDER, multiple=True, help="Runs of: alice-interp sweep scaling.")
@click.option("--borg", type=FILE, help="Transcription of a page of the Borg cipher, as `run borg --file` takes it.")
@click.option("--borg-plain", type=FILE, help="Its plaintext.")
@click.option(
    "--borg-symbols",
    type=NearestChoice(("characters", "tokens", "letters")),
    default="characters",
    show_default=True,
    help="What a symbol of the transcription is.",
)
@click.option("--borg-ignore", default="", help="Symbols that are no part of the cipher.")
@click.option("--multilingual", help="Model for the Borg cipher.  [default: the bundled one, else the first --ckpt]")
@click.option("--data", default=QUOTES, show_default=True, help="Corpus to read: one by name, or a file.")
@click.option(
    "--split",
    type=NearestChoice(("test", "train", "all")),
    default="test",
    show_default=True,
    help="Side of the corpus to read.",
)
@click.option("--seed", type=AtLeast(0), default=0, show_default=True, help="Seed of the keys.")
@click.option("--samples", type=AtLeast(2), help="Texts of each analysis.  [default: 200 to 2000]")
@click.option("--skip", multiple=True, metavar="NAME", help="Analysis to leave out; once for each.")
@click.option("--fresh", is_flag=True, help="Run everything again, also what DIR has from the same inputs.")
@click.option("--out", type=FOLDER, default=Path("reproduction"), show_default=True, help="Folder of the page.")
def reproduce(ckpt: tuple[str, ...], out: Path, data: str, split: str, seed: int, fresh: bool, **given: Any) -> None:
    """Run what gives the tables and figures of the paper, test its claims, and write one page of it all.

    The page is index.html in the folder of --out, reproduce.json has the same for programs, and the reports are beside
    them. What cannot be computed says why, or which command makes what is missing. The same command again goes on
    where it stopped. An analysis that fails stops no other; the exit code then is 1. A claim that does not hold is a
    result like any other.
    """
    from alice.files import make_folder
    from alice.reports.reproduce import RUNS, check_folder, write_reproduction

    wanted = _wanted(given)  # now, not after all the computing
    check_folder(make_folder(out))

    from alice.plugins.reproduce.assemble import assemble  # after the cheap checks: it takes seconds
    from alice.plugins.reproduce.plan import plan

    plugins = build(third_party=False)
    texts: dict[str, Any] = {"data": data, "split": split, "seed": seed}
    models = open_context(ckpt, plugins, **texts)
    steps = plan(models, _multilingual(given, plugins, texts), wanted)
    ran = _run(steps, plugins, out / RUNS, reuse=not fresh)
    found, broken = assemble(
        ran, seed=seed, about=_about(models, texts), time=datetime.now(UTC).isoformat(timespec="seconds")
    )
    page = write_reproduction(out, found)
    for claim in found.claims:
        click.echo(f"{claim.outcome:>13}  {claim.sentence}")
    click.echo(str(page))
    failed = [f"{one.analysis} ({one.error})" for one in ran if one.error] + broken
    if failed:
        raise AliceError(f"{len(failed)} failed: {'; '.join(failed)}; the page {page} has the rest")


def _wanted(given: dict[str, Any]) -> Any:
    """Check what was asked for, before any model is loaded."""
    from alice.errors import nearest
    from alice.plugins.reproduce.plan import READERS, Wanted

    for name in given["skip"]:
        if name not in READERS:
            raise AliceError(f"--skip {name}: that is none of the analyses{nearest(name, READERS)}")
    for name in ("borg", "borg_plain"):
        if given[name] is not None and not given[name].is_file():
            raise AliceError(f"there is no file {given[name]}; see docs/reproduce.md for what --borg takes")
    for folder in (*given["generalization_runs"], *given["scaling_runs"]):
        if not folder.is_dir():
            raise AliceError(f"there is no folder {folder}; give a run folder, or a folder of run folders")
    borg = {"file": given["borg"], "plain": given["borg_plain"], "symbols": given["borg_symbols"]}
    return Wanted(
        given["generalization_runs"],
        given["scaling_runs"],
        borg | {"ignore": given["borg_ignore"]},
        given["samples"],
        given["skip"],
    )


def _multilingual(given: dict[str, Any], plugins: Plugins, texts: dict[str, Any]) -> "RunContext | None":
    """Open the model for the Borg cipher, if there is one and something for it to read."""
    from alice.checkpoint.folder import bundled

    name = given["multilingual"] or (MULTILINGUAL if MULTILINGUAL in bundled() else None)
    return open_context([name], plugins, **texts) if name and given["borg"] is not None else None


def _run(steps: "list[Step]", plugins: Plugins, runs: Path, *, reuse: bool) -> "list[Ran]":
    from alice.plugins.reproduce.assemble import models_of
    from alice.plugins.reproduce.found import Ran

    jobs = [Job(step.analysis, step.ctx, step.options) for step in steps if step.ctx is not None]
    ran = [Ran(step.analysis, absent=step.absent) for step in steps if step.ctx is None]
    for job, place in places(jobs):
        outcome = run_one(job, plugins, out=runs, place=place, reuse=reuse)
        models = models_of(job.ctx)
        if isinstance(outcome, AliceError):
            ran.append(Ran(job.name, models, error=str(outcome)))
        else:
            ran.append(Ran(job.name, models, outcome))
    order = [step.analysis for step in steps]
    return sorted(ran, key=lambda one: order.index(one.analysis))


def _about(models: "RunContext", texts: dict[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    named = [one.named_model for one in models.each if one.named_model is not None]
    return {
        "checkpoints": {model.name: model.fingerprint for model in named},
        **texts,
        "alice-interp": version("alice-interp"),
    }
