"""Requests made from the description of the service: none breaks it, and answers are as described.

SIGHTLINE_EXAMPLES=1000 asks so often for each operation; by default it is asked a few times. Where
an answer of one operation is what another one asks for, requests also follow each other.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sightline.collection import Collection
from sightline.collection.words import Words
from sightline.web.app import build
from sightline.web.jobs import Jobs, ServerJob
from sightline.web.service import Service
from sightline.web.session_pool import SessionPool
from tests.factories.servers import Served, painted, running
from tests.factories.tagged_collections import copied

EXAMPLES = int(os.environ.get("SIGHTLINE_EXAMPLES", "6"))
# The first example of every seed is the simplest, so that few examples are better of one seed.
SEEDS = (1,) if EXAMPLES < 60 else (1, 2, 3)
# Of each operation as it may be asked, and as it may not, by each of the seeds.
OF_EACH = max(1, EXAMPLES // (2 * len(SEEDS)))
# Walks by each of the seeds, and requests that follow each other in one.
WALKS, STEPS = max(20, EXAMPLES // len(SEEDS)), 8
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_headers_conformance, response_schema_conformance,
]  # fmt: skip
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
# Values at which programs break: borders of numbers, empty things, other types.
EDGES = [
    "0", "-1", "1", "1000", "1001", "2147483647", "2147483648", "4294967296", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e3", "1.5", "NaN",
    "inf", "-0", "00", "0x10", "+1", " 1", "1_000", "true", "null", "", " ", "None", "[]",
    "{}", "'", '"', "\\", "%", "%00", "%ff", "%F0%9F%98%80", "%E2%80%AE", "a" * 3000, "../x", ";",
    "--", "*", "?x",
    "1,2", "1&1=1", "%0d%0aX: y", "\u0661", "%C3%28", "-", "+", "~", "$(x)", "{{x}}", "%s", "%n",
    "1/", "=", "==", "undefined", "01234567890123456789",
]  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection that may be changed in any way."""
    with running(painted(tmp_path_factory.mktemp("asked"), n=30)) as found:
        yield found


