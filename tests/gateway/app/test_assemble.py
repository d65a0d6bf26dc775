"""Parts of a process, made from a config."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.app import assemble
from gateway.app.load import LoadedConfig, load_config
from gateway.base.logging import flush_log
from gateway.config.problems import ConfigError
from gateway.control.socket_client import SocketClient
from gateway.conversation import LOCAL_OPERATOR, Author
from gateway.errors import GatewayError
from gateway.store.sqlite.store import FILE, SqliteStore

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY")
MODEL = '[models.m]\nmodel = "gpt-4o"\napi_key = "sk-1"\n'
ADDRESS = "https://models.example/v1"


@pytest.fixture(autouse=True)
def proxies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a test does to the variables of proxies."""
    for name in (*PROXIES, *map(str.lower, PROXIES)):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield
    for name in (*PROXIES, *map(str.lower, PROXIES)):
        os.environ.pop(name, None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(folder: Path, text: str = "") -> LoadedConfig:
    path = folder / "config.toml"
    path.write_text(f"{text}\n[store]\nfolder = 'store'\n")
    return load_config(path)


async def test_a_config_is_loaded_with_its_log(here: Path) -> None:
    text = "[logging]\nfile = 'own.log'\n"
    loaded(here, text)
    found = await assemble.load(here / "config.toml")
    assert found.text.startswith(text)
    logging.getLogger("gateway").error("something happened")
    assert "something happened" in (here / "own.log").read_text()


def test_a_log_is_written_as_lines_or_as_json(here: Path) -> None:
    config = loaded(here, "[logging]\nfile = 'own.log'\n")
    assemble.begin_log(config)
    logging.getLogger("gateway").error("as lines")
    assemble.begin_json_log(config)
    logging.getLogger("gateway").error("as json")
    flush_log()
    said = (here / "own.log").read_text().splitlines()
    assert "as lines" in said[0]
    assert said[-1].startswith("{")
    (here / "own.log").unlink()
    (here / "own.log").mkdir()
    with pytest.raises(GatewayError, match="can't be written"):
        assemble.begin_json_log(config)


def test_a_proxy_of_the_config_is_used(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = loaded(here, "[network]\nproxy = 'http://proxy.example:3128'\n")
    assert assemble.begin_network(config) == []
    assert os.environ["HTTPS_PROXY"] == "http://proxy.example:3128"


def test_a_proxy_that_can_not_be_used_is_an_error_where_it_is_needed(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://[canary")
    config = loaded(here)
    assemble.require_network(config, [])
    assert "HTTPS_PROXY: expected an address" in caplog.text
    monkeypatch.setenv("HTTPS_PROXY", "http://[canary")
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        assemble.require_network(config, [ADDRESS])


def test_addresses_are_those_of_models_and_platforms(here: Path) -> None:
    own = f'[models.n]\nmodel = "x"\nbase_url = "{ADDRESS}"\napi_key = "sk-1"\n'
    config = loaded(here, MODEL + own)
    assert [*assemble.model_addresses(config.config)] == [assemble.ANYWHERE, ADDRESS]
    assert [*assemble.all_addresses(config)] == [assemble.ANYWHERE, ADDRESS]


SLACK = """
[adapters.slack]
app_token = "xapp-1-A1-1-ab"
bot_token = "xoxb-1-2-ab"
[[routes]]
adapter = "slack"
channels = "*"
users = "members"
"""


def test_a_platform_has_an_address(here: Path) -> None:
    config = loaded(here, SLACK)
    [slack] = config.adapters.values()
    assert assemble.address_of(slack)
    assert [*assemble.all_addresses(config)] == [assemble.address_of(slack)]


def test_store_access_and_limits_are_those_of_the_config(here: Path) -> None:
    text = "[policies]\noperators = ['slack:T1:U1']\n[limits]\nparallel_turns = 3\n"
    config = loaded(here, text)
    store = assemble.store_of(config)
    assert isinstance(store, SqliteStore)
    assert store.folder == here / "store"
    access = assemble.access_of(config.config)
    assert access.operators.include(Author(id="slack:T1:U1"))
    assert assemble.limits_of(config.config).parallel_turns == 3
    assert "demo" in assemble.team_factory(config, store.folder).names()


async def test_the_operator_reaches_the_owner_wherever_it_runs(here: Path) -> None:
    config = loaded(here)
    store = assemble.store_of(config)
    async with assemble.own_gateway(config, store) as gateway:
        assert gateway.client.origin() == config.origin
        async with assemble.any_gateway(config, assemble.store_of(config)) as client:
            assert isinstance(client, SocketClient)
    async with assemble.any_gateway(config, store) as client:
        assert not isinstance(client, SocketClient)


async def test_a_gateway_has_the_teams_that_it_is_given(here: Path) -> None:
    config = loaded(here)
    store = assemble.store_of(config)
    teams = assemble.team_factory(config, store.folder)
    async with assemble.gateway_of(config, store, teams) as gateway:
        thread = await gateway.client.create_thread()
        assert thread.team == teams.default
    await teams.aclose()


def test_a_task_is_run_with_its_files_and_without_a_trace(here: Path) -> None:
    loaded(here)
    (here / "a.txt").write_text("one")

    async def run(connect: Any, files: Any) -> int:
        async with connect() as client:
            assert client.operator() != LOCAL_OPERATOR.id
            assert [(file.name, file.data) for file in files] == [("a.txt", b"one")]
        return 7

    assert assemble.run_once(here / "config.toml", run, files=[here / "a.txt"]) == 7
    assert not (here / "store" / FILE).exists()
    with pytest.raises(GatewayError, match="can't be read"):
        assemble.run_once(here / "config.toml", run, files=[here / "none.txt"])


def test_only_tools_that_a_team_has_are_allowed(here: Path) -> None:
    config = loaded(here)
    assemble.check_allowed([], config)
    with pytest.raises(assemble.UnknownTool, match="--allow: "):
        assemble.check_allowed(["no_such_tool"], config)
