"""The exceptions of Sightline and their exit codes.

SightlineError                exit 1
├── UsageError                exit 2   the call itself is wrong: an unknown flag, a bad query
│   ├── QueryError                     a query that cannot be read
│   │   └── QueryTooLong               a query longer than one may be: search by a text
│   ├── NoModel                        there is no word model yet
│   ├── NotFittedError                 an estimator is used before fit; also a ValueError
│   ├── NoTagProbabilities             the word model does not know which tags are probably wrong
│   ├── NoSpace                        no model has a space shared by words and pictures
│   └── NoRegions                      there is no region model yet
├── ParameterError            exit 2   a parameter out of its range; also a ValueError
├── CollectionError           exit 1   the folder is missing or not ready
│   ├── NoCollection          exit 2   no collection was named or found, or it is not indexed yet
│   └── NoFeatures            exit 1   pictures lack the features they are compared by
├── NotBetter                 exit 1   a trained model did not pass the gate
├── DataError                 exit 1   invalid input data; also a ValueError
│   └── DataTypeError         exit 1   input that is not numeric; also a TypeError
├── MissingExtra              exit 1   an optional dependency is not installed; also an ImportError
├── ComputeError              exit 1   workers cannot be started or kept alive
├── StoreError                exit 1
│   ├── EngineError           exit 1   the data in a search engine differs from the store
│   │   └── EngineAway        exit 1   the engine does not answer; the store is searched instead
│   ├── StoreDamaged          exit 1   a file is missing or its checksum is wrong
│   ├── StoreTooNew           exit 1   written by a newer Sightline
│   ├── StoreTooOld           exit 1   written by an older Sightline, and not upgraded yet
│   ├── StoreReadOnly         exit 1   the store cannot be written
│   ├── StoreBusy             exit 75  another process holds the lock; names it
│   └── StoreIOError          exit 74  I/O error: the disk is full, broken or gone
│       └── StoreFull         exit 74  no space is left; acknowledged data stays readable
└── Interrupted               exit 130 Ctrl-C; acknowledged data stays

Every message states the problem, the value, and what to do.
"""

from __future__ import annotations

import sys


class SightlineError(Exception):
    """Base class of all errors that a user can meet."""

    exit_code = 1


class UsageError(SightlineError):
    """The call is wrong; nothing was done."""

    exit_code = 2


class QueryError(UsageError):
    """A query that cannot be read."""


class QueryTooLong(QueryError):
    """A query is longer than a query may be; a long text is searched as a text."""


class NoModel(UsageError):
    """There is no word model yet."""


class NoTagProbabilities(UsageError):
    """The word model does not know which tags are probably wrong."""


class NoSpace(UsageError):
    """The model has no space that words and pictures share."""


class NoRegions(UsageError):
    """No regions model has been trained yet."""


class NotFittedError(UsageError, ValueError, AttributeError):
    """An estimator is used before it is fitted.

    If scikit-learn is imported, the error is also an instance of its `NotFittedError`.
    """

    @classmethod
    def of(cls, owner: str, remedy: str = "Call fit first.") -> NotFittedError:
        """Return the error for an estimator; it can be caught as scikit-learn's error."""
        return _for_scikit_learn(cls)(f"This {owner} is not fitted yet. {remedy}")


def _for_scikit_learn(error: type[NotFittedError]) -> type[NotFittedError]:
    # A caller that catches scikit-learn's error has imported it, so it is not imported here.
    module = sys.modules.get("sklearn.exceptions")
    if module is None:
        return error
    return type(error.__name__, (error, module.NotFittedError), {"__module__": error.__module__})


class ParameterError(SightlineError, ValueError):
    """A parameter out of its range.

    >>> raise ParameterError.of("C", "PAMIR", "greater than 0", -1)
    Traceback (most recent call last):
    sightline.errors.ParameterError: The 'C' parameter of PAMIR must be greater than 0. Got -1.
    """

    exit_code = 2

    @classmethod
    def of(cls, name: str, owner: str, must_be: str, got: object) -> ParameterError:
        """Return the error for one parameter."""
        return cls(f"The {name!r} parameter of {owner} must be {must_be}. Got {got!r}.")


class CollectionError(SightlineError):
    """The collection is missing or not ready."""


class NoCollection(CollectionError):
    """No collection was named or found, or it is not indexed yet."""

    exit_code = 2


class NoFeatures(CollectionError):
    """Pictures lack the features they are compared by."""


class NotBetter(SightlineError):
    """A trained model did not pass the gate and was not published."""


class DataError(SightlineError, ValueError):
    """Invalid input data."""


class DataTypeError(DataError, TypeError):
    """Input data that is not numeric."""


class MissingExtra(SightlineError, ImportError):
    """An optional dependency is missing; the message names the install command."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtra:
        """Return the error for a function that needs an optional package."""
        return cls(f"{what} needs an optional package. Run: pip install 'sightline[{extra}]'")


class ComputeError(SightlineError):
    """Workers cannot be started or kept alive."""


class StoreError(SightlineError):
    """An operation on the store failed."""


class EngineError(StoreError):
    """The data in a search engine is incomplete or differs from the store."""


class EngineAway(EngineError):
    """A search engine does not answer."""


class StoreDamaged(StoreError):
    """A file of the store is missing or its checksum is wrong."""


class StoreTooNew(StoreError):
    """The store was written by a newer Sightline."""


class StoreTooOld(StoreError):
    """The store was written by an older Sightline; the next `index` upgrades it."""


class StoreReadOnly(StoreError):
    """The store is on a read-only file system."""


class StoreBusy(StoreError):
    """Another process holds the lock."""

    exit_code = 75


class StoreIOError(StoreError):
    """An I/O error: the disk is full, broken or gone."""

    exit_code = 74


class StoreFull(StoreIOError):
    """No space is left on the disk; nothing was written, and the store can still be read."""


class Interrupted(SightlineError):
    """Stopped by the user; acknowledged data stays."""

    exit_code = 130
