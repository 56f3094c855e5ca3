"""Test data on which each method is measured once, so that nothing can be selected by it."""

from __future__ import annotations

from sightline.errors import UsageError


class OneShotTestSet:
    """A test set that measures each method at most once on each of its splits.

    Subclasses hold the test data in private attributes and call `claim` before they measure.

    Parameters
    ----------
    units : str
        The test data: "queries", "pairs" or "pictures"; named in the error message.

    Examples
    --------
    >>> test_set = OneShotTestSet("queries")
    >>> test_set.claim("PAMIR", split=0)
    >>> test_set.claim("PAMIR", split=1)
    >>> test_set.claim("PAMIR", split=0)
    Traceback (most recent call last):
    sightline.errors.UsageError: PAMIR was measured on the test queries of split 0 before. ...
    """

    def __init__(self, units: str) -> None:
        self._units = units
        self._claimed: set[tuple[str, tuple[tuple[str, int], ...]]] = set()

    def claim(self, method: str, **split: int) -> None:
        """Note that a method is measured on a split; raise `UsageError` if it was before."""
        key = method, tuple(sorted(split.items()))
        if key in self._claimed:
            where = ", ".join(f"{name} {number}" for name, number in split.items())
            raise UsageError(
                f"{method} was measured on the test {self._units} of {where} before. "
                f"Choose hyperparameters on validation {self._units}."
            )
        self._claimed.add(key)
