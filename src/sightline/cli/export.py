"""`sightline export`: write words of pictures for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import click

from sightline.cli import engine
from sightline.cli.common import (
    common_options,
    counted,
    open_collection,
    print_json,
    wait_option,
)
from sightline.cli.filters import FilterOptions, filter_options, filters_of
from sightline.errors import UsageError
from sightline.records import shown
from sightline.registry import EXPORT_FORMATS

if TYPE_CHECKING:
    from sightline.collection.export.run import ExportReport
    from sightline.collection.export.sidecars import Sidecar

_LINES = 10
_WORDS = 8


class KindChoice(click.Choice):  # type: ignore[type-arg]  # click 8.1 is not generic
    """A choice of kinds of words that also takes their names of earlier releases."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the kind that is named."""
        from sightline.exchange.exported import EARLIER_KINDS

        return str(super().convert(EARLIER_KINDS.get(value, value), param, ctx))


_KINDS = KindChoice(["accepted", "tagged", "proposed"])


class FormatArgument(click.Argument):
    """An argument that names an export format; engines are what older releases had there."""

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the formats as they are shown in a usage line."""
        return "|".join(EXPORT_FORMATS)


class ExportCommand(click.Command):
    """A command whose help ends with the export formats."""

    @property
    def listing(self) -> list[tuple[str, str]]:
        """The formats, each with what it is."""
        return [(name, entry.about) for name, entry in EXPORT_FORMATS.items()]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats after the options."""
        with formatter.section("Formats"):
            formatter.write_dl(self.listing)


@click.command(cls=ExportCommand)
@click.argument("form", cls=FormatArgument)
@click.argument("target", required=False, type=click.Path())
@click.option(
    "--only", multiple=True, type=_KINDS, help="Only words of this kind; may be repeated."
)
@click.option(
    "--min-confidence", type=float, default=0.0, help="Leave out suggested words below it (0 to 1)."
)
@click.option("--no-boxes", is_flag=True, help="Write no regions of words into sidecars.")
@click.option(
    "--into-collection",
    is_flag=True,
    help="xmp only: write sidecars beside the pictures, merged with existing ones. Asks first.",
)
@click.option("--uri", default="", hidden=True, help="See: sightline engine load")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--overwrite", is_flag=True, help="Replace existing files of TARGET.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a file was not written.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@filter_options
@wait_option
@common_options
def export(
    form: str,
    target: str | None,
    only: tuple[str, ...],
    min_confidence: float,
    no_boxes: bool,
    into_collection: bool,
    uri: str,
    yes: bool,
    overwrite: bool,
    dry_run: bool,
    strict: bool,
    as_json: bool,
    wait: float | None,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Unpack[FilterOptions],
) -> int:
    """Write words of pictures: those they have, accepted suggestions, and predicted ones.

    TARGET is a file or a folder; for xmp a folder in which each picture gets a sidecar. It must not
    be inside the collection. Rejected words are left out. csv, json and coco files can be read by:
    sightline index --words FILE
    """
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    c = open_collection(collection, store, writes=into_collection, wait=wait)
    if form in engine.ENGINES:
        if target is not None:
            raise UsageError(f"{form} takes no TARGET. Got {target!r}.")
        return engine.load(c, form, uri, dry_run=dry_run, as_json=as_json)
    with logged(c, "export"):
        report = c.export(
            form,
            target,
            only=only,
            min_confidence=min_confidence,
            boxes=not no_boxes,
            into_collection=into_collection,
            overwrite=overwrite,
            dry_run=dry_run,
            confirm=None if yes else _ask,
            progress=ProgressBar(),
            filters=filters_of(**given),
        )
    if as_json:
        print_json(report.to_dict())
    else:
        _show_report(report)
    return int(strict and bool(report.left))


def _ask(report: ExportReport) -> bool:
    """Show what would be written into the collection, and ask for confirmation."""
    _show_plan(report)
    question = f"{_files(report)} in the collection?"
    return click.confirm(f"Write {question}", err=True)


def _show_report(report: ExportReport) -> None:
    """Print what was written, or would be, and what was skipped."""
    for left in report.left[:_LINES]:
        click.echo(f"left alone {shown(left.path)}: {left.reason}", err=True)
    if len(report.left) > _LINES:
        click.echo(f"… and {len(report.left) - _LINES} more; --json lists all", err=True)
    if report.dry_run and report.place is None:
        _show_plan(report)
    click.echo(_outcome(report))
    if report.place is None and report.written:
        click.echo("To read the sidecars: sightline index", err=True)


def _show_plan(report: ExportReport) -> None:
    for s in report.sidecars[:_LINES]:
        click.echo(f"{'new' if s.before is None else 'add'}\t{shown(s.path)}\t{_what(s)}", err=True)
    if len(report.sidecars) > _LINES:
        click.echo(f"… and {len(report.sidecars) - _LINES} more", err=True)


def _what(s: Sidecar) -> str:
    more = [counted(s.regions, "region")] * bool(s.regions) + ["a caption"] * s.captioned
    more += [f"in all keyword lists: {_first(s.completed)}"] * bool(s.completed)
    return "; ".join([_first(s.words)] * bool(s.words) + more)


def _first(words: Sequence[str]) -> str:
    return ", ".join(shown(w.encode()) for w in words[:_WORDS]) + ", …" * (len(words) > _WORDS)


def _outcome(report: ExportReport) -> str:
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds)
    if report.form != "xmp":
        summary = f"{counted(report.words, 'word')} of {counted(report.pictures, 'picture')}"
        done = "would write" if report.dry_run else "wrote"
        return f"{done} {summary}{f' ({kinds})' * bool(kinds)} to {report.place}"
    where = "beside the pictures" if report.place is None else f"to {report.place}"
    if report.dry_run:
        return f"would write {_files(report)} {where}"
    if not report.sidecars:
        new = "" if report.place is not None else " that its files do not have"
        return f"nothing to write: no picture has a word{new}"
    if report.place is None and not report.written and not report.left:
        return "nothing was written"
    return f"wrote {counted(report.written, 'sidecar')} {where}"


def _files(report: ExportReport) -> str:
    added = [f"{counted(report.new, 'new sidecar')}"] * bool(report.new or not report.changed)
    added += [f"additions to {report.changed}"] * bool(report.changed)
    more = [counted(report.words, "word")] + [counted(report.regions, "region")] * bool(
        report.regions
    )
    more += [counted(report.captions, "caption")] * bool(report.captions)
    more += [f"{report.completed} to more keyword lists"] * bool(report.completed)
    return f"{' and '.join(added)} ({', '.join(more)})"
