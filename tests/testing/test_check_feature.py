"""The check of features accepts what keeps the contract and finds every promise broken."""

from __future__ import annotations

import pytest

from sightline.testing import check_feature
from tests.factories import plugin_features as made


@pytest.mark.parametrize("feature", [made.MeanColour, made.Size])
def test_good_feature_passes(feature: type) -> None:
    check_feature(feature())


BROKEN: dict[type, str] = {
    made.NoDescribe: "lacks name, version, length, parameters or describe",
    made.NoName: "letters, digits, - and _ only",
    made.BadName: "letters, digits, - and _ only",
    made.NoLength: "has the length 0",
    made.TextVersion: "has the version 'one'",
    made.OddParameters: "parameters that are not plain",
    made.NanParameters: "parameters that are not plain",
    made.RestlessParameters: "a fingerprint that changes",
    made.Double: "gives float64, not float32",
    made.PlainList: "gives a list, not an array",
    made.WrongShape: r"gives the shape \(1, 3\)",
    made.ShapeOfSize: r"gives the shape \(1,\)",
    made.NotFinite: "values that are not finite",
    made.Writes: "fails at a picture of shape .* may not change",
    made.WritesByForce: "changes the picture",
    made.Restless: "another row for the same picture",
    made.Remembers: "another row for the same picture",
    made.SaysNothing: "gives every picture one row",
    made.Fails: "fails at a picture of shape .*: out of range",
}


@pytest.mark.parametrize("feature", list(BROKEN), ids=lambda f: f.__name__)
def test_broken_promise_is_found_and_named(feature: type) -> None:
    with pytest.raises(AssertionError, match=BROKEN[feature]):
        check_feature(feature())


def test_what_is_no_feature_is_refused() -> None:
    for thing in (None, 3, "mean-colour", made.MeanColour):
        with pytest.raises(AssertionError):
            check_feature(thing)
