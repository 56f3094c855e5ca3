"""Slow, plain twins of the annotators that count visual terms: one probability at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


def problem(
    n: int = 40, n_visterms: int = 12, n_words: int = 5, seed: int = 0
) -> tuple[Table, Table]:
    """Return counts and words of pictures that show one or two of as many things as words."""
    rng = np.random.default_rng(seed)
    looks = rng.dirichlet(np.full(n_visterms, 0.3), n_words)
    X, Y = np.zeros((n, n_visterms)), np.zeros((n, n_words))
    for p in range(n):
        shown = rng.choice(n_words, rng.integers(1, min(2, n_words) + 1), replace=False)
        Y[p, shown] = 1
        X[p] = rng.multinomial(20, looks[shown].mean(axis=0))
    return X, Y


def cmrm(
    X: Table, Y: Table, pictures: Table, alpha: float, beta: float, joint: bool = False
) -> Table:
    """Return P(t|p) by P(t,p) = sum_J P(t|J) prod_v P(v|J)^n_v, as a product of numbers."""
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]
    rows = []
    for p in pictures:
        total = np.zeros(Y.shape[1])
        for x, y in zip(X, Y, strict=True):
            words = x.sum() + y.sum() if joint else y.sum()
            visterms = x.sum() + y.sum() if joint else x.sum()
            of_words = (1 - alpha) * y / words + alpha * Y.sum(axis=0) / (
                Y.sum() + X.sum() if joint else Y.sum()
            )
            background = X.sum(axis=0) / (Y.sum() + X.sum() if joint else max(X.sum(), 1))
            of_visterms = (1 - beta) * x / visterms + beta * background if visterms else background
            known = X.any(axis=0)
            total += of_words * np.prod(of_visterms[known] ** p[known])
        rows.append(total / total.sum())
    return np.array(rows)


def cmtt(X: Table, Y: Table, pictures: Table, rank: int, idf: bool = True) -> Table:
    """Return P(t|p) by cosines of the columns of the low-rank matrix itself."""
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]
    U, s, Vt = np.linalg.svd(_weighted(X, Y, idf), full_matrices=False)
    low = (U[:, :rank] * s[:rank]) @ Vt[:rank]
    T, V = Y.shape[1], X.shape[1]
    table = np.empty((V, T))
    for v in range(V):
        cosines = np.array([max(_cosine(low[:, t], low[:, T + v]), 0.0) for t in range(T)])
        table[v] = cosines / cosines.sum() if cosines.sum() > 1e-8 else 1 / T
    rows = []
    for p in pictures:
        known = p * X.any(axis=0)
        rows.append(known @ table / known.sum() if known.sum() else np.full(T, 1 / T))
    return np.array(rows)


def singular_values(X: Table, Y: Table, idf: bool = True) -> Table:
    """Return how strong each direction of the matrix of words and visual terms is, falling."""
    return np.asarray(np.linalg.svd(_weighted(X, Y, idf), compute_uv=False))


def _weighted(X: Table, Y: Table, idf: bool) -> Table:
    M = np.hstack([Y, X])
    return M * np.log(len(M) / np.maximum((M > 0).sum(axis=0), 1)) if idf else M


def _cosine(a: Table, b: Table) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 1e-12 else 0.0


def plsa_step(n: Table, P_item: Table, P_aspect: Table) -> tuple[Table, Table, float]:
    """Return P(item|k) and P(k|p) after one iteration, and the log-likelihood before it.

    n is (pictures, items), P_item (items, aspects) and P_aspect (pictures, aspects).
    """
    r = P_aspect[:, None, :] * P_item[None, :, :]
    z = r.sum(axis=2)
    likelihood = float(np.sum(n[n > 0] * np.log(z[n > 0])))
    r /= np.where(z > 0, z, 1.0)[:, :, None]
    items = np.einsum("pi,pik->ik", n, r)
    aspects = np.einsum("pi,pik->pk", n, r)
    return items / items.sum(axis=0), aspects / aspects.sum(axis=1, keepdims=True), likelihood


def fold_in(p: Table, P_visterm: Table, n_iter: int) -> Table:
    """Return P(k|p) of one picture, from equal shares."""
    shares = np.full((1, P_visterm.shape[1]), 1 / P_visterm.shape[1])
    known = P_visterm.any(axis=1)
    for _ in range(n_iter if (p * known).any() else 0):
        shares = plsa_step((p * known)[None], P_visterm, shares)[1]
    return np.asarray(shares[0])
