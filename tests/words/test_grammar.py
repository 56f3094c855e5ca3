"""The search box: what can be written, and what is said when it cannot be read."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import QueryError
from sightline.words.grammar import PictureTerm, Query, Term, parse
from tests.waiting import must_end

_WORDS = [
    "tree",
    "Snow,",
    "-people",
    "2:red",
    "+barn",
    "❤",
    "don’t",
    "a-b",
    "1e3:x",
    "東京",
    "–dark",
]
_QUOTED = ['"golden gate"', '-"x y"', '+0.5:"a b"', '"~/my a.jpg"', '\\"', "\\", "\\\\", '"', "٣:x"]
_OTHERS = ["./a.jpg", "-/x.jpg", "3:../x.jpg", "-", "+", "2:", "-0:", "10:30", "/", "Places/Berlin"]
PIECES = st.sampled_from([*_WORDS, *_QUOTED, *_OTHERS])
QUERIES = st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join) | st.text(st.characters())


def words(*texts: str) -> Query:
    return Query(tuple(Term(text) for text in texts))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("  , ... / \u3000", Query()),
        ("tree\u3000Snow,\tdon’t", words("tree", "snow", "don't")),
        ("well-known", words("well", "known")),
        ("Places/Berlin", words("places", "berlin")),
        ('"Golden  Gate, Bridge"', words("golden gate bridge")),
        ('"Places/New York"', words("places", "new york")),
        ('"tree"snow"a b"', replace(words("tree", "snow", "a b"), verbatim=frozenset(["tree"]))),
        ('say \\"cheese\\"', words("say", "cheese")),
        ("❤️ a❤", words("❤", "a")),
        ('"$ \\" \\\\"', words('$ " \\')),
        ("+barn", Query((Term("barn", 1.0, True),))),
        ('+"x y"', Query((Term("x y", 1.0, True),))),
        ("2:red .5:sky 1e1:b", Query((Term("red", 2.0), Term("sky", 0.5), Term("b", 10.0)))),
        ('2:"x y"', Query((Term("x y", 2.0),))),
        ("+2:red-hot", Query((Term("red", 2.0, True), Term("hot", 2.0, True)))),
        ("-people", Query((), ("people",))),
        ("−a –b －c ＋d", Query((Term("d", 1.0, True),), ("a", "b", "c"))),
        ('-"golden gate" -well-known', Query((), ("golden gate", "well", "known"))),
        ("time 10:30", Query((Term("time"), Term("30", 10.0)))),
        ("10: 7:", words("10", "7")),
        ("nan:red inf:red", words("nan", "red", "inf")),
        ("picture.jpg", words("picture", "jpg")),
    ],
)
def test_queries_are_read(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize(
    ("text", "picture"),
    [
        ("./picture.jpg", PictureTerm("./picture.jpg")),
        ("../X.jpg", PictureTerm("../X.jpg")),
        ("/abs/x.jpg", PictureTerm("/abs/x.jpg")),
        ("~/x.jpg", PictureTerm("~/x.jpg")),
        ('"./my tree.jpg"', PictureTerm("./my tree.jpg")),
        ('"./a\\"b\\\\c.jpg"', PictureTerm('./a"b\\c.jpg')),
        ('"./a b\\\\"', PictureTerm("./a b\\")),
        ("./a\\b.jpg", PictureTerm("./a\\b.jpg")),
        ("-./x.jpg", PictureTerm("./x.jpg", 1.0, True)),
        ('-"./x y.jpg"', PictureTerm("./x y.jpg", 1.0, True)),
        ("0.5:./x.jpg", PictureTerm("./x.jpg", 0.5)),
        ("./x.jpg 2:./x.jpg", PictureTerm("./x.jpg", 2.0)),
        ("./caf\udce9.jpg", PictureTerm("./caf\udce9.jpg")),
    ],
)
def test_pictures_are_read(text: str, picture: PictureTerm) -> None:
    assert parse(text) == Query(pictures=(picture,))
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("tree snow TREE", words("tree", "snow")),
        ("2:tree 3:tree", Query((Term("tree", 3.0),))),
        ("+2:tree tree", Query((Term("tree", 1.0, True),))),
        ("-a -A", Query((), ("a",))),
    ],
)
def test_duplicates_are_merged(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree -", "Nothing follows the '-' at column 6. Write the word after it: -word"),
        ("tree + snow", "Nothing follows the '+' at column 6. Write the word after it: +word"),
        ('a "golden gate', 'quote at column 3 is never closed. Close it with ", or write \\"'),
        ('-"x', "quote at column 2 is never closed"),
        ('"abc\\"', "quote at column 1 is never closed"),
        ('5" lens', "quote at column 2 is never closed"),
        ("tree 0:red", "weight 0 at column 6 is not above 0 and finite. Write a number such as 2:"),
        ("1e999:red", "weight 1e999 at column 1"),
        ("1e-999:red", "weight 1e-999 at column 1"),
        ("-2:red", "weight -2 at column 1 is not above 0"),
        ("--2:red", "weight --2 at column 1 is not above 0"),
        ("+-2:red", "weight +-2 at column 1 is not above 0"),
        ("2:-red", "sign follows the weight 2 at column 1. Write +2:word"),
        ('""', "no word in '' at column 1"),
        ("a -...", "no word in '...' at column 3"),
        ("2:,", "no word in ',' at column 1"),
        ("+./x.jpg", "picture at column 1 cannot be required. Leave out the +"),
        ("./a\0.jpg", "path at column 1 holds a zero byte"),
        ("tree -Tree", "'tree' stands both with a minus"),
        ("./a.jpg -./a.jpg", "'./a.jpg' stands both with a minus"),
        ("b " + "x" * 101, "column 3 has more than 100 characters"),
        ('"' + "x" * 60 + " " + "y" * 60 + '"', "column 1 has more than 100 characters"),
        ("x " * 501, "may have 1,000 characters, this one has 1,002"),
        (" ".join(map(str, range(65))), "may have 64 terms, this one has 65"),
        (" ".join(f"1e15:w{i:02d}" for i in range(60)), "may have 1,000 char"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=re.escape(message)):
        parse(text)


def test_the_limits_themselves_are_allowed() -> None:
    assert len(parse(" ".join(map(str, range(64)))).terms) == 64
    assert parse("a" + " " * 999) == words("a")


def test_words_in_quotes_are_taken_as_they_are_typed() -> None:
    query = parse('"dgo" cat -"Sonw" "golden gate" "Places/Berlin" "❤"')
    assert query.verbatim == {"dgo", "sonw"}
    assert parse(str(query)) == query and parse("dgo cat -sonw").verbatim == frozenset()
    assert parse('dgo "dgo"').verbatim == {"dgo"}
    assert str(parse('2:dgo -cat "a b"').as_typed()) == '2:"dgo" "a b" -"cat"'


def test_the_written_form_is_canonical() -> None:
    text = '-"x y" 2.0:Red ./a.jpg  +barn "tree" -0people 0.25:"./b c.jpg" ❤'
    assert str(parse(text)) == '2:red +barn "tree" "❤" -"x y" -0people ./a.jpg 0.25:"./b c.jpg"'


@given(QUERIES)
def test_any_text_is_read_or_refused_and_reads_back(text: str) -> None:
    try:
        query = parse(text)
    except QueryError as error:
        assert str(error).endswith((".", "word", "quote.", "+."))
        return
    assert parse(str(query)) == query
    assert str(parse(str(query))) == str(query)


@given(
    st.lists(
        st.sampled_from(["tree", "snow", "golden gate", "don't", "木", "❤", "10"]), unique=True
    )
)
def test_words_come_back_in_their_order(texts: list[str]) -> None:
    query = parse(" ".join(f'"{text}"' for text in texts))
    assert [term.text for term in query.terms] == texts


def test_a_row_of_backslashes_takes_no_exponential_time() -> None:
    # Were there two ways to read one of them, there would be 2 ** 998 of reading all.
    with must_end(), pytest.raises(QueryError):
        parse('"' + "\\" * 998)
