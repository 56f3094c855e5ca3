"""Words of captions, tags and queries.

`tokens` turns text into terms, `vocabulary` numbers them, `grammar` reads the search box and
`queries` makes queries out of captions. None of these needs numpy; `tfidf`, which does, is not
imported here, so that reading a query stays cheap. `Documents`, texts as vectors of words, is a
library part that no command uses, and is imported when it is first used.

Examples
--------
>>> from sightline.words import caption_terms, parse
>>> from sightline.records import Tags
>>> terms = caption_terms(Tags("sidecar", tags=("Oak tree", "snow")))
>>> [term.text in terms for term in parse('"oak tree" barn').terms]
[True, False]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy
from sightline.words.grammar import PictureTerm, Query, Term, parse
from sightline.words.queries import caption_queries
from sightline.words.tokens import caption_terms, split_labels, tag_terms
from sightline.words.vocabulary import Vocabulary, near

if TYPE_CHECKING:
    from sightline.words.documents import Documents
else:
    __getattr__ = lazy(__name__, {"documents": ("Documents",)})

__all__ = [
    "Documents",
    "PictureTerm",
    "Query",
    "Term",
    "Vocabulary",
    "caption_queries",
    "caption_terms",
    "near",
    "parse",
    "split_labels",
    "tag_terms",
]
