"""The formats in which `export` writes the words of pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportFormatEntry:
    """The entry of an export format.

    Attributes
    ----------
    about : str
        A short description.
    file : str
        The file's name in a folder, with the ending that every such file must have; "" for a format
        that writes a sidecar for each picture.
    media_type : str
        The type of the file in HTTP; "" if it cannot be downloaded.
    writer : str
        Import path, "module:function", of what turns pictures into the bytes of the file; "" for
        sidecars.
    """

    about: str
    file: str = ""
    media_type: str = ""
    writer: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is one file, which can be downloaded, not a sidecar for each picture."""
        return bool(self.file)


EXPORT_FORMATS: dict[str, ExportFormatEntry] = {
    "csv": ExportFormatEntry(
        "a table of pictures and words",
        file="words.csv",
        media_type="text/csv; charset=utf-8",
        writer="sightline.exchange.words_csv:csv_parts",
    ),
    "json": ExportFormatEntry(
        "a JSON object for each picture, one a line",
        file="words.jsonl",
        media_type="application/x-ndjson",
        writer="sightline.exchange.words_json:json_parts",
    ),
    "coco": ExportFormatEntry(
        "COCO annotations, with regions",
        file="words.json",
        # Responses of type application/json contain a version, which COCO files do not.
        media_type="application/octet-stream",
        writer="sightline.exchange.words_json:coco_parts",
    ),
    "xmp": ExportFormatEntry("an XMP sidecar for each picture"),
}
"""The formats by name, in the order in which they are listed."""
