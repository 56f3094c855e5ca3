"""What all experiments share: their options, where they may write, and what is kept of features."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.measures.figures import Figures
    from sightline_experiments.cache import ArrayCache
    from sightline_experiments.experiment import RunPlan

P = TypeVar("P", bound="RunPlan")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options that every experiment has, and its name."""

    experiment: str
    data: str | None
    quick: bool
    json_file: str | None
    out: str
    no_cache: bool
    workers: int | None

    def settings(self, content: str) -> tuple[Path, int]:
        """Return the folder of the data, which should hold what is wanted, and how many workers."""
        from sightline.settings import load

        settings = load({"data": self.data or None, "workers": self.workers})[0]
        if not settings.data:
            raise UsageError(
                f"Where is the data? Name the folder that holds {content} with --data DIR "
                "or SIGHTLINE_DATA, or as the setting 'data' in your config.toml."
            )
        # No shell has seen what a file says.
        return Path(settings.data).expanduser(), settings.workers

    def plan(
        self,
        full: Callable[[], P],
        quick: Callable[[], P],
        choices: tuple[str, ...] = (),
        features: str | None = None,
        splits: int | None = None,
    ) -> P:
        """Return the full or the quick plan, with the features and splits that were named."""
        names = None if features is None else listed(features, choices, "features")
        return (quick() if self.quick else full()).with_options(names, splits)

    def target(self, folder: Path) -> Path:
        """Return the folder for curves; refuse places where nothing may or can be written."""
        if self.json_file is not None:
            file = Path(self.json_file)
            _outside(file, folder)
            if not file.absolute().parent.is_dir():
                raise UsageError(f"There is no folder {file.absolute().parent} for the figures.")
        return _outside(Path(self.out), folder)

    def unavailable(self, missing: Mapping[str, str], folder: Path) -> int:
        """Say which datasets, by title and name, are not there."""
        from sightline.measures.figures import Figures

        for title in missing:
            click.echo(f"{title:<16} data unavailable")
        wanted = " or ".join(f"{name}.zip, or a folder {name}," for name in missing.values())
        click.echo(f"Nothing was measured: put {wanted} into {folder}.")
        if self.json_file is not None:
            figures = Figures(self.experiment, {"unavailable": list(missing.values())})
            figures.write(Path(self.json_file))
        return 0

    def show(self, lines: Iterable[str], figures: Figures) -> None:
        """Print what was found, and write its figures: first of all what took longest."""
        for line in lines:
            click.echo(line)
        if self.json_file is not None:
            figures.write(Path(self.json_file))
            click.echo(f"Figures written to {self.json_file}")

    @contextlib.contextmanager
    def cache(self, name: str, c: _Summed) -> Iterator[ArrayCache]:
        """Lend the cache of a dataset's features; one that is removed if none is wanted."""
        from sightline_experiments.cache import kept, temporary

        if not self.no_cache:
            yield kept(name, c.checksum())
            return
        with temporary() as cache:
            yield cache


class _Summed(Protocol):
    def checksum(self) -> str: ...


def experiment(holds: str, quick: str, drawn: str) -> Callable[[Callable[..., int]], click.Command]:
    """Make a command of a function that is given the shared `RunOptions`, and its own options.

    Parameters
    ----------
    holds : what the data folder holds.
    quick : what is left of a quick run.
    drawn : what is drawn.
    """

    def made(run: Callable[..., int]) -> click.Command:
        name = run.__name__

        def call(**options: Any) -> int:
            options.pop("debug")
            shared = {n: options.pop(n) for n in RunOptions.__slots__ if n != "experiment"}
            return run(RunOptions(name, **shared), **options)

        call.__doc__ = run.__doc__
        # Decorators leave options in the order from below.
        own = list(reversed(getattr(run, "__click_params__", [])))
        before, after = _options(name, holds, quick, drawn)
        return click.command(name, params=[*before, *own, *after])(call)

    return made


def _options(
    name: str, holds: str, quick: str, drawn: str
) -> tuple[list[click.Option], list[click.Option]]:
    """Return the options every experiment has, those before its own and those after."""
    path = click.Path()
    before = [
        click.Option(["--data"], type=path,
                     help=f"The folder that holds {holds} [SIGHTLINE_DATA]."),
        click.Option(["--quick"], is_flag=True, help=f"{quick}: minutes, not hours."),
        click.Option(["--json", "json_file"], type=path, help="Write the figures to this file."),
        click.Option(["--out"], type=path, default=f"reproduce-{name}", show_default=True,
                     help=f"Where {drawn} go."),
    ]  # fmt: skip
    after = [
        click.Option(["--no-cache"], is_flag=True, help="Compute all features anew and keep none."),
        click.Option(["--workers"], type=int, help="Worker processes; 0 is one for each core."),
        click.Option(["--debug"], is_flag=True, help="Show a traceback when something fails."),
    ]
    return before, after


def listed(text: str | None, choices: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return names that were given with commas between them; all there are by default."""
    if text is None:
        return choices
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in choices:
            raise UsageError(f"There are no {what} {name!r}. Known: {', '.join(choices)}.")
    return names


def make_folder(out: Path) -> None:
    """Make the folder for pictures, and see before the work that they can be drawn."""
    from sightline.measures.plots import check_plot_file

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{out} cannot be a folder for curves and sheets: {e.strerror}.") from e
    check_plot_file(out / "curve.png")


def show_files(files: Iterable[Path]) -> int:
    """Say which pictures there are to look at."""
    click.echo("")
    for file in files:
        click.echo(f"Look at {file}")
    return 0


def _outside(target: Path, folder: Path) -> Path:
    """Refuse to write into the data folder."""
    if target.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{target} lies inside the data folder, where nothing is ever written.")
    return target
