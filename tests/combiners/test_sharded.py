"""Online combiners in shards: what mixing by hand gives, and the serial weights at one shard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.sharded import Rounds
from sightline.solvers.mixing import mixed


@pytest.mark.parametrize("learner", [OPR(), OPARI(C=0.1), OPARII(C=0.1), OGDR(eta=0.01)])
@pytest.mark.parametrize("averaged", [False, True])
def test_shards_mix_what_each_has_learnt(learner: Any, averaged: bool) -> None:
    rng = np.random.default_rng(3)
    rows = (rng.standard_normal((700, 6)) + 0.4).astype(np.float32)
    learner.set_params(averaged=averaged, shards=1)
    serial = learner.fit(rows).w_
    one = Rounds(learner._rule, learner._length, 1, "add", 10_000)
    now, late = np.zeros(6), np.zeros(6 if averaged else 0)
    one.learn(now, late, 0, rows, np.zeros(4, np.int64), np.zeros(2))
    assert np.allclose(now - late / 700 if averaged else now, serial, atol=1e-9)
    for mix in ("add", "mean"):
        learner.set_params(shards=3, mix=mix, mix_every=100)
        found = learner.fit(rows).w_
        w, total = np.zeros(6), np.zeros(6)
        for begin in range(0, 700, 100):
            part = rows[begin : begin + 100]
            ends, means, sizes = [], [], []
            for s in range(3):
                own = type(learner)(**{**learner.get_params(), "shards": 1, "averaged": True})
                own.start_from(w.astype(np.float32)).partial_fit(part[s::3])
                ends.append(own._now)
                means.append(own.w_)
                sizes.append(len(part[s::3]))
            total += len(part) * mixed(w, means, sizes, mix)
            w = mixed(w, ends, sizes, mix)
        assert np.allclose(found, total / 700 if averaged else w, atol=1e-6)
        assert learner.n_seen_ == 700 and learner.n_updates_ > 0


def test_one_shard_is_the_serial_learner_bit_by_bit() -> None:
    rows = np.random.default_rng(4).standard_normal((500, 36)).astype(np.float32)
    serial = OPARII(C=0.1).fit(rows).w_
    assert OPARII(C=0.1, shards=1, mix_every=3).fit(rows).w_.tobytes() == serial.tobytes()


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="'shards' parameter of OPR must be"):
        OPR(shards=0).fit([[1.0]])
