"""Sidecars as other programs write them, with foreign content that must stay as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from sightline.pictures.xmp_names import ADDRESSES

DIGIKAM = """<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:digiKam="http://www.digikam.org/ns/1.0/"
    xmlns:MicrosoftPhoto="http://ns.microsoft.com/photo/1.0/"
    xmlns:lr="http://ns.adobe.com/lightroom/1.0/"
    xmlns:mediapro="http://ns.iview-multimedia.com/mediapro/1.0/"
    xmlns:acdsee="http://ns.acdsee.com/iptc/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
    xmlns:stDim="http://ns.adobe.com/xap/1.0/sType/Dimensions#"
    xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#"
   digiKam:PickLabel="3"
   digiKam:ColorLabel="0"
   acdsee:categories="&lt;Category Assigned=&quot;1&quot;&gt;Berlin&lt;/Category&gt;"
   xmp:Rating="4">
   <digiKam:TagsList>
    <rdf:Seq>
     <rdf:li>Places/Germany/Berlin</rdf:li>
     <rdf:li>People/Anna</rdf:li>
    </rdf:Seq>
   </digiKam:TagsList>
   <lr:hierarchicalSubject>
    <rdf:Bag>
     <rdf:li>Places|Germany|Berlin</rdf:li>
     <rdf:li>People|Anna</rdf:li>
    </rdf:Bag>
   </lr:hierarchicalSubject>
   <dc:subject>
    <rdf:Bag>
     <rdf:li>Berlin</rdf:li>
     <rdf:li>Anna</rdf:li>
    </rdf:Bag>
   </dc:subject>
   <mwg-rs:Regions rdf:parseType="Resource">
    <mwg-rs:AppliedToDimensions
     stDim:w="24"
     stDim:h="18"
     stDim:unit="pixel"/>
    <mwg-rs:RegionList>
     <rdf:Bag>
      <rdf:li>
       <rdf:Description
        mwg-rs:Name="Anna"
        mwg-rs:Type="Face">
       <mwg-rs:Area
        stArea:x="0.336604"
        stArea:y="0.444444"
        stArea:w="0.119913"
        stArea:h="0.186693"
        stArea:unit="normalized"/>
       </rdf:Description>
      </rdf:li>
     </rdf:Bag>
    </mwg-rs:RegionList>
   </mwg-rs:Regions>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""

DARKTABLE = """<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:exif="http://ns.adobe.com/exif/1.0/"
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:xmpMM="http://ns.adobe.com/xap/1.0/mm/"
    xmlns:darktable="http://darktable.sf.net/"
   exif:DateTimeOriginal="2024:06:01 08:30:00.000"
   xmp:Rating="1"
   xmpMM:DerivedFrom="000.jpg"
   darktable:xmp_version="5"
   darktable:raw_params="0"
   darktable:auto_presets_applied="1"
   darktable:history_end="2"
   darktable:iop_order_version="4">
   <darktable:masks_history>
    <rdf:Seq/>
   </darktable:masks_history>
   <darktable:history>
    <rdf:Seq>
     <rdf:li
      darktable:num="0"
      darktable:operation="exposure"
      darktable:enabled="1"
      darktable:modversion="6"
      darktable:params="00000000000080b90ad7233c"
      darktable:multi_name=""
      darktable:blendop_params="gz12eJxjYGBgkGAAgRNODESDBnsIHll8ANNSGQM="/>
     <rdf:li
      darktable:num="1"
      darktable:operation="flip"
      darktable:enabled="1"
      darktable:params="ffffffff"/>
    </rdf:Seq>
   </darktable:history>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""

LIGHTROOM = """<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 7.0-c000 1.000000">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
   xmp:CreatorTool="Adobe Photoshop Lightroom Classic 13.2 (Windows)"
   dc:format="image/jpeg"
   crs:Version="16.2"
   crs:Exposure2012="+0.35"
   crs:Look='{"Name": "Adobe Color > Vivid"}'/>
 </rdf:RDF>
