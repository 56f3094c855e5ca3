"""What cannot be learnt from is refused before anything is computed, kept or remembered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.models import requirements
from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra, ParameterError, UsageError
from sightline.registry import NO_VECTORS, RANKERS
from tests.factories.photos import paint


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    """Return pictures with words, and no feature yet."""
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 24, True, 0)
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store", workers=1)
    c.index(compute=InlineCompute())
    return c


@pytest.fixture
def counted(c: Collection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is indexed from now on, which ought to be nothing."""
    found: list[str] = []
    real = Collection.index

    def index(self: Collection, **given: object) -> object:
        found.append(str(given.get("features")))
        return real(self, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Collection, "index", index)
    return found


def everything(folder: Path) -> dict[str, str]:
    """Return a digest of every file of a store, but for locks and logs of databases."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.name.endswith((".lock", "-wal", "-shm", ".log"))
    }


Asked = Callable[[Collection], object]
REFUSED: list[tuple[Asked, str]] = [
    (
        lambda c: c.train(rankers=["lscmr"], features=["color", "regions"]),
        r"'regions' cannot be used for word models.*--features color\b.*train regions",
    ),
    (lambda c: c.train(features=["regions"]), r"Leave it out: --features (deep-all|classic)"),
    (
        lambda c: c.train(features=["color", "regions", "regions-deep"]),
        "'regions' and 'regions-deep' cannot be used",
    ),
    (
        lambda c: c.models.train_similarity(features=["gist", "regions"]),
        r"'regions' cannot be used for the similarity of pictures.*--features gist\b",
    ),
    (lambda c: c.train(features=["color", "magic"]), "There is no 'magic' among the features"),
    (
        lambda c: c.models.train_similarity(features=["magic"]),
        "There is no 'magic' among the features",
    ),
    (lambda c: c.models.train_similarity(source="moods", features=["gist"]), "Got 'moods'"),
    (
        lambda c: c.train(rankers=["cmrm", "plsa"], features=["color"]),
        "cmrm learns from counts of visual words, which none of color has .*--features visterms",
    ),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_before_anything_is_computed(
    c: Collection, counted: list[str], asked: Asked, said: str
) -> None:
    before = everything(c.store_folder.path)
    with pytest.raises(UsageError, match=said):
        asked(c)
    assert counted == [] and everything(c.store_folder.path) == before
    assert c.settings.features == "" and not c.status().word_model


def test_scenes_below_0_are_refused_before_pictures_are_cut(
    c: Collection, counted: list[str]
) -> None:
    with pytest.raises(ParameterError, match="scenes"):
        c.models.train_regions(scenes=-1)
    assert counted == []


def test_rankers_without_their_package_are_refused_first(
    c: Collection, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(UsageError, match=r"svm needs sklearn \(pip install"):
        c.train(rankers=["svm"], features=["color"])
    assert counted == []


def test_an_index_does_not_remember_what_is_not_installed(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(c.store_folder.path)

    def missing(name: str, package: str | None = None) -> None:
        return None

    monkeypatch.setattr("sightline.regions.segment.util.find_spec", missing)
    for name in ("regions", "regions-deep"):
        with pytest.raises(MissingExtra):
            c.index(features=["color", name], compute=InlineCompute())
    assert everything(c.store_folder.path) == before and c.settings.features == ""
    monkeypatch.undo()
    assert not c.index(compute=InlineCompute()).problems


def test_a_session_by_regions_is_not_told_to_index_them(c: Collection) -> None:
    c.index(features=["color"], compute=InlineCompute())
    with pytest.raises(UsageError, match=r"not one vector for the whole\. Name another one: color"):
        c.judge(pictures=1, feature="regions")


def test_what_can_be_used_is_computed_and_learnt(c: Collection, counted: list[str]) -> None:
    report = c.train(rankers=["ridge"], features=["color"])
    assert counted == ["['color']"] and report.version
    # Once they are there, nothing is computed again.
    c.train(rankers=["ridge"], features=["color"], force=True)
    assert len(counted) == 1


def test_every_ranker_has_some_feature_it_can_learn_from() -> None:
    for ranker in RANKERS:
        if RANKERS[ranker].available:
            requirements.check_rankers([ranker], ["color", "visterms"], {})
    # What is on the pictures decides, where it is there.
    with pytest.raises(UsageError, match="which none of mine has"):
        requirements.check_rankers(["cmrm"], ["mine"], {"mine": False})
    requirements.check_rankers(["cmrm"], ["mine"], {"mine": True})
    assert NO_VECTORS
