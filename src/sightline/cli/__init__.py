"""The command line: one module for each command, imported only when it is called.

Exit codes: 0 success, 1 failure, 2 usage error, 74 I/O error, 75 another process holds the lock of
the store, 130 stopped by Ctrl-C. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import importlib
import keyword
import os
import re
import sys
from typing import Any, NoReturn

import click

from sightline import plugins
from sightline.errors import SightlineError, UsageError

# The one-line help texts are here so that listing them imports none of the commands.
VERBS = {
    "index": "Read new and changed pictures of a folder.",
    "train": "Train models of words, similarity, regions or texts.",
    "search": "Find pictures by words.",
    "similar": "Find pictures similar to others.",
    "describe": "Rank words for a picture.",
    "tag": "Suggest words for pictures, with their regions.",
    "scenes": "Group pictures by scenes, or by similarity.",
    "topics": "Show the space that words and pictures share.",
    "judge": "Judge hits and get better ones (relevance feedback).",
    "sessions": "List judging sessions, or revert one.",
    "duplicates": "Group identical and nearly identical pictures.",
    "evaluate": "Measure the model on held-out pictures.",
    "import": "Import data of other programs, such as click logs.",
    "export": "Write words of pictures for other programs.",
    "engine": "Search large collections with faiss or Milvus.",
    "store": "Verify, repair, roll back, back up or purge the store.",
    "serve": "Serve the collection over HTTP, on this machine.",
    "doctor": "Show the settings, their sources, and this machine.",
    "demo": "Build, train, search and measure the demo collection.",
}


class _Verbs(click.Group):
    """The built-in commands and those of installed plugins; each is imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *(name for name in plugins.commands() if name not in VERBS)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in VERBS:
            # The module of a command whose name is a Python keyword ends in an underscore.
            module = name + "_" * keyword.iskeyword(name)
            return _load_command(f"sightline.cli.{module}:{module}")
        entry = plugins.commands().get(name)
        return None if entry is None else _load_plugin_command(name, entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))
        added = self.list_commands(ctx)[len(VERBS) :]
        if added:
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(name, self._short_help(ctx, name)) for name in added])

    def _short_help(self, ctx: click.Context, name: str) -> str:
        """Return the short help of a plugin's command; a broken plugin does not break `--help`."""
        try:
            command = self.get_command(ctx, name)
        except UsageError as e:
            return str(e)
        return "" if command is None else command.get_short_help_str(limit=70)


def _load_command(entry: str) -> click.Command | None:
    module, _, attribute = entry.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    return command if isinstance(command, click.Command) else None


def _load_plugin_command(name: str, entry: str) -> click.Command:
    try:
        command = _load_command(entry)
    except Exception as e:
        # Code of another package: whatever it raises, the message names the plugin.
        raise UsageError(f"The plugin command {name!r} ({entry}) cannot be loaded: {e!r}.") from e
    if command is None:
        raise UsageError(f"The plugin command {name!r} ({entry}) is not a click command.")
    return command


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-C", "--collection", type=click.Path(), help="The folder of pictures.")
@click.option("--store", type=click.Path(), help="The folder of the store.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
@click.version_option(package_name="sightline")
@click.pass_context
def sightline(ctx: click.Context, collection: str | None, store: str | None, debug: bool) -> None:
    """Search your own pictures with models trained on your own tags and captions.

    Without a command: the state of the collection, and what to do next.
    """
    ctx.obj = {"collection": collection, "store": store, "debug": debug}
    if ctx.invoked_subcommand is None:
        from sightline.cli.state import show_state

        show_state(collection, store)


def main(argv: list[str] | None = None) -> NoReturn:
    """Run a command and return its exit code."""
    arguments = _query_last(sys.argv[1:] if argv is None else argv)
    # No command uses BLAS threads, and starting them takes a third of the import time of numpy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _mend_streams()
    debug = "--debug" in arguments
    sys.exit(_run(arguments, debug))


def _mend_streams() -> None:
    """Make printing safe if a stream is closed or its encoding lacks a character."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            utf8 = (stream.encoding or "").lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")


def _query_last(arguments: list[str]) -> list[str]:
    """Keep a query that begins with an excluded word (`-cat dog`) from being parsed as options."""
    if "search" not in arguments or "--" in arguments:
        return arguments
    queries = [a for a in arguments if re.match(r"-[^-]", a) and " " in a]
    rest = [a for a in arguments if a not in queries]
    return [*rest, "--", *queries] if queries else arguments


def _run(arguments: list[str], debug: bool) -> int:
    try:
        outcome: Any = sightline.main(arguments, prog_name="sightline", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.ClickException as e:
        e.show()
        return e.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _fail("Stopped.", 130)
    except BrokenPipeError:
        return _nobody_reads()
    except SystemExit as e:
        # On a closed pipe, click wraps stdout and exits.
        pacified = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        return _nobody_reads() if pacified else int(e.code or 0)
    except SightlineError as e:
        if debug:
            raise
        return _fail(str(e), e.exit_code)
    except OSError as e:
        if debug:
            raise
        where = f" ({os.fsdecode(e.filename)})" if e.filename else ""
        return _fail(f"{e.strerror or e}{where}", 74)
    except Exception as e:
        if debug:
            raise
        return _fail(f"This should not happen: {e!r}. Run with --debug to see where.", 1)


def _nobody_reads() -> int:
    """Handle a closed output pipe, as of `| head`: it is not a failure."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    os.dup2(sys.stdout.fileno(), 1)
    return 0


def _fail(text: str, code: int) -> int:
    click.echo(f"sightline: {text}", err=True)
    return code
