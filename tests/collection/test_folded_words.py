"""Words are folded for matching and learning alone: what is written, shown and kept stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.models.training import is_trained
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.collection.search.annotate import base_rates
from sightline.compute.inline import InlineCompute
from sightline.errors import QueryError, UsageError
from sightline.words.term_ids import term_id
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged

# For each red picture in turn how its owner wrote that it shows a puppy.
FORMS = ("puppy", "puppies", "Puppy's", "puppy")


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Return a trained collection with several forms of a word, and stop words."""
    folder = tmp_path_factory.mktemp("folded")
    photos = paint_some_with_words(folder / "photos")
    red = sorted(p for p in photos.glob("*.txt") if "red" in p.read_text())
    for i, path in enumerate(red):
        path.write_text(f"red, {FORMS[i % 4]}")
    (photos / "001_x.txt").write_text("A café of the dog, in a garden. Will they see it and go?")
    (photos / "002_x.txt").write_text("will, blue, cold")
    (photos / "004_x.txt").write_text("tshirt, blue")
    (photos / "005_x.txt").write_text("t-shirt, blue")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        found = Collection.open(photos, store=folder / "store", workers=1, language="english")
        found.index(features=["mean-colour"], compute=InlineCompute())
        found.train(rankers=["ridge"])
        yield found


def model_of(c: Collection) -> WordModel:
    with c.store_folder.reader() as reader:
        model = load_word_model(c.store_folder, reader.snapshot.model)
    assert model is not None
    return model


def exact(c: Collection, query: str) -> set[str]:
    return {h.name for h in c.search(query, 500) if h.match == "exact"}


def predicted(c: Collection, query: str) -> list[tuple[str, float]]:
    hits = c.search(query, 500, filters=Filters(untagged=True), cut=False).hits
    return [(h.name, h.score) for h in hits]


def test_every_form_finds_the_pictures_of_all(c: Collection) -> None:
    every = exact(c, "puppy")
    assert len(every) > 12 and all(
        exact(c, q) == every for q in ("puppies", "Puppy's", "PUPPIES", "+puppies")
    )
    assert exact(c, "cafe") == exact(c, "cafés") == {"001_x.png"}
    assert exact(c, "tshirt") == exact(c, "t-shirt") == exact(c, "t shirt") == {
        "004_x.png", "005_x.png",
    }  # fmt: skip


def test_all_forms_are_learned_as_one_word_and_shown_as_written(c: Collection) -> None:
    model = model_of(c)
    at = {model.learned_term([term_id(w)]) for w in ("puppy", "puppies", "puppy's", "red")}
    # Every red picture shows a puppy, so that both words are one column too.
    assert len(at) == 1 and None not in at
    assert predicted(c, "puppy") == predicted(c, "puppies") != []
    words = [w.word for w in c.pictures.describe("000_x.png", k=50).words]
    assert not {"puppi", "?", "puppies"} & set(words) and "red" in words
    with c.store_folder.reader() as reader:
        written = {t for i in reader.snapshot.ids().tolist() for w in reader.catalogue.words(i)
                   for t in w.tags}  # fmt: skip
    assert {"puppy", "puppies", "Puppy's"} <= written


def test_words_that_always_occur_together_are_learned_once_and_count_once(c: Collection) -> None:
    assert predicted(c, "red puppy") == predicted(c, "red")
    why = c.explain("red puppies", 1)[0]
    assert [w.word for w in why.words] == ["red", "puppies"] and all(w.learned for w in why.words)


def test_a_form_in_quotes_is_searched_alone(c: Collection) -> None:
    alone = exact(c, '"puppies"')
    assert alone and alone < exact(c, "puppies") and not alone & exact(c, '"puppy"')
    assert exact(c, '"puppies" -"puppy"') == alone
    found = c.search('"puppies"', 5)
    assert found.wording.lines() == [
        '"puppies" matches this form alone; predictions are for puppies, puppy, puppy\'s'
    ]
    assert predicted(c, '"puppies"') == predicted(c, "puppy")
    assert c.search("puppies", 5).wording.lines() == []


def test_a_minus_means_every_form(c: Collection) -> None:
    assert exact(c, "red") and exact(c, "red -puppies") == set()
    assert exact(c, 'red -"puppies"') == exact(c, "red") - exact(c, '"puppies"')
    assert c.search("red -puppies", 5).constraints[0].tagged == len(exact(c, "puppy"))
    with pytest.raises(QueryError, match="'puppy' and 'puppies' are forms of one word"):
        c.search("puppy -puppies")


def test_stop_words_are_left_out_and_cost_nothing(c: Collection) -> None:
    found = c.search("a puppy in the garden of it", 500)
    assert found.wording.stop_words == ("a", "in", "the", "of", "it")
    plain = c.search("puppy garden", 500)
    assert found.hits == plain.hits and found.not_learned == plain.not_learned
    assert found.to_dict()["wording"] == found.wording.to_dict()


def test_stop_words_are_not_learned_or_completed(c: Collection) -> None:
    model = model_of(c)
    for word in ("will", "a", "the", "of"):
        assert model.learned_term([term_id(word)]) is None
    assert c.words.vocabulary("th")[0] == [] and c.words.vocabulary("pupp")[0]


def test_a_query_of_stop_words_alone_is_searched_as_it_is_written(c: Collection) -> None:
    found = c.search("Will", 50)
    assert {h.name for h in found} == {"001_x.png", "002_x.png"}
    assert found.wording.only_stop_words and found.predicted is None and not found.not_learned
    assert exact(c, '"will" blue') == {"002_x.png"}
    assert not c.search("has been", 5).hits