</x:xmpmeta>
""".replace("\n", "\r\n")

EXIFTOOL = """<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk='Image::ExifTool 12.57'>
<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>

 <rdf:Description rdf:about=''
  xmlns:crs='http://ns.adobe.com/camera-raw-settings/1.0/'>
  <crs:Exposure2012>+0.35</crs:Exposure2012>
 </rdf:Description>

 <!-- kept by hand: <dc:subject> is below -->
 <rdf:Description rdf:about=''
  xmlns:dc='http://purl.org/dc/elements/1.1/'>
  <dc:description>
   <rdf:Alt>
    <rdf:li xml:lang='x-default'>Gulls <![CDATA[<at>]]> dawn</rdf:li>
   </rdf:Alt>
  </dc:description>
  <dc:subject>
   <rdf:Bag>
    <rdf:li>gull</rdf:li>
   </rdf:Bag>
  </dc:subject>
 </rdf:Description>

 <rdf:Description rdf:about=''
  xmlns:mwg-rs='http://www.metadataworkinggroup.com/schemas/regions/'
  xmlns:stArea='http://ns.adobe.com/xmp/sType/Area#'
  xmlns:stDim='http://ns.adobe.com/xap/1.0/sType/Dimensions#'>
  <mwg-rs:Regions rdf:parseType='Resource'>
   <mwg-rs:AppliedToDimensions rdf:parseType='Resource'>
    <stDim:h>300</stDim:h>
    <stDim:unit>pixel</stDim:unit>
    <stDim:w>400</stDim:w>
   </mwg-rs:AppliedToDimensions>
   <mwg-rs:RegionList>
    <rdf:Bag>
     <rdf:li rdf:parseType='Resource'>
      <mwg-rs:Area rdf:parseType='Resource'>
       <stArea:h>0.2</stArea:h>
       <stArea:unit>normalized</stArea:unit>
       <stArea:w>0.1</stArea:w>
       <stArea:x>0.5</stArea:x>
       <stArea:y>0.5</stArea:y>
      </mwg-rs:Area>
      <mwg-rs:Name>Anna</mwg-rs:Name>
      <mwg-rs:Type>Face</mwg-rs:Type>
     </rdf:li>
    </rdf:Bag>
   </mwg-rs:RegionList>
  </mwg-rs:Regions>
 </rdf:Description>
</rdf:RDF>
</x:xmpmeta>
"""
EXIFTOOL += (" " * 99 + "\n") * 20 + "<?xpacket end='w'?>"

# A namespace that is declared where nobody expects it, and other prefixes than the usual ones.
STRANGE = """<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 ><Description xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:dc="http://example.org/other"
 ><d:subject><Bag><li>gull</li></Bag></d:subject><dc:note>a > b</dc:note></Description></RDF>"""

ALL = {
    "digiKam": DIGIKAM,
    "darktable": DARKTABLE,
    "Lightroom": LIGHTROOM,
    "exiftool": EXIFTOOL,
    "strange": STRANGE,
}

_START = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
_DC = '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"'
_END = "</rdf:RDF></x:xmpmeta>"
_BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'

HOSTILE: dict[str, tuple[bytes, str]] = {
    "entities": (f'<?xml version="1.0"?>{_BOMB}{_START}&c;{_END}'.encode(), "entities"),
    "huge": (_START.encode() + b" " * (1 << 20) + _END.encode(), "bytes"),
    "empty": (b"", "not well-formed"),
    "text": (b"just words", "not well-formed"),
    "picture": (b"\xff\xd8\xff\xe0 JFIF \x00\x01", "not UTF-8"),
    "cut off": (DIGIKAM.encode()[:900], "not well-formed"),
    "latin": (
        f'<?xml version="1.0" encoding="ISO-8859-1"?>{_START}caf\xe9{_END}'.encode("latin-1"),
        "not UTF-8",
    ),
    "declared": (
        f'<?xml version="1.0" encoding="Shift_JIS"?>{_START}{_DC}/>{_END}'.encode(), "shift_jis",
    ),
    "html": (b"<html><body>404</body></html>", "no rdf:RDF"),
    "attribute": (f'{_START}{_DC} dc:subject="a, b"/>{_END}'.encode(), "no list"),
    "string": (f"{_START}{_DC}><dc:subject>a, b</dc:subject></rdf:Description>{_END}".encode(),
               "no list"),
    "deep": (b"<a>" * 20_000, "not well-formed"),
    "utf-32": (f"{_START}{_DC}/>{_END}".encode("utf-32"), "not"),
}  # fmt: skip


def keywords_packet(lists: Mapping[str, Sequence[str]]) -> bytes:
    """Return a packet with some keyword lists, as exiftool writes them."""
    properties = ""
    for name, entries in lists.items():
        prefix = name.partition(":")[0]
        items = "".join(f"    <rdf:li>{escape(entry)}</rdf:li>\n" for entry in entries)
        properties += f" <rdf:Description xmlns:{prefix}='{ADDRESSES[prefix]}'>\n  <{name}>\n"
        properties += f"   <rdf:Bag>\n{items}   </rdf:Bag>\n  </{name}>\n </rdf:Description>\n"
    return f"{_START}\n{properties}{_END}\n".encode()
