"""`sightline` without a command: the state of the collection, and what to do next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.index.status import Status


def show_state(collection: str | None, store: str | None) -> None:
    """Print the collection's state and the next useful command."""
    from sightline.cli.common import open_collection
    from sightline.errors import NoCollection

    c = None
    try:
        c = open_collection(collection, store)
        s = c.status()
    except NoCollection:
        _first_steps(collection, c)
        return
    click.echo(f"{shown(c.root)}: {s.pictures} pictures, {s.with_words} of them with words")
    click.echo(f"{s.words} different words, {s.skipped} files skipped, version {s.version}")
    click.echo(f"model: {s.word_model or 'nothing yet'}")
    if s.similarity_model:
        click.echo(f"similarity: {s.similarity_model}")
    if s.text_model:
        click.echo(f"texts: {s.text_model}")
    if s.region_model:
        click.echo(f"regions: {s.region_model}")
    click.echo(f"store: {c.store_folder.path}")
    _show_running(c)
    steps = _next(s)
    click.echo(f"next: {steps[0]}")
    for step in steps[1:]:
        click.echo(f"      {step}")


def _show_running(c: Collection) -> None:
    for command in c.store.running():
        click.echo(f"running: {command}")


def _next(s: Status) -> list[str]:
    pictures, with_words, skipped = s.pictures, s.with_words, s.skipped
    if not pictures and skipped:
        return ["sightline doctor --skipped"]
    if not pictures:
        return ["put pictures into the folder, then: sightline index"]
    if not with_words:
        return _without_words(s.starting_words)
    if not s.word_model and with_words > 1:
        return ["sightline train      (then pictures without words are found too)"]
    return ['sightline search "WORDS"']


def _without_words(starting_words: bool) -> list[str]:
    """Return what can be done before any picture has a word, and what makes the most of it."""
    dog = "sightline search dog              a thing, as a network sees it; also bird, car, …"
    return [
        "No picture has a word yet. What works now:",
        *[dog] * starting_words,
        "sightline similar PICTURE         pictures that look like one",
        "sightline scenes                  the collection in groups of similar pictures",
        "sightline duplicates              copies of the same picture",
        "sightline judge --positive PICTURE --save-as WORD, then: sightline train",
        "                                  teach a word by examples",
        "To read words: tags in the files, .txt files, or sightline index --words TABLE",
    ]


def _first_steps(collection: str | None, c: Collection | None) -> None:
    folder = collection or os.environ.get("SIGHTLINE_COLLECTION") or "."
    click.echo("No collection here yet.")
    if c is not None:
        _show_running(c)
    click.echo(f"next: sightline index {folder}      (or, to try it out: sightline demo)")
