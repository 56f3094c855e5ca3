"""The interfaces of estimators, features, stores and compute backends.

Implementations of an interface are interchangeable. `sightline.testing` checks that built-in
classes and plugins implement them.
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from sightline.errors import DataError, NotFittedError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.records import DenseQuery, SparseQuery, Top, WordQuery

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
WorkerKind = Literal["decode", "describe"]


@runtime_checkable
class Feature(Protocol):
    """A feature extractor: turns one upright RGB picture into a vector of fixed length.

    `describe` is pure: the same picture gives the same vector in every process. `name`, `version`
    and `parameters` form the fingerprint under which feature vectors are stored.
    """

    name: str
    version: int
    length: int

    @property
    def parameters(self) -> dict[str, Json]:
        """The values besides name and version that change the vectors."""
        ...

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the vector of one picture."""
        ...


@runtime_checkable
class FittedFeature(Feature, Protocol):
    """A feature that is fitted to a sample of one collection and then frozen.

    Every worker process constructs it from its arrays, `cls(arrays)`. Their checksum is part of
    `parameters`, so that vectors of different codebooks are never mixed. If `sparse` is true,
    vectors are mostly zero and stored in sparse form. An attribute `least_pictures` says to how few
    pictures it can be fitted, 1 without it.
    """

    @classmethod
    def fit(
        cls, pictures: Sequence[NDArray[np.uint8]], seed: int = 0
    ) -> dict[str, NDArray[np.float32]]:
        """Return the arrays fitted to a sample of pictures."""
        ...

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None: ...


