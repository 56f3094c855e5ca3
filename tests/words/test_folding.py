"""Folding: forms of one word go together, and words that only look alike do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.words.folding import Lexicon, Synonyms
from sightline.words.languages import LANGUAGES, detect, language, language_of_code

_WORDS = """
    dog dogs dog's leaf leaves leave news new café cafe cafes glass glasses bus buses
    puppy puppies man men lens len baby babies tshirt
"""
WORDS = st.sampled_from([*_WORDS.split(), "t shirt", "oak trees"])


def lexicon(words: str, of: str = "english", **options: Synonyms) -> Lexicon:
    counts = {w.replace("_", " "): 10 - i % 7 for i, w in enumerate(words.split())}
    return Lexicon(counts, language(of), **options)


def forms(table: Lexicon, word: str) -> set[str]:
    lexeme = table.lookup(word)
    return set(lexeme.forms) if lexeme else set()


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("english", "dog dogs dog's"), ("english", "puppy puppies"), ("english", "leaf leaves"),
        ("english", "woman women"), ("english", "café cafe cafés"), ("english", "tshirt t_shirt"),
        ("english", "bus buses"), ("english", "oak_tree oak_trees"), ("english", "emu emus"),
        ("german", "baum bäume"),
        ("german", "katze katzen"), ("german", "haus häuser"), ("dutch", "boom bomen"),
        ("dutch", "kat katten"), ("french", "cheval chevaux"), ("french", "arbre l'arbre arbres"),
        ("spanish", "luz luces"), ("spanish", "camión camiones"), ("italian", "gatto gatti"),
        ("portuguese", "leão leões"), ("swedish", "flicka flickor"), ("russian", "кошка кошки"),
    ],
)  # fmt: skip
def test_forms_of_one_word_are_found_by_each_other(of: str, words: str) -> None:
    table = lexicon(words, of)
    every = {w.replace("_", " ") for w in words.split()}
    assert all(forms(table, w) == every for w in every)
    assert len(list(table.lexemes())) == 1


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("english", "news new"), ("english", "university universe"), ("english", "lens len"),
        ("english", "glasses glass"), ("english", "busy bus business"), ("english", "shorts short"),
        ("english", "general generic"), ("english", "wills can cans"), ("english", "10_12 1_012"),
        ("german", "reis reise"), ("german", "schon schön"), ("spanish", "ano año"),
        ("none", "dog dogs"),
    ],
)  # fmt: skip
def test_words_that_only_look_alike_stay_apart(of: str, words: str) -> None:
    table = lexicon(words, of)
    assert all(len(lexeme.forms) == 1 for lexeme in table.lexemes())


@pytest.mark.parametrize("of", ["english", "none"])
def test_a_word_with_a_blank_before_it_is_no_root_of_a_group(of: str) -> None:
    assert lexicon("dog dogs leaf", of).lookup(" 1") is None


def test_a_query_finds_a_form_it_is_not_spelled_as() -> None:
    table = lexicon("puppies leaves dog men bären crème")
    assert forms(table, "puppy") == forms(table, "puppy's") == {"puppies"}
    assert forms(table, "leaf") == {"leaves"} and forms(table, "dogs") == {"dog"}
    assert forms(table, "creme") == {"crème"} and forms(table, "baren") == {"bären"}
    assert forms(table, "zebra") == forms(table, "do") == set()


def test_a_plural_belongs_to_its_surest_singular_alone() -> None:
    table = lexicon("leaf leaves leave")
    assert forms(table, "leaves") == {"leaf", "leaves"} and forms(table, "leave") == {"leave"}
    # A word that is not in the collection gets no plural that has a singular there.
    assert forms(lexicon("leaf leaves"), "leave") == set()


def test_a_word_goes_by_its_most_frequent_form_never_by_a_stem() -> None:
    table = Lexicon({"puppy": 3, "puppies": 9}, language("english"))
    lexeme = table.lookup("puppy")
    assert lexeme is not None and lexeme.name == "puppies" and lexeme.pictures == 12


def test_synonyms_join_words_and_all_their_forms() -> None:
    synonyms = Synonyms((("bicycle", "bike"), ("red barn", "scheune")), ("glasses", "dogs"))
    table = lexicon("bikes bicycles bicycle dog dogs scheune", synonyms=synonyms)
    every = {"bikes", "bicycles", "bicycle"}
    assert forms(table, "bike") == forms(table, "bicycles") == every
    lexeme = table.lookup("bikes")
    assert lexeme is not None and lexeme.name == "bicycle"
    assert forms(table, "red barn") == {"scheune"}
    assert forms(table, "dog") == {"dog"} and forms(table, "dogs") == {"dogs"}


@given(st.dictionaries(WORDS, st.integers(1, 9), min_size=1), WORDS)
def test_every_form_is_in_one_word_which_all_its_forms_name(
    counts: dict[str, int], other: str
) -> None:
    table = Lexicon(counts, language("english"))
    lexemes = list(table.lexemes())
    assert sorted(f for x in lexemes for f in x.forms) == sorted(counts)
    for lexeme in lexemes:
        assert lexeme.pictures == sum(counts[f] for f in lexeme.forms)
        assert all(table.lookup(f) == lexeme for f in lexeme.forms)
    assert table.is_known(other) == (table.lookup(other) is not None)


def test_stop_words_are_those_of_the_language_with_their_contractions() -> None:
    english = lexicon("the sea")
    assert all(english.is_stop_word(w) for w in ("the", "isn't", "it's", "and"))
    assert not any(english.is_stop_word(w) for w in ("sea", "dog's", "und", "shirt"))
    assert lexicon("x", "german").is_stop_word("und") and not lexicon("x", "none").is_stop_word("a")
    joined = lexicon("will", synonyms=Synonyms((("will", "testament"),)))
    assert not joined.is_stop_word("will")


def test_the_language_is_told_by_its_stop_words() -> None:
    german = {"ein": 30, "und": 20, "der": 40, "mit": 9, "hund": 90}
    assert detect(german) == "german"
    assert detect({**german, "a": 300, "the": 200, "of": 90, "with": 80}) == "english"
    assert detect({"tree": 900, "sky": 700, "the": 3}) == ""


def test_languages_go_by_name_and_by_code() -> None:
    assert all(language(name).name == name for name in LANGUAGES)
    assert language("de") is language("de") and language("de") == language("german")
    assert [language_of_code(c) for c in ("en_GB", "pt-BR", "sr@latin", "xx")] == [
        "english", "portuguese", "serbian", "",
    ]  # fmt: skip


@pytest.mark.parametrize("of", ["english", "german", "dutch", "french", "spanish", "portuguese"])
def test_a_look_up_finds_the_forms_that_the_table_of_all_words_has(of: str) -> None:
    words = (
        "dog dogs dog's leaves leaf leave boxes box katze katzen bäume baum häuser haus vogel vögel"
        " bomen boom katten kat huizen huis brieven brief chevaux cheval arbres arbre l'arbre luz"
        " luces flor flores leão leões animal animais imagem imagens stone stones auto autos bild"
        " bilder freundin freundinnen frau frauen t_shirt tshirt café cafes men man womens"
    )
    table = lexicon(words, of, synonyms=Synonyms((("dog", "katze", "hound"),), ("boxes",)))
    lexemes = list(table.lexemes())
    assert len(lexemes) < len(words.split())
    for lexeme in lexemes:
        assert all(set(lexeme.forms) == forms(table, f) for f in lexeme.forms)
