"""Words go into sidecars of other programs, and all that was there stays, to the byte."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.exchange.exported import folded, writable
from sightline.exchange.xmp_merge import EMPTY, Additions, merged
from sightline.exchange.xmp_regions import Region, RegionFrame, area
from sightline.pictures._xmp import read_keywords, read_xmp
from sightline.pictures.xmp_names import ADDRESSES, Prefixes
from sightline.words.tokens import tag_terms
from tests.factories.counted_work import Counted, calls
from tests.factories.sidecars import ALL, DARKTABLE, DIGIKAM, EXIFTOOL, HOSTILE, LIGHTROOM, STRANGE

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
DC = "{http://purl.org/dc/elements/1.1/}"
MWG = "{http://www.metadataworkinggroup.com/schemas/regions/}"
NEW = Additions(
    ("Snow", "a & <b>"), "A caption", (Region("tree", (0.1, 0.2, 0.3, 0.4)),), RegionFrame(24, 18)
)


def kept(before: bytes, after: bytes) -> bool:
    """Say whether all of `before` is in `after`, in order; a closing slash may have moved."""
    rest = iter(after.replace(b"/>", b">"))
    return all(byte in rest for byte in before.replace(b"/>", b">"))


def subjects(data: bytes) -> list[str]:
    root = ElementTree.fromstring(data)
    return [li.text or "" for s in root.iter(f"{DC}subject") for li in s.iter(f"{RDF}li")]


def elements(data: bytes) -> list[tuple[str, str, str]]:
    found = ElementTree.fromstring(data).iter()
    return [(e.tag, repr(sorted(e.attrib.items())), (e.text or "").strip()) for e in found]


@pytest.mark.parametrize("program", ALL)
def test_what_other_programs_wrote_stays(program: str) -> None:
    before = ALL[program].encode()
    done = merged(before, NEW)
    assert done.words == ("Snow", "a & <b>") and done.regions == 1
    assert kept(before, done.data)
    had, has = elements(before), elements(done.data)
    assert all(has.count(e) >= had.count(e) for e in had)
    assert set(subjects(done.data)) == {*subjects(before), "Snow", "a & <b>"}
    assert len(list(ElementTree.fromstring(done.data).iter(f"{DC}subject"))) == 1
    said, now = read_xmp(before), read_xmp(done.data)
    assert set(now.labels) == {*said.labels, "Snow", "a & <b>"}
    assert now.dates == said.dates
    assert now.text == (said.text or "A caption")


@pytest.mark.parametrize("program", ALL)
def test_a_second_time_changes_nothing(program: str) -> None:
    once = merged(ALL[program].encode(), NEW)
    again = merged(once.data, NEW)
    assert not again and again.data == once.data
    nothing = merged(ALL[program].encode(), Additions())
    assert not nothing and nothing.data == ALL[program].encode()


def test_only_lines_are_added_where_lines_are() -> None:
    after = merged(DIGIKAM.encode(), Additions(("Snow",))).data.decode().splitlines()
    new = [line for line in after if line not in DIGIKAM.splitlines()]
    assert new == ["     <rdf:li>Snow</rdf:li>"] * 3
    before = (f"     <rdf:li>{anna}</rdf:li>" for anna in ("Anna", "People/Anna", "People|Anna"))
    assert all(after[after.index(line) + 1] == new[0] for line in before)


def test_levels_of_hierarchies_that_are_there_are_not_added() -> None:
    new = Additions(("Places/Germany/Berlin", "germany", "ANNA", "Places/France"))
    assert merged(DIGIKAM.encode(), new).words == ("France",)
    assert read_keywords(merged(DIGIKAM.encode(), new).data) == {
        "digiKam:TagsList": ("Places/Germany/Berlin", "People/Anna", "Places/France"),
        "lr:hierarchicalSubject": ("Places|Germany|Berlin", "People|Anna", "Places|France"),
        "dc:subject": ("Berlin", "Anna", "France"),
    }


@pytest.mark.parametrize("name", ["digiKam:TagsList", "lr:hierarchicalSubject", "dc:subject"])
def test_keywords_that_are_no_list_are_refused_only_if_one_is_missing(name: str) -> None:
    prefix = name.partition(":")[0]
    address = f'xmlns:{prefix}="{ADDRESSES[prefix]}"'
    start = f"<rdf:Description {address}"
    for written in (f'{start} {name}="snow"/>', f"{start}><{name}>snow</{name}></rdf:Description>"):
        before = EMPTY.replace(b" <rdf:Desc", f" {written}<rdf:Desc".encode(), 1)
        with pytest.raises(DataError, match=f"{name} is no list"):
            merged(before, Additions(("tree",)))
        done = merged(before, Additions(("snow",)))
        assert not done.words and done.completed == ("snow",)
        assert set(read_keywords(done.data).values()) == {("snow",)}


def test_regions_join_those_of_people_and_are_named_once() -> None:
    for before in (DIGIKAM, EXIFTOOL):
        box = (0.0, 0.0, 1.0, 1.0)
        new = Additions(
            regions=(Region("anna", box), Region("dog", box)), frame=RegionFrame(24, 18)
        )
        done = merged(before.encode(), new)
        assert done.regions == 1
        root = ElementTree.fromstring(done.data)
        assert len(list(root.iter(f"{MWG}Regions"))) == 1
        names = {e.text for e in root.iter(f"{MWG}Name")}
        names |= {e.get(f"{MWG}Name") for e in root.iter()} - {None}
        assert names == {"Anna", "dog"}


def test_regions_of_an_unknown_form_are_left_alone() -> None:
    odd = DIGIKAM.replace("mwg-rs:RegionList", "mwg-rs:Other").encode()
    done = merged(odd, NEW)
    assert done.regions == 0 and done.words


def test_a_new_packet_has_words_text_and_regions() -> None:
    done = merged(EMPTY, NEW)
    root = ElementTree.fromstring(done.data)
    assert subjects(done.data) == ["Snow", "a & <b>"]
    (dimensions,) = root.iter(f"{MWG}AppliedToDimensions")
    assert {k.rpartition("}")[2]: v for k, v in dimensions.attrib.items()} == {
        "w": "24", "h": "18", "unit": "pixel",
    }  # fmt: skip
    (place,) = root.iter(f"{MWG}Area")
    assert {k.rpartition("}")[2]: v for k, v in place.attrib.items()} == {
        "x": "0.25", "y": "0.4", "w": "0.3", "h": "0.4", "unit": "normalized",
    }  # fmt: skip


@pytest.mark.parametrize("orientation", range(1, 9))
def test_regions_are_turned_back_as_readers_turn_them(orientation: int) -> None:
    box = (0.1, 0.3, 0.2, 0.4)
    x, y, w, h = area(box, orientation)
    # From the file to the upright picture, as galleries do it.
    forth = {
        1: (x, y), 2: (1 - x, y), 3: (1 - x, 1 - y), 4: (x, 1 - y),
        5: (y, x), 6: (1 - y, x), 7: (1 - y, 1 - x), 8: (y, 1 - x),
    }[orientation]  # fmt: skip
    assert forth == pytest.approx((0.2, 0.5))
    assert (w, h) == ((0.2, 0.4) if orientation < 5 else (0.4, 0.2))
    new = Additions(regions=(Region("a", box),), frame=RegionFrame(400, 300, orientation))
    assert (b'stDim:w="300"' in merged(EMPTY, new).data) == (orientation >= 5)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_other_encodings_are_kept(codec: str) -> None:
    before = DARKTABLE.replace("UTF-8", "UTF-16" if codec == "utf-16" else "UTF-8").encode(codec)
    done = merged(before, Additions(("Zürich 🦊",)))
    assert done.data[:2] == before[:2]
    assert done.data.decode(codec).replace("\ufeff", "").startswith("<?xml")
    assert read_xmp(done.data).labels == ("Zürich 🦊",)


def test_a_file_that_says_it_is_ascii_stays_so() -> None:
    before = DARKTABLE.replace("UTF-8", "US-ASCII").encode("ascii")
    done = merged(before, Additions(("Zürich",)))
    done.data.decode("ascii")
    assert subjects(done.data) == ["Zürich"]


def test_elements_without_content_are_opened() -> None:
    start = "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
    dc = "xmlns:dc='http://purl.org/dc/elements/1.1/'"
    for before in (
        f"{start}/>",
        f"{start}><r:Description/></r:RDF>",
        f"{start}><r:Description {dc}><dc:subject/></r:Description></r:RDF>",
        f"{start}><r:Description {dc}><dc:subject> </dc:subject></r:Description></r:RDF>",
        f"{start}><r:Description {dc}><dc:subject><r:Bag/></dc:subject></r:Description></r:RDF>",
    ):
        done = merged(before.encode(), Additions(("Snow",)))
        assert subjects(done.data) == ["Snow"] and read_xmp(done.data).labels == ("Snow",), before


def test_words_of_ingredients_are_not_the_pictures() -> None:
    """A packet inside a packet has words too; they are neither read nor added to."""
    inner = "<xmpMM:Pantry xmlns:xmpMM='http://ns.adobe.com/xap/1.0/mm/'><rdf:Bag><rdf:li>"
    inner += "<rdf:Description><dc:subject><rdf:Bag><rdf:li>Snow</rdf:li></rdf:Bag></dc:subject>"
    inner += "</rdf:Description></rdf:li></rdf:Bag></xmpMM:Pantry>"
    before = EMPTY.decode().replace("  </rdf:Description>", f"{inner}  </rdf:Description>").encode()
    done = merged(before, Additions(("Snow", "tree")))
    assert done.words == ("Snow", "tree") and read_xmp(done.data).labels == ("Snow", "tree")
    assert subjects(done.data) == ["Snow", "Snow", "tree"]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_added_to_is_refused_quickly(name: str) -> None:
    data, reason = HOSTILE[name]

    def refused() -> None:
        with pytest.raises(DataError, match=reason):
            merged(data, NEW)

    # Work that grows with the square of the packet would be thousands of calls a byte.
    assert calls(refused) < 1_000 + 10 * len(data)


def packet_of_levels(n: int) -> bytes:
    regions = "<m:Regions xmlns:m='http://www.metadataworkinggroup.com/schemas/regions/'>"
    inner = f"{regions}{'<a>' * n}{'</a>' * n}</m:Regions></rdf:Description>"
    return EMPTY.decode().replace("  </rdf:Description>", inner).encode()


def test_a_packet_of_many_levels_takes_no_time() -> None:
    assert merged(packet_of_levels(60_000), Additions(("Snow",))).words == ("Snow",)


def test_work_on_a_packet_grows_with_its_levels_and_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = Prefixes.key
    monkeypatch.setattr(Prefixes, "key", lambda self, name: Counted(key(self, name)))
    work = []
    for n in (1_000, 4_000):
        data, before = packet_of_levels(n), Counted.compared
        made = calls(lambda d=data: merged(d, Additions(("Snow",))))
        work.append((made, Counted.compared - before))
    for few, many in zip(*work, strict=True):
        # Linear is four times as much, quadratic sixteen times.
        assert 3.5 * few < many < 4.5 * few


def test_a_sidecar_that_would_become_too_large_to_read_is_refused() -> None:
    full = EMPTY.replace(b"</x:xmpmeta>", b" " * ((1 << 20) - len(EMPTY) - 20) + b"</x:xmpmeta>")
    with pytest.raises(DataError, match="would have"):
        merged(full, NEW)


# No XML can hold these two.
NEVER = {0xFFFE: None, 0xFFFF: None}
ODD = st.text(min_size=1, max_size=30) | st.sampled_from(
    ["]]>", "<![CDATA[x]]>", "a\nb", '"', "'", "&amp;", "\u202eabc", "שלום", "👩‍👩‍👧", "a/b|c",
     "\x00\x1b[31m", "\ufffe", "\ud800x", "--><!--", "%s{}", "\u2028x", "=1+1"]
)  # fmt: skip


@given(st.lists(ODD, max_size=6), st.sampled_from([EMPTY.decode(), *ALL.values()]))
def test_odd_words_come_back_as_the_same_words(words: list[str], sidecar: str) -> None:
    before = sidecar.encode()
    done = merged(before, Additions(tuple(words)))
    ElementTree.fromstring(done.data)
    now = {t for label in read_xmp(done.data).labels for t in tag_terms(label)}
    assert now.issuperset(t for w in words for t in tag_terms(w.translate(NEVER)))
    assert not merged(done.data, Additions(tuple(words)))
    assert kept(before, done.data)


@given(ODD)
def test_odd_captions_and_region_names_are_well_formed(text: str) -> None:
    new = Additions((), text, (Region(text, (0, 0, 1, 1)),), RegionFrame(4, 3))
    for before in (EMPTY, LIGHTROOM.encode(), STRANGE.encode()):
        done = merged(before, new)
        ElementTree.fromstring(done.data)
        assert kept(before, done.data)


FLAT = (
    st.text(min_size=1, max_size=20)
    .map(writable)
    .filter(lambda word: bool(folded(word)) and not set("/|") & set(word))
)


@given(labels=st.lists(FLAT, max_size=4, unique_by=folded), caption=st.just("") | FLAT)
def test_labels_come_back_as_labels_and_a_caption_as_text(labels: list[str], caption: str) -> None:
    data = merged(EMPTY, Additions(tuple(labels), caption)).data
    said = read_xmp(data)
    lost = [loss.example for loss in said.losses]
    assert said.labels == tuple(labels) and [said.text, *lost] in ([caption], ["", caption])