@pytest.fixture(autouse=True)
def jobs_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for each of thousands of jobs."""

    def run(self: Jobs, job: ServerJob) -> None:
        job.tell("progress", what="x", done=0, total=None, note="")
        job.end("done", report={})

    monkeypatch.setattr(Jobs, "_run", run)


def operations(c: Collection) -> list[Any]:
    schema = schemathesis.openapi.from_dict(build(Service(c)).openapi())
    return [r.ok() for r in schema.get_all_operations()]  # type: ignore[union-attr]


def ask_many(
    s: Served,
    operation: Any,
    examples: int,
    mode: GenerationMode = GenerationMode.POSITIVE,
    number: int = 0,
) -> list[str]:
    """Ask for one operation as the description allows, or as it does not, and check answers.

    Return the operation's name for each answer that was a problem and told its version.
    """
    problems: list[str] = []
    known = {
        "session": s.client.begin("red").session, "job": s.client.start("evaluate").id,
        "picture": 3, "collection": "pictures", "model": "words",
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {s.service.token}"}
    turn = iter(range(10**9))

    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        if next(turn) % 4 and case.path_parameters:
            # Most ids somebody makes up are nobody's; look behind them too.
            case.path_parameters = {k: known.get(k, v) for k, v in case.path_parameters.items()}
        reply = case.call_and_validate(base_url=s.address.url, headers=headers, checks=CHECKS)
        if reply.status_code >= 400 and reply.status_code not in (401, 403):
            assert reply.json()["version"] == s.service.collection.store.version(), reply.text
            problems.append(operation.label)

    check()
    return problems


def test_nothing_that_can_be_asked_breaks_the_service(asked: Served) -> None:
    found = operations(asked.service.collection)
    assert len(found) >= 35
    problems: set[str] = set()
    for operation in found:
        for mode, number in itertools.product(MODES, SEEDS):
            problems.update(ask_many(asked, operation, OF_EACH, mode, number))
    assert len(problems) >= 25
    assert asked.client.search("red").hits and asked.service.collection.store.verify().sound


def test_nothing_asked_of_regions_breaks_the_service(tagged: Path, tmp_path: Path) -> None:
    with running(copied(tagged, tmp_path)) as s:
        c, paths = s.service.collection, ("/v1/tags", "/v1/tags/answers", "/v1/where", "/v1/scenes")
        found = [o for o in operations(c) if o.path in paths]
        assert len(found) == len(paths)
        for operation in found:
            for mode, number in itertools.product(MODES, SEEDS):
                ask_many(s, operation, OF_EACH, mode, number)


def walk(s: Served, number: int, walks: int) -> Counter[str]:
    """Ask one thing after another, with what answers say; return how often each was asked."""
    asked: Counter[str] = Counter()
    schema = schemathesis.openapi.from_dict(build(Service(s.service.collection)).openapi())

    class Walk(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {s.service.token}"}
            return {"base_url": s.address.url, "headers": headers}

        def validate_response(self, response: Any, case: Any, *more: Any, **named: Any) -> None:
            asked[case.operation.label] += 1
            case.validate_response(response, checks=CHECKS)

    how = settings(
        max_examples=walks, stateful_step_count=STEPS, deadline=None, database=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(Walk), settings=how)
    return asked


def test_requests_that_follow_each_other_break_nothing(asked: Served) -> None:
    found: Counter[str] = Counter()
    for number in SEEDS:
        found += walk(asked, number, WALKS)
    # What is asked for by an id, of one that an answer gave.
    assert sum(n for label, n in found.items() if "{session}" in label) >= 2
    assert sum(n for label, n in found.items() if "{job}" in label) >= 2
    assert asked.service.collection.store.verify().sound


def test_a_fault_behind_another_request_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: SessionPool, name: str) -> Any:
        raise IndexError("planted")

    with running(painted(tmp_path, n=30)) as s:
        monkeypatch.setattr(SessionPool, "use", faulty)
        with pytest.raises(FailureGroup, match="Server error"):
            walk(s, 1, 60)


def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Words.topics

    def faulty(self: Words, n: int, **more: Any) -> Any:
        if n > 50 and more.get("dimension") is None:
            raise IndexError("planted")
        return real(self, n, **more)

    with running(painted(tmp_path, n=30)) as s:
        (topics,) = [o for o in operations(s.service.collection) if o.path == "/v1/topics"]
        ask_many(s, topics, 100)
        monkeypatch.setattr(Words, "topics", faulty)
        with pytest.raises(FailureGroup, match="Server error"):
            ask_many(s, topics, 100)


def test_values_at_which_programs_break(asked: Served) -> None:
    assert len(EDGES) >= 60
    paths = [
        "/v1/pictures/{}", "/v1/pictures/{}/thumbnail", "/v1/pictures/{}/words?limit=1",
        "/v1/pictures/1/words?limit={}", "/v1/topics?words={}", "/v1/topics?dimension={}",
        "/v1/topics?pictures={}", "/v1/topics/near?word={}", "/v1/sessions?limit={}",
        "/v1/sessions?cursor={}", "/v1/sessions/{}/hits", "/v1/jobs/{}", "/v1/jobs/{}/events",
        "/v1/models/compare?a={}&b=1", "/v1/folders?cursor={}", "/v1/skipped?limit={}",
    ]  # fmt: skip
    for path in paths:
        for edge in EDGES:
            sent = edge.encode().decode("latin-1").replace(" ", "%20").replace("\\", "%5C")
            assert 200 <= asked.ask("GET", path.format(sent)).status < 500, (path, edge)
    for edge in EDGES:
        for body in (
            {"query": edge}, {"query": "red", "limit": edge}, {"query": "red", "cursor": edge},
            {"query": "red", "filters": {"after": edge}}, {"query": "red", "like": [edge]},
            {"query": "red", "filters": {"min_side": edge}},
        ):  # fmt: skip
            assert 200 <= asked.post("/v1/search", body).status < 500, body
        assert (
            asked.ask("GET", "/v1/health", headers={"Range": f"bytes={edge[:40]!a}"}).status == 200
        )