def test_a_change_of_synonyms_is_noticed_by_search_and_by_train(c: Collection) -> None:
    assert is_trained(c.store_folder, c.settings.session_cap)
    path = c.words.synonyms_file()
    assert exact(c, "hound") == set()
    try:
        path.write_text('groups = [["hound", "puppy"], ["cold", "blue"]]\n')
        assert exact(c, "hound") == exact(c, "puppies") and len(exact(c, "hound")) > 12
        assert not is_trained(c.store_folder, c.settings.session_cap)
        path.write_text('separate = ["puppies"]\n')
        assert exact(c, "puppies") == exact(c, '"puppies"')
        path.write_text("groups = 3\n")
        with pytest.raises(UsageError, match=r"synonyms\.toml"):
            c.search("puppy")
    finally:
        path.unlink()
    assert is_trained(c.store_folder, c.settings.session_cap)


def test_without_a_language_only_case_accents_and_possessives_are_folded(c: Collection) -> None:
    plain = Collection.open(c.root, store=c.store_folder.path, language="none")
    assert exact(plain, "puppies") == exact(c, '"puppies"')
    assert exact(plain, "puppy") == exact(c, '"puppy"') | exact(c, '"puppy\'s"')
    assert exact(plain, "cafe") == {"001_x.png"} and plain.words.vocabulary("th")[0]
    # What was learned as one word still predicts for each form.
    assert predicted(plain, "puppies") == predicted(c, "puppies")
    with pytest.raises(UsageError, match="language"):
        Collection.open(c.root, store=c.store_folder.path, language="klingon")


def test_a_model_without_aliases_still_loads_and_serves_folded_queries(c: Collection) -> None:
    """Models of earlier releases know each form by itself."""
    from sightline.collection.models.word_model import from_saved
    from sightline.store.models import open_model

    saved = open_model(c.store_folder.models, model_of(c).name)
    arrays = {n: a for n, a in saved.arrays.items() if n not in ("aliases", "alias_names")}
    assert len(arrays) < len(saved.arrays)
    earlier = from_saved(type(saved)(saved.name, saved.about, arrays))
    assert not len(earlier.aliases)
    known = earlier.terms[:2]
    assert earlier.learned_term(known.tolist()) == known[0]
    groups = earlier.query(known, [1.0, 1.0]).groups
    assert np.array_equal(np.concatenate(groups), known)


def test_captions_name_their_language(tmp_path: Path) -> None:
    photos = paint_some_with_words(tmp_path / "photos")
    for i, path in enumerate(sorted(photos.glob("*.txt"))):
        own = "A house with the sun." if i % 2 else "The river and a boat."
        path.write_text(f"{own}\nde.utf8=Ein Haus mit der Sonne.\npt_BR.utf8=Uma casa boa.\n")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        c = Collection.open(photos, store=tmp_path / "store", workers=1)
        c.index(features=["mean-colour"], compute=InlineCompute())
        c.train(rankers=["ridge"])
    assert c.words.language() == "english (detected by its stop words)"
    sources = {t.source: t.text for t in c.pictures.words("001_x.png")}
    assert sources == {
        "txt": "A house with the sun.", "txt:de": "Ein Haus mit der Sonne.",
        "txt:pt_BR": "Uma casa boa.",
    }  # fmt: skip
    model = model_of(c)
    assert model.learned_term([term_id("house")]) is not None
    assert all(model.learned_term([term_id(w)]) is None for w in ("haus", "casa", "utf8", "the"))
    # What is not learned is still searched.
    assert len(exact(c, "haus")) > 50 and exact(c, "casa") == exact(c, "haus")


def test_stored_captions_are_divided_by_language_without_reading_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = paint_some_with_words(tmp_path / "photos")
    caption = "A house with the sun.\nde.utf8=Ein Haus mit der Sonne."
    (photos / "003_x.txt").write_text(caption)
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    with monkeypatch.context() as earlier:
        # Earlier releases kept one text.
        earlier.setattr("sightline.collection.index.tags._by_language", lambda words: [words])
        earlier.setattr("sightline.collection.index.run._LANGUAGES_READ", "another")
        c.index(compute=InlineCompute())
    assert [t.text for t in c.pictures.words("003_x.png")] == [caption]
    with monkeypatch.context() as unread:
        # A file that is read raises.
        unread.setattr(InlineCompute, "run", None)
        report = c.index(compute=InlineCompute())
    assert (report.added, report.changed) == (0, 1)
    assert {t.source: t.text for t in c.pictures.words("003_x.png")} == {
        "txt": "A house with the sun.", "txt:de": "Ein Haus mit der Sonne.",
    }  # fmt: skip
    assert exact(c, "haus") == exact(c, "house") == {"003_x.png"}
    assert c.index(compute=InlineCompute()).changed == 0


def test_words_learned_as_one_have_the_lift_of_one(c: Collection) -> None:
    with c.store_folder.reader() as reader:
        model, rates = model_of(c), base_rates(reader.snapshot, model_of(c))
        term = model.learned_term([term_id("puppy")])
        assert term is not None
        (at,) = np.flatnonzero(model.terms == term)
        n = len(exact(c, "red")) + len(exact(c, "puppy") - exact(c, "red"))
        assert rates[at] == pytest.approx(n / len(reader.snapshot.with_words()))
