"""Suspected mislabels: tags that are probably wrong, by the word model, most doubtful first.

How probable it is was computed when the model was trained (`models.suspected`). Tags that pictures
do not have any more, and those that somebody has judged since, are left out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sightline._typing import Ints
from sightline.collection.models.aliases import Aliases
from sightline.collection.models.dataset import tag_pairs, term_verdicts
from sightline.collection.models.suspected import SUSPECTED, TagProbabilities
from sightline.collection.models.word_model import load_word_model
from sightline.contracts import Json
from sightline.errors import NoModel, NoTagProbabilities, ParameterError
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder


@dataclass(frozen=True, slots=True)
class SuspectedTag:
    """A tag that is probably wrong.

    Attributes
    ----------
    picture : int
        Id of the picture.
    path : bytes
        Its path below the collection's folder.
    word : str
        The word in its usual spelling.
    confidence : float
        The probability that the tag is wrong.
    """

    picture: int
    path: bytes
    word: str
    confidence: float

    @property
    def add(self) -> bool:
        """False: the word is to be removed, not added."""
        return False

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the tag as JSON; `path` lies below `root`."""
        return {
            "id": self.picture, "path": os.fsdecode(os.path.join(root, self.path)),
            "kind": "remove", "word": self.word, "confidence": self.confidence,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuspectedTags:
    """All suspected mislabels, most doubtful first.

    Attributes
    ----------
    suggestions : tuple of SuspectedTag
    tags : int
        The number of tags that the model has learned from, of the requested pictures.
    expected : float
        How many of these are wrong on average: the sum of all probabilities.
    judged : int
        Suspected mislabels left out because somebody has judged them.
    model : str
        The word model.
    version : int
        The version of the store.
    """

    suggestions: tuple[SuspectedTag, ...]
    tags: int
    expected: float
    judged: int
    model: str
    version: int

    def __len__(self) -> int:
        return len(self.suggestions)

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the tags as JSON; paths lie below `root`."""
        return {
            "version": self.version, "model": self.model, "tags": self.tags,
            "expected": round(self.expected, 2), "judged": self.judged,
            "suggestions": [s.to_dict(root) for s in self.suggestions],
        }  # fmt: skip


def suspected_tags(
    store_folder: StoreFolder, pictures: Ints | None, confidence: float = SUSPECTED
) -> SuspectedTags:
    """Return tags that are wrong with at least some probability, of all pictures by default."""
    if not 0 < confidence <= 1:
        raise ParameterError.of("confidence", "suspected", "above 0, at most 1", confidence)
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        name = reader.snapshot.model
        model = load_word_model(store_folder, name)
        if model is None:
            raise NoModel("There is no word model yet. Run: sightline train")
        tags = model.tags
        if tags is None:
            ranker = model.served.recipe.ranker
            raise NoTagProbabilities(
                f"The word model {name} does not know which tags are probably wrong: it is of an "
                f"earlier release, or its ranker ({ranker}) has no scores of left-out pictures. "
                "Run: sightline train --ranker ridge"
            )
        tags, forms = _present(tags, model.aliases, *tag_pairs(reader.snapshot), pictures)
        verdicts = term_verdicts(log.judgements(), {})
        judged = _named(verdicts, model.aliases)
        spelled = dict(reader.catalogue.terms())
        order = np.lexsort((tags.terms, tags.pictures, -tags.wrong))
        order = order[tags.wrong[order] >= confidence]
        facts = reader.catalogue.facts(np.unique(tags.pictures[order]).tolist())
        suspects: list[SuspectedTag] = []
        n_judged = 0
        for at in order.tolist():
            picture, term = int(tags.pictures[at]), int(tags.terms[at])
            if (picture, term) in judged:
                n_judged += 1
            elif picture in facts:
                wrong = round(float(tags.wrong[at]), 4)
                # A picture's own form of the word, as its owner wrote it.
                suspects += [
                    SuspectedTag(picture, facts[picture].path, spelled[form], wrong)
                    for form in sorted(forms[picture, term])
                ]
        expected = float(tags.wrong.sum())
        n_tags, version = len(tags.wrong), reader.snapshot.version
    return SuspectedTags(tuple(suspects), n_tags, expected, n_judged, name, version)


def _named(pairs: Iterable[tuple[int, int]], aliases: Aliases) -> set[tuple[int, int]]:
    """Return pairs of pictures and terms, of which some were learned as others."""
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return set(zip(both[:, 0].tolist(), aliases.names_of(both[:, 1]).tolist(), strict=True))


def _present(
    tags: TagProbabilities, aliases: Aliases, picture: Ints, term: Ints, chosen: Ints | None
) -> tuple[TagProbabilities, Mapping[tuple[int, int], list[int]]]:
    """Return those of tags that pictures still have, of some pictures if they were chosen.

    Also return the forms in which each picture has each word.
    """
    forms: dict[tuple[int, int], list[int]] = {}
    names = aliases.names_of(term).tolist()
    for p, name, form in zip(picture.tolist(), names, term.tolist(), strict=True):
        forms.setdefault((p, name), []).append(form)
    pairs = zip(tags.pictures.tolist(), tags.terms.tolist(), strict=True)
    keep = np.fromiter((pair in forms for pair in pairs), np.bool_, len(tags.pictures))
    if chosen is not None:
        keep &= np.isin(tags.pictures, chosen)
    kept = TagProbabilities(tags.pictures[keep], tags.terms[keep], tags.wrong[keep])
    return kept, forms
