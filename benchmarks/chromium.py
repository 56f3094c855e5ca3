"""A real Chromium, found on this machine and started so that it never leaves it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

# The first draws no window around the page, which takes half the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HOW = "apt-get install chromium-headless-shell; pip install 'sightline[dev]'"
# A name that is not ours and leads here all the same, as an attacker's own DNS would have it.
EVIL = "evil.test"
_ARGUMENTS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps",
    f"--host-resolver-rules=MAP {EVIL} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def executable() -> str | None:
    """Return where the browser is; SIGHTLINE_BROWSER names another one."""
    named = os.environ.get("SIGHTLINE_BROWSER")
    names = [named] if named else NAMES
    return next((found for name in names if (found := shutil.which(name))), None)


def launched(
    playwright: Playwright, executable: str, store_folder: Path, seconds: float = 30.0
) -> Browser:
    """Return a browser whose own files lie in a folder of ours."""
    arguments = [*_ARGUMENTS, *["--no-sandbox"] * (os.geteuid() == 0)]
    environment: dict[str, str | float | bool] = {**os.environ, "HOME": str(store_folder)}
    return playwright.chromium.launch(
        executable_path=executable, args=arguments, env=environment, timeout=1000 * seconds
    )
