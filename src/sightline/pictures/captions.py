"""Words that people keep beside a picture, in a text or XMP file.

Nothing here opens a picture. Words stay as they were written: tags as tags, running text as text.
"""

from __future__ import annotations

import os

from sightline.errors import DataError
from sightline.pictures._xmp import decoded, plain, read_xmp
from sightline.pictures.tally import Loss
from sightline.records import Tags, shown

MAX_SIDECAR = 1 << 20


def sidecar_names(picture_name: bytes) -> tuple[bytes, ...]:
    """Return the possible names of a picture's sidecars, preferred first.

    >>> sidecar_names(b"a.jpg")[:4]
    (b'a.jpg.xmp', b'a.jpg.XMP', b'a.xmp', b'a.XMP')
    >>> sidecar_names(b"a.jpg")[4:]
    (b'a.txt', b'a.TXT', b'a.jpg.txt', b'a.jpg.TXT')
    """
    stem = os.path.splitext(picture_name)[0]
    pairs = ((picture_name, b".xmp"), (stem, b".xmp"), (stem, b".txt"), (picture_name, b".txt"))
    names = (base + case for base, end in pairs for case in (end, end.upper()))
    return tuple(dict.fromkeys(names))


def read_sidecar(path: bytes, data: bytes, losses: list[Loss] | None = None) -> Tags:
    """Read the words of a sidecar file.

    Parameters
    ----------
    path : bytes
        Name of the sidecar; its ending says whether it is XMP or plain text.
    data : bytes
        The whole file.
    losses : list of Loss, optional
        Where to note what was dropped.

    Returns
    -------
    Tags
        From an ``.xmp`` file labels and text, from any other the content as text.

    Raises
    ------
    DataError
        The file is larger than 1 MiB.

    Examples
    --------
    >>> read_sidecar(b"a.txt", b"snow, trees")
    Tags(source='txt', tags=(), text='snow, trees')
    """
    if len(data) > MAX_SIDECAR:
        raise DataError(
            f"The sidecar {shown(path)} has {len(data)} bytes; at most {MAX_SIDECAR} are read. "
            "Remove it or leave only the words in it."
        )
    if path.lower().endswith(b".xmp"):
        metadata = read_xmp(data)
        if losses is not None:
            losses += metadata.losses
        return Tags("xmp-sidecar", metadata.labels, metadata.text)
    return Tags("txt", (), plain(decoded(data)))
