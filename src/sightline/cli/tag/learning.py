"""`sightline train regions`: train the model of regions of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted, print_json
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.training import RegionReport


def train_regions(
    c: Collection, scenes: int, names: list[str], force: bool, dry_run: bool, as_json: bool
) -> int:
    """Train the model of regions, and print a report."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    if len(names) > 1:
        raise UsageError("Regions are described in one way. Name one: regions-deep or regions.")
    with logged(c, "train"):
        report = c.models.train_regions(
            scenes=scenes, feature=names[0] if names else "", force=force, dry_run=dry_run,
            progress=ProgressBar(),
        )  # fmt: skip
    if as_json:
        print_json(report.to_dict())
    else:
        show_report(report)
    return 0


def show_report(r: RegionReport) -> None:
    """Print the training data and the quality on held-out pictures."""
    from sightline.vectors import Fingerprint

    kind = Fingerprint.parse(r.feature).name
    words, scenes = counted(r.words, "word"), counted(r.scenes, "scene")
    click.echo(f"Trained regions of {words} on {r.pictures} pictures with {kind}, {scenes}")
    for n, what in (
        (r.without_regions, "pictures with words have no regions and were left out"),
        (r.left_out, "pictures with words were left out, to bound the training time"),
        (r.rare, "words are on fewer than three pictures and were left out"),
        (r.frequent, "less frequent words were left out, to bound the training time"),
        (r.dropped, "times a picture had more words than regions; its rarest were left out"),
    ):
        if n:
            click.echo(f"{n} {what}.")
    p = r.proof
    if p.n:
        click.echo(
            f"On {counted(p.n, 'held-out picture')}: F {p.candidate:.3f}; the same words for all "
            f"{p.baseline:.3f}"
        )
    if p.current is not None:
        click.echo(
            f"On words both know: F {p.candidate_on_common:.3f}; the model before {p.current:.3f}"
        )
    given, right = p.extra["given"], p.extra["right"]
    share = f", {right} of {given} right on held-out pictures" if given else ""
    click.echo(f"{r.sure} of {r.words} words can be suggested with nine in ten right{share}")
    if r.unproven:
        click.echo("Unproven: too few held-out pictures to measure it.")
    if r.forced:
        click.echo("Published because of --force, although it is worse.")
    click.echo(
        f"Published as version {r.version} in {r.seconds:.1f} s. Next: sightline tag"
        if r.version
        else f"Nothing was published ({r.seconds:.1f} s)."
    )
