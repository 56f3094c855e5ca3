"""Report pictures without the regions that the model needs."""

from __future__ import annotations

import click

from sightline.cli.common import counted


def say_uncut(without: int, otherwise: int) -> None:
    """Report how many pictures lack the regions that the model needs, and what to run.

    Parameters
    ----------
    without : int
        Number of pictures that lack them.
    otherwise : int
        How many of these have regions with another fingerprint; only a new training uses them.
    """
    if n := without - otherwise:
        click.echo(
            f"{counted(n, 'picture')} not cut into regions yet. Run: sightline index", err=True
        )
    if otherwise:
        click.echo(
            f"{counted(otherwise, 'picture')} cut into regions anew since the training. "
            "Run: sightline train regions",
            err=True,
        )
