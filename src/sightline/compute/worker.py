"""The program a worker process runs: say ready, then answer jobs one by one until the pipe ends."""

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
    channel = Channel(int(reader), int(writer), region, ours=False)
    find_task(first_task)  # Imports happen now, before files are shut off and the clock runs.
    sandbox.limit_memory(int(memory))
    filtered = False
    if kind == "decode":
        sandbox.forbid_writing()
        filtered = sandbox.filter_calls()
    try:
        # Whoever started it may be gone already, if imports took long.
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
            result = Failed("too-large", f"what it holds is too much to pass on: {e}")
    channel.send({"failed": result.kind, "reason": result.reason})


if __name__ == "__main__":
    main(sys.argv[1:])
