"""Make the table of nouns that the package ships, from the noun graph of WordNet 3.0.

    apt-get install wordnet-base
    .venv/bin/python -m tools.noun_table /usr/share/wordnet

The networks of the extra `deep` were trained on 1,000 classes of ImageNet, each of which is a noun
synset of WordNet 3.0. `imagenet-synsets.txt` lists their numbers in the order of the classes, which
is ascending. The table says for every noun how much each class says about it. A sense of a noun is

above or at a class
    The class is a hyponym of the sense, or the sense itself: weight 1.
near a class
    By the graph: Lin's similarity, 2 IC(common hypernym) / (IC(sense) + IC(class)), with the
    information content that Seco, Veale and Hayes take from the number of hyponyms. Only for senses
    above no class, which includes those below one.
    By the definitions: the cosine of tf-idf vectors of names and definitions, for all senses.

A sense's closeness is the highest of its weights. Several senses of a noun share one by how often
each occurs in WordNet's tagged texts; names of persons and places count only where a noun has no
other sense. The constants were chosen on Corel5K, where all choices near them measured alike.

D. Lin, An information-theoretic definition of similarity, ICML 1998.
N. Seco, T. Veale, J. Hayes, An intrinsic information content metric for semantic similarity in
WordNet, ECAI 2004.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.words.nouns import TABLE, squashed

SYNSETS = Path(__file__).with_name("imagenet-synsets.txt")

# Lin's similarity below which a sense is not near; the power of what exceeds it.
_FAR, _LIN_POWER = 0.4, 2.0
# The weight of a squared cosine of definitions, for senses above a class and others.
_GLOSS_ABOVE, _GLOSS_NEAR = 0.3, 3.0
_MOST = 10  # Classes near a sense, by each of the two.
_LEAST = 0.02  # Weights below it are left out.
_NAME_WEIGHT, _MOST_COUNTED = 2, 3
_STOP_WORDS = (
    "a about also an and any are as at be been being between by can especially etc for from "
    "has have having in into is it its made may not of often on one or other some such than that "
    "the to used usually various very when where which while who whose with"
)
_STOP = frozenset(_STOP_WORDS.split(" "))

Doubles = NDArray[np.float64]


@dataclass(slots=True)
class Synset:
    """One noun synset: its names, its hypernyms, whether it is an instance, its definition."""

    number: str
    names: list[str]
    up: list[str]
    instance: bool
    definition: str
    down: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NounGraph:
    """WordNet's nouns: synsets by number, and the senses of each noun, the most frequent first.

    `counts` has how often a sense occurs in tagged texts, by noun and place in its senses.
    """

    synsets: dict[str, Synset]
    senses: dict[str, list[str]]
    counts: dict[str, dict[int, int]]

    @classmethod
    def read(cls, folder: Path) -> NounGraph:
        """Read the files of Debian's `wordnet-base`."""
        synsets = {s.number: s for s in map(_synset, _lines(folder / "data.noun"))}
        for s in synsets.values():
            for parent in s.up:
                synsets[parent].down.append(s.number)
        senses: dict[str, list[str]] = {}
        plurals: dict[str, str] = {}
        for line in _lines(folder / "index.noun"):
            fields = line.split()
            senses[fields[0]] = fields[-int(fields[2]) :]
        for line in (folder / "noun.exc").read_text("latin-1").splitlines():
            irregular, *regular = line.split()
            for noun in regular:
                if noun in senses and irregular not in senses:
                    senses[irregular] = senses[noun]
                    plurals[irregular] = noun
        counts: dict[str, dict[int, int]] = defaultdict(dict)
        for line in _lines(folder / "cntlist.rev"):
            key, place, count = line.split()
            noun, _, kind = key.partition("%")
            if kind.startswith("1"):
                counts[noun][int(place) - 1] = int(count)
        for irregular, noun in plurals.items():
            counts[irregular] = counts.get(noun, {})
        return cls(synsets, senses, counts)

    def above(self) -> dict[str, frozenset[str]]:
        """Return each synset's hypernyms of all levels, with itself."""
        known: dict[str, frozenset[str]] = {}
        for number in self.synsets:
            stack = [number]
            while stack:
                parents = self.synsets[stack[-1]].up
                missing = [p for p in parents if p not in known]
                if missing:
                    stack += missing
                    continue
                here = stack.pop()
                known[here] = frozenset({here}).union(*(known[p] for p in parents))
        return known


class ClassWeights:
    """How much each class says about a synset."""

    def __init__(self, graph: NounGraph, classes: list[str]) -> None:
        self.graph, self.above = graph, graph.above()
        self.order = {number: i for i, number in enumerate(graph.synsets)}
        self.below: dict[str, list[int]] = defaultdict(list)
        for i, number in enumerate(classes):
            for hypernym in self.above[number]:
                self.below[hypernym].append(i)
        hyponyms = Counter(h for above in self.above.values() for h in above)
        n = math.log(len(self.above))
        self.content = {s: 1 - math.log(hyponyms[s]) / n for s in graph.synsets}
        self._of_classes = np.array([self.content[c] for c in classes])
        self._documents = _documents(graph)
        self._at = [self.order[c] for c in classes]

    def of(self, number: str, cosines: Doubles) -> Doubles:
        """Return the weight of each class for a synset, given its cosines of definitions."""
        below = self.below.get(number, [])
        weights = np.zeros(len(self._of_classes))
        if not below:
            near = np.clip((self._lin(number) - _FAR) / (1 - _FAR), 0, 1) ** _LIN_POWER
            best = np.argsort(-near, kind="stable")[:_MOST]
            weights[best] = near[best]
        best = np.argsort(-cosines, kind="stable")[:_MOST]
        gloss = (_GLOSS_ABOVE if below else _GLOSS_NEAR) * cosines[best] ** 2
        weights[best] = np.maximum(weights[best], np.minimum(gloss, 1))
        weights[below] = 1
        weights[weights < _LEAST] = 0
        return weights

    def _lin(self, number: str) -> Doubles:
        common = np.zeros(len(self._of_classes))
        for hypernym in sorted(self.above[number], key=self.content.__getitem__):
            common[self.below.get(hypernym, [])] = self.content[hypernym]
        return 2 * common / np.maximum(self.content[number] + self._of_classes, 1e-9)

    def all(self) -> Iterator[tuple[str, Doubles]]:
        """Return the weights of every synset that has any."""
        of_classes = self._documents[self._at].T.tocsr()
        numbers = list(self.graph.synsets)
        for start in range(0, len(numbers), 1000):
            cosines = (self._documents[start : start + 1000] @ of_classes).toarray()
            for number, row in zip(numbers[start : start + 1000], cosines, strict=True):
                weights = self.of(number, row)
                if weights.any():
                    yield number, weights


