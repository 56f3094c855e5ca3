"""What `tag` and `scenes` say of pictures that the model cannot look at."""

from __future__ import annotations

import click

from sightline.cli.common import counted


def say_uncut(without: int, otherwise: int) -> None:
    """Say how many pictures lack the regions the model knows, and what to run.

    Parameters
    ----------
    without : int
        Pictures that lack them.
    otherwise : int
        How many of these are cut into regions of another fingerprint, which no index changes: only
        a training does, from which the model knows them.
    """
    if n := without - otherwise:
        click.echo(
            f"{counted(n, 'picture')} not cut into regions yet. Run: sightline index", err=True
        )
    if otherwise:
        click.echo(
            f"{counted(otherwise, 'picture')} cut into regions anew since the training. "
            "Run: sightline train --regions",
            err=True,
        )
