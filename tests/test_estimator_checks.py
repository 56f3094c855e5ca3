"""scikit-learn's own checks, on every public estimator that takes a table of samples and targets.

Left out are those that learn from something scikit-learn's checks have no data for: combiners
(differences of pairs, or lists with a `qid`), feedback learners (rounds of judgements), rankers of
two sides (two tables), `LogProduct` and `CutOff` (word scores) and region models (regions of each
picture). `tests/test_estimators.py` holds for all of them.

`python -m tests.test_estimator_checks` prints how many checks each estimator passes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from sightline.annotators import CMRM, CMTT, PLSA, ConceptSVM, KernelRidge, Neighbours
from sightline.rankers import (
    PAMIR,
    WARP,
    CaptionCCA,
    CaptionConcepts,
    CaptionLSCMR,
    CaptionSSI,
    KernelPAMIR,
    ThresholdPAMIR,
)

# Few steps: what is checked is the interface.
ESTIMATORS = (
    PAMIR(n_iter=2000),
    WARP(n_iter=2000),
    ThresholdPAMIR(n_iter=2000),
    KernelPAMIR(n_iter=2000),
    CaptionLSCMR(max_rounds=5),
    CaptionSSI(n_iter=2000),
    CaptionCCA(),
    CaptionConcepts(),
    KernelRidge(),
    KernelRidge(kernel="linear"),
    KernelRidge(kernel="chi2"),
    Neighbours(K=5),
    Neighbours(K=5, distance="l1"),
    ConceptSVM(),
    ConceptSVM(kernel="rbf"),
    CMRM(),
    CMTT(rank=2),
    PLSA(),
)

PRECOMPUTED = KernelPAMIR(kernel="precomputed", n_iter=2000)

FEW = "It needs two words on at least three pictures each; the check has fewer."
ROUNDING = (
    "Scores are sums in float32, which the product of one row adds up in another order than that "
    "of many; of scores near 0 the difference shows on some processors."
)
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "CaptionConcepts": {
        "check_dont_overwrite_parameters": FEW,
        "check_methods_sample_order_invariance": FEW,
        "check_methods_subset_invariance": FEW,
        "check_fit2d_1feature": FEW,
        "check_fit2d_predict1d": FEW,
    },
}


ON_SOME_PROCESSORS = {"check_methods_subset_invariance": ROUNDING}


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return which checks an estimator cannot pass, and why."""
    if estimator is PRECOMPUTED:
        return ON_SOME_PROCESSORS
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


with warnings.catch_warnings():
    # Estimators do not inherit from scikit-learn's base, which would have to be imported for it.
    warnings.filterwarnings("ignore", message=".*does not inherit from", category=UserWarning)
    checked = parametrize_with_checks(
        list(ESTIMATORS), expected_failed_checks=expected_failures, xfail_strict=True
    )
    checked_loosely = parametrize_with_checks(
        [PRECOMPUTED], expected_failed_checks=expected_failures, xfail_strict=False
    )


@checked  # type: ignore[untyped-decorator]
def test_an_estimator_keeps_scikit_learns_conventions(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)


@checked_loosely  # type: ignore[untyped-decorator]
def test_an_estimator_of_similarities_keeps_them_too(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)


def test_the_documents_list_every_expected_failure() -> None:
    page = (Path(__file__).parent.parent / "docs/reference/library.md").read_text(encoding="utf-8")
    listed = {
        line.split("`")[1].partition("(")[0]: line
        for line in page.splitlines()
        if line.startswith("| `")
    }
    for name, checks in (*EXPECTED_FAILURES.items(), ("KernelPAMIR", ON_SOME_PROCESSORS)):
        assert set(re.findall(r"`(check_\w+)`", listed[name])) == set(checks)


def table() -> list[str]:
    """Return a line for each estimator: checks passed, skipped and expected to fail."""
    lines = [
        "| estimator | passed | skipped by scikit-learn | expected failures |",
        "|---|---|---|---|",
    ]
    for estimator in (*ESTIMATORS, PRECOMPUTED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(
                estimator,
                expected_failed_checks=expected_failures(estimator),
                on_skip=None,
                on_fail=None,
            )
        status = [one["status"] for one in found]
        counts = [status.count(kind) for kind in ("passed", "skipped", "xfail")]
        assert sum(counts) == len(status), [one for one in found if one["status"] == "failed"]
        lines.append(
            f"| `{estimator!r}` | {counts[0]} of {len(status)} | {counts[1]} | {counts[2]} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(table()))  # noqa: T201
