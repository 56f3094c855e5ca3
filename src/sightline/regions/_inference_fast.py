"""Compiled: the best tags for the regions of a picture, exactly, by branch and bound.

Every tag has a gain b and may hold regions, each of value a; a region belongs to one tag at most.
If a price v >= 0 is put on each region instead, tags no longer depend on each other: a tag holds
all regions above their price, one at least, or is absent, and

    D(v) = sum_i v_i + sum_j max(0, b_j + max over sets T of regions of sum_T (a_ij - v_i))

is never below the best value (the Lagrangian bound, whose least value is that of the linear
programme); no T is empty. Tags with b >= 0 need no branching: once the others are fixed, an
assignment solves the rest, and its prices are the start of the search for a bound; then prices are
moved one at a time, to the middle of where D is least. Tags that the bound decides are fixed, and
the search branches on the most uncertain other.

Tables are (tags, regions) here, so that the regions of a tag lie side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Ints

States = NDArray[np.int8]

FREE, OPEN, CLOSED = 0, 1, 2
# A tag in an assignment: left out, with a region or without, or with one at least.
_OUT, _MAY, _MUST = 0, 1, 2
NOBODY = -1
_ROOT_PASSES, _PASSES = 8, 3
_NEAR = 1e-9
# Sums that are kept up to date have rounding errors; below this they are recomputed.
_ALONE = 1e-9
_STILL = 1e-6


@njit(cache=True, nogil=True)
def representatives(cost: Doubles, rep: Ints, w: Doubles) -> None:
    """Assign each row a column of its own with the least sum of costs; rows <= columns.

    The Hungarian method by shortest paths, rows one after the other. `w`, one longer than the
    columns, is filled with their dual variables, from 1 on: 0 or below.
    """
    rows, columns = cost.shape
    u = np.zeros(rows + 1)
    w[:] = 0.0
    match, way = np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64)
    for row in range(1, rows + 1):
        match[0] = row
        at = 0
        least, visited = np.full(columns + 1, np.inf), np.zeros(columns + 1, np.bool_)
        while match[at] != 0:
            visited[at] = True
            row_at, step, nearest = match[at], np.inf, 0
            for c in range(1, columns + 1):
                if not visited[c]:
                    reduced = cost[row_at - 1, c - 1] - u[row_at] - w[c]
                    if reduced < least[c]:
                        least[c], way[c] = reduced, at
                    if least[c] < step:
                        step, nearest = least[c], c
            for c in range(columns + 1):
                if visited[c]:
                    u[match[c]] += step
                    w[c] -= step
                else:
                    least[c] -= step
            at = nearest
        while at != 0:
            match[at] = match[way[at]]
            at = way[at]
    for c in range(1, columns + 1):
        if match[c] != 0:
            rep[match[c] - 1] = c - 1


@njit(cache=True, nogil=True)
def place(a: Doubles, active: Ints, owner: Ints) -> float:
    """Give every active tag one region at least; return the value of all, without tags' gains.

    Exact: tags take representatives that cost least, all other regions their best tag. `owner` gets
    the tag of each region. -inf where there are more tags than regions.
    """
    n, regions = len(active), a.shape[1]
    if n > regions:
        return -np.inf
    total, best = 0.0, np.zeros(regions)
    has = np.zeros(a.shape[0], np.bool_)
    for i in range(regions):
        owner[i] = NOBODY
        for k in range(n):
            if a[active[k], i] > best[i]:
                best[i], owner[i] = a[active[k], i], active[k]
        total += best[i]
        if owner[i] != NOBODY:
            has[owner[i]] = True
    missing = 0
    for k in range(n):
        missing += not has[active[k]]
    if missing == 0:
        return total
    cost, rep = np.empty((n, regions)), np.empty(n, np.int64)
    for k in range(n):
        for i in range(regions):
            cost[k, i] = best[i] - a[active[k], i]
    representatives(cost, rep, np.empty(regions + 1))
    for k in range(n):
        owner[rep[k]] = active[k]
        total -= cost[k, rep[k]]
    return total


@njit(cache=True, nogil=True)
def matched(a: Doubles, b: Doubles, part: States, owner: Ints, v: Doubles) -> float:
    """Return the best value if some tags may hold regions and some must; -inf if they cannot.

    Exact where no tag that may has a gain below 0: each is assigned a region, or none.
    `owner` gets the tag of each region, `v` prices by which the bound is this value.
    """
    regions, n, optional = a.shape[1], 0, 0
    rows = np.empty(len(b), np.int64)
    for j in range(len(b)):
        if part[j] != _OUT:
            rows[n] = j
            n += 1
            optional += part[j] == _MAY
    if n - optional > regions:
        return -np.inf
    best, total = np.zeros(regions), 0.0
    for i in range(regions):
        owner[i] = NOBODY
        for k in range(n):
            if a[rows[k], i] > best[i]:
                best[i], owner[i] = a[rows[k], i], rows[k]
        total += best[i]
    cost = np.full((n, regions + optional), np.inf)
    for k in range(n):
        for i in range(regions):
            cost[k, i] = best[i] - a[rows[k], i] - b[rows[k]]
        if part[rows[k]] == _MAY:
            cost[k, regions:] = 0.0
    rep, w = np.empty(n, np.int64), np.empty(regions + optional + 1)
    representatives(cost, rep, w)
    for k in range(n):
        total -= cost[k, rep[k]]
        if rep[k] < regions:
            owner[rep[k]] = rows[k]
    for i in range(regions):
        v[i] = best[i] - w[i + 1]
    return total


@njit(cache=True, nogil=True)
def worth(a: Doubles, b: float, v: Doubles, without: int) -> tuple[float, float]:
    """Return the value of a tag at these prices, and the sum over its regions above their price.

    Region `without` is left out of both; NOBODY leaves out none.
    """
    positive, best = 0.0, -np.inf
    for k in range(len(v)):
        if k != without:
            d = a[k] - v[k]
            best = max(best, d)
            positive += max(d, 0.0)
    return b + (positive if best >= 0.0 else best), positive


@njit(cache=True, nogil=True)
def bound_at(a: Doubles, b: Doubles, state: States, v: Doubles, gain: Doubles) -> float:
    """Return D at these prices; `gain` is filled with the value of each tag that is not closed."""
    bound: float = v.sum()
    for j in range(len(b)):
        if state[j] != CLOSED:
            gain[j] = worth(a[j], b[j], v, NOBODY)[0]
            bound += gain[j] if state[j] == OPEN else max(gain[j], 0.0)
    return bound


@njit(cache=True, nogil=True)
def descend(
    a: Doubles, b: Doubles, state: States, v: Doubles, passes: int, floor: float, gain: Doubles
) -> float:
    """Move prices, one at a time, to where the bound is least, or below the floor; return it.

    `gain` is filled with the value of each tag that is not closed at the last prices.
    """
    tags, regions = a.shape
    bound = bound_at(a, b, state, v, gain)
    positive = np.zeros(tags)
    for _ in range(passes):
        for j in range(tags):
            if state[j] != CLOSED:
                positive[j] = worth(a[j], b[j], v, NOBODY)[1]
        for i in range(regions):
            # Below its h a price makes a tag claim the region; one may claim it, a second not.
            first, second = 0.0, 0.0
            for j in range(tags):
                if state[j] == CLOSED:
                    continue
                rest = positive[j] - max(a[j, i] - v[i], 0.0)
                other = b[j] + rest
                if rest <= _ALONE:
                    # No other region is above its price: the tag would have to take its least bad
                    # one.
                    other, rest = worth(a[j], b[j], v, i)
                base = other if state[j] == OPEN else max(other, 0.0)
                h = a[j, i] + b[j] + rest - base
                if h > first:
                    first, second = h, first
                elif h > second:
                    second = h
            price = second if first == np.inf else (first + second) / 2
            for j in range(tags):
                positive[j] += max(a[j, i] - price, 0.0) - max(a[j, i] - v[i], 0.0)
            v[i] = price
        before = bound
        bound = bound_at(a, b, state, v, gain)
        if bound <= floor or before - bound <= _STILL * (1.0 + abs(bound)):
            break
    return bound


@njit(cache=True, nogil=True)
def settle(b: Doubles, state: States, gain: Doubles, bound: float, least: float) -> int:
    """Fix tags that the bound decides; return the most uncertain one left, or NOBODY."""
    uncertain = NOBODY
    for j in range(len(state)):
        if state[j] != FREE or b[j] >= 0.0:
            continue
        if bound - abs(gain[j]) <= least:
            state[j] = OPEN if gain[j] > 0 else CLOSED
        elif uncertain == NOBODY or abs(gain[j]) < abs(gain[uncertain]):
            uncertain = j
    return uncertain


@njit(cache=True, nogil=True)
def _attempt(
    a: Doubles, b: Doubles, state: States, gain: Doubles, owner: Ints, v: Doubles
) -> float:
    """Return the value of tags that are open, of positive value or free of cost; fill prices v."""
    part = np.zeros(len(b), np.int8)
    for j in range(len(b)):
        if state[j] == OPEN or (state[j] == FREE and b[j] < 0.0 and gain[j] > 0):
            part[j] = _MUST
        elif state[j] == FREE and b[j] >= 0.0:
            part[j] = _MAY
    return matched(a, b, part, owner, v)


@njit(cache=True, nogil=True)
def best_tags(
    a: Doubles, b: Doubles, floor: float, most: int, owner: Ints, prices: Doubles
) -> tuple[float, int]:
    """Find the best value above `floor`, and the tag of each region; at most so many nodes.

    `prices` of regions are the start, and are filled with those of the first bound. Returns the
    value, -inf if none is above the floor, and the nodes visited, one more than allowed where the
    search was given up.
    """
    tags, regions = a.shape
    best = floor
    if floor < 0.0:
        best = 0.0
        owner[:] = NOBODY
    v, states = np.zeros((tags + 2, regions)), np.zeros((tags + 2, tags), np.int8)
    gain, trial = np.zeros(tags), np.empty(regions, np.int64)
    for j in range(tags):
        # A tag without value when regions are free never has any.
        if worth(a[j], b[j], v[0], NOBODY)[0] <= 0.0:
            states[0, j] = CLOSED
    v[0] = prices
    height, nodes = 1, 0
    state, price, other = np.empty(tags, np.int8), np.empty(regions), np.empty(regions)
    while height > 0:
        nodes += 1
        if nodes > most:
            return best, nodes
        height -= 1
        state[:], price[:] = states[height], v[height]
        bound = bound_at(a, b, state, price, gain)
        value = _attempt(a, b, state, gain, trial, other)
        if value > best:
            best = value
            owner[:] = trial
        if value > -np.inf and bound_at(a, b, state, other, gain) < bound:
            price[:] = other
        near = _NEAR * (1.0 + abs(best))
        passes = _ROOT_PASSES if nodes == 1 else _PASSES
        bound = descend(a, b, state, price, passes, best + near, gain)
        if nodes == 1:
            prices[:] = price
        if bound <= best + near:
            continue
        at = settle(b, state, gain, bound, best + near)
        if at == NOBODY:
            for j in range(tags):
                # No free tag has a positive value, so that the open ones are the solution.
                gain[j] = 0.0
            value = _attempt(a, b, state, gain, trial, other)
            if value > best:
                best = value
                owner[:] = trial
            continue
        for child in range(2):
            states[height], v[height] = state, price
            # The likelier branch is visited first, so it is put on top.
            wanted = (gain[at] > 0) == (child == 1)
            states[height, at] = OPEN if wanted else CLOSED
            height += 1
    return (best if best > floor else -np.inf), nodes


@njit(cache=True, nogil=True)
def best_scene(
    a: Doubles, B: Doubles, const: Doubles, most: int, owner: Ints
) -> tuple[float, int, int]:
    """Return the best value over scenes, the scene, and the most nodes that one took.

    a : (tags, regions); B : (scenes, tags) gains of tags; const : the further value of each scene.
    """
    scenes, tags = B.shape
    bounds, prices = np.empty(scenes), np.zeros(a.shape[1])
    # Cheap bounds first: a scene that cannot win is not searched.
    for i in range(a.shape[1]):
        for j in range(tags):
            prices[i] = max(prices[i], a[j, i])
    state, gain = np.zeros(tags, np.int8), np.zeros(tags)
    for s in range(scenes):
        bounds[s] = const[s] + bound_at(a, B[s], state, prices, gain)
    trial = np.empty(a.shape[1], np.int64)
    best, scene, nodes = -np.inf, 0, 0
    for s in np.argsort(-bounds):
        if bounds[s] <= best:
            break
        # Prices with a tight bound for one scene mostly have one for others.
        if best > -np.inf and const[s] + bound_at(a, B[s], state, prices, gain) <= best:
            continue
        value, used = best_tags(a, B[s], best - const[s], most, trial, prices)
        nodes = max(nodes, used)
        if value > -np.inf and value + const[s] > best:
            best, scene = value + const[s], s
            owner[:] = trial
    return best, scene, nodes


@njit(cache=True, nogil=True)
def best_scenes(
    A: Doubles, start: Ints, B: Doubles, extra: Doubles, const: Doubles, most: int,
    values: Doubles, scenes: Ints, owner: Ints, nodes: Ints,
) -> None:  # fmt: skip
    """Find the best scene and tags of many pictures.

    A : (regions of all pictures, tags), those of picture n from start[n] to start[n + 1].
    B : (scenes, tags); extra : (pictures, tags) more gain of tags; const : (pictures, scenes).
    """
    gains = np.empty_like(B)
    for n in range(len(values)):
        part = slice(start[n], start[n + 1])
        for s in range(len(B)):
            gains[s] = B[s] + extra[n]
        values[n], scenes[n], nodes[n] = best_scene(
            A[part].T.copy(), gains, const[n], most, owner[part]
        )


@njit(cache=True, nogil=True)
def place_all(A: Doubles, start: Ints, Y: NDArray[np.bool_], values: Doubles, owner: Ints) -> None:
    """Place the given tags of many pictures; -inf where there are more tags than regions."""
    for n in range(len(values)):
        part = slice(start[n], start[n + 1])
        values[n] = place(A[part].T.copy(), np.flatnonzero(Y[n]), owner[part])
