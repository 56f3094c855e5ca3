"""`sightline reproduce`: the experiments, on data you have; one file for each."""

from __future__ import annotations

import importlib

import click

EXPERIMENTS = ("pamir", "feedback", "lscmr", "online", "regions", "queries", "noise", "efficiency")


class Experiments(click.Group):
    """The commands; each is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, those of the papers first."""
        return list(EXPERIMENTS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of an experiment."""
        if name not in EXPERIMENTS:
            return None
        module = importlib.import_module(f"sightline_experiments.commands.{name}")
        command: click.Command = getattr(module, name)
        return command


@click.group(cls=Experiments)
def reproduce() -> None:
    """Measure the methods of five papers on their data sets.

    Every baseline is measured in the same run, beside the figures the paper prints.
    """
