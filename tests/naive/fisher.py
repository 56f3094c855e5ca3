"""Slow, readable twins of Fisher vectors: one pixel, cell, point or component at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sightline.features.local.layout import rgb_to_lab

RGB = NDArray[np.uint8]
Doubles = NDArray[np.float64]


def brightness(rgb: RGB) -> Doubles:
    height, width, _ = rgb.shape
    out = np.zeros((height, width))
    for y in range(height):
        for x in range(width):
            red, green, blue = (float(v) for v in rgb[y, x])
            out[y, x] = 0.299 * red + 0.587 * green + 0.114 * blue
    return out


def gradient(grey: Doubles, y: int, x: int) -> tuple[float, float]:
    """Half the difference of the two neighbours, down and right; the border repeats itself."""
    height, width = grey.shape
    down = grey[min(y + 1, height - 1), x] - grey[max(y - 1, 0), x]
    right = grey[y, min(x + 1, width - 1)] - grey[y, max(x - 1, 0)]
    return float(down) / 2, float(right) / 2


def by_direction(down: float, right: float) -> Doubles:
    """The strength of a gradient, shared by its nearness to the two directions next to it."""
    out = np.zeros(8)
    angle = math.degrees(math.atan2(down, right)) % 360
    for k in range(8):
        apart = abs(angle - 45 * k)
        apart = min(apart, 360 - apart)
        out[k] = math.hypot(down, right) * max(0.0, 1 - apart / 45)
    return out


def lab_of(rgb: RGB) -> Doubles:
    middles = (rgb // 4) * 4 + 1.5
    return rgb_to_lab(middles.astype(np.float64).reshape(-1, 3)).reshape(rgb.shape)


def descriptors(rgb: RGB, cells: tuple[int, ...], step: int) -> tuple[Doubles, Doubles, Doubles]:
    """Gradients, colours and places of a picture that is neither too large nor too small."""
    height, width, _ = rgb.shape
    grey, lab = brightness(rgb), lab_of(rgb)
    strengths = np.array(
        [[by_direction(*gradient(grey, y, x)) for x in range(width)] for y in range(height)]
    )
    gradients, colors, places = [], [], []
    for side in cells:
        for y in range(0, height - 4 * side + 1, step):
            for x in range(0, width - 4 * side + 1, step):
                one, other = [], []
                for i in range(4):
                    for j in range(4):
                        cell = inside(y + i * side, x + j * side, side, height, width)
                        one.append(np.mean([strengths[p] for p in cell], axis=0))
                        seen = np.array([lab[p] for p in cell])
                        other.append(np.concatenate([seen.mean(axis=0), seen.std(axis=0)]))
                gradients.append(root_sift(np.concatenate(one)))
                colors.append(np.concatenate(other))
                places.append([(y + 2 * side) / height, (x + 2 * side) / width])
    return np.array(gradients), np.array(colors), np.array(places)


def inside(y: int, x: int, side: int, height: int, width: int) -> list[tuple[int, int]]:
    """The pixels of a cell, which reaches a quarter of its side into its neighbours."""
    reach = side // 4
    return [
        (i, j)
        for i in range(y - reach, y + side + reach)
        for j in range(x - reach, x + side + reach)
        if 0 <= i < height and 0 <= j < width
    ]


def root_sift(row: Doubles) -> Doubles:
    row = row / max(math.sqrt(sum(v * v for v in row)), 3)
    row = np.array([min(v, 0.2) for v in row])
    return np.array([math.sqrt(v / max(row.sum(), 1)) for v in row])


def log_density(x: Doubles, mean: Doubles, variance: Doubles) -> float:
    total = 0.0
    for a, m, v in zip(x, mean, variance, strict=True):
        total += -0.5 * math.log(2 * math.pi * v) - (a - m) ** 2 / (2 * v)
    return total


def log_likelihood(x: Doubles, weights: Doubles, means: Doubles, variances: Doubles) -> float:
    every = zip(weights, means, variances, strict=True)
    return math.log(sum(w * math.exp(log_density(x, m, v)) for w, m, v in every))


def posteriors(points: Doubles, weights: Doubles, means: Doubles, variances: Doubles) -> Doubles:
    out = np.zeros((len(points), len(weights)))
    for n, x in enumerate(points):
        for k, w in enumerate(weights):
            out[n, k] = w * math.exp(log_density(x, means[k], variances[k]))
        out[n] /= out[n].sum()
    return out


def maximized(points: Doubles, shares: Doubles, floor: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Weights, means and variances that suit the shares of each component best."""
    n_components = shares.shape[1]
    weights = np.zeros(n_components)
    means, variances = (np.zeros((n_components, points.shape[1])) for _ in range(2))
    for k in range(n_components):
        won = shares[:, k].sum()
        weights[k] = (won + 1) / (len(points) + n_components)
        for d in range(points.shape[1]):
            means[k, d] = sum(shares[:, k] * points[:, d]) / won
            spread = sum(shares[:, k] * (points[:, d] - means[k, d]) ** 2) / won
            variances[k, d] = max(spread, floor[d])
    return weights, means, variances


def fisher_vector(points: Doubles, weights: Doubles, means: Doubles, variances: Doubles) -> Doubles:
    """The derivatives of the mean log-likelihood, taken numerically, by the Fisher information."""
    spreads = np.sqrt(variances)

    def mean_log(means: Doubles, spreads: Doubles) -> float:
        total = sum(log_likelihood(x, weights, means, spreads**2) for x in points)
        return total / len(points)

    h = 1e-5
    by_means, by_spreads = np.zeros_like(means), np.zeros_like(means)
    for k in range(len(means)):
        for d in range(means.shape[1]):
            bump = np.zeros_like(means)
            bump[k, d] = h
            slope = (mean_log(means + bump, spreads) - mean_log(means - bump, spreads)) / (2 * h)
            information = weights[k] / variances[k, d]
            by_means[k, d] = slope / math.sqrt(information)
            slope = (mean_log(means, spreads + bump) - mean_log(means, spreads - bump)) / (2 * h)
            by_spreads[k, d] = slope / math.sqrt(2 * information)
    return np.concatenate([by_means.ravel(), by_spreads.ravel()])
