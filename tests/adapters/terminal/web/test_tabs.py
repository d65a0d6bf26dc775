"""Tabs: their number, their chats, and their end."""

import asyncio
import json

import aiohttp
import pytest

from adapters.terminal.web.links import sign_out
from tests.adapters.terminal.web.served import SMALL, served, shown, stalled


async def test_a_tab_types_and_sees(tmp_path):
    async with served(tmp_path) as web, web.browser() as browser, web.tab(browser) as tab:
        await shown(tab, "started")
        await tab.send_json(["stdin", "hé \ud83d"])
        await shown(tab, "got D hé ?")
        await tab.send_json(["resize", {"width": 100, "height": 30}])
        assert '"width": 100, "height": 30' in await shown(tab, "}")
        for said in ("focus", "blur"):
            await tab.send_json([said])
            await shown(tab, f'"{said}"')
        await tab.send_json(["ping", "12"])
        assert (await tab.receive_json(timeout=30)) == ["pong", "12"]


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("", ("80", "24")),
        ("?width=120&height=40", ("120", "40")),
        ("?width=0&height=99999", ("2", "24")),
        ("?width=9999&height=-5", ("500", "24")),
        ("?width=%D9%A3&height=1e3", ("80", "24")),
        ("?width=$(id)&height=;id&command=x&debug=1&--config=x", ("80", "24")),
    ],
)
async def test_of_a_request_only_two_numbers_reach_the_chat(tmp_path, query, size):
    async with served(tmp_path) as web, web.browser() as browser:
        headers = {"X-Evil": "$(id)", "User-Agent": "evil"}
        async with web.tab(browser, query, **headers) as tab:
            started = (await shown(tab, "]")).partition(" ")[2]
        arguments, environment = json.loads(started)
        assert arguments == []
        assert environment == {"COLUMNS": size[0], "ROWS": size[1]}


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{}",
        "[]",
        "[" * 100_000,
        '["stdin"]',
        '["stdin", 5]',
        '["resize", {"width": "9", "height": null}]',
        '["resize", {"width": true, "height": 1e99}]',
        '["quit"]',
        '["deliver_chunk_request", {"key": "x"}]',
        '["ping", "' + "9" * 1000 + '"]',
    ],
)
async def test_an_odd_message_does_no_harm(tmp_path, message):
    async with served(tmp_path) as web, web.browser() as browser, web.tab(browser) as tab:
        await shown(tab, "started")
        await tab.send_str(message)
        await tab.send_bytes(message.encode())
        await tab.send_json(["stdin", "still"])
        assert "9" * 1000 not in await shown(tab, "got D still")


async def test_an_eleventh_tab_gets_a_sentence(tmp_path):
    async with served(tmp_path) as web, web.browser() as browser:
        tabs = [await web.tab(browser) for _ in range(10)]
        for tab in tabs:
            await shown(tab, "started")
        async with web.tab(browser) as eleventh:
            assert "Ten tabs have a chat already" in await shown(eleventh)
        await tabs[0].send_json(["stdin", "exit"])
        await shown(tabs[0])
        async with asyncio.timeout(30):
            while True:  # its chat ends soon
                async with web.tab(browser) as another:
                    if "started" in await shown(another, " "):
                        break
        for tab in tabs:
            await tab.close()


async def test_a_reload_takes_the_place_of_its_tab(tmp_path):
    slow = f"{SMALL} --slow-end"
    async with served(tmp_path, slow) as web, web.browser() as browser:
        tabs = [await web.tab(browser) for _ in range(10)]
        for tab in tabs:
            await shown(tab, "started")
        for at in (0, 5):
            await tabs[at].close()  # as a browser does that loads the page again
            tabs[at] = await web.tab(browser)
            await shown(tabs[at], "started")
        async with web.tab(browser) as eleventh:
            assert "Ten tabs have a chat already" in await shown(eleventh)


@pytest.fixture
def soon(monkeypatch):
    """Ended cookies are seen, and stalled tabs given up, at once."""
    monkeypatch.setattr("adapters.terminal.web.server.LOOK", 0.01)
    monkeypatch.setattr("adapters.terminal.web.tabs.CLOSE_SECONDS", 0.2)
    monkeypatch.setattr("adapters.terminal.web.tabs.CHAT_SECONDS", 0.2)


@pytest.mark.usefixtures("soon")
async def test_a_tab_that_reads_no_more_holds_up_no_sign_out(tmp_path):
    folder = tmp_path / "web"
    async with served(folder) as web, web.browser() as browser, web.tab(browser) as tab:
        await stalled(tab, tmp_path)
        for _ in range(2):
            sign_out(folder)
            async with web.browser() as other, web.tab(other) as another:
                await shown(another, "started")
                sign_out(folder)
                await shown(another)


@pytest.mark.usefixtures("soon")
async def test_a_tab_that_reads_no_more_holds_up_no_end(tmp_path):
    async with (
        asyncio.timeout(30),
        aiohttp.ClientSession() as outlives,
        served(tmp_path / "web") as web,
        web.browser() as browser,
    ):
        headers = {"Origin": web.address, "Cookie": await web.cookie(browser)}
        tab = await outlives.ws_connect(f"{web.address}/socket", headers=headers)
        await stalled(tab, tmp_path)


@pytest.mark.usefixtures("soon")
async def test_a_tab_that_reads_no_more_gives_its_place_back(tmp_path, monkeypatch):
    monkeypatch.setattr("adapters.terminal.web.tabs.MOST_TABS", 1)
    monkeypatch.setattr("adapters.terminal.web.tabs.HEARTBEAT", 0.5)
    async with served(tmp_path / "web") as web, web.browser() as browser, web.tab(browser) as tab:
        await stalled(tab, tmp_path)
        async with asyncio.timeout(30):
            while True:  # nobody has answered the heartbeat
                async with web.tab(browser) as another:
                    if "started" in await shown(another, " "):
                        break


async def test_a_chat_opens_no_page_of_others(tmp_path):
    async with served(tmp_path) as web, web.browser() as browser, web.tab(browser) as tab:
        await shown(tab, "started")
        await tab.send_json(["stdin", "link"])
        await shown(tab, "got D link")  # no text message came


async def test_a_chat_that_does_not_start_ends_its_tab_and_says_why(tmp_path, capsys):
    command = f"{SMALL} --fails"
    async with served(tmp_path, command) as web, web.browser() as browser, web.tab(browser) as tab:
        assert await shown(tab) == ""
    assert capsys.readouterr().out == "no such config\n"
