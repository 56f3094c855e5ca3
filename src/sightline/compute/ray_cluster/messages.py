"""The form in which jobs and answers are sent: a text of plain values, and an array of bytes.

Ray passes an array of bytes through its object store without a copy; every other object is copied.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Done, Failed, Job

Message = tuple[str, NDArray[np.uint8]]


def pack_jobs(jobs: Sequence[Job]) -> Message:
    """Return jobs as one text and one array.

    >>> (job,) = unpack_jobs(pack_jobs([Job(b"a.jpg", {"n": 1}, b"xy")]))
    >>> job.name, job.args, bytes(job.blob)
    (b'a.jpg', {'n': 1}, b'xy')
    """
    about = [[j.name.hex(), j.args, len(j.blob)] for j in jobs]
    return json.dumps(about), _joined([j.blob for j in jobs])


def unpack_jobs(message: Message) -> list[Job]:
    """Return the jobs again."""
    text, blob = message
    view, start, jobs = memoryview(blob.data), 0, []
    for name, args, size in json.loads(text):
        jobs.append(Job(bytes.fromhex(name), args, view[start : start + size]))
        start += size
    return jobs


def pack_answers(answers: Sequence[Done | Failed]) -> Message:
    """Return answers as one text and one array.

    >>> unpack_answers(pack_answers([Done({"n": 1}, b"xy"), Failed("broken", "no picture")]))
    [Done(value={'n': 1}, blob=b'xy'), Failed(kind='broken', reason='no picture')]
    """
    about = [
        [a.value, len(a.blob)] if isinstance(a, Done) else [a.kind, a.reason, 0] for a in answers
    ]
    return json.dumps(about), _joined([a.blob for a in answers if isinstance(a, Done)])


def unpack_answers(message: Message) -> list[Done | Failed]:
    """Return the answers again."""
    text, blob = message
    view, start = memoryview(blob.data), 0
    answers: list[Done | Failed] = []
    for entry in json.loads(text):
        if len(entry) == 3:
            answers.append(Failed(entry[0], entry[1]))
            continue
        value, size = entry
        answers.append(Done(value, bytes(view[start : start + size])))
        start += size
    return answers


def _joined(blobs: Sequence[bytes | memoryview]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(blobs), np.uint8)
