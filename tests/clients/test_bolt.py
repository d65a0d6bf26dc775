"""The simulator serves @slack/bolt for JavaScript, an independent client."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.slack.testing import SlackSimulator, TooManyRequests
from tests.clients.node_program import NodeProgram, node_program

STOPPED = "agent_session_stopped"


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator() as simulator:
        yield simulator


@asynccontextmanager
async def bolt(slack: SlackSimulator, mode: str = "socket") -> AsyncGenerator[NodeProgram]:
    """The running client; over HTTP once Slack has verified its URL."""
    environment = {
        "MODE": mode,
        "BOT_TOKEN": slack.bot_token,
        "APP_TOKEN": slack.app_token,
        "API_URL": slack.api_url,
        "SECRET": slack.signing_secret,
    }
    async with node_program("bolt.cjs", environment) as program:
        started = await program.reports("started")
        assert started["bot"] == slack.bot.id
        if mode == "http":
            url = f"http://127.0.0.1:{started['port']}/slack/events"
            assert await slack.use_app(replace(slack.world.app, socket_mode=False, url=url))
        yield program
        await slack.until(lambda: not slack.unacknowledged)


@pytest.fixture(params=["socket", "http"])
async def bolt_js(slack: SlackSimulator, request) -> AsyncIterator[NodeProgram]:
    async with bolt(slack, request.param) as program:
        yield program


async def test_it_streams_is_clicked_and_asks_in_a_modal(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    asked = await alice.asks("general", "what is it?")
    session = await bolt_js.reports("session")
    assert (session["status"], session["title"]) == ("processing", "A question")
    assert session["later"] == "A question"
    assert (await bolt_js.reports("streamed"))["title"] == "Answered"
    _, answer = slack.messages("general", asked)
    assert answer.stream == "stopped"
    assert answer.tasks == (("Search", "complete"),)
    assert answer.text == "Looking, \n[complete] Search\nfound."
    await alice.clicks(answer.ts, "Why?")
    assert (await bolt_js.reports("opened"))["user"] == alice.id
    assert [each.text for each in slack.private(alice)] == ["Say why."]
    await alice.submits({"Reason": "no"})
    await bolt_js.reports("declined")
    await slack.until(lambda: alice.modal and alice.modal.errors)
    assert alice.modal is not None
    assert alice.modal.errors == {"b": "That is no reason."}
    await alice.submits({"Reason": "it is so"})
    await bolt_js.reports("submitted")
    assert slack.messages("general", asked)[-1].text == "Because it is so."
    await slack.until(lambda: alice.modal is None)
    assert slack.busy == []
    assert not [call for call in slack.calls() if call.error]


async def test_a_command_is_answered_at_once_and_later(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    await alice.commands("general", "/parley", "hello")
    assert (await bolt_js.reports("command"))["text"] == "hello"
    await slack.until(lambda: len(slack.private(alice)) == 2)
    assert {each.text for each in slack.private(alice)} == {"You said hello.", "Anything else?"}


async def test_stop_names_the_stream_and_the_person(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    asked = await alice.asks("general", "tell me slowly")
    await bolt_js.reports("streaming")
    _, answer = slack.messages("general", asked)
    await alice.stops("general", asked)
    stopped = await bolt_js.reports("stopped")
    assert (stopped["streams"], stopped["user"]) == ([answer.ts], alice.id)
    assert slack.busy == []
    await alice.renames("general", asked, "Mine")
    retitled = await bolt_js.reports("retitled")
    assert (retitled["title"], retitled["before"]) == ("Mine", "A question")


async def test_messages_files_and_reactions_arrive(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    said = await alice.tells("look")
    assert (await bolt_js.reports("message"))["text"] == "look"
    await alice.reacts(said, "eyes")
    assert (await bolt_js.reports("reaction"))["name"] == "eyes"
    shared = await alice.uploads("general", "plan.md", b"# Plan", text="the plan")
    seen = await bolt_js.reports("message")
    assert (seen["subtype"], seen["files"]) == ("file_share", ["plan.md"])
    (file,) = slack.channel("general").messages[shared.ts].files
    assert (await bolt_js.does("download", url=file.url))["text"] == "# Plan"


async def test_it_reads_pages_uploads_and_waits_as_it_is_told(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    alice = slack.person("alice")
    for word in ("one", "two", "three"):
        await alice.says("random", word)
    channel = slack.channel("random").id
    pages = (await bolt_js.does("read", channel=channel))["pages"]
    assert pages == [["three", "two"], ["one"]]
    assert (await bolt_js.does("upload", channel=channel, name="a.txt", text="A"))["ok"]
    assert "a.txt" in str(slack.messages("random")[-1])
    slack.fail("chat.postMessage", TooManyRequests(1))
    posted = await bolt_js.does("post", channel=channel, text="late")
    assert slack.messages("random")[-1].ts == posted["ts"]
    assert [call.status for call in slack.calls("chat.postMessage")] == [429, 200]


async def test_there_is_no_session_before_a_status(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    asked = await slack.person("alice").says("random", "hello")
    refused = await bolt_js.does("rename", channel=asked.channel, thread=asked.ts)
    assert refused["error"] == "session_not_found"


async def test_it_warns_that_people_can_not_stop_it(
    slack: SlackSimulator, bolt_js: NodeProgram
) -> None:
    app = slack.world.app
    await slack.use_app(replace(app, events=app.events - {STOPPED}))
    await slack.person("alice").asks("general", "what is it?")
    warning = await bolt_js.reports("warning")
    assert "missing_agent_session_stopped_event_subscription" in warning["text"]
    await bolt_js.reports("streamed")


async def test_it_comes_back_after_its_socket_was_refreshed(slack: SlackSimulator) -> None:
    async with bolt(slack) as bolt_js:
        (first,) = slack.sockets.live
        slack.sockets.disconnect("refresh_requested")
        await slack.until(lambda: first not in slack.sockets.live and slack.sockets.live, within=40)
        await slack.person("alice").tells("still there?")
        assert (await bolt_js.reports("message"))["text"] == "still there?"
