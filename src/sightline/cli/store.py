"""`sightline store`: verify, repair, roll back, back up or purge the store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from sightline.cli.common import (
    FIX_PERMISSIONS,
    common_options,
    counted,
    engine_option,
    open_collection,
    print_json,
    wait_option,
)

if TYPE_CHECKING:
    from sightline.store.upkeep.rollback import KeptVersion
    from sightline.store.upkeep.verify import Verified


@click.group()
def store() -> None:
    """Verify, repair, roll back, back up or purge the store."""


@store.command()
@click.option(
    "--fix-permissions", is_flag=True,
    help="Remove the permissions of other users for the store.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@wait_option
@engine_option
@common_options
def verify(
    wait: float | None,
    fix_permissions: bool,
    as_json: bool,
    engine: str | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Check all files of the store; exits with 1 if anything is wrong.

    The rows of an external engine are counted and a sample is compared. Permissions of other users
    are not damage: they are listed, and --fix-permissions removes them.
    """
    from sightline.progress import ProgressBar

    c = open_collection(collection, store, wait=wait, engine=engine)
    v = c.store.verify(ProgressBar(), fix_permissions=fix_permissions)
    beside = c.engines.problems()
    sound = v.sound and not beside
    if as_json:
        in_engine = {"name": c.settings.engine, "problems": beside}
        print_json({**v.to_dict(), "sound": sound, "engine": in_engine})
        return 0 if sound and not (fix_permissions and v.exposed) else 1
    for p in v.problems:
        click.echo(f"{p.file}: {p.what}")
    for text in beside:
        click.echo(f"engine: {text}")
    for stray in v.strays:
        click.echo(f"{stray}: not part of the store", err=True)
    if not v.sealed:
        why = "was killed, or the disk was full"
        click.echo(f"The last writer {why}; the databases were checked row by row.", err=True)
    _tell_permissions(v, fixed=fix_permissions)
    if v.sound:
        click.echo(f"Sound: {v.files} files, {v.n_bytes / 1e6:.1f} MB checked.")
        if sound and "://" in c.settings.engine:
            click.echo(f"{c.settings.engine} holds the same rows.")
        return 0 if sound and not (fix_permissions and v.exposed) else 1
    click.echo("Run: sightline store repair", err=True)
    return 1


def _tell_permissions(v: Verified, *, fixed: bool) -> None:
    from sightline.store.upkeep.permissions import describe

    if fixed:
        done = counted(v.restricted, "file or folder", "files and folders")
        click.echo(f"Removed the permissions of other users for {done}.")
    if v.exposed:
        remedy = (
            "They belong to another user: ask that user." if fixed else f"Run: {FIX_PERMISSIONS}"
        )
        click.echo(f"warning: {describe(v.exposed)}. {remedy}", err=True)


@store.command()
@click.option("--dry-run", is_flag=True, help="Show what is wrong, and change nothing.")
@wait_option
@common_options
def repair(
    wait: float | None, dry_run: bool, collection: str | None, store: str | None, debug: bool
) -> int:
    """Rebuild damaged files from the event log and the pictures."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    c = open_collection(collection, store, writes=True, wait=wait)
    if dry_run:
        problems = c.store.verify().problems
        for p in problems:
            click.echo(f"would repair {p.file}: {p.what}")
        if not problems:
            click.echo("The store is sound; there is nothing to repair.")
        return 0
    with logged(c, "store repair"):
        after = c.store.repair(click.echo, ProgressBar())
    for p in after.problems:
        click.echo(f"{p.file}: {p.what}", err=True)
    click.echo("The store is sound." if after.sound else "Some damage could not be repaired.")
    return 0 if after.sound else 1


@store.command()
@click.argument("version", type=int, required=False)
@click.option("--list", "listed", is_flag=True, help="List the stored versions.")
@click.option("--dry-run", is_flag=True, help="List the versions, and change nothing.")
@wait_option
@common_options
def rollback(
    wait: float | None,
    version: int | None,
    listed: bool,
    dry_run: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Publish an older version again, by default the previous one."""
    from sightline.store.upkeep.rollback import describe_versions

    c = open_collection(collection, store, writes=True, wait=wait)
    if listed or dry_run:
        kept = describe_versions(c.store_folder)
        for v in kept:
            state = " (current)" if v is kept[-1] else "" if v.finished else " (unfinished)"
            click.echo(f"{v.number}\t{_when(v)}\t{v.pictures} pictures{state}\t{v.note}")
        return 0
    done = c.store.rollback(version)
    click.echo(
        f"Published again, as version {done.version}: rolled back from {_named(done.left)} to "
        f"{_named(done.restored)}."
    )
    if done.left.pictures or done.restored.pictures:
        click.echo("The next index brings what differs up to date.", err=True)
    return 0


def _when(v: KeptVersion) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(v.written))


def _named(v: KeptVersion) -> str:
    return f"version {v.number} ({_when(v)}, {counted(v.pictures, 'picture')})"


@store.command()
@click.argument("target", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Check the store, and copy nothing.")
@wait_option
@common_options
def backup(
    wait: float | None,
    target: str,
    dry_run: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Copy the store to the new folder TARGET; use the copy with --store TARGET."""
    c = open_collection(collection, store, wait=wait)
    checked = c.store.verify() if dry_run else c.store.backup(target)
    done = "would copy" if dry_run else "copied and checked"
    click.echo(f"{done} {checked.files} files, {checked.n_bytes / 1e6:.1f} MB")
    return 0 if checked.sound else 1


@store.command()
@click.argument("pictures", nargs=-1)
@click.option("--session", "sessions", multiple=True, help="Remove the judgements of a session.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@wait_option
@common_options
def purge(
    wait: float | None,
    pictures: tuple[str, ...],
    sessions: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Permanently remove all data about PICTURES (paths), with all older versions."""
    from sightline.errors import UsageError
    from sightline.store.identity import identity

    if not pictures and not sessions:
        raise UsageError("Name a picture or a session to purge.")
    c = open_collection(collection, store, writes=True, wait=wait)
    what = f"{len(pictures)} pictures and {len(sessions)} sessions"
    if dry_run:
        c.pictures.resolve(pictures)
        click.echo(f"would purge {what}")
        return 0
    if not yes and not click.confirm(f"Permanently remove all data about {what}?", err=True):
        click.echo("Nothing was removed.")
        return 0
    taught = bool(c.status().word_model)
    click.echo(f"Removed {c.store.purge(pictures, sessions)} facts about {what}.")
    if taught:
        click.echo("The model trained on them was purged too. For a new one: sightline train")
    if identity(c.store_folder.path):
        click.echo("Milvus still has them until the next: sightline engine load milvus", err=True)
    click.echo("Files still in the folder will be added again by the next index.", err=True)
    return 0
