"""`sightline reproduce`: the experiments of the papers, on data you have; one file a paper."""

from __future__ import annotations

import click

from sightline_experiments.commands.feedback import feedback
from sightline_experiments.commands.lscmr import lscmr
from sightline_experiments.commands.online import online
from sightline_experiments.commands.pamir import pamir
from sightline_experiments.commands.regions import regions


@click.group()
def reproduce() -> None:
    """Measure the methods of five papers on their data sets.

    Every baseline is measured in the same run, beside the figures the paper prints.
    """


for _command in (pamir, feedback, lscmr, online, regions):
    reproduce.add_command(_command)
