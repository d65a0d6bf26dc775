"""Two configs at one database: their products, their schemas, and their lanes."""

import asyncio
import base64
import os
import sys

import psycopg
import pytest

from adapters.discord.config import Config as DiscordConfig
from adapters.slack.config import Config as SlackConfig
from gateway.app.assemble import store_of
from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.app.stores import StoreInDatabase, files_of
from gateway.config.root import Config
from gateway.store.product import OtherProduct, load_product
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import adapters as adapter_units
from gateway.store.units import nodes

CONFIG = """
health = {{ port = 0 }}
[store]
folder = "{folder}"
url = "{url}"
{more}
[models.m]
provider = "demo"
[teams.solo]
type = "round_robin"
max_turns = 1
agents.one = {{ model = "m" }}
[adapters.slack]
bot_token = "xoxb-{team}-2-s3cret"
app_token = "xapp-1-{app}-3-s3cret"
[[routes]]
adapter = "slack"
channels = "C1"
users = "members"
"""


@pytest.fixture
def opens(tmp_path, postgres_url):
    """Opens the database as an app with further settings of [store]."""
    number = 0

    async def opens(app: str, more: str = "", team: str = "1") -> set[str]:
        nonlocal number
        number += 1
        path = tmp_path / f"{number}.toml"
        folder = tmp_path / str(number)
        path.write_text(
            CONFIG.format(folder=folder, url=postgres_url, app=app, more=more, team=team)
        )
        store = store_of(load_config(path))
        async with store.own():
            marks = await store.run(adapter_units.marks, "gateway", "product")
        return set(load_product(marks["product"]).ids)

    return opens


async def test_another_app_at_the_same_database_is_refused(opens, tmp_path):
    assert await opens("A1") == {"slack: app A1", "slack: bot 1-2"}
    with pytest.raises(OtherProduct, match="slack: app A1, slack: bot 1-2"):
        await opens("A2", team="9")
    found = await check_config(load_config(tmp_path / "2.toml"), offline=False)
    faults = [each.text for each in found if each.kind == "store" and not each.good]
    assert len(faults) == 1
    assert "belongs to another product" in faults[0]
    assert await opens("A1", team="8") == {"slack: app A1", "slack: bot 1-2", "slack: bot 8-2"}


@pytest.mark.chaos
async def test_serve_refuses_it_before_it_connects(opens, tmp_path):
    await opens("A1")
    with pytest.raises(OtherProduct):
        await opens("A2", team="9")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.cli", "serve"),
        env={**os.environ, "PARLEY_CONFIG": str(tmp_path / "2.toml")},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert "belongs to another product (slack: app A1, slack: bot 1-2)" in said.decode()
    assert "s3cret" not in said.decode()


async def test_a_name_lets_the_app_change_and_keeps_others_out(opens):
    await opens("A1", 'name = "desk"')
    assert "slack: app A2" in await opens("A2", 'name = "desk"', team="9")
    for more in ('name = "shop"', ""):
        with pytest.raises(OtherProduct, match="name 'desk'"):
            await opens("A3", more, team="7")


async def test_a_schema_of_its_own_is_the_way_out(opens, postgres_url):
    await opens("A1")
    await opens("A2", 'schema = "second"', team="9")
    await opens("A2", 'schema = "second"', team="9")
    with pytest.raises(OtherProduct):
        await opens("A1", 'schema = "second"')
    with psycopg.connect(postgres_url) as connection:
        query = "SELECT table_schema FROM information_schema.tables WHERE table_name = 'threads'"
        assert {row[0] for row in connection.execute(query)} == {"public", "second"}


async def test_stores_in_two_schemas_are_not_in_each_others_way(opens, tmp_path):
    await opens("A1")
    await opens("A2", 'schema = "second"', team="9")
    first, second = (store_of(load_config(tmp_path / f"{n}.toml")) for n in (1, 2))
    async with first.own(alone=True), second.own(alone=True):
        await first.probe()
        await second.probe()
        for store in (first, second):
            assert not isinstance(store, SqliteStore)
            assert len(await store.run(nodes.nodes)) == 1


async def test_a_copy_of_a_schema_is_that_of_the_schema(opens, tmp_path):
    await opens("A2", 'schema = "second"')
    store = store_of(load_config(tmp_path / "1.toml"))
    with pytest.raises(StoreInDatabase, match="--schema=second"):
        files_of(store, "backup")
    with pytest.raises(StoreInDatabase, match=r"INSERT INTO second\.marks"):
        files_of(store, "restore")


async def test_a_schema_that_may_not_be_made_is_found_by_check(opens, tmp_path, postgres_url):
    await opens("A1", 'schema = "second"')
    loaded = load_config(tmp_path / "1.toml")
    for offline in (False, True):
        found = await check_config(loaded, offline=offline)
        assert [each.text for each in found if each.kind == "store" and not each.good] == []


@pytest.mark.parametrize("schema", ["Second", "pg_x", "a-b", "a;b", "1a", "a b", 'a"b', "x" * 64])
def test_a_schema_that_would_have_to_be_quoted_is_a_mistake(schema):
    with pytest.raises(ValueError, match="schema"):
        Config.model_validate({"store": {"schema": schema}})


def ids_of(config: type[DiscordConfig | SlackConfig], **settings: str) -> tuple[str, ...]:
    return config.model_validate(settings).app_ids


def test_apps_are_known_by_the_open_parts_of_their_tokens():
    ident = base64.b64encode(b"80351110224678912").decode().rstrip("=")
    assert ids_of(DiscordConfig, token=f"{ident}.x.y") == ("bot 80351110224678912",)
    for odd in ("x", "simulated.abc", "\u00e4.b", "====.x", f"{base64.b64encode(b'no id')}.x"):
        assert ids_of(DiscordConfig, token=odd) == ()
    several = {"bot_token": "xoxb-1-2-s3cret,xoxb-3-4-s3cret", "app_token": "xapp-1-A1-2-s3cret"}
    assert ids_of(SlackConfig, **several) == ("app A1", "bot 1-2", "bot 3-4")
    assert ids_of(SlackConfig, bot_token="xoxb-s3cret", app_token="xapp-s3cret-A1") == ()