class Estimator:
    """Base class of estimators: `get_params`, `set_params` and `repr` as in scikit-learn.

    `__init__` takes parameters by keyword and only stores them; names of fitted attributes end in
    an underscore. An estimator is fitted if it has `n_features_in_`, the number of columns it was
    fitted with. scikit-learn is optional and imported only in methods that it calls.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        if cls.__init__ is object.__init__:
            return []
        signature = inspect.signature(cls.__init__)
        return sorted(n for n in signature.parameters if n != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            For compatibility with scikit-learn; estimators here are not nested.

        Returns
        -------
        dict of str to object
            The parameters.
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : object
            New values.

        Returns
        -------
        Self
            The estimator.
        """
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ParameterError.of(name, type(self).__name__, f"one of {known}", value)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the estimator as code, with the parameters that differ from the default."""
        default = inspect.signature(type(self).__init__).parameters
        changed = (f"{n}={v!r}" for n, v in self.get_params().items() if v != default[n].default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the estimator is fitted, for scikit-learn's `check_is_fitted`."""
        return hasattr(self, "n_features_in_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError.of(type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags for scikit-learn."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, multi_output=True),
            input_tags=InputTags(sparse=True),
        )

    def get_metadata_routing(self) -> Any:
        """Request that scikit-learn's searches and pipelines pass `qid` to methods that take it.

        They do so once `sklearn.set_config(enable_metadata_routing=True)` is set.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The request.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for name in ("fit", "partial_fit", "score"):
            method = getattr(self, name, None)
            if method is not None and "qid" in inspect.signature(method).parameters:
                getattr(request, name).add_request(param="qid", alias=True)
        # `Pipeline.score` always passes sample_weight and rejects steps that do not request it.
        request.score.add_request(param="sample_weight", alias=None)
        return request


class PersistentEstimator(Estimator, ABC):
    """An estimator whose fitted state is arrays: it is saved and loaded without pickle."""

    # Fitted attributes that a file stores besides the arrays: labels and names.
    _saved: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that scoring needs; `from_arrays` restores an equal estimator."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return an estimator that can score but not continue fitting."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a safetensors file with a JSON header.

        Parameters
        ----------
        path : str or path-like
            The file; an existing one is replaced atomically.

        See Also
        --------
        load : Read the file.
        """
        from sightline.model_files import ModelFile, write_model

        self._check_fitted()
        attributes = {name: getattr(self, name) for name in self._saved if hasattr(self, name)}
        kind = type(self).__name__
        write_model(path, ModelFile(kind, self.get_params(), attributes, self.to_arrays()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted estimator that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file. It may be untrusted: reading it runs no code.

        Returns
        -------
        Self
            An estimator with the same parameters and scores.
        """
        from sightline.model_files import read_model

        model = read_model(path, cls.__name__)
        try:
            estimator = cls.from_arrays(model.arrays)
            estimator.set_params(**model.parameters)
        except (KeyError, IndexError, ParameterError) as error:
            raise DataError(
                f"{os.fspath(path)} does not hold all of a fitted {cls.__name__}: {error}. "
                "It was written by another version of Sightline, or changed since."
            ) from error
        estimator._restore(model.attributes)
        return estimator

    def _restore(self, attributes: Mapping[str, Any]) -> None:
        """Set the fitted attributes that a file stores besides the arrays."""
        import numpy as np

        for name in self._saved:
            if name in attributes:
                value = attributes[name]
                if name == "classes_":
                    value = np.array(value)
                setattr(self, name, tuple(value) if isinstance(value, list) else value)


@runtime_checkable
class WordScorer(Protocol):
    """A fitted ranker or annotator, which returns a score for each picture and word."""

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return scores of shape (n_pictures, n_words); larger is better."""
        ...


@runtime_checkable
class FeedbackLearner(Protocol):
    """A relevance-feedback learner, fitted to judged pictures round by round of a session.

    Sessions use this interface and two implementations:
    `feedback.passive_aggressive.PassiveAggressive(C=1.0, n_draws=100, random_state=0)` and
    `feedback.blend.Blend(learner)`, which also estimates the weight of the learned order.
    All of them have `get_params` and `set_params` (`Estimator`). The same calls with the same
    `random_state` give the same scores, so that a session can be replayed from its judgements.

    A linear learner (`linear`) also has `w_`, float64, with decision_function(X) = X w_ up to a
    constant, so that `Store.top` can rank by it.
    """

    @property
    def linear(self) -> bool:
        """Whether `w_` alone determines the ranking."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it can rank; until then the initial ranking is used."""
        ...

    def start(self, query_weights: Any = None, background: Any = None) -> Self:
        """Reset the learner and set the query.

        Parameters
        ----------
        query_weights : array-like of shape (d,), optional
            The feature vector of the query picture, or the weights of a text ranker.
        background : array-like of shape (m, d), optional
            Feature vectors of pictures drawn at random, of which hardly any are relevant. Learners
            that use them rank better after few judgements.
        """
        ...

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Fit to ALL judgements of the session so far, starting from the current state.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The feature vectors of the judged pictures. A picture occurs once: if judgements
            contradict each other, the caller passes the last.
        y : array-like of shape (n,)
            1 for relevant pictures, -1 for the others.
        """
        ...

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a score for each row of X; larger is better."""
        ...


@runtime_checkable
class Store(Protocol):
    """Storage of pictures, words and vectors; a reader sees one published version at a time."""

    version: int

    def top(
        self,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: NDArray[np.int64] | None = None,
    ) -> Top:
        """Return the k best pictures; only ids in `where` may appear."""
        ...

    def ids(self) -> NDArray[np.int64]:
        """Return the ids of all live pictures, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of work for a worker; error messages contain its `name`."""

    name: bytes
    args: dict[str, Json]
    blob: bytes | memoryview = b""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job."""

    value: dict[str, Json]
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed job: `kind` is broken, memory, timeout or crash (see Skipped)."""

    kind: str
    reason: str


class RunAlone(Exception):
    """Raised by a task that needs much memory, to be run again while no other such job runs."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedArrays:
    """A handle of arrays that several parts share; `value` is private to the `Mapper`."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One part of a numerical computation: plain values, its own arrays, and shared arrays."""

    args: dict[str, Json]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    held: tuple[SharedArrays, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartDone:
    """The result of a part: plain values, and arrays that are fetched on first use."""

    value: dict[str, Json]
    fetch: Callable[[], Mapping[str, NDArray[Any]]]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays."""
        return self.fetch()


PartResult = tuple[dict[str, "Json"], Mapping[str, "NDArray[Any]"]]
PartTask = Callable[[dict[str, "Json"], Mapping[str, "NDArray[Any]"]], PartResult]


class Mapper(Protocol):
    """Computes parts, locally or remotely; results come in the order of the parts.

    A task is a pure module-level function of plain values and a mapping of arrays: the shared ones
    and those of the part. It may be run again after a failure, and on another machine. A
    `SightlineError` that it raises is raised again where the result is read.
    """

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> SharedArrays:
        """Share arrays with later parts; they must not be changed afterwards."""
        ...

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield the result of each part."""
        ...


class SerialMapper:
    """The serial `Mapper`: one part after the other, in this process.

    >>> parts = [Part({"n": n}) for n in (1, 2)]
    >>> [done.value for done in SerialMapper().map(lambda args, arrays: (args, arrays), parts)]
    [{'n': 1}, {'n': 2}]
    """

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> SharedArrays:
        """Return a handle of the unchanged arrays."""
        return SharedArrays(arrays)

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield the result of each part."""
        for part in parts:
            together: dict[str, NDArray[Any]] = {}
            for held in part.held:
                together.update(held.value)  # type: ignore[call-overload]
            value, arrays = task(part.args, {**together, **part.arrays})
            yield PartDone(value, lambda arrays=arrays: arrays)  # type: ignore[misc]


class Compute(Mapper, Protocol):
    """Runs a task, given by its import path, over many jobs; results come in the order of the jobs.

    A task is a module-level function `task(args, blob, alone) -> Done`, which worker processes
    import by `package.module:function`. Jobs read untrusted files and run under limits; parts
    (`Mapper`) see only numbers.
    """

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield the result of each job."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class Progress(Protocol):
    """Receives the progress of a long task."""

    def start(self, what: str, total: int | None) -> None:
        """Start a task of `total` steps; None if that is unknown."""
        ...

    def advance(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        ...

    def note(self, text: str) -> None:
        """Set the status text."""
        ...

    def finish(self) -> None:
        """Finish the task."""
        ...
