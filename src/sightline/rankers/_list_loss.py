"""The list-wise loss of log-products, its gradients, and Adam over the words of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Learning rates of a, b and M relative to each other; M has many more numbers.
_PACE = (0.5, 1.0, 0.1)
_DECAY = (0.9, 0.999)


def loss_and_slopes(
    x: NDArray[np.float32],
    z: NDArray[np.float32],
    Q: Any,
    R: Any,
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    M: NDArray[np.float32],
) -> tuple[float, tuple[NDArray[np.float32], ...]]:
    """Return the mean loss of queries, and its gradients by a, b and M.

    Parameters
    ----------
    x : ndarray of float32
        Logits, (pictures, words); z : directions, (pictures, directions).
    Q : array-like
        Sparse, (queries, words), 1 where a query has a word.
    R : sparse matrix
        Sparse, (queries, pictures), 1 where a picture fits.
    """
    f = x * a + b + z @ M
    logs = -np.logaddexp(np.float32(0), -f)
    F = np.asarray(Q @ logs.T)
    F -= F.max(axis=1, keepdims=True)
    fits = R.toarray()
    fits /= fits.sum(axis=1, keepdims=True)
    shares = np.exp(F)
    total = shares.sum(axis=1, keepdims=True)
    loss = float((np.log(total[:, 0]) - np.einsum("ij,ij->i", F, fits)).mean())
    shares /= total
    shares -= fits
    # d log sigmoid(f) / df = 1 - sigmoid(f)
    slope = np.asarray((Q.T @ shares).T) / np.float32(len(F)) * (1 - np.exp(logs))
    return loss, ((slope * x).sum(axis=0), slope.sum(axis=0), z.T @ slope)


class Adam:
    """The weights during training, with the running moments of their gradients."""

    def __init__(self, n_words: int, n_directions: int, rate: float, n_steps: int) -> None:
        self.a = np.ones(n_words, np.float32)
        self.b = np.zeros(n_words, np.float32)
        self.M = np.zeros((n_directions, n_words), np.float32)
        self.first = [np.zeros_like(w) for w in (self.a, self.b, self.M)]
        self.second = [np.zeros_like(w) for w in (self.a, self.b, self.M)]
        self.n_steps_of_word = np.zeros(n_words)
        self.rate, self.n_steps, self.done = rate, n_steps, 0

    def at(self, words: NDArray[np.int64]) -> tuple[NDArray[np.float32], ...]:
        """Return the weights of some words."""
        return self.a[words], self.b[words], self.M[:, words]

    def step(
        self,
        words: NDArray[np.int64],
        slopes: tuple[NDArray[np.float32], ...],
        holds: tuple[float, ...],
    ) -> None:
        """Move the weights of some words against their gradients and towards their priors."""
        self.n_steps_of_word[words] += 1
        rate = self.rate * (1 - self.done / self.n_steps)
        self.done += 1
        first, second = (1 - d ** self.n_steps_of_word[words] for d in _DECAY)
        for k, (weights, start) in enumerate(((self.a, 1.0), (self.b, 0.0), (self.M, 0.0))):
            w = weights[..., words]
            g = slopes[k] + np.float32(holds[k]) * (w - np.float32(start))
            m = _DECAY[0] * self.first[k][..., words] + (1 - _DECAY[0]) * g
            v = _DECAY[1] * self.second[k][..., words] + (1 - _DECAY[1]) * g * g
            self.first[k][..., words], self.second[k][..., words] = m, v
            move = rate * _PACE[k] * (m / first) / (np.sqrt(v / second) + 1e-8)
            weights[..., words] = w - move
