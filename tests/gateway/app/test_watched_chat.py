"""A chat that watches its config, alone and beside another."""

import os
from contextlib import AbstractAsyncContextManager

import pytest

from gateway.app.assemble import gateway_of, team_factory
from gateway.app.load import load_config
from gateway.app.operator import reload
from gateway.app.watch import allow_all
from gateway.app.watched_chat import watched_gateway
from gateway.client import Client
from gateway.errors import GatewayError
from tests.fakes.new_store import new_store

CONFIG = """
store = { folder = "store" }
[teams.demo]
type = "demo"
"""


async def test_a_chat_says_whether_the_owner_watches(tmp_path):
    (tmp_path / "config.toml").write_text(CONFIG)
    loaded = load_config(tmp_path / "config.toml")
    told: list[tuple[str, str]] = []

    def chat() -> AbstractAsyncContextManager[Client]:
        store = new_store(tmp_path / "store")
        return watched_gateway(loaded, store, lambda *each: told.append(each), allow_all)

    async with chat(), chat() as second:
        watches = f"Process {os.getpid()} owns the threads and watches its config."
        assert told == [(watches, "info")]
        assert second.owner() == os.getpid()
        with pytest.raises(GatewayError, match="takes changes by itself"):
            await reload(new_store(tmp_path / "store"), dry_run=False)
    told.clear()
    store = new_store(tmp_path / "store")
    teams = team_factory(loaded, store.folder)
    async with gateway_of(loaded, store, teams), chat():
        assert "does not watch its config" in told[0][0]
        assert told[0][1] == "warning"
    await teams.aclose()
