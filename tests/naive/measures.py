"""Slow, readable twins of the measures: plain lists and loops, straight from the definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

ListMeasure = Callable[[list[float]], float]


def ranked(
    scores: Sequence[float], grades: Sequence[float], ids: Sequence[int] | None = None
) -> list[float]:
    """Grades by score descending, then id ascending."""
    names = list(range(len(scores))) if ids is None else list(ids)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], names[i]))
    return [grades[i] for i in order]


def tied_orders(scores: Sequence[float], grades: Sequence[float]) -> Iterator[list[float]]:
    """Every ranked list that the scores allow, each order of tied pictures once."""
    groups = [
        [g for s, g in zip(scores, grades, strict=True) if s == score]
        for score in sorted(set(scores), reverse=True)
    ]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [g for part in parts for g in part]


def expected(measure: ListMeasure, scores: Sequence[float], grades: Sequence[float]) -> float:
    """Mean of a measure over every order of the tied pictures."""
    values = [measure(order) for order in tied_orders(scores, grades)]
    return sum(values) / len(values)


def precision(grades: list[float], k: int) -> float:
    return sum(1 for g in grades[:k] if g > 0) / k


def hits(grades: list[float], k: int) -> float:
    return sum(precision(grades, i) for i in range(1, min(k, len(grades)) + 1) if grades[i - 1] > 0)


def n_relevant(grades: list[float]) -> int:
    return sum(1 for g in grades if g > 0)


def break_even_point(grades: list[float]) -> float:
    return precision(grades, n_relevant(grades))


def average_precision(grades: list[float]) -> float:
    return hits(grades, len(grades)) / n_relevant(grades)


def average_precision_at(grades: list[float], k: int) -> float:
    return hits(grades, k) / k


def map_at(grades: list[float], k: int) -> float:
    inside = n_relevant(grades[:k])
    return hits(grades, k) / inside if inside else 0.0


def discounted_gain(grades: list[float], k: int, *, older: bool) -> float:
    total = 0.0
    for r, g in enumerate(grades[:k], 1):
        if older:
            divisor = 1.0 if r <= 2 else math.log2(r)
        else:
            divisor = math.log2(1 + r)
        total += (2 ** max(g, 0.0) - 1) / divisor
    return total


def ndcg_at(grades: list[float], k: int, *, older: bool = False) -> float:
    ideal = discounted_gain(sorted(grades, reverse=True), k, older=older)
    return discounted_gain(grades, k, older=older) / ideal


def reciprocal_rank(grades: list[float]) -> float:
    return next(1 / r for r, g in enumerate(grades, 1) if g > 0)


def auc(scores: Sequence[float], grades: Sequence[float]) -> float:
    pairs = [
        (a, b)
        for a, good in zip(scores, grades, strict=True)
        for b, bad in zip(scores, grades, strict=True)
        if good > 0 and bad <= 0
    ]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def interpolated_precision(grades: list[float], level: float) -> float:
    total = n_relevant(grades)
    reached = [
        precision(grades, r)
        for r in range(1, len(grades) + 1)
        if n_relevant(grades[:r]) / total >= level
    ]
    return max(reached, default=0.0)


def annotation(
    truth: list[list[int]], predicted: list[list[int]]
) -> tuple[float, float, float, int]:
    """Mean precision, mean recall, F1 of the means and N+."""
    precisions, recalls = [], []
    for true, given in zip(zip(*truth, strict=True), zip(*predicted, strict=True), strict=True):
        if not any(true):
            continue
        right = sum(1 for t, g in zip(true, given, strict=True) if t and g)
        precisions.append(right / sum(given) if any(given) else 0.0)
        recalls.append(right / sum(true))
    p, r = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return p, r, 2 * p * r / (p + r) if p + r else 0.0, sum(1 for x in recalls if x > 0)


def f_measure(truth: list[list[int]], predicted: list[list[int]]) -> tuple[float, float]:
    """Micro and macro F."""
    pairs = [list(zip(t, g, strict=True)) for t, g in zip(truth, predicted, strict=True)]

    def one(decisions: list[tuple[int, int]]) -> float:
        right = sum(1 for t, g in decisions if t and g)
        wrong = sum(1 for t, g in decisions if t != g)
        return 2 * right / (2 * right + wrong)

    macro = [one(row) for row in pairs if any(t or g for t, g in row)]
    return one([d for row in pairs for d in row]), sum(macro) / len(macro)


def normalized_mutual_information(clusters: Sequence[object], classes: Sequence[object]) -> float:
    n = len(clusters)
    pairs = list(zip(clusters, classes, strict=True))

    def entropy(labels: Sequence[object]) -> float:
        return -sum(labels.count(x) / n * math.log(labels.count(x) / n) for x in set(labels))

    information = sum(
        pairs.count((a, b))
        / n
        * math.log(n * pairs.count((a, b)) / (clusters.count(a) * classes.count(b)))
        for a, b in set(pairs)
    )
    both = entropy(clusters) + entropy(classes)
    return 1.0 if both == 0 else information / (both / 2)


def sign_flip_p(differences: Sequence[float], statistic: Callable[[list[float]], float]) -> float:
    """Share of all sign patterns whose statistic is as far from 0 as the observed one."""
    observed = abs(statistic(list(differences)))
    reached = [
        abs(statistic([s * d for s, d in zip(signs, differences, strict=True)])) >= observed - 1e-9
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(reached) / len(reached)


def signed_ranks(differences: list[float]) -> float:
    """Sum of the signs times the (mid)ranks of the absolute differences."""
    sizes = sorted(abs(d) for d in differences)
    total = 0.0
    for d in differences:
        places = [i for i, size in enumerate(sizes, 1) if size == abs(d)]
        total += math.copysign(sum(places) / len(places), d)
    return total
