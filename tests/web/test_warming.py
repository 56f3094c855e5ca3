"""The first requests of a started server: what they load, counted in a fresh process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.web.service import Service
from tests.factories.fresh_python import output_of
from tests.factories.servers import listening
from tests.factories.tagged_collections import copied

# Prints what each of two equal rounds of requests imported and opened, after `warmed` was run.
CODE = """
import json, sys
from sightline.collection import Collection
from sightline.web.service import Service
from tests.factories.counted_work import opened_files
from tests.factories.servers import listening

root, store, warmed = sys.argv[1:4]
requests = json.loads(sys.argv[4])
Service.warm_rest, rest = lambda self: None, Service.warm_rest
if "words" not in warmed:
    Service.warm = lambda self: None
c = Collection.open(root, store=store, workers=1)
with listening(Service(c)) as s:
    if "rest" in warmed:
        rest(s.service)
    rounds = []
    for _ in range(2):
        before = set(sys.modules)
        def ask():
            for path, body in requests:
                assert s.post(path, body).status in (200, 201), path
        opened = opened_files(ask)
        rounds.append([sorted(set(sys.modules) - before), opened])
print(json.dumps(rounds))
"""
SEARCH = [
    ("/v1/search", {"query": "red", "k": 90, "cut": False}),
    ("/v1/search", {"query": "warm -blue"}),
]  # fmt: skip
# Other modules are those of the server, which imports some when it starts to listen.
OF_SEARCHES = ("sightline", "numba", "scipy", "numpy")
REST = [
    ("/v1/search", {"query": "gren"}), ("/v1/similar", {"positive": [3], "k": 5}),
    ("/v1/sessions", {"query": "red"}), ("/v1/sessions", {"positive": [4]}),
]  # fmt: skip


@pytest.fixture(scope="module")
def collection(taught: Collection, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Copy the shared collection, since sessions write to its log."""
    return copied(taught.store_folder.path.parent, tmp_path_factory.mktemp("warming"))


def loaded(c: Collection, warmed: str, requests: list[tuple[str, object]]) -> tuple[set[str], ...]:
    """Return the modules that first requests import, and the files that they alone open."""
    arguments = [os.fsdecode(c.root), str(c.store_folder.path), warmed, json.dumps(requests)]
    code = f"import sys; sys.argv[1:] = {arguments!r}\n{CODE}"
    root = Path(__file__).parents[2]
    first, second = json.loads(output_of(code, PYTHONPATH=str(root)))
    modules = {m for m in first[0] if m.partition(".")[0] in OF_SEARCHES}
    kernels_and_store = (".nbi", ".nbc", ".json", ".safetensors", ".sqlite3", ".toml")
    files = {f for f in first[1] if f.endswith(kernels_and_store)}
    return modules, files - set(second[1])


def test_the_first_search_loads_nothing(collection: Collection) -> None:
    modules, files = loaded(collection, "words", SEARCH)
    assert not modules
    assert not files


def test_a_server_that_was_not_warmed_loads_the_compiler_for_its_first_search(
    collection: Collection,
) -> None:
    modules, files = loaded(collection, "", SEARCH)
    assert "sightline.store.engines._word_rows_fast" in modules
    assert any(f.endswith(".nbi") for f in files)


def test_the_first_similar_session_and_misspelt_query_load_nothing_later(
    collection: Collection,
) -> None:
    modules, files = loaded(collection, "words rest", REST)
    assert not modules
    assert not files


def test_a_server_is_ready_after_it_was_warmed(
    taught: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(Service, "warm", lambda self: order.append("warm"))
    with listening(Service(taught)):
        order.append("ready")
    assert order == ["warm", "ready"]
