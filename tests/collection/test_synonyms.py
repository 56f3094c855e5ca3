"""The owner's list of words that count as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.collection.synonyms import EARLIER_FILE, FILE, SynonymList, load_synonyms, stamp_of
from sightline.errors import UsageError
from sightline.words.folding import Synonyms


def test_an_absent_and_an_empty_file_are_an_empty_list(tmp_path: Path) -> None:
    assert load_synonyms(tmp_path) == SynonymList() and str(load_synonyms(tmp_path)) == "none"
    (tmp_path / FILE).write_text("# nothing yet\n")
    assert not load_synonyms(tmp_path)


def test_groups_are_read_as_words_are_compared(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        'groups = [["Bicycle", "Bike"], ["Red  Barn", "Scheune"], ["alone"]]\n'
        'separate = ["Glasses"]\nnot_in_regions = ["2019"]\n'
    )
    read = load_synonyms(tmp_path)
    groups = (("bicycle", "bike"), ("red barn", "scheune"))
    assert read == SynonymList(Synonyms(groups, ("glasses",)), ("2019",))
    expected = "bicycle = bike; red barn = scheune; separate: glasses; not in regions: 2019"
    assert str(read) == expected


def test_the_list_of_earlier_releases_is_read_beside_it(tmp_path: Path) -> None:
    (tmp_path / EARLIER_FILE).write_text('drop = ["2019"]\n[merge]\nbicycle = ["bike"]\n')
    assert load_synonyms(tmp_path) == SynonymList(Synonyms((("bicycle", "bike"),)), ("2019",))
    (tmp_path / FILE).write_text('groups = [["sofa", "couch"]]\n')
    assert load_synonyms(tmp_path).synonyms.groups == (("sofa", "couch"), ("bicycle", "bike"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('groups = [["sofa", "couch"], ["Couch", "settee"]]', "'couch' is in two groups"),
        ('groups = [["a1", "b1"], ["b1", "a1"]]', "'b1' is in two groups"),
        ('group = [["sofa", "couch"]]', "has 'group'; only groups, separate, not_in_regions"),
        ('groups = ["sofa"]', "must hold lists of words. Got 'sofa'"),
        ('groups = "sofa"', "must be a list of lists of words"),
        ('groups = [["sofa", "!"]]', "'!' is no word"),
        ("groups = [[", "cannot be read"),
        ('groups = [["sofa", "couch"]]\nnot_in_regions = ["couch"]', "dropped from regions too"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match=r"synonyms\.toml") as e:
        load_synonyms(tmp_path)
    assert message in str(e.value)


def test_a_word_in_both_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('groups = [["sofa", "couch"]]\n')
    (tmp_path / EARLIER_FILE).write_text('[merge]\ncouch = ["settee"]\n')
    with pytest.raises(UsageError, match=r"tag-words\.toml: 'couch' is in two groups"):
        load_synonyms(tmp_path)


def test_every_change_of_a_file_changes_the_stamp(tmp_path: Path) -> None:
    stamps = [stamp_of(tmp_path)]
    for text in ('groups = [["a1", "b1"]]', 'groups = [["a1", "b2c"]]'):
        (tmp_path / FILE).write_text(text)
        stamps.append(stamp_of(tmp_path))
    (tmp_path / FILE).unlink()
    assert len({*stamps}) == 3 and stamp_of(tmp_path) == stamps[0]
