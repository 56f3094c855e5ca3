"""What a server does before its first requests, so that none of them waits for it.

Before it says that it is ready, it answers one search by words: that loads the model, the words of
the collection and the compiler's machinery, which takes half a second. So it does with `similar`
and a session where features are few enough to be read in a moment, else in the background while it
serves, as the first misspelt query and the first completion. Beyond the setting `memory` features
are not read ahead. Nothing is written. What fails here is reported to the first request that meets
it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from sightline.collection import Collection
from sightline.collection.lexicon import word_forms

# Bytes of features that are read before the server is ready.
_FEW_BYTES = 128 << 20
# Letters that no word ends with.
_MISSPELT = "zq"


def warm_first(collection: Collection) -> None:
    """Answer one search, and one of each other kind where that takes a moment."""
    _try((_search,), collection)
    _compare_and_judge(collection, range(_FEW_BYTES + 1))


def warm_rest(collection: Collection) -> None:
    """Do once what other first requests would wait for."""
    most = int(collection.settings.memory_bytes)
    _compare_and_judge(collection, range(_FEW_BYTES + 1, most + 1))
    _try((_spell, _complete), collection)


def _compare_and_judge(collection: Collection, n_bytes: range) -> None:
    with contextlib.suppress(Exception):
        if _feature_bytes(collection) in n_bytes:
            _try((_compare, _judge), collection)


def _try(works: Iterable[Callable[[Collection], None]], collection: Collection) -> None:
    for work in works:
        with contextlib.suppress(Exception):
            work(collection)


def _feature_bytes(collection: Collection) -> int:
    with collection.store_folder.reader() as reader:
        listed = reader.snapshot.published.listed
    return sum(f.file.size for s in listed for f in s.features)


def _frequent_word(collection: Collection) -> tuple[str, int]:
    """Return the most frequent word that is no stop word, and its number of pictures."""
    with collection.store_folder.reader() as reader:
        forms = word_forms(reader)
    words = [w for w in forms.counts if not forms.lexicon.is_stop_word(w)]
    word = max(words, key=lambda w: forms.counts[w], default="")
    return word, forms.counts.get(word, 0)


def _search(collection: Collection) -> None:
    word, n = _frequent_word(collection)
    if collection.store.version() and word:
        # Beyond the pictures that have it are those that a model predicts.
        collection.search(f'"{word}"', 1, offset=n)


def _spell(collection: Collection) -> None:
    collection.search(_frequent_word(collection)[0] + _MISSPELT, 1)


def _complete(collection: Collection) -> None:
    collection.words.vocabulary("", 1)


def _compare(collection: Collection) -> None:
    """Compare one picture until all rows are rounded that this needs: each time some are."""
    before, now = -1, 0
    while now > before:
        collection.similar(_pictures(collection, 1)[0], k=1)
        with collection.store_folder.reader() as reader:
            quantised = reader.snapshot.quantised
        before, now = now, 0 if quantised is None else quantised.n_bytes


def _judge(collection: Collection) -> None:
    first, second = _pictures(collection, 2)
    collection.judge(f'"{_frequent_word(collection)[0]}"').supposing([first], [second], 1)


def _pictures(collection: Collection, n: int) -> list[int]:
    with collection.store_folder.reader() as reader:
        ids: list[int] = reader.snapshot.ids()[:n].tolist()
    return ids
