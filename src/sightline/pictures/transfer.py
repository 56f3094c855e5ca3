"""Reading jobs for machines that cannot see our files: the bytes travel with the job.

A job of `pictures.reading` names files below the collection's folder. `pack` adds their bytes on
the machine that has the files; `unpack` writes them into an empty folder of the other machine, with
the same paths and times, and returns the job that reads them there. So decoding and its limits are
the same on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from sightline.contracts import Done, Job, Json
from sightline.errors import DataError
from sightline.pictures.captions import MAX_SIDECAR
from sightline.pictures.decode import Unfit
from sightline.pictures.reading import READ_TASK, contents
from sightline.records import shown

_FILES, _PROBLEMS = "carried", "carried_problems"


def pack(task: str, job: Job) -> Job:
    """Return a reading job with the bytes of its files; errors are those of reading the picture.

    A sidecar that cannot be read is left out; `with_problems` reports it.
    """
    args = dict(job.args)
    root, follow = _path(args["root"]), bool(args["follow"])
    files: list[Json] = []
    blobs: list[bytes] = []
    problems: list[Json] = []
    if task == READ_TASK:
        limit = int(str(args["max_file_bytes"]))
        data, status = contents(root, _path(args["path"]), limit, follow)
        files.append([args["path"], status.st_mtime_ns, len(data)])
        blobs.append(data)
    readable: list[Json] = []
    for name in _list(args["sidecars"]):
        try:
            remedy = "leave only the words in it"
            data, status = contents(root, _path(name), MAX_SIDECAR, follow, remedy)
        except Unfit as e:
            problems.append(f"{shown(_path(name))}: {e}")
            continue
        readable.append(name)
        files.append([name, status.st_mtime_ns, len(data)])
        blobs.append(data)
    args |= {"root": "", "sidecars": readable, "follow": False, _FILES: files, _PROBLEMS: problems}
    return Job(job.name, args, b"".join(blobs))


def unpack(job: Job, folder: bytes) -> Job:
    """Write the files of a packed job below a folder, and return the job that reads them there."""
    blob, start = memoryview(job.blob), 0
    for entry in _list(job.args[_FILES]):
        name, mtime, size = _list(entry)
        path = os.path.normpath(_path(name))
        if os.path.isabs(path) or path.split(b"/")[0] == b"..":
            raise DataError(f"A job carries a file to {shown(path)}, outside its folder.")
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        end = start + int(str(size))
        with open(place, "wb") as f:
            f.write(blob[start:end])
        os.utime(place, ns=(int(str(mtime)), int(str(mtime))))
        start = end
    args = {k: v for k, v in job.args.items() if k not in (_FILES, _PROBLEMS)}
    return Job(job.name, {**args, "root": os.fsdecode(folder)})


def with_problems(done: Done, args: Mapping[str, Json]) -> Done:
    """Return an answer with the problems that `pack` met added to its own."""
    problems = _list(args.get(_PROBLEMS, []))
    if not problems:
        return done
    return Done({**done.value, "problems": [*problems, *_list(done.value["problems"])]}, done.blob)


def _path(value: Json) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise DataError(f"A job must have a list, got {value!r}.")
    return value
