"""Platforms' tokens are encrypted in the store, by keys that are not."""

import asyncio

import pytest
from click.testing import CliRunner
from pydantic import SecretStr

from gateway.app.load import load_config
from gateway.app.stores import AnyStore
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.problems import ConfigError
from gateway.store.tokens import TokenStore, WrongKey, keys_of, new_key
from tests.fakes.new_store import new_store, store_table
from tests.fakes.tested_store import everything_in

CANARY = "xoxb-canary-1234567890"


def config(folder, *keys: str):
    (folder / "keys").write_text("\n".join(keys))
    named = "keys_file = 'keys'\n" if keys else ""
    (folder / "config.toml").write_text(f"{store_table(folder / 'store')}{named}")
    return load_config(folder / "config.toml").config.store


def tokens(folder, *keys: str) -> tuple[AnyStore, TokenStore]:
    store = new_store(folder / "store")
    return store, TokenStore(store, keys_of(config(folder, *keys).keys))


def parley(folder, *arguments: str):
    return CliRunner().invoke(main, [*arguments, "--config", str(folder / "config.toml")])


def key(name: str) -> str:
    return f"{name}:{new_key().partition(':')[2]}"


async def test_a_token_is_kept_and_only_its_name_can_be_read(tmp_path):
    store, kept = tokens(tmp_path, key("a"))
    async with store.own():
        await kept.put("slack:T1:bot", SecretStr(CANARY))
        found = await kept.get("slack:T1:bot")
        assert found is not None
        assert found.get_secret_value() == CANARY
        assert await kept.names() == ["slack:T1:bot"]
        assert await kept.get("slack:T2:bot") is None
        stored = everything_in(store.folder)
        assert CANARY.encode() not in stored
        assert b"slack:T1:bot" in stored
        assert await kept.delete("slack:T1:bot")
        assert not await kept.delete("slack:T1:bot")


async def test_a_missing_or_other_key_is_said_by_name(tmp_path):
    a, b = key("a"), key("b")
    store, kept = tokens(tmp_path, a)
    async with store.own():
        await kept.put("bot", SecretStr(CANARY))
    for others, said in [
        ((b,), "was encrypted with the key 'a', which .* does not have"),
        ((), "there is none"),
        ((key("a"),), "it is another key of that name"),
    ]:
        with pytest.raises(WrongKey, match=said) as caught:
            await tokens(tmp_path, *others)[1].check()
        assert CANARY not in str(caught.value)
    await tokens(tmp_path, b, a)[1].check()


async def test_without_a_key_nothing_is_kept(tmp_path):
    store, kept = tokens(tmp_path)
    async with store.own():
        with pytest.raises(WrongKey, match="parley secrets key"):
            await kept.put("bot", SecretStr(CANARY))


async def test_a_token_can_not_be_put_in_the_place_of_another(tmp_path):
    store, kept = tokens(tmp_path, key("a"))
    async with store.own():
        await kept.put("mine", SecretStr(CANARY))
        await kept.put("yours", SecretStr("other"))
        take = "UPDATE tokens SET value = (SELECT value FROM tokens WHERE name = 'mine')"
        await store.write(lambda connection: connection.execute(take) and None)
        with pytest.raises(WrongKey, match="rows were swapped"):
            await kept.get("yours")


async def _keep(folder, *keys: str) -> None:
    store, kept = tokens(folder, *keys)
    async with store.own():
        await kept.put("one", SecretStr(CANARY))
        await kept.put("two", SecretStr("other"))


def test_rotation_makes_the_old_key_superfluous(tmp_path):
    old, new = key("old"), key("new")
    asyncio.run(_keep(tmp_path, old))
    config(tmp_path, new)
    failed = parley(tmp_path, "secrets", "rotate")
    assert failed.exit_code == ExitCode.USAGE
    assert "which [store] keys does not have" in failed.stderr
    config(tmp_path, new, old)
    done = parley(tmp_path, "secrets", "rotate")
    assert (done.exit_code, done.stdout) == (0, "2 tokens encrypted with the first key.\n")
    asyncio.run(tokens(tmp_path, new)[1].check())


def test_a_new_key_is_one_that_the_config_takes(tmp_path):
    made = CliRunner().invoke(main, ["secrets", "key"]).stdout.strip()
    assert [*keys_of(config(tmp_path, made).keys)] == [made.partition(":")[0]]


@pytest.mark.parametrize("bad", ["a", "a:", "a:short", ":c2hvcnQ=", "a:\u00e4"])
def test_what_is_no_key_is_a_mistake_that_does_not_show_it(tmp_path, bad):
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, f"{bad}CANARY")
    assert "store.keys" in str(caught.value)
    assert "parley secrets key" in str(caught.value)
    assert "CANARY" not in str(caught.value)
