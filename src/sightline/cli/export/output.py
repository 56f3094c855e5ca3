"""The output of `sightline export`: the plan to confirm, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection.export.run import ExportReport
    from sightline.collection.export.sidecars import Sidecar


_LINES = 10
_WORDS = 8


def ask(report: ExportReport) -> bool:
    """Show what would be written into the collection, and ask for confirmation."""
    _show_plan(report)
    said = f"{_files(report)} in the collection?"
    return click.confirm(f"Write {said}", err=True)


def show_report(report: ExportReport) -> None:
    """Print what was written, or would be, and what was skipped."""
    for left in report.left[:_LINES]:
        click.echo(f"left alone {shown(left.path)}: {left.reason}", err=True)
    if len(report.left) > _LINES:
        click.echo(f"… and {len(report.left) - _LINES} more; --json lists all", err=True)
    if report.dry_run and report.place is None:
        _show_plan(report)
    click.echo(_outcome(report))
    if report.place is None and report.written:
        click.echo("To take the sidecars in: sightline index", err=True)


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
        said = f"{counted(report.words, 'word')} of {counted(report.pictures, 'picture')}"
        done = "would write" if report.dry_run else "wrote"
        return f"{done} {said}{f' ({kinds})' * bool(kinds)} to {report.place}"
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
