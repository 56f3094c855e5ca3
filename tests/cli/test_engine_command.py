"""`sightline engine load|status`, and the name that older releases gave it."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_commands import Shell, indexed, shell

pytest.importorskip("faiss")
__all__ = ["indexed", "shell"]


def test_an_engine_is_loaded_by_both_names(indexed: Shell) -> None:
    plain = indexed("engine", "load", "faiss")
    assert plain.code == 0 and plain.out == indexed("export", "faiss").out
    listed = indexed("engine", "load", "faiss", "--json", "--dry-run")
    assert listed.code == 0 and json.loads(listed.out) == []


def test_the_status_of_a_scan(indexed: Shell) -> None:
    ran = indexed("engine", "status", "--json")
    expected = {"engine": "flat", "ready": True, "about": "all vectors are scanned", "problems": []}
    assert ran.code == 0 and json.loads(ran.out) == expected


def test_an_engine_that_is_not_there(indexed: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_ENGINE", "milvus://127.0.0.1:9")
    ran = indexed("engine", "status")
    assert ran.code == 1 and "degraded" in ran.out


def test_wrong_use(indexed: Shell) -> None:
    assert "--uri says where Milvus is" in indexed("engine", "load", "faiss", "--uri", "x").err
    assert indexed("engine", "load", "lucene").code == 2
