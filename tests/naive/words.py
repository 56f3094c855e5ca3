"""Slow, plain twins of what `sightline.words` does."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import log, sqrt


def tokens(text: str) -> list[str]:
    """Walk the characters one by one; for text without invisible ones and odd apostrophes."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = unicodedata.normalize("NFKC", folded)
    words: list[str] = []
    word = ""
    for at, c in enumerate(folded + " "):
        kind = unicodedata.category(c)[0]
        inner = c == "'" and unicodedata.category((folded + " ")[at + 1])[0] in "LNM"
        if kind in "LN" or (word and (kind == "M" or inner)):
            word += c
        elif word:
            words.append(word)
            word = ""
    return [word for word in words if len(word) <= 100]


def edits(a: str, b: str) -> int:
    """Fill the whole table of the restricted Damerau-Levenshtein distance."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            changed = a[i - 1] != b[j - 1]
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + changed]
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(a), len(b)]


def kind_of_nearness(word: str, term: str) -> int | None:
    """Say in which group of suggestions a term belongs: 0 is the nearest, None is none."""

    def telling(part: str) -> bool:
        return len(part) >= 3 or part >= "\u2e80"

    distance = edits(word, term)
    stem = word[: max(4, len(word) - 3)]
    if distance == 1 and len(word) >= 2:
        return 0
    if telling(word) and term.startswith(word):
        return 1
    if distance == 2 and len(word) >= 6:
        return 2
    if len(stem) >= 4 and term.startswith(stem) and len(term) - len(stem) <= 3:
        return 3
    if (telling(word) and word in term) or (telling(term) and term in word):
        return 4
    return None


def near(word: str, terms: Iterable[str], n: int) -> tuple[str, ...]:
    """Compare the word with every term."""
    ranked = []
    for term in set(terms) - {word}:
        kind = kind_of_nearness(word, term)
        if kind is not None:
            ranked.append((kind, abs(len(term) - len(word)), term))
    return tuple(term for _, _, term in sorted(ranked)[:n])


def idf(count: int, n_documents: int, smooth: bool) -> float:
    """Return the weight of one term."""
    if smooth or count == 0:
        return log((1 + n_documents) / (1 + count)) + 1
    return -log(count / n_documents)


def query_vector(
    term_ids: Sequence[int], idf: Sequence[float], weights: Sequence[float]
) -> dict[int, float]:
    """Return the value of each term that counts."""
    asked = dict(zip(term_ids, weights, strict=True))
    values = {term: weight * idf[term] for term, weight in asked.items()}
    if not any(values.values()):
        values = asked
    length = sqrt(sum(value**2 for value in values.values()))
    return {term: value / length for term, value in sorted(values.items()) if value > 0}


def caption_queries(
    captions: Sequence[tuple[int, Iterable[str]]], vocabulary: set[str], max_len: int
) -> dict[tuple[str, ...], list[int]]:
    """Try every subset of every caption, and every caption for each subset."""
    subsets = {
        subset
        for _, caption in captions
        for length in range(1, max_len + 1)
        for subset in combinations(sorted(set(caption) & vocabulary), length)
    }
    return {
        subset: sorted(picture for picture, caption in captions if set(subset) <= set(caption))
        for subset in subsets
    }
