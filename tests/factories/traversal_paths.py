"""Ways to write a path that leads out of where one is, made by rule: some 29,000 of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

# One step up, as somebody may write it who hopes that it is read otherwise than it is checked.
_DOTS = (
    "..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "%25252e%25252e", "%c0%ae%c0%ae",
    "%c0%2e%c0%2e", "%e0%80%ae%e0%80%ae", "%u002e%u002e", "%uff0e%uff0e", "\uff0e\uff0e",
    "%ef%bc%8e%ef%bc%8e", "\u2024\u2024", "\u2025", "....", "..;", "..%00", ".%00.", "..%20",
    "..%09", "0x2e0x2e", "&#46;&#46;",
)  # fmt: skip
_SLASHES = (
    "/", "\\", "//", "%2f", "%2F", "%5c", "%252f", "%255c", "%c0%af", "%c1%9c", "%e0%80%af",
    "%uff0f", "%u2215", "\uff0f", "\u2215", "\u2044", "%ef%bc%8f", "/./", "\\/", ";/",
)  # fmt: skip
_DEPTHS = (1, 2, 3, 6, 12)
_BEFORE = ("", "/", "./", "photos/", "1/", "file:///", "%2f", "\\\\.\\")
_AFTER = (
    "", "%00", "%00.jpg", "\0.png", "/", "/.", "?", "#", ".jpg", "%0a", ";x=1", "::$DATA", " ",
)  # fmt: skip
_FILES = ("etc/passwd", "etc/shadow", "proc/self/environ", "proc/self/root/etc/passwd")
_WHOLE = (
    "~", "~root", "~/.ssh/id_rsa", ".", "..", "...", "/", "//", "\\", "-rf", "%", "%%", "%2", "%zz",
    "file:///etc/passwd", "file://localhost/etc/passwd", "php://filter/resource=/etc/passwd",
    "http://127.0.0.1/", "\\\\host\\share\\x", "//host/share", "C:\\boot.ini", "C:/boot.ini", "NUL",
    "CON", "aux.jpg", "$HOME/.profile", "${HOME}", "`id`", "$(id)", "|id", "/dev/stdin",
    "/dev/fd/0", "/proc/self/mem", "/proc/1/cwd", "*", "?", "[a-z]*", "x\ny", "x\ry",
    "\u202e", "\ufeff", "a" * 4_097,
)  # fmt: skip
LEAST = 23_755


def payloads(secret: Path) -> list[str]:
    """Return them all; they aim at files of any system and at one that lies there for the test."""
    return list(dict.fromkeys(_all(secret)))


def some_payloads(secret: Path, n: int, seed: int) -> list[str]:
    """Return some of them, or all if there are no more."""
    found = payloads(secret)
    return found if n >= len(found) else random.Random(seed).sample(found, n)


def _all(secret: Path) -> Iterator[str]:
    yield from _WHOLE
    targets = (*_FILES, f"{secret.parent.name}/{secret.name}", str(secret).lstrip("/"))
    for before, after, name in itertools.product(_BEFORE, _AFTER, (*targets, str(secret))):
        yield before + name + after
    for dots, slash, depth in itertools.product(_DOTS, _SLASHES, _DEPTHS):
        up = (dots + slash) * depth
        for name in targets:
            yield up + name.replace("/", slash)
        # With something before and after it at the depth of the secret, by turns.
        turn = len(dots) + len(slash) + depth
        for i in range(6):
            before, after = _BEFORE[(turn + i) % len(_BEFORE)], _AFTER[(turn + i) % len(_AFTER)]
            yield before + up + targets[i % len(targets)] + after
