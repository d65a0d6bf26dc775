"""`parley check` shows tools that have changed, and accepts them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.app.stores import AnyStore
from gateway.cli import main
from gateway.store.records import KnownTool, MetTool
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit, known_texts, met_tools
from tests.fakes.changing_server import DESK, ChangingServer

pytestmark = [pytest.mark.timeout(40), pytest.mark.sqlite]  # servers are started


class Desk:
    """A config with a server, its store, and the command."""

    def __init__(self, folder: Path) -> None:
        self.server = ChangingServer(folder)
        self.folder, self.file = folder, folder / "config.toml"
        self.file.write_text(DESK + self.server.table())

    @property
    def store(self) -> AnyStore:
        return SqliteStore(self.folder / "store")

    async def known(self) -> list[KnownTool]:
        return await self.store.run(known_texts.known_tools)


async def whats(store: AnyStore) -> list[tuple[str, str]]:
    rows = await store.run(
        audit.whole_audit, after=0, since=0.0, until=2.0**40, limit=100, longest=0
    )
    return [(row.what, row.person) for row in rows if row.what.startswith("tool.")]


async def found(desk: Desk, **more) -> list:
    findings = await check_config(load_config(desk.file), offline=False, **more)
    assert [(each.name, each.text) for each in findings if each.kind == "server"] == [
        ("shop", "1 tools")
    ]
    return [each for each in findings if each.kind == "tool"]


async def test_a_changed_tool_is_shown_until_it_is_accepted(tmp_path):
    desk = Desk(tmp_path)
    assert await found(desk) == []
    [accepted] = await found(desk, accept="shop")  # first met by this
    assert accepted.text == "1 tool; changed and accepted: none"
    desk.server.change()
    [shown] = await found(desk)
    assert (shown.name, shown.good) == ("shop/add", True)
    assert "`parley check --accept-tools shop`" in shown.text
    assert "+Buys an item, whatever it costs." in shown.details
    [accepted] = await found(desk, accept="shop")
    assert accepted.text == "1 tool; changed and accepted: add"
    assert await found(desk) == []
    assert await whats(desk.store) == [("tool.accepted", "local:operator")]


async def test_a_change_too_long_to_be_compared_is_shown_as_the_tool_is_now(tmp_path):
    desk = Desk(tmp_path)
    await found(desk, accept="shop")
    desk.server.says(("Buys it.\n" + "all of it\n" * 5_000, {"properties": {}}))
    [shown] = await found(desk)
    assert shown.details.startswith("add\n\nBuys it.\nall of it\n")


async def test_a_running_gateway_accepts_for_the_command(tmp_path):
    from gateway.control.socket_server import serve_control
    from gateway.gateway import Gateway
    from tests.gateway.scripted import ScriptedTeams, solo

    desk = Desk(tmp_path)
    gateway = Gateway(desk.store, ScriptedTeams(lambda: solo("hi")))
    async with gateway, serve_control(gateway):
        await found(desk, accept="shop")
        desk.server.change()
        await found(desk, accept="shop")
        [known] = await desk.known()
    assert "Buys an item" in known.text


async def test_a_server_that_need_not_be_pinned_is_not_compared(tmp_path):
    desk = Desk(tmp_path)
    await found(desk, accept="shop")
    desk.server.change()
    desk.file.write_text(DESK + desk.server.table("pinned = false"))
    assert await found(desk) == []


async def test_what_was_met_by_teams_of_python_is_shown_without_asking_them(tmp_path):
    desk = Desk(tmp_path)
    store = desk.store
    async with store.own():
        for text in "ab":
            await store.run(
                met_tools.meet_tool,
                MetTool(server="desk/mcp", tool="t", digest=text, text=f"{text}\n"),
            )
    findings = await check_config(load_config(desk.file), offline=True)
    [shown] = [each for each in findings if each.kind == "tool"]
    assert (shown.name, shown.details) == ("mcp/t", "-a\n+b")
    findings = await check_config(load_config(desk.file), offline=True, accept="mcp")
    assert [each.text for each in findings if each.kind == "tool"] == [
        "1 tool; changed and accepted: t"
    ]


def test_the_command_prints_the_change_below_its_line(tmp_path, monkeypatch):
    desk = Desk(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(main, ["check", "--config", str(desk.file), "--accept-tools", "shop"]).exit_code == 0
    desk.server.change()
    shown = run(main, ["check", "--config", str(desk.file)])
    assert shown.exit_code == 0, shown.output
    assert "\n    +Buys an item, whatever it costs.\n" in shown.output
    wrong = run(main, ["check", "--config", str(desk.file), "--accept-tools", "shp"])
    assert wrong.exit_code != 0
    assert "did you mean 'shop'" in wrong.output
