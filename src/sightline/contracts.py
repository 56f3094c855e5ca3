"""What the parts of Sightline promise each other.

A learner, a feature, a store and a way to compute are interchangeable because each keeps one of
these contracts; `sightline.testing` checks them, for built-in parts and for plugins alike.
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
    """A way to turn one small upright RGB picture into a vector of fixed length.

    `describe` is pure: the same picture gives the same vector, whatever came before, in any
    process. `name`, `version` and `parameters` make up the fingerprint under which rows are kept.
    """

    name: str
    version: int
    length: int

    @property
    def parameters(self) -> dict[str, Json]:
        """What besides name and version changes the vectors."""
        ...

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the vector of one picture."""
        ...


@runtime_checkable
class FittedFeature(Feature, Protocol):
    """A feature that is made for one collection, from a sample of its pictures, and then frozen.

    It is made again from its arrays alone, `cls(arrays)`, in every process that describes. Their
    checksum is part of `parameters`, so that rows of another codebook are never mixed with these.
    A feature with `sparse` true gives rows that are mostly zero, which are kept as such.
    """

    @classmethod
    def fit(
        cls, pictures: Sequence[NDArray[np.uint8]], seed: int = 0
    ) -> dict[str, NDArray[np.float32]]:
        """Return the arrays that pictures of a sample give."""
        ...

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None: ...


