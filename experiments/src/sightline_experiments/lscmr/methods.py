"""The methods of paper C and their baselines, each from a task and settings to a scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.rankers.cca import CCA
from sightline.rankers.low_rank import TwoSided
from sightline.rankers.lscmr import LSCMR
from sightline.rankers.pamir import PAMIR
from sightline.rankers.semantic_matching import SemanticMatching
from sightline.rankers.ssi import SSI
from sightline.records import QuerySet
from sightline.solvers.targets import QueryWords, Targets
from sightline_experiments.lscmr.paper import PICTURE
from sightline_experiments.lscmr.protocol import LinearTask, Scorer, Task
from sightline_experiments.lscmr.shape import as_is, words_alone
from sightline_experiments.lscmr.stacking import OWN, probabilities
from sightline_experiments.tuning import Settings

_NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A scorer; `fixed` are settings that validation found and a fit without any has to be told."""

    scorer: Scorer
    fixed: Mapping[str, int]
    note: str = ""


# From a `Task`, or of the linear methods any `LinearTask`.
Fit = Callable[[Any, Settings], Fitted]


def _seen(task: LinearTask, ranker: TwoSided) -> Scorer:
    """Return the scorer of a ranker that sees mapped rows."""
    return lambda q, d: ranker.decision_function(*task.seen(q, d))


def _cca(task: LinearTask, s: Settings) -> Fitted:
    return Fitted(_seen(task, CCA(**s).fit(*task.training())), {})  # type: ignore[arg-type]


def _lscmr(task: LinearTask, s: Settings) -> Fitted:
    ranker = LSCMR(**s)  # type: ignore[arg-type]
    ranker.fit(*task.training(), *task.lists())
    return _with_note(task, ranker)


def _from_classes(task: Task, s: Settings) -> Fitted:
    """Learn LSCMR from where semantic matching is: a dimension for each class."""
    queries, documents = task.training()
    n = queries.shape[1]
    ranker = LSCMR(n_components=n, **s)  # type: ignore[arg-type]
    ranker.fit(queries, documents, *task.lists(), start=(np.eye(n), np.eye(n)))
    return _with_note(task, ranker)


def _with_note(task: LinearTask, ranker: LSCMR) -> Fitted:
    note = f"{len(ranker.rounds_) - 1} rounds, {ranker.stop_reason_}"
    return Fitted(_seen(task, ranker), {}, f"{note}, {ranker.n_dropped_} lists dropped")


def _ssi(task: LinearTask, s: Settings) -> Fitted:
    ranker = SSI(**s)  # type: ignore[arg-type]
    validation = None if task.validation is None else task.held_out()
    ranker.fit(*task.training(), *task.lists(), validation=validation)
    return Fitted(_seen(task, ranker), {"n_iter": ranker.best_iter_})


def _pamir(task: LinearTask, s: Settings) -> Fitted:
    queries, documents = task.training()
    candidates, relevance = task.lists()
    ranker = PAMIR(**{k: v for k, v in s.items() if k != "n_iter"})  # type: ignore[arg-type]
    validation = None
    if task.validation is not None:
        q, d, relevant = task.held_out()
        validation = (d, query_targets(q, d.shape[0], None, relevant))
    n_iter = None if s.get("n_iter") is None else int(str(s["n_iter"]))
    targets = query_targets(queries, documents.shape[0], candidates, relevance)
    ranker.fit(documents, targets, validation=validation, n_iter=n_iter)

    def scorer(q: Any, d: Any) -> Floats:
        mapped_q, mapped_d = task.seen(q, d)
        return np.asarray(mapped_q @ ranker.W_ @ mapped_d.T, dtype=np.float32)

    return Fitted(scorer, {"n_iter": ranker.best_iter_})


def query_targets(
    queries: Any, n: int, candidates: Ints | None, relevance: NDArray[np.bool_]
) -> Targets:
    """Return lists in the form that PAMIR learns from: a query has its columns as words.

    Without candidates every one of the n documents is in each list.
    """
    usable = np.flatnonzero(relevance.any(axis=1) & ~relevance.all(axis=1))
    relevant, others = relevance[usable], (_NONE, _NONE)
    listed = None if candidates is None else candidates[usable]
    if listed is not None:
        others = _listed(~relevant, listed)
    query_set = QuerySet(*_words(queries[usable]), *_listed(relevant, listed))
    return Targets(query_set, n, QueryWords(np.ones(queries.shape[1])), *others)


def _listed(flags: NDArray[np.bool_], candidates: Ints | None) -> tuple[Ints, Ints]:
    """Return where the flagged documents of each query begin, and which they are."""
    start = np.concatenate([[0], np.cumsum(flags.sum(axis=1))]).astype(np.int64)
    return start, np.nonzero(flags)[1] if candidates is None else candidates[flags]


def _words(rows: Any) -> tuple[Ints, Ints, Floats]:
    """Return where the words of each query begin, which they are, and their weights."""
    if hasattr(rows, "tocsr"):
        rows_csr = rows.tocsr()
        rows_csr.sort_indices()
        return (rows_csr.indptr.astype(np.int64), rows_csr.indices.astype(np.int64),
                rows_csr.data.astype(np.float32))  # fmt: skip
    n, m = rows.shape
    start = np.arange(n + 1, dtype=np.int64) * m
    return start, np.tile(np.arange(m), n), rows.ravel().astype(np.float32)


def _matching(task: Task, s: Settings) -> Fitted:
    classes = task.train.classes
    looks = as_is if s.get("shapes", True) else words_alone, as_is
    q_look, d_look = looks if task.direction == PICTURE else looks[::-1]
    queries, documents = task.rows()
    ranker = SemanticMatching(**{k: v for k, v in s.items() if k != "shapes"})  # type: ignore[arg-type]
    ranker.fit(q_look(queries), classes, d_look(documents), classes)
    return Fitted(lambda q, d: ranker.decision_function(q_look(q), d_look(d)), {})


def over_probabilities(fit: Fit) -> Fit:
    """Return a method that sees class probabilities in place of mapped rows.

    Its settings also have those of `stacking`, and may have the candidates of a list.
    """

    def made(task: Task, s: Settings) -> Fitted:
        n = int(str(s.get("n_candidates", task.n_candidates)))
        posterior_task = replace(task, inputs=probabilities(task, s), n_candidates=n)
        return fit(posterior_task, {k: v for k, v in s.items() if k not in (*OWN, "n_candidates")})

    return made


BASELINES = ("CCA", "PAMIR", "SSI")
STACKED = "LSCMR stacked"
# Beside methods with the shapes of pictures, the same without, to measure the gain of shapes.
WORDS = "LSCMR stacked, words"
SVM, SVM_WORDS = "SM chi2-SVM", "SM chi2-SVM, words"
METHODS: dict[str, Fit] = {
    "CCA": _cca,
    "PAMIR": _pamir,
    "SSI": _ssi,
    "LSCMR": _lscmr,
    "SM logistic": _matching,
    SVM: _matching,
    SVM_WORDS: _matching,
    "CCA stacked": over_probabilities(_cca),
    "PAMIR stacked": over_probabilities(_pamir),
    "SSI stacked": over_probabilities(_ssi),
    STACKED: over_probabilities(_from_classes),
    WORDS: over_probabilities(_from_classes),
}
