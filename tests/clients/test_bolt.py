"""The simulator serves @slack/bolt for JavaScript, an independent client."""

from collections.abc import AsyncIterator

import pytest

from adapters.slack.testing import SlackSimulator
from tests.clients.node_program import NodeProgram, node_program


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator() as simulator:
        yield simulator


@pytest.fixture
async def bolt_js(slack: SlackSimulator) -> AsyncIterator[NodeProgram]:
    environment = {
        "BOT_TOKEN": slack.bot_token,
        "APP_TOKEN": slack.app_token,
        "API_URL": slack.api_url,
    }
    async with node_program("bolt.cjs", environment) as program:
        yield program


async def test_bolt_js_streams_is_clicked_and_asks_in_a_modal(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    assert (await bolt_js.reports("started"))["bot"] == slack.bot.id
    asked = await alice.asks("general", "what is it?")
    await bolt_js.reports("streamed")
    _, answer = slack.messages("general", asked)
    assert answer.stream == "stopped"
    assert answer.tasks == (("Search", "complete"),)
    assert answer.text == "Looking, \n[complete] Search\nfound."
    await alice.clicks(answer.ts, "Why?")
    await bolt_js.reports("opened")
    assert alice.modal is not None
    await alice.submits({"Reason": "it is so"})
    await bolt_js.reports("submitted")
    assert slack.messages("general", asked)[-1].text == "Because it is so."
    assert alice.modal is None
    await alice.commands("general", "/parley", "hello")
    await bolt_js.reports("command")
    await slack.until(lambda: slack.private(alice))
    assert slack.private(alice)[0].text == "You said hello."
    await slack.until(lambda: not slack.unacknowledged)
    assert slack.busy == []


async def test_bolt_js_comes_back_after_its_socket_was_refreshed(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    await bolt_js.reports("started")
    (first,) = slack.sockets.live
    slack.sockets.disconnect("refresh_requested")
    await slack.until(lambda: first not in slack.sockets.live and slack.sockets.live, within=40)
    await slack.person("alice").tells("still there?")
    assert (await bolt_js.reports("message"))["text"] == "still there?"