class Estimator:
    """What learners share: parameters that can be read, set and shown, as scikit-learn expects.

    `__init__` of a learner takes its parameters by keyword and only stores them; what is learnt
    ends in an underscore. A learner is fitted once it has `n_features_in_`, the number of columns
    it was fitted with. scikit-learn is not needed, and imported only when it asks.
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
            There for scikit-learn. Learners here have no parameters of parameters.

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
            The learner itself.
        """
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ParameterError.of(name, type(self).__name__, f"one of {known}", value)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the learner as code, with the parameters that are not the default."""
        default = inspect.signature(type(self).__init__).parameters
        changed = (f"{n}={v!r}" for n, v in self.get_params().items() if v != default[n].default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the learner was fitted, for `sklearn.utils.validation.check_is_fitted`."""
        return hasattr(self, "n_features_in_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError.of(type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn has to know of the learner."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, multi_output=True),
            input_tags=InputTags(sparse=True),
        )

    def get_metadata_routing(self) -> Any:
        """Ask scikit-learn's searches and pipelines to pass `qid` on, where a method takes it.

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
        # A pipeline's `score` always names this one, and refuses steps that have never heard of it.
        request.score.add_request(param="sample_weight", alias=None)
        return request


class PersistentEstimator(Estimator, ABC):
    """A learner whose fitted state is arrays, so that it can be saved and loaded without pickle."""

    # Learnt attributes besides the arrays that a file keeps: labels and names.
    _saved: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a learner that scores the same."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted learner as far as scoring goes."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted learner to a file: safetensors, with a header of JSON.

        Parameters
        ----------
        path : str or path-like
            The file; one of that name is replaced at once, when all is written.

        See Also
        --------
        load : Read it again.
        """
        from sightline.model_files import ModelFile, write_model

        self._check_fitted()
        attributes = {name: getattr(self, name) for name in self._saved if hasattr(self, name)}
        kind = type(self).__name__
        write_model(path, ModelFile(kind, self.get_params(), attributes, self.to_arrays()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted learner that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file. It may come from anywhere: reading it runs no code.

        Returns
        -------
        Self
            A learner with the same parameters that scores the same.
        """
        from sightline.model_files import read_model

        model = read_model(path, cls.__name__)
        try:
            made = cls.from_arrays(model.arrays)
            made.set_params(**model.parameters)
        except (KeyError, IndexError, ParameterError) as error:
            raise DataError(
                f"{os.fspath(path)} does not hold all of a fitted {cls.__name__}: {error}. "
                "It was written by another version of Sightline, or changed since."
            ) from error
        made._restore(model.attributes)
        return made

    def _restore(self, attributes: Mapping[str, Any]) -> None:
        """Set learnt attributes that a file keeps besides the arrays."""
        import numpy as np

        for name in self._saved:
            if name in attributes:
                value = attributes[name]
                if name == "classes_":
                    value = np.array(value)
                setattr(self, name, tuple(value) if isinstance(value, list) else value)


@runtime_checkable
class WordScorer(Protocol):
    """A ranker or annotator once it is fitted: it gives each picture a score for each word."""

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return scores of shape (pictures, words); a larger score fits better."""
        ...


@runtime_checkable
class FeedbackLearner(Protocol):
    """What learns one person's wish from judged pictures, round by round of a session.

    Sessions program against exactly this, and against two learners that keep it:
    `feedback.passive_aggressive.PassiveAggressive(C=1.0, n_draws=100, random_state=0)` and
    `feedback.blend.Blend(learner)`, which also tells how far the learnt order is to be trusted.
    All of them have `get_params` and `set_params` (`Estimator`). The same calls with the same
    `random_state` give the same scores, so that a session may be replayed from its judgements.

    A linear learner (`linear`) also has `w_`, float64, with decision_function(X) = X w_, up to a
    constant that all pictures share, so that `Store.top` can serve it.
    """

    @property
    def linear(self) -> bool:
        """Whether `w_` is all there is to it."""
        ...

    @property
    def ready(self) -> bool:
        """Whether there is anything to rank by; until then the ranking there was holds."""
        ...

    def start(self, query_weights: Any = None, background: Any = None) -> Self:
        """Forget everything, and begin with the query.

        The query is a picture's own row, or the weights of a text ranker, of length d; None begins
        with nothing.

        `background` may hold rows of pictures drawn at random from the collection, (m, d), of which
        hardly any will be wanted. Learners that can use them rank better after few judgements.
        """
        ...

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from ALL judgements of the session so far, going on from what was learnt.

        X has a row for each judged picture, (n, d) of float32; y is +1 where it is relevant and -1
        where it is not. A picture stands there once: of contradictions the caller keeps the last.
        """
        ...

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a score for each row of X; a larger score fits better."""
        ...


@runtime_checkable
class Store(Protocol):
    """Where pictures, words and vectors lie; a reader sees one published version at a time."""

    version: int

    def top(
        self,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: NDArray[np.int64] | None = None,
    ) -> Top:
        """Return the k best pictures; `where` lists the only picture ids that may appear."""
        ...

    def ids(self) -> NDArray[np.int64]:
        """Return the ids of all live pictures, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of work for a worker: `name` says whose fault a crash is, in an error message."""

    name: bytes
    args: dict[str, Json]
    blob: bytes | memoryview = b""


@dataclass(frozen=True, slots=True)
class Done:
    """A job's answer."""

    value: dict[str, Json]
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Failed:
    """A job that could not be done: `kind` is broken, memory, timeout or crash (see Skipped)."""

    kind: str
    reason: str


class RunAlone(Exception):
    """Raised by a task that needs much memory: run me again while no other such job runs."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Arrays that were handed over once, to be used by many parts; `value` is the keeper's own."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a computation over numbers: plain values, arrays of its own, and arrays held."""

    args: dict[str, Json]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    held: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartDone:
    """What became of a part: plain values, and arrays that are fetched when they are asked for."""

    value: dict[str, Json]
    fetch: Callable[[], Mapping[str, NDArray[Any]]]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays."""
        return self.fetch()


PartResult = tuple[dict[str, "Json"], Mapping[str, "NDArray[Any]"]]
PartTask = Callable[[dict[str, "Json"], Mapping[str, "NDArray[Any]"]], PartResult]


class Mapper(Protocol):
    """Computes parts, wherever; answers come in the order of the parts.

    A task is a pure module-level function of plain values and of arrays, those held and those of
    the part in one mapping. It may be run again after a fault, and on another machine. What it
    raises on purpose (`SightlineError`) is raised where the answer is asked for.
    """

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> Held:
        """Hand arrays over once, for parts to come; they must not be changed after."""
        ...

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield what became of each part."""
        ...


class InTurn:
    """The plainest `Mapper`: one part after the other, in this process.

    >>> parts = [Part({"n": n}) for n in (1, 2)]
    >>> [done.value for done in InTurn().map(lambda args, arrays: (args, arrays), parts)]
    [{'n': 1}, {'n': 2}]
    """

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> Held:
        """Return the arrays as they are."""
        return Held(arrays)

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield what became of each part."""
        for part in parts:
            together: dict[str, NDArray[Any]] = {}
            for held in part.held:
                together.update(held.value)  # type: ignore[call-overload]
            value, arrays = task(part.args, {**together, **part.arrays})
            yield PartDone(value, lambda arrays=arrays: arrays)  # type: ignore[misc]


class Compute(Mapper, Protocol):
    """Runs tasks, named by their dotted path, over many jobs; answers come in the jobs' order.

    A task is a module-level function `task(args, blob, alone) -> Done`. It is named
    `package.module:function`, so that a worker process finds it by importing it. Jobs meet files
    nobody vouches for, and run under limits; parts (`Mapper`) see numbers alone.
    """

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield what became of each job."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class Progress(Protocol):
    """Told how far a long piece of work has come."""

    def start(self, what: str, total: int | None) -> None:
        """Begin a piece of work of so many steps; None where nobody knows."""
        ...

    def advance(self, n: int = 1) -> None:
        """Count steps that are done."""
        ...

    def note(self, text: str) -> None:
        """Say how the work stands, in place of what was said before."""
        ...

    def finish(self) -> None:
        """End the piece of work."""
        ...
