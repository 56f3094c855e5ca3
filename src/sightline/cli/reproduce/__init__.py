"""`sightline reproduce`: the experiments of the papers, on data you have; one file a paper."""

from __future__ import annotations

import click

from sightline.cli.reproduce.feedback import feedback
from sightline.cli.reproduce.lscmr import lscmr
from sightline.cli.reproduce.online import online
from sightline.cli.reproduce.pamir import pamir
from sightline.cli.reproduce.regions import regions


@click.group()
def reproduce() -> None:
    """Measure the papers' methods and their rivals, beside the papers' own figures."""


for _command in (pamir, feedback, lscmr, online, regions):
    reproduce.add_command(_command)
