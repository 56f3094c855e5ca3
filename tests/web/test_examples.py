"""Every example of the page about the service is run, and what it shows is what is answered."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from sightline.web.app import build
from tests.served import painted, running

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


def test_the_examples_do_what_the_page_shows(tmp_path: Path) -> None:
    c = painted(tmp_path)
    script = ["set -eu"]
    for i, (kind, text) in enumerate(BLOCKS):
        if kind == "sh":
            # What is shown below several commands is the answer of the last one.
            parts = re.split(r"\n(?=(?:ask|send|session=|job=))", text.strip())
            for part in parts:
                script += [f"printf '{_MARK.format(i)}'".replace("\n", "\\n"), part]
    with running(c) as s:
        ran = subprocess.run(
            ["bash", "-c", "\n".join(script)], capture_output=True, text=True, timeout=300,
            env={"PATH": os.environ["PATH"], "URL": s.address.url, "TOKEN": s.service.token,
                 "PICTURE": os.path.join(os.fsdecode(c.root), "000_x.png")},
        )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    answers: dict[int, str] = {}
    for number, text in re.findall(r"==== (\d+)\n(.*?)(?=\n====|\Z)", ran.stdout, re.DOTALL):
        answers[int(number)] = text
    shown = [i for i, (kind, _) in enumerate(BLOCKS) if kind == "json"]
    assert len(shown) >= 12
    for i in shown:
        assert BLOCKS[i - 1][0] == "sh"
        alike(json.loads(BLOCKS[i][1]), json.loads(answers[i - 1]), BLOCKS[i - 1][1])


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
