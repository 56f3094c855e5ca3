"""What goes out: a picture with its words, as every format is given it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal

from sightline.pictures._xmp import plain
from sightline.records import Box
from sightline.words.tokens import fold

Kind = Literal["accepted", "tagged", "proposed"]
KINDS: tuple[Kind, ...] = ("accepted", "tagged", "proposed")
# What kinds were called in earlier releases.
EARLIER_KINDS = {"carried": "tagged"}

# Two code points that no XML can hold, besides control characters; some of those part words.
_UNWRITABLE = re.compile("[\ufffe\uffff]")
_GAPS = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


@dataclass(frozen=True, slots=True)
class ExportedWord:
    """A word of a picture.

    Attributes
    ----------
    word : str
        As people wrote it.
    kind : {"accepted", "tagged", "proposed"}
        Accepted by a person, a tag of the picture, or proposed by a model.
    sources : tuple of str
        Where it is from: the sources of tags, `session:ID`, `judged`, `model`.
    confidence : float or None
        How likely it fits, for proposed words; nobody estimated that of the others.
    box : Box or None
        Where in the upright picture it lies, if that is known.
    """

    word: str
    kind: Kind
    sources: tuple[str, ...]
    confidence: float | None = None
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class ExportedPicture:
    """A picture of the collection with its words, and its running text if it has one.

    Width and height are those of the upright picture. `refused` are terms that somebody said do not
    fit. `whole` is the same with all its tags and all accepted words, where only some of them were
    asked for.
    """

    picture: int
    path: bytes
    width: int
    height: int
    format: str
    words: tuple[ExportedWord, ...]
    caption: str = ""
    caption_sources: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()
    whole: ExportedPicture | None = None

    @property
    def name(self) -> str:
        """The path as text; `os.fsencode` gives the same bytes back.

        Readers cut blanks off; a path that begins with one is kept by what stands before it.
        """
        name = os.fsdecode(self.path)
        return name if name == name.lstrip() else f"./{name}"


def writable(word: str) -> str:
    r"""Return a word without what no file of words can hold; empty if nothing is left.

    >>> writable(" a\x00b\uffff\r\nc ")
    'ab\nc'
    """
    return plain(_GAPS.sub(" ", _UNWRITABLE.sub("", word)))


def folded(word: str) -> str:
    """Return the form in which two spellings of a word are the same.

    >>> folded("New  York") == folded("new york")
    True
    """
    return " ".join(fold(word).split())
