"""The descriptor pool: what is computed, what is kept, what is fitted to what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sightline.compute.features import load_arrays
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.errors import DataError, ParameterError, UsageError
from sightline.features.local.layout import Classic
from sightline.features.local.visterms import Visterms
from sightline.progress import NoProgress
from sightline_experiments.cache import ArrayCache, kept, temporary
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.extraction import decoded
from sightline_experiments.pamir import terms
from sightline_experiments.pamir.inputs import InputScaling, parts_of
from sightline_experiments.pamir.pool import Described, Describer
from sightline_experiments.pamir.terms import (
    fit_colors,
    fit_terms,
    gaussians_class,
    is_gaussians,
    is_terms,
    terms_class,
)
from tests.factories.corel5k import N_DEVELOPMENT, N_TEST, load_made

VIEWS = ("b64_k20", "b64+128_k10_s1+2 & classic")


class Counting(InlineCompute):
    """Counts the jobs it is given."""

    def __init__(self) -> None:
        self.jobs = 0

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        for answer in super().run(task, jobs, kind):
            self.jobs += 1
            yield answer


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Corel5K:
    return load_made(tmp_path_factory.mktemp("corel"))


def described(c: Corel5K, cache: ArrayCache, compute: InlineCompute | None = None) -> Described:
    return Describer(c, compute or InlineCompute(), cache, NoProgress()).describe(VIEWS[:1])


@pytest.fixture(scope="module")
def pool(c: Corel5K) -> Described:
    with temporary() as cache:
        return Describer(c, InlineCompute(), cache, NoProgress()).describe(VIEWS)


def test_every_picture_has_a_row_of_each_part(pool: Described) -> None:
    assert set(pool.development) == {"b64_k20", "b64+128_k10_s1+2", "classic"}
    for name, view in pool.development.items():
        assert view.shape[0] == N_DEVELOPMENT and pool.test[name].shape[0] == N_TEST
        assert view.shape[1] == pool.test[name].shape[1]
    counts = pool.development["b64_k20"]
    assert counts.shape[1] == 20 and set(counts.sum(axis=1).A1.tolist()) == {77.0}
    assert pool.development["b64+128_k10_s1+2"].shape[1] == 2 * 10 * (1 + 4)


def test_rows_are_those_of_their_own_picture(c: Corel5K, pool: Described) -> None:
    numbers = [c.development[5].picture, c.test[2].picture]
    rows = [pool.development["classic"][5], pool.test["classic"][2]]
    for rgb, row in zip(decoded(c, numbers, InlineCompute()), rows, strict=True):
        assert np.array_equal(Classic().describe(rgb), row)


def test_codebooks_see_development_pictures_alone(c: Corel5K, pool: Described) -> None:
    numbers = [r.picture for r in c.development]
    pictures = list(decoded(c, numbers, InlineCompute()))
    colors = fit_colors(pictures)
    made = terms_class("b64_k20")(fit_terms("b64_k20", pictures, colors))
    want = np.stack([made.describe(rgb) for rgb in pictures])
    assert np.array_equal(pool.development["b64_k20"].toarray(), want)


def test_features_by_name_are_fitted_to_development_pictures(c: Corel5K, tmp_path: Path) -> None:
    cache, compute = ArrayCache(tmp_path), Counting()
    describer = Describer(c, compute, cache, NoProgress())
    found = describer.describe(["visterms"])
    (book,) = tmp_path.glob("book-visterms-*")
    made = Visterms(load_arrays(str(book)))
    numbers = [r.picture for r in c.development]
    pictures = list(decoded(c, numbers, InlineCompute()))
    assert made.parameters == Visterms(Visterms.fit(pictures)).parameters
    assert np.array_equal(found.development["visterms"][:2].toarray(),
                          np.stack([made.describe(rgb) for rgb in pictures[:2]]))  # fmt: skip


def test_a_codebook_serves_whole_pictures_and_their_parts(c: Corel5K, tmp_path: Path) -> None:
    describer = Describer(c, InlineCompute(), ArrayCache(tmp_path), NoProgress())
    found = describer.describe(["b128_k9", "b128_k9_s2", "b128_k8"])
    assert len(list(tmp_path.glob("book-*"))) == 2
    whole, parts = (found.development[n].toarray() for n in ("b128_k9", "b128_k9_s2"))
    assert np.array_equal(parts.reshape(len(parts), 4, 9).sum(axis=1), whole)


def test_a_second_run_computes_nothing(c: Corel5K, tmp_path: Path) -> None:
    cache, compute = ArrayCache(tmp_path), Counting()
    first = described(c, cache, compute)
    assert compute.jobs
    compute.jobs = 0
    again = described(c, cache, compute)
    assert compute.jobs == 0 and first.fingerprints == again.fingerprints
    for name, view in first.development.items():
        assert (view != again.development[name]).sum() == 0


def test_damaged_files_are_made_again(c: Corel5K, tmp_path: Path) -> None:
    cache = ArrayCache(tmp_path)
    first = described(c, cache)
    for path in tmp_path.iterdir():
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(bytes(content))
    again = described(c, cache)
    assert first.fingerprints == again.fingerprints
    assert (first.test["b64_k20"] != again.test["b64_k20"]).sum() == 0


def test_a_temporary_cache_leaves_nothing(c: Corel5K) -> None:
    with temporary() as cache:
        described(c, cache)
        folder = cache.folder
        assert any(folder.iterdir())
    assert not folder.exists()


def test_the_kept_cache_lies_in_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    found = kept("corel5k", "0123456789abcdef" * 4).folder
    assert found == Path("/somewhere/sightline/reproduce/corel5k-0123456789abcdef")


def test_a_picture_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    c = load_made(tmp_path)
    (tmp_path / c.files[1007]).write_bytes(b"\xff\xd8\xff broken")
    with pytest.raises(DataError, match=r"images/1001/1007\.jpeg"):
        list(decoded(c, [1006, 1007], InlineCompute()))


def test_names_of_visual_terms() -> None:
    assert is_terms("b64_k10000") and not is_terms("classic") and not is_terms("b64")
    kind = terms_class("b32+64_k2000_s1+2")
    assert (kind.blocks, kind.n_centers, kind.spatial) == ((32, 64), 2000, (1, 2))
    assert terms.__getattr__("b32+64_k2000_s1+2") is kind
    with pytest.raises(ParameterError, match="such as 'b64_k10000'"):
        terms_class("b64")
    with pytest.raises(AttributeError):
        terms.__getattr__("nothing")


def test_gaussians_of_blocks_are_described_once_and_stay_as_they_are(c: Corel5K) -> None:
    assert is_gaussians("g64") and is_gaussians("g32+64") and not is_gaussians("b64_k20")
    with pytest.raises(ParameterError, match="such as 'g64'"):
        gaussians_class("b64_k20")
    with temporary() as cache:
        found = Describer(c, InlineCompute(), cache, NoProgress()).describe(["g64 & b64_k20"])
        colors = cache.get("colors50-seed0")
    assert colors is not None
    pictures = list(decoded(c, [r.picture for r in c.development], InlineCompute()))
    made = gaussians_class("g64")(fit_terms("g64", pictures, colors["colors"]))
    want = np.stack([made.describe(rgb) for rgb in pictures])
    assert np.array_equal(found.development["g64"], want)
    see = InputScaling.of(found.development, "g64", "tfidf")
    assert np.array_equal(see(found.test), found.test["g64"])


def test_codebooks_have_at_most_a_fourth_of_the_blocks() -> None:
    pictures = [np.random.default_rng(i).integers(0, 256, (32, 48, 3), np.uint8) for i in range(3)]
    arrays = fit_terms("b384_k1000", pictures, fit_colors(pictures))
    assert len(arrays["centers384"]) == 2


def test_views_are_weighted_by_training_rows(pool: Described) -> None:
    views = pool.development
    few = {name: view[:30] for name, view in views.items()}
    see = InputScaling.of(few, "b64_k20")
    counts = few["b64_k20"].toarray()
    idf = -np.log(np.maximum((counts > 0).mean(axis=0), 1e-9)) * (counts > 0).any(axis=0)
    want = views["b64_k20"].toarray() * idf
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    assert see(views).toarray() == pytest.approx(want, abs=1e-6)
    roots = np.sqrt(views["b64_k20"].toarray() * idf)
    roots /= np.linalg.norm(roots, axis=1, keepdims=True)
    hellinger = InputScaling.of(few, "b64_k20", "hellinger")
    assert hellinger(views).toarray() == pytest.approx(roots, abs=1e-6)
    plain = InputScaling.of(few, "b64_k20", "counts")
    assert (plain(views) != views["b64_k20"]).sum() == 0


def test_parts_side_by_side_have_length_one(pool: Described) -> None:
    views = {**pool.development, "small": pool.development["classic"][:, :20]}
    for view, weighting in (("b64_k20 & classic", "tfidf"), ("small & small", "whitened")):
        seen = InputScaling.of(views, view, weighting)(views)
        lengths = np.sqrt(np.asarray(seen.multiply(seen).sum(axis=1)).ravel()
                          if hasattr(seen, "tocsr") else (seen**2).sum(axis=1))  # fmt: skip
        assert lengths == pytest.approx(1.0, abs=1e-5)
    assert len(InputScaling.of(pool.development, "b64_k20 & classic").each(pool.development)) == 2


def test_unknown_views_and_weightings_are_named(pool: Described) -> None:
    assert parts_of("a&b & c") == ("a", "b", "c")
    with pytest.raises(UsageError, match="no 'gist'"):
        InputScaling.of(pool.development, "gist")
    with pytest.raises(ParameterError, match="tfidf, hellinger, counts"):
        InputScaling.of(pool.development, "classic", "odd")
