"""`sightline import`: import data of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from sightline.cli.common import common_options, counted, open_collection, print_json
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection.clicks.log_import import ClicksReport

_LINES = 10


@click.group("import")
def import_() -> None:
    """Import data of other programs, such as click logs."""


@import_.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "--eta",
    default="auto",
    metavar="X|auto",
    help="Position bias: a picture at rank k is examined with probability (1/k)^eta. Estimated by "
    "default.",
)
@click.option("--dry-run", is_flag=True, help="Read and estimate, and store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@common_options
def clicks(
    files: tuple[str, ...],
    eta: str,
    dry_run: bool,
    as_json: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Import click logs of another search, to train on.

    FILES are in UBI 1.3 JSON (queries and events, in one file or several) or Metarank's JSON lines.
    They must contain the pictures shown, their order, and the clicks. Pictures are identified by
    path in the collection, file name or id. A log that was imported before changes nothing.
    """
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    c = open_collection(collection, store, writes=True)
    with logged(c, "import clicks"):
        report = c.clicks.import_logs(
            *files, eta=_eta(eta), dry_run=dry_run, progress=ProgressBar()
        )
    if as_json:
        print_json(report.to_dict())
    else:
        show_report(report)
    return 0


def _eta(text: str) -> float | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--eta {text!r} is neither a number nor auto. Give a number from 0 to 3, or auto."
        ) from None


def show_report(r: ClicksReport) -> None:
    """Print what was imported, what was left out and why, and the position bias."""
    for line in r.problems[:_LINES]:
        click.echo(line, err=True)
    if len(r.problems) > _LINES:
        click.echo(f"… and more; --json lists {len(r.problems)}", err=True)
    for n, names, what in (
        (r.n_unknown, r.unknown, "no picture here"),
        (r.n_gone, r.gone, "a picture that is gone"),
    ):
        if n:
            counted_names = f"{counted(n, 'name is', 'names are')} {what}"
            click.echo(f"{counted_names}: {', '.join(names[:3])}{', …' * (n > 3)}", err=True)
    for reason, n in r.skipped.items():
        click.echo(f"left out, {counted(n, 'time')}: {reason}", err=True)
    click.echo(
        f"{counted(r.lists, 'list')} for {counted(r.queries, 'query', 'queries')}, "
        f"{counted(r.clicks, 'click')}, {counted(r.pairs, 'time')} clicked over skipped above"
    )
    click.echo(bias_line(r))
    known = r.lists - r.added - r.grown
    new = counted(r.added, "list is", "lists are")
    if r.dry_run:
        new = f"{counted(r.added, 'list')} would be"
    grown = f"{r.grown} were known with fewer clicks, " if r.grown else ""
    click.echo(f"{new} new, {grown}{known} were known{' as they are' if r.grown else ''}")
    if r.written:
        click.echo(f"session {', '.join(r.written)}. To learn from it: sightline train")


def bias_line(r: ClicksReport) -> str:
    """Return a line about the position bias and how it was estimated."""
    b = r.bias
    why = {
        "given": "as given",
        "assumed": "assumed: too few pictures were shown at several places to estimate it",
        "swaps": f"± {b.error:.2f}, from {b.clicks} clicks on pictures that changed places",
        "rank changes": f"± {b.error:.2f}, from {b.clicks} clicks on pictures shown at several "
        "places",
    }[b.how]
    return f"position bias: eta {b.eta:.2f} ({why})"
