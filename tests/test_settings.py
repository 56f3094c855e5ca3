"""Settings: a flag beats the environment, that beats the store's file, that beats the user's."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from sightline.errors import UsageError
from sightline.settings import Settings, data_folder, default_store, load


def test_each_place_beats_the_next(tmp_path: Path) -> None:
    user = tmp_path / "config" / "sightline"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("top = 1\nworkers = 1\nseconds = 1\nhidden = true\n")
    store = tmp_path / "store"
    store.mkdir()
    (store / "config.toml").write_text("top = 2\nworkers = 2\nseconds = 2.5\n")
    env = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "SIGHTLINE_TOP": "3",
        "SIGHTLINE_WORKERS": "3",
    }
    settings, origins = load({"top": 4}, store, env)
    assert (settings.top, settings.workers, settings.seconds, settings.hidden) == (4, 3, 2.5, True)
    where = {o.name: o.origin for o in origins}
    assert where["top"] == "flag" and where["workers"] == "SIGHTLINE_WORKERS"
    assert where["seconds"] == str(store / "config.toml")
    assert where["hidden"] == str(user / "config.toml") and where["wait"] == "default"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("top", "many", "a whole number. Got 'many' (from SIGHTLINE_TOP)"),
        ("top", "0", "between 1 and 100000"),
        ("workers", "1.5", "a whole number"),
        ("seconds", "nan", "between 0.1 and 3600"),
        ("follow", "perhaps", "true or false"),
        ("log_level", "loud", "one of error, warning, info, debug"),
    ],
)
def test_values_that_do_not_fit(name: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as e:
        load({}, None, {f"SIGHTLINE_{name.upper()}": value})
    assert said in str(e.value)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("tpo = 3\n")
    with pytest.raises(UsageError, match="unknown setting 'tpo'"):
        load({}, tmp_path, {})
    (tmp_path / "config.toml").write_text("top = \n")
    with pytest.raises(UsageError, match="cannot be read as TOML"):
        load({}, tmp_path, {})
    (tmp_path / "config.toml").write_text("top = true\n")
    with pytest.raises(UsageError, match=r"a whole number\. Got True"):
        load({}, tmp_path, {})


def test_stores_lie_in_the_data_folder_one_for_each_collection(tmp_path: Path) -> None:
    a, b = default_store(b"/photos/2024"), default_store(b"/other/2024")
    assert a != b and a.parent == b.parent == data_folder()
    odd = default_store(b"/photos/" + b"\xff/\n..")
    assert odd.parent == data_folder()


def test_every_setting_is_explained() -> None:
    assert Settings.__doc__ is not None
    for f in fields(Settings):
        assert f"    {f.name} : " in Settings.__doc__
