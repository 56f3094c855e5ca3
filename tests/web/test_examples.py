"""Every example of the page about the service is run, and what it shows is what is answered."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from sightline.web.app import build
from tests.factories.servers import Served, painted, running
from tests.factories.tagged_collections import copied
from tests.waiting import LIMIT

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
_MARK = "\n==== {}\n"


def alike(shown: Any, got: Any, at: str = "") -> None:
    """Check that two values have the same names and types; numbers and texts may differ."""
    if isinstance(shown, dict) and shown:
        assert isinstance(got, dict) and set(shown) == set(got), at
        for k in shown:
            alike(shown[k], got[k], f"{at}.{k}")
    elif isinstance(shown, list) and shown:
        assert isinstance(got, list) and got, at
        alike(shown[0], got[0], f"{at}[0]")
    elif isinstance(shown, bool) or shown is None or isinstance(shown, str):
        assert got is None or shown is None or isinstance(got, type(shown)), at


def answers(s: Served, blocks: dict[int, str]) -> dict[int, str]:
    """Run blocks of commands one after another; return what the last command of each printed."""
    script = ["set -eu"]
    for i, text in blocks.items():
        # What is shown below several commands is the answer of the last one.
        for part in re.split(r"\n(?=(?:ask|send|session=|job=))", text.strip()):
            script += [f"printf '{_MARK.format(i)}'".replace("\n", "\\n"), part]
    root = Path(os.fsdecode(s.service.collection.root))
    ran = subprocess.run(
        ["bash", "-c", "\n".join(script)], capture_output=True, text=True, timeout=LIMIT,
        env={"PATH": os.environ["PATH"], "URL": s.address.url, "TOKEN": s.service.token,
             "PICTURE": str(min(root.glob("*.png")))},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    found = re.findall(r"==== (\d+)\n(.*?)(?=\n====|\Z)", ran.stdout, re.DOTALL)
    return {int(number): text for number, text in found}


def test_the_examples_do_what_the_page_shows(tagged: Path, tmp_path: Path) -> None:
    commands = {i: text for i, (kind, text) in enumerate(BLOCKS) if kind == "sh"}
    first, *_ = commands
    regions = PAGE.partition("## Suggested words and regions")[2].partition("\n## ")[0]
    there = {i: text for i, text in commands.items() if i == first or text in regions}
    rest = {i: text for i, text in commands.items() if i == first or i not in there}
    assert len(there) >= 5 and len(rest) >= 15
    got: dict[int, str] = {}
    cut = copied(tagged, tmp_path / "cut")
    cut.train(rankers=["ridge"], force=True)
    for c, blocks in ((painted(tmp_path), rest), (cut, there)):
        with running(c) as s:
            got |= answers(s, blocks)
    shown = [i for i, (kind, _) in enumerate(BLOCKS) if kind == "json"]
    assert len(shown) >= 15
    for i in shown:
        assert BLOCKS[i - 1][0] == "sh"
        alike(json.loads(BLOCKS[i][1]), json.loads(got[i - 1]), BLOCKS[i - 1][1])


def test_the_python_example_runs(tmp_path: Path) -> None:
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    with running(painted(tmp_path, n=60)) as s:
        names: dict[str, Any] = {"url": s.address.url, "token": s.service.token}
        exec(compile(code, "docs/api.md", "exec"), names)  # noqa: S102
        assert names["better"].hits and names["job"].state == "done"


def test_the_page_names_every_route(tmp_path: Path) -> None:
    from sightline.web.service import Service

    paths = build(Service(painted(tmp_path, train=False, n=6))).openapi()["paths"]
    for path in paths:
        known = re.escape(path).replace(r"\{picture\}", r"\d+").replace(r"\{model\}", "words")
        known = known.replace(r"\{collection\}", "pictures").replace(r"\{session\}", r"\$session")
        assert re.search(known.replace(r"\{job\}", r"\$job"), PAGE), path
