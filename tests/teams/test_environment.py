"""Code of others sees a list of usual variables."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from teams.environment import environment_for_code, withhold_variables


@pytest.mark.parametrize(
    "name",
    ["SLACK_BOT", "LLM_ACCESS", "DATABASE_URL", "MY_SETTING", "LC_SLACK", "PIP_INDEX_URL", "A_KEY"],
)
def test_what_is_not_on_the_list_is_not_seen(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("LANG", "C.UTF-8")
    found = environment_for_code()
    assert "canary" not in found.values()
    assert found["LANG"] == "C.UTF-8"


def test_what_was_withheld_is_not_seen_even_if_it_is_on_the_list(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "canary")
    assert environment_for_code()["TZ"] == "canary"
    withhold_variables(["TZ"])
    assert "TZ" not in environment_for_code()


@pytest.mark.parametrize(
    "table",
    [
        'models.m = { model = "x", api_key_env = "TZ" }',
        'models.m = { model = "x", api_key = "${TZ}" }',
        'adapters.slack = { bot_token_env = "TZ" }',
        'mcp.m = { command = "x", env = { KEY = "a ${TZ} b" } }',
        'store = { url_env = "TZ" }',
        'teams.t = { component = "x.json", allow = [{ env = "TZ", for = "https://a.example" }] }',
    ],
)
def test_what_a_config_names_is_withheld(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TZ", "canary-canary")
    (tmp_path / "config.toml").write_text(table)
    with suppress(ConfigError):  # what it lacks is another matter
        load_config(tmp_path / "config.toml", references=False)
    assert "TZ" not in environment_for_code()
