"""Wrong tags are the ones that left-out scores speak against; ridge can be fitted without them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sightline.annotators.ridge import KernelRidge
from sightline.annotators.wrong_tags import (
    LEAST_TAGS,
    without_wrong_tags,
    wrong_tag_probabilities,
)
from sightline.errors import ParameterError

Planted = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]


def planted(n: int = 400, n_words: int = 8, share: float = 0.2, seed: int = 0) -> Planted:
    """Return scores of left-out pictures, tags of which a share is wrong, and the right ones."""
    rng = np.random.default_rng(seed)
    right = np.zeros((n, n_words), bool)
    right[np.arange(n), rng.integers(n_words, size=n)] = True
    scores = 4.0 * right + rng.logistic(size=right.shape)
    tags = right.copy()
    for i in np.flatnonzero(rng.random(n) < share).tolist():
        tags[i] = False
        tags[i, rng.choice(np.flatnonzero(~right[i]))] = True
    return scores.astype(np.float32), tags.astype(np.float32), right


def test_probabilities_add_up_to_the_number_of_wrong_tags() -> None:
    scores, tags, right = planted(2_000)
    wrong = wrong_tag_probabilities(scores, csr_matrix(tags))
    made_wrong = ~right[tags > 0]
    assert wrong.sum() == pytest.approx(made_wrong.sum(), rel=0.2)
    # They are calibrated: of tags with nearly the same probability that share is wrong.
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (wrong >= low) & (wrong < high)
        assert inside.sum() > 30
        assert made_wrong[inside].mean() == pytest.approx(wrong[inside].mean(), abs=0.1)


def test_clean_tags_are_not_suspected() -> None:
    rng = np.random.default_rng(1)
    tags = rng.random((500, 6)) < 0.2
    scores = 9.0 * tags + rng.logistic(size=tags.shape)
    wrong = wrong_tag_probabilities(scores, csr_matrix(tags))
    assert wrong.mean() < 0.02 and (wrong >= 0.5).sum() <= 2


def test_a_word_that_cannot_be_predicted_is_not_suspected_by_its_scores() -> None:
    rng = np.random.default_rng(2)
    tags = rng.random((500, 6)) < 0.2
    scores = 6.0 * tags + rng.logistic(size=tags.shape)
    scores[:, 0] = rng.logistic(size=500)
    wrong = wrong_tag_probabilities(scores, csr_matrix(tags))
    of_word = wrong[np.nonzero(tags)[1] == 0]
    # None stands out, though every second has a score below that of most other pictures.
    assert (of_word >= 0.5).mean() < 0.05


def test_a_higher_score_never_makes_a_tag_more_suspect() -> None:
    scores, tags, _ = planted()
    at = np.flatnonzero(tags[:, 0])[0]
    found = []
    for value in (-8.0, -2.0, 0.0, 2.0, 8.0, 50.0):
        scores[at, 0] = value
        first = csr_matrix(tags)
        cell = int(np.flatnonzero((first.tocoo().row == at) & (first.tocoo().col == 0))[0])
        found.append(wrong_tag_probabilities(scores, first)[cell])
    assert found == sorted(found, reverse=True) and found[0] > 0.8 > 0.1 > found[-1]


def test_no_tags_have_no_probabilities() -> None:
    assert wrong_tag_probabilities(np.zeros((3, 2)), csr_matrix((3, 2))).size == 0


def test_words_on_few_pictures_keep_their_tags() -> None:
    scores, tags, _ = planted()
    few = np.zeros((len(tags), 1), np.float32)
    few[: LEAST_TAGS - 1] = 1.0
    low = np.where(few > 0, -9.0, 0.0).astype(np.float32)
    targets = without_wrong_tags(np.hstack([scores, low]), np.hstack([tags, few]))
    assert (targets[:, -1:] == few).all()
    changed = targets[:, :-1] != tags
    assert changed.any() and (targets[:, :-1][changed] == scores[changed]).all()
    assert (tags[changed] == 1).all()


def rows(seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return pictures of ten kinds, tags of which a third is wrong, and the right ones."""
    rng = np.random.default_rng(seed)
    kind = np.arange(300) % 10
    X = (rng.normal(size=(10, 8))[kind] + 0.5 * rng.normal(size=(300, 8))).astype(np.float32)
    right = np.eye(10, dtype=np.float32)[kind]
    tags = right.copy()
    for i in np.flatnonzero(rng.random(300) < 0.33).tolist():
        tags[i] = np.eye(10, dtype=np.float32)[rng.integers(10)]
    return X, tags, right


@pytest.mark.parametrize("landmarks", [None, 200])
def test_ridge_without_wrong_tags_does_not_learn_them(landmarks: int | None) -> None:
    X, tags, right = rows(0)
    kept = KernelRidge(landmarks=landmarks).fit(X, tags)
    excluded = KernelRidge(landmarks=landmarks, wrong_tags="excluded").fit(X, tags)
    wrong = (tags > 0) & (right == 0)
    learned = [float(r.decision_function(X)[wrong].mean()) for r in (kept, excluded)]
    assert learned[1] < 0.5 * learned[0]
    # One factorisation or one for each strength: the same fit.
    again = KernelRidge(landmarks=landmarks, wrong_tags="excluded", alpha=excluded.alpha_)
    again.fit(X, tags)
    np.testing.assert_allclose(again.dual_, excluded.dual_, atol=1e-3)
    np.testing.assert_allclose(again.leave_one_out_, excluded.leave_one_out_, atol=1e-4)


def test_an_excluded_tag_counts_as_if_the_picture_were_not_there() -> None:
    """The target that ridge leaves a cell out by is the left-out score."""
    X, _, right = rows(1)
    plain = KernelRidge(alpha=0.5).fit(X, right)
    targets = right.copy()
    targets[7] = plain.leave_one_out_[7]
    K = plain.kernel_((X,))
    scale = float(K.diagonal().mean())
    dual = np.linalg.solve(K + 0.5 * scale * np.eye(len(X)), targets)
    rest = np.delete(np.arange(len(X)), 7)
    without = np.linalg.solve(K[np.ix_(rest, rest)] + 0.5 * scale * np.eye(len(rest)), right[rest])
    np.testing.assert_allclose(K @ dual, K[:, rest] @ without, atol=1e-3)


def test_impossible_settings_are_errors() -> None:
    X, tags, _ = rows(0)
    with pytest.raises(ParameterError, match="'kept' or 'excluded'"):
        KernelRidge(wrong_tags="dropped").fit(X, tags)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'kept' with a balance"):
        KernelRidge(wrong_tags="excluded", balance=0.5).fit(X, tags)
    with pytest.raises(ParameterError, match="without wrong tags"):
        KernelRidge(wrong_tags="excluded").fit(X, tags, unlabelled=tags == 0)
