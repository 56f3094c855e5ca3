"""Several collections and servers on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from sightline.collection import Collection
from tests.cli.test_commands import Ran, Shell
from tests.factories.servers import Served, painted, running


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return painted(tmp_path_factory.mktemp("second") / "work", train=False, n=24)


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], taught: Collection) -> Shell:
    return Shell(capfd, Path(taught.root.decode()), taught.store_folder.path)


@pytest.fixture
def several(taught: Collection, second: Collection) -> list[str]:
    roots = [f"--collection={c.root.decode()}" for c in (taught, second)]
    return [*roots, *(f"--store={c.store_folder.path}" for c in (taught, second))]


def run(shell: Shell, *arguments: str) -> Ran:
    return shell(*arguments, place=False)


def test_search_names_the_collection_of_each_hit(shell: Shell, several: list[str]) -> None:
    ran = run(shell, "search", "red", "-k", "40", *several)
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert ran.code == 0 and len(rows) > 20
    assert [r[0] for r in rows][:4] == ["exact"] * 4 and rows[-1][0].endswith("%")
    # The first pictures of the second collection are also in the first one.
    first, other = "taught0-photos", "work-photos"
    assert {r[1] for r in rows} == {first} and rows[0][3] == f"(also in {other})"
    names = {first}
    assert all(Path(r[2]).exists() for r in rows)
    assert "there is no word model yet" in ran.err
    answer = json.loads(run(shell, "search", "red", "--json", *several).out)
    assert answer["query"] == "red" and answer["complete"] is True
    assert {h["collection"] for h in answer["hits"]} == names
    table = list(csv.DictReader(io.StringIO(run(shell, "search", "red", "--csv", *several).out)))
    assert [r["path"] for r in table] == [h["path"] for h in answer["hits"]]
    paths = run(shell, "search", "red", "-f", *several).out.splitlines()
    assert paths == [r["path"] for r in table]


def test_a_collection_that_does_not_answer_is_named_and_sets_the_exit_code(
    shell: Shell, taught: Collection, tmp_path: Path
) -> None:
    stores = [f"--store={taught.store_folder.path}", f"--store={tmp_path / 's'}"]
    folders = ["-C", taught.root.decode(), "-C", str(tmp_path / "gone")]
    ran = run(shell, "search", "red", *folders, *stores)
    assert ran.code == 1 and ran.out.count("\n") == 10
    assert "gone did not answer: " in ran.err and "photos" not in ran.err


def test_a_server_is_named_by_its_address_and_its_token_by_a_file(
    shell: Shell, taught: Collection, second: Collection, tmp_path: Path
) -> None:
    with running(second) as served:
        token = tmp_path / "token"
        token.write_text(served.service.token)
        server = ["--server", served.address.url, "--server-token", str(token)]
        here = ["-C", taught.root.decode(), "--store", str(taught.store_folder.path)]
        ran = run(shell, "search", "red", *here, *server)
        named = {line.split("\t")[1] for line in ran.out.splitlines()}
        assert ran.code == 0 and named == {"photos", f"127.0.0.1:{served.port}"}
        # Options before the command name a collection too.
        before = run(shell, *here, "search", "red", *server)
        assert before.out == ran.out
        alone = run(shell, "search", "red", *server)
        assert alone.code == 0 and f"127.0.0.1:{served.port}\t" in alone.out
        files = run(shell, "search", "red", "-f", *server)
        assert files.out == "" and "hits are on servers" in files.err
        assert run(shell, "search", "red", *server[:2]).code == 2
    assert run(shell, "search", "red", *here, *server).code == 1


def test_options_of_one_collection_are_not_ignored(shell: Shell, several: list[str]) -> None:
    for options in (["--why"], ["--trec"], ["--where"], ["--like", "a.jpg"], ["--sheet", "a.png"]):
        ran = run(shell, "search", "red", *options, *several)
        assert ran.code == 2 and "works with one collection" in ran.err, options
    assert run(shell, "search", "red", *several[:3]).code == 2
    assert run(shell, "search", *several).code == 2


def test_similar_compares_one_file_with_several_collections(
    shell: Shell, several: list[str], taught: Collection
) -> None:
    file = str(next(Path(taught.root.decode()).glob("*.png")))
    ran = run(shell, "similar", file, *several)
    assert ran.code == 0 and ran.out.startswith("1.000\t") and str(Path(file)) in ran.out
    assert run(shell, "similar", file, file, *several).code == 2
    assert run(shell, "similar", file, "--why", *several).code == 2


def test_one_collection_is_searched_as_ever(shell: Shell, served: Served) -> None:
    ran = shell("search", "red")
    assert ran.code == 0 and all(len(line.split("\t")) == 2 for line in ran.out.splitlines())
