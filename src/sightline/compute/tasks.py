"""Finding a task by name, and running it so that any error becomes an answer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache

from sightline.contracts import Done, Failed, Job, Json, RunAlone
from sightline.errors import ParameterError

TaskFunction = Callable[[dict[str, Json], memoryview, bool], Done]


@cache
def find_task(name: str) -> TaskFunction:
    """Return the function of a task's name.

    >>> find_task("sightline.pictures.reading:read_words").__name__
    'read_words'
    """
    module, _, attribute = name.partition(":")
    try:
        function = importlib.import_module(module)
        for part in attribute.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError, ValueError) as e:
        raise ParameterError.of("task", "run", "named package.module:function", name) from e
    return function  # type: ignore[return-value]


def attempt(task: TaskFunction, job: Job, alone: bool) -> Done | Failed:
    """Run a job; only `RunAlone` and exceptions that end the process are raised."""
    try:
        return task(job.args, memoryview(job.blob), alone)
    except RunAlone:
        raise
    except MemoryError:
        return Failed("memory", "it needs more memory than a worker may take")
    except Exception as e:
        # Files made to break decoders can cause any exception, so every one becomes an answer.
        text = " ".join(str(e).split())[:300] or type(e).__name__
        return Failed(str(getattr(e, "kind", "broken")), text)
