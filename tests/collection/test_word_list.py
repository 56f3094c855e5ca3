"""The owner's list of words for regions: what it means, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.collection.models.dataset import cleaned
from sightline.collection.synonyms import EARLIER_FILE as FILE
from sightline.collection.tagging.dataset import WordList, load_list
from sightline.errors import UsageError
from sightline.words.term_ids import term_id


def written(folder: Path, text: str) -> WordList:
    (folder / FILE).write_text(text, encoding="utf-8")
    return load_list(folder)


def test_words_are_folded_and_a_missing_list_is_empty(tmp_path: Path) -> None:
    assert not load_list(tmp_path) and str(load_list(tmp_path)) == "none"
    found = written(tmp_path, 'drop = ["HOLIDAY", "2019"]\n[merge]\n"Red Barn" = ["Scheune"]\n')
    assert found == WordList(("2019", "holiday"), (("scheune", "red barn"),))
    assert str(found) == "scheune = red barn; dropped: 2019, holiday"


def test_pairs_are_merged_and_dropped() -> None:
    bike, bicycle, when = term_id("bike"), term_id("bicycle"), term_id("2019")
    list_ = WordList(("2019",), (("bike", "bicycle"),)).counts_as()
    picture, term = np.array([1, 1, 1, 2]), np.array([bike, bicycle, when, bike])
    found = cleaned(picture, term, list_)
    assert found[0].tolist() == [1, 2] and found[1].tolist() == [bicycle, bicycle]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("drop = 3", "'drop' must hold lists of words. Got 3"),
        ("merge = 3", "'merge' must be a table"),
        ("[merge]\nbicycle = 'bike'", "'bicycle' must hold lists of words"),
        ("words = []", "has 'words'; only drop, merge are known"),
        ("drop = ['a/b']", "'a/b' is no word"),
        ("drop = ['!!']", "'!!' is no word"),
        ("drop = ['bike']\n[merge]\nbicycle = ['bike']", "Name each word once"),
        ("[merge]\nbicycle = ['bike']\nbike = ['cycle']", "name each word once"),
        ("drop = [", "cannot be read"),
        ("drop = ['\udcff']", "cannot be read"),
    ],
)
def test_a_list_that_means_nothing_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=FILE) as e:
        load_list(tmp_path)
    assert said in str(e.value)
