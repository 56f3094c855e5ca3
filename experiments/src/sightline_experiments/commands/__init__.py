"""`sightline reproduce`: the experiments of the papers, on data you have; one file a paper."""

from __future__ import annotations

import importlib

import click

PAPERS = ("pamir", "feedback", "lscmr", "online", "regions", "noise")


class Papers(click.Group):
    """The commands of the papers; each is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the papers."""
        return list(PAPERS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of a paper."""
        if name not in PAPERS:
            return None
        module = importlib.import_module(f"sightline_experiments.commands.{name}")
        command: click.Command = getattr(module, name)
        return command


@click.group(cls=Papers)
def reproduce() -> None:
    """Measure the methods of five papers on their data sets.

    Every baseline is measured in the same run, beside the figures the paper prints.
    """
