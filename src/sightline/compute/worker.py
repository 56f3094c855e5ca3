"""The program of a worker process: report ready, then answer jobs until the pipe is closed."""

from __future__ import annotations

import mmap
import signal
import sys

from sightline.compute import sandbox
from sightline.compute.channel import REGION_BYTES, Channel, Closed
from sightline.compute.tasks import attempt, find_task
from sightline.contracts import Done, Failed, Job, RunAlone
from sightline.errors import ComputeError


def main(argv: list[str]) -> None:
    """Run as `worker KIND MEMORY READ WRITE REGION TASK`, three of them file descriptors."""
    kind, memory, reader, writer, region_fd, first_task = argv
    sandbox.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    region = mmap.mmap(int(region_fd), REGION_BYTES)
    channel = Channel(int(reader), int(writer), region, is_parent=False)
    find_task(first_task)  # Import before files become inaccessible and the time limit starts.
    sandbox.limit_memory(int(memory))
    filtered = False
    if kind == "decode":
        sandbox.forbid_writing()
        filtered = sandbox.filter_calls()
    try:
        # The parent may have ended while modules were imported.
        channel.send({"ready": True, "filtered": filtered})
        while True:
            _answer(channel)
    except Closed:
        sys.exit(0)


def _answer(channel: Channel) -> None:
    header, blob = channel.receive()
    task, args, alone = header["task"], header["args"], bool(header["alone"])
    if not isinstance(args, dict):
        raise TypeError("a job without arguments")
    try:
        result = attempt(find_task(str(task)), Job(b"", args, blob), alone)
    except RunAlone:
        channel.send({"alone": True})
        return
    if isinstance(result, Done):
        try:
            channel.send({"value": result.value}, result.blob)
            return
        except ComputeError as e:
            result = Failed("too-large", f"its content is too large: {e}")
    channel.send({"failed": result.kind, "reason": result.reason})


if __name__ == "__main__":
    main(sys.argv[1:])