def make(folder: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of the table."""
    graph = NounGraph.read(folder)
    classes = SYNSETS.read_text().split()
    rows = dict(ClassWeights(graph, classes).all())
    at = {number: i for i, number in enumerate(rows)}
    nouns: dict[str, list[tuple[int, float]]] = {}
    for noun in sorted(graph.senses):
        # A noun that is written in two ways has the senses of the first.
        senses = [(at[s], p) for s, p in _shares(graph, noun) if s in at and p > 0]
        if senses and squashed(noun):
            nouns.setdefault(squashed(noun), senses)
    keys = sorted(nouns)
    used = sorted({s for k in keys for s, _ in nouns[k]})
    place = {s: i for i, s in enumerate(used)}
    weights = [row for i, row in enumerate(rows.values()) if i in place]
    entries = [np.flatnonzero(w) for w in weights]
    values = [w[e] for w, e in zip(weights, entries, strict=True)]
    names = [graph.synsets[c].names[0].replace("_", " ") for c in classes]
    return {
        "nouns": _text(keys),
        "sense_start": _starts([len(nouns[k]) for k in keys]),
        "sense": np.array([place[s] for k in keys for s, _ in nouns[k]], np.uint32),
        "share": _bytes([p for k in keys for _, p in nouns[k]]),
        "class_start": _starts([len(e) for e in entries]),
        "class_index": np.concatenate(entries).astype(np.uint16),
        "class_weight": _bytes(np.concatenate(values)),
        "class_names": _text(names),
    }


def _shares(graph: NounGraph, noun: str) -> list[tuple[str, float]]:
    """Return the senses of a noun with their shares, by how often each occurs."""
    senses, counts = graph.senses[noun], graph.counts.get(noun, {})
    share = np.array([counts.get(i, 0) + 1.0 for i in range(len(senses))])
    named = np.array([graph.synsets[s].instance for s in senses])
    if not named.all():
        share[named] = 0
    return list(zip(senses, (share / share.sum()).tolist(), strict=True))


def _documents(graph: NounGraph) -> Any:
    """Return tf-idf vectors of unit length, one for each synset, of names and definition."""
    from scipy.sparse import csr_array, diags_array

    counts = [
        Counter(_words(s.definition))
        + Counter({w: _NAME_WEIGHT * n for w, n in Counter(_words(" ".join(s.names))).items()})
        for s in graph.synsets.values()
    ]
    in_documents = Counter(w for c in counts for w in c)
    column = {w: i for i, w in enumerate(sorted(in_documents))}
    idf = {w: math.log(len(counts) / n) for w, n in in_documents.items()}
    values = [min(n, _MOST_COUNTED) * idf[w] for c in counts for w, n in c.items()]
    columns = [column[w] for c in counts for w in c]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in counts])])
    matrix = csr_array((values, columns, starts), shape=(len(counts), len(column)))
    norms = np.sqrt(np.asarray((matrix * matrix).sum(axis=1)).ravel())
    return csr_array(diags_array(1 / np.maximum(norms, 1e-9)) @ matrix)


@cache
def _word(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word


def _words(text: str) -> list[str]:
    return [_word(w) for w in re.findall(r"[a-z]+", text.lower()) if w not in _STOP]


def _lines(file: Path) -> Iterator[str]:
    """Yield the lines of a file of WordNet, without the licence at its beginning."""
    with file.open(encoding="latin-1") as lines:
        yield from (line for line in lines if not line.startswith("  "))


def _synset(line: str) -> Synset:
    left, _, gloss = line.partition(" | ")
    fields = left.split()
    n_names = int(fields[3], 16)
    pointers = fields[4 + 2 * n_names + 1 :]
    up, instance = [], False
    for kind, number, part, _ in zip(*(pointers[i::4] for i in range(4)), strict=False):
        if part == "n" and kind in ("@", "@i"):
            up.append(number)
            instance |= kind == "@i"
    names = [name.split("(")[0] for name in fields[4 : 4 + 2 * n_names : 2]]
    return Synset(fields[0], names, up, instance, gloss.split('; "')[0].strip())


def _text(lines: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _starts(lengths: list[int]) -> NDArray[np.uint32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)


def _bytes(shares: list[float] | Doubles) -> NDArray[np.uint8]:
    rounded = np.rint(np.asarray(shares, np.float64) * 255)
    return np.maximum(rounded, 1).astype(np.uint8)


def main() -> None:
    """Write the table to the package."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
    arrays = make(folder)
    np.savez_compressed(TABLE, allow_pickle=False, **arrays)
    n_nouns, n_senses = len(arrays["sense_start"]) - 1, len(arrays["class_start"]) - 1
    print(f"{TABLE}: {n_nouns:,} nouns, {n_senses:,} senses, {TABLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
