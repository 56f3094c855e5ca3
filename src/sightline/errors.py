"""Everything Sightline raises on purpose.

SightlineError                exit 1
├── UsageError                exit 2   the call itself is wrong: an unknown flag, a bad query
│   ├── QueryError                     a query that cannot be read
│   ├── NoModel                        words were not learnt yet
│   ├── NotFittedError                 an estimator is used before fit; also a ValueError
│   ├── NoSpace                        what was learnt has no space that words and pictures share
│   └── NoRegions                      where words lie was not learnt yet
├── ParameterError            exit 2   a parameter out of its range; also a ValueError
├── CollectionError           exit 1   no such folder
│   ├── NoCollection          exit 2   none was named and none is here, or nothing is indexed yet
│   └── NoFeatures            exit 1   pictures lack the descriptors they are compared by
├── NotBetter                 exit 1   a trained model the no-harm gate did not let through
├── DataError                 exit 1   a file handed to us cannot be understood; also a ValueError
│   └── DataTypeError         exit 1   what should be numbers is not; also a TypeError
├── MissingExtra              exit 1   an optional dependency is not installed; also an ImportError
├── ComputeError              exit 1   workers cannot be started or kept alive
├── StoreError                exit 1
│   ├── EngineError           exit 1   what a search engine holds is not what the store holds
│   │   └── EngineAway        exit 1   it does not answer; the rows at home do
│   ├── StoreDamaged          exit 1   a checksum or a file is wrong; names file and remedy
│   ├── StoreTooNew           exit 1   written by a newer Sightline
│   ├── StoreReadOnly         exit 1   the store cannot be written
│   ├── StoreBusy             exit 75  another process holds the lock; names it
│   └── StoreIOError          exit 74  the disk said no: full, broken or vanished
│       └── StoreFull         exit 74  no space is left; what was acknowledged stays readable
└── Interrupted               exit 130 Ctrl-C; what was acknowledged stays

Every message says what is wrong, the value got, and what to do.
"""

from __future__ import annotations

import sys


class SightlineError(Exception):
    """Base of all errors a user can meet."""

    exit_code = 1


class UsageError(SightlineError):
    """The call is wrong; nothing was tried."""

    exit_code = 2


class QueryError(UsageError):
    """A query that cannot be read."""


class NoModel(UsageError):
    """Words were not learnt yet."""


class NoSpace(UsageError):
    """What was learnt has no space that words and pictures share."""


class NoRegions(UsageError):
    """Where words lie was not learnt yet."""


class NotFittedError(UsageError, ValueError, AttributeError):
    """An estimator is used before it is fitted.

    Where scikit-learn is loaded, what is raised is its error of the same name as well.
    """

    @classmethod
    def of(cls, owner: str, remedy: str = "Call fit first.") -> NotFittedError:
        """Return the error of an estimator, one that scikit-learn's users can catch."""
        return _for_scikit_learn(cls)(f"This {owner} is not fitted yet. {remedy}")


def _for_scikit_learn(error: type[NotFittedError]) -> type[NotFittedError]:
    # Whoever catches scikit-learn's error has imported it. It is never imported for that here.
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
        """Return the error of one parameter."""
        return cls(f"The {name!r} parameter of {owner} must be {must_be}. Got {got!r}.")


class CollectionError(SightlineError):
    """The collection is not there or not ready."""


class NoCollection(CollectionError):
    """No collection was named and none is here, or nothing is indexed in it yet."""

    exit_code = 2


class NoFeatures(CollectionError):
    """Pictures lack the descriptors they are compared by."""


class NotBetter(SightlineError):
    """A trained model is worse than what is there, so it was not published."""


class DataError(SightlineError, ValueError):
    """Data from outside that cannot be understood."""


class DataTypeError(DataError, TypeError):
    """Data that should be numbers and is something else."""


class MissingExtra(SightlineError, ImportError):
    """An optional dependency is missing; the message names the install command."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtra:
        """Return the error of what needs an extra."""
        return cls(f"{what} needs an optional package. Run: pip install 'sightline[{extra}]'")


class ComputeError(SightlineError):
    """Workers cannot be started or kept alive."""


class StoreError(SightlineError):
    """The store cannot do what was asked."""


class EngineError(StoreError):
    """A search engine holds something else than the store, or not all of it."""


class EngineAway(EngineError):
    """A search engine does not answer."""


class StoreDamaged(StoreError):
    """A file of the store is missing or its checksum is wrong."""


class StoreTooNew(StoreError):
    """The store was written by a newer Sightline."""


class StoreReadOnly(StoreError):
    """The store lies on a read-only place."""


class StoreBusy(StoreError):
    """Another process holds the lock."""

    exit_code = 75


class StoreIOError(StoreError):
    """The disk is full, broken or gone."""

    exit_code = 74


class StoreFull(StoreIOError):
    """No space is left on the disk; nothing was written, and everything can still be read."""


class Interrupted(SightlineError):
    """Stopped by the user; everything acknowledged before stays."""

    exit_code = 130
