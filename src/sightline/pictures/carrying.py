"""Reading jobs for machines that have none of our files: the bytes travel with the job.

A job of `pictures.reading` names files below the collection's folder. `packed` puts their bytes
into it, here, where the files are; `laid_out` writes them into an empty folder at the other end, by
the same paths and with the same times, and gives the job that reads them there. What is decoded, by
whom and under which limits is thus the same on every machine.
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


def packed(task: str, job: Job) -> Job:
    """Return a reading job with the bytes of its files; raises what reading the picture would.

    A file of words that cannot be read is left out, and said to be by `with_problems`.
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
    there: list[Json] = []
    for name in _list(args["sidecars"]):
        try:
            remedy = "leave only the words in it"
            data, status = contents(root, _path(name), MAX_SIDECAR, follow, remedy)
        except Unfit as e:
            problems.append(f"{shown(_path(name))}: {e}")
            continue
        there.append(name)
        files.append([name, status.st_mtime_ns, len(data)])
        blobs.append(data)
    args |= {"root": "", "sidecars": there, "follow": False, _FILES: files, _PROBLEMS: problems}
    return Job(job.name, args, b"".join(blobs))


def laid_out(job: Job, folder: bytes) -> Job:
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
    """Return an answer with what could not be read where the files are said before the rest."""
    said = _list(args.get(_PROBLEMS, []))
    if not said:
        return done
    return Done({**done.value, "problems": [*said, *_list(done.value["problems"])]}, done.blob)


def _path(value: Json) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise DataError(f"A job has {value!r} where a list belongs.")
    return value
