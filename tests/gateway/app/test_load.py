"""The config from a file, a usual place, or the built-in one."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from gateway.app.load import BUILT_IN, load_config
from gateway.config.problems import ConfigError

TEXT = "[terminal]\nname = 'Ann'\n"


def test_a_config_is_known_by_its_path_and_its_text(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(TEXT)
    loaded = load_config(tmp_path / "config.toml")
    assert loaded.config.terminal.name == "Ann"
    assert loaded.origin.path == str((tmp_path / "config.toml").resolve())
    assert loaded.origin.digest == sha256(TEXT.encode()).hexdigest()


def test_without_a_file_there_is_the_built_in_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_config()
    assert (loaded.source, loaded.origin.path, loaded.origin.digest) == (None, BUILT_IN, "")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[terminal]\nnmae = 'Ann'\n[teams.t]\ntype = 'swram'\n")
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "config.toml")
    said = str(refused.value)
    assert "did you mean 'name'?" in said
    assert "swram" in said


def test_tables_may_stand_in_for_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(TEXT)
    loaded = load_config(tmp_path / "config.toml", instead={"terminal": {"name": "Bob"}})
    assert loaded.config.terminal.name == "Bob"
