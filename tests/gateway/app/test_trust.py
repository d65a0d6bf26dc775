"""Trust in a config that was found in the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.app import trust
from gateway.app.load import load_config
from gateway.app.trust import ConfigNotTrusted
from gateway.config.powers import Power

TEXT = "[teams.mine]\nfactory = 'foreign_team:build'\n"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config that names Python, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(TEXT)
    return tmp_path / "config.toml"


def test_a_found_config_is_read_with_its_powers(config: Path) -> None:
    found = trust.read_found(config)
    assert found is not None
    assert (found.path, [power.what for power in found.powers]) == (config, ["foreign_team:build"])
    assert found.describe().splitlines() == [
        f"{config} was found here. It names:",
        "  Python    foreign_team:build",
    ]
    assert trust.read_found(config.with_name("none.toml")) is None


def test_it_is_asked_about_until_somebody_agrees(config: Path) -> None:
    found = trust.untrusted_config(None)
    assert found is not None
    assert trust.untrusted_config(config) is None
    trust.remember(found)
    assert trust.untrusted_config(None) is None
    config.write_text(f"{TEXT}\n")
    assert trust.untrusted_config(None) is not None


def test_it_gets_no_power_that_nobody_agreed_to(config: Path) -> None:
    agreed = trust.powers_here(None)
    assert agreed == {Power("Python", "foreign_team:build")}
    assert trust.powers_here(config) is None
    trust.check_powers(agreed)
    trust.check_powers(None)
    with pytest.raises(ConfigNotTrusted, match="It names more than you have agreed to"):
        trust.check_powers(frozenset())


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_mark_of_an_editor_hides_no_power(config: Path, mark: str) -> None:
    config.write_text(mark + TEXT, encoding="utf-8")
    found = trust.untrusted_config(None)
    assert found is not None
    loaded = load_config(references=False)
    assert not loaded.trusted
    trust.remember(found)
    assert load_config(references=False).trusted
    assert load_config(config, references=False).trusted


def test_one_without_powers_is_not_asked_about_and_not_trusted_either(config: Path) -> None:
    config.write_text("[teams.mine]\ntype = 'demo'\ninstruction_files = ['AGENTS.md']\n")
    assert trust.untrusted_config(None) is None
    assert not load_config(references=False).trusted
    found = trust.found_config(None)
    assert found is not None
    trust.remember(found)
    assert load_config(references=False).trusted


@pytest.mark.parametrize("path", ["../key", "~/key", "/key", "a/../../key"])
def test_instructions_from_outside_of_the_folder_are_a_power(config: Path, path: str) -> None:
    config.write_text(f"[teams.mine]\ntype = 'demo'\ninstruction_files = ['{path}']\n")
    found = trust.untrusted_config(None)
    assert found is not None
    assert found.powers == (Power("secret", f"the file {path}"),)
