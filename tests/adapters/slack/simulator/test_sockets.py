"""Socket Mode: tickets, connections, acknowledgements and socket faults."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import ServerError, SlackSimulator


class Client:
    """A client of Socket Mode that does only what it is told."""

    def __init__(self, slack: SlackSimulator, session: aiohttp.ClientSession) -> None:
        self.slack, self.session = slack, session
        self.web = AsyncWebClient(
            token=slack.app_token, base_url=slack.api_url, session=session, retry_handlers=[]
        )

    async def connect(self) -> aiohttp.ClientWebSocketResponse:
        opened = await self.web.apps_connections_open(app_token=self.slack.app_token)
        socket = await self.session.ws_connect(str(opened["url"]))
        return socket

    async def ready(self) -> aiohttp.ClientWebSocketResponse:
        socket = await self.connect()
        hello = await socket.receive_json(timeout=40)
        assert hello["type"] == "hello"
        return socket


@pytest.fixture
async def raw(slack: SlackSimulator) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        yield Client(slack, session)


async def acknowledge(socket: aiohttp.ClientWebSocketResponse, frame: dict, **payload) -> None:
    body = {"envelope_id": frame["envelope_id"]}
    await socket.send_json(body | ({"payload": payload} if payload else {}))


async def test_a_ticket_opens_one_connection(raw: Client) -> None:
    opened = await raw.web.apps_connections_open(app_token=raw.slack.app_token)
    async with raw.session.ws_connect(str(opened["url"])) as socket:
        hello = await socket.receive_json(timeout=40)
        assert hello["num_connections"] == 1
        assert hello["connection_info"] == {"app_id": raw.slack.world.app.id}
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await raw.session.ws_connect(str(opened["url"]))


async def test_more_than_ten_connections_are_too_many(raw: Client) -> None:
    sockets = [await raw.ready() for _ in range(10)]
    socket = await raw.connect()
    frame = await socket.receive_json(timeout=40)
    assert (frame["type"], frame["reason"]) == ("disconnect", "too_many_websockets")
    assert len(raw.slack.sockets.live) == len(sockets) == 10


async def test_each_event_goes_to_one_connection(raw: Client) -> None:
    one, two = await raw.ready(), await raw.ready()
    alice = raw.slack.person("alice")
    for number in range(20):
        await alice.says("general", str(number))
    via = [each.attempts[0].via for each in raw.slack.deliveries]
    assert set(via) == {"socket-1", "socket-2"}
    for name, socket in (("socket-1", one), ("socket-2", two)):
        for _ in range(via.count(name)):
            await acknowledge(socket, await socket.receive_json(timeout=40))
    await raw.slack.until(lambda: not raw.slack.unacknowledged)


async def test_what_is_not_acknowledged_comes_again_with_its_reason(raw: Client) -> None:
    socket = await raw.ready()
    await raw.slack.person("alice").says("general", "hello")
    first = await socket.receive_json(timeout=40)
    raw.slack.clock.advance(3)
    raw.slack.clock.advance(0)
    second = await socket.receive_json(timeout=40)
    assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
    assert second["payload"] == first["payload"]
    await acknowledge(socket, second)
    await raw.slack.until(lambda: not raw.slack.unacknowledged)
    raw.slack.clock.advance(400)
    assert len(raw.slack.deliveries[0].attempts) == 2


async def test_without_a_connection_events_wait_and_clicks_are_lost(raw: Client) -> None:
    client = AsyncWebClient(token=raw.slack.bot_token, base_url=raw.slack.api_url)
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
    sent = await client.chat_postMessage(
        channel="C0RANDOM", text="?", blocks=[{"type": "actions", "elements": [button]}]
    )
    alice = raw.slack.person("alice")
    click = await alice.clicks(str(sent["ts"]), "Go")
    with pytest.raises(TimeoutError, match="did not acknowledge"):
        await click.answered()
    await alice.says("general", "hello")
    raw.slack.clock.advance(0)
    socket = await raw.ready()
    raw.slack.clock.advance(60)
    texts = [(await socket.receive_json(timeout=40))["payload"]["event"]["text"] for _ in range(2)]
    assert sorted(texts) == ["?", "hello"]


async def test_one_event_can_arrive_through_two_sockets(raw: Client) -> None:
    one, two = await raw.ready(), await raw.ready()
    raw.slack.sockets.duplicate = 1
    await raw.slack.person("alice").says("general", "hello")
    frames = [await one.receive_json(timeout=40), await two.receive_json(timeout=5)]
    assert frames[0] == frames[1]
    await acknowledge(one, frames[0])
    await acknowledge(two, frames[0])
    await raw.slack.until(lambda: len(raw.slack.deliveries[0].acks) == 2)


async def test_events_can_arrive_out_of_order(raw: Client) -> None:
    socket = await raw.ready()
    alice = raw.slack.person("alice")
    raw.slack.hold()
    for text in ("one", "two"):
        await alice.says("general", text)
    raw.slack.release(backwards=True)
    texts = [(await socket.receive_json(timeout=40))["payload"]["event"]["text"] for _ in range(2)]
    assert texts == ["two", "one"]


async def test_an_acknowledgement_through_another_socket_counts_and_is_noted(raw: Client) -> None:
    one, two = await raw.ready(), await raw.ready()
    await raw.slack.person("alice").says("general", "hello")
    (delivery,) = raw.slack.deliveries
    sent = {"socket-1": one, "socket-2": two}
    right = sent.pop(delivery.attempts[0].via)
    frame = await right.receive_json(timeout=40)
    (wrong,) = sent.values()
    await acknowledge(wrong, frame)
    await raw.slack.until(lambda: delivery.acked)
    assert [each.wrong_acks for each in raw.slack.sockets.connections if each.wrong_acks] == [
        [frame["envelope_id"]]
    ]


async def test_an_answer_travels_with_the_acknowledgement(raw: Client) -> None:
    socket = await raw.ready()
    alice = raw.slack.person("alice")
    command = await alice.commands("general", "/parley", "status")
    frame = await socket.receive_json(timeout=40)
    assert frame["accepts_response_payload"]
    assert frame["payload"]["text"] == "status"
    await acknowledge(socket, frame, text="all is well")
    assert await command.answered() == {"text": "all is well"}
    assert [each.text for each in raw.slack.private(alice)] == ["all is well"]


async def test_the_server_pings_and_answers_pings(raw: Client) -> None:
    opened = await raw.web.apps_connections_open(app_token=raw.slack.app_token)
    socket = await raw.session.ws_connect(str(opened["url"]), autoping=False)
    await socket.receive_json(timeout=40)
    await socket.ping(b"are you there")
    pong = await socket.receive(timeout=5)
    assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"are you there")
    raw.slack.clock.advance(30)
    assert (await socket.receive(timeout=5)).type == aiohttp.WSMsgType.PING


async def test_a_half_open_socket_takes_and_sends_nothing(raw: Client) -> None:
    socket = await raw.ready()
    (connection,) = raw.slack.sockets.live
    connection.mute = True
    await raw.slack.person("alice").says("general", "hello")
    await socket.ping(b"x")
    raw.slack.clock.advance(100)
    with pytest.raises(TimeoutError):
        await socket.receive(timeout=0.1)
    assert raw.slack.unacknowledged
    assert raw.slack.sockets.live == [connection]


async def test_socket_mode_can_be_switched_off(raw: Client) -> None:
    socket = await raw.ready()
    await raw.slack.use_app(replace(raw.slack.world.app, socket_mode=False))
    assert (await socket.receive_json(timeout=40))["reason"] == "link_disabled"
    with pytest.raises(SlackApiError, match="link_disabled"):
        await raw.web.apps_connections_open(app_token=raw.slack.app_token)


async def test_connections_are_renewed_with_a_warning_ten_seconds_ahead(raw: Client) -> None:
    socket = await raw.ready()
    raw.slack.sockets.refresh()
    assert (await socket.receive_json(timeout=40))["reason"] == "warning"
    raw.slack.clock.advance(10)
    assert (await socket.receive_json(timeout=40))["reason"] == "refresh_requested"


@pytest.mark.parametrize("how", ["refresh", "closed", "reset", "half-open"])
async def test_the_sdk_comes_back_and_takes_what_is_sent_afterwards(
    slack: SlackSimulator, bolt: AsyncApp, connected, how: str
) -> None:
    heard = asyncio.Event()

    @bolt.event("message")
    async def listen() -> None:
        heard.set()

    async with connected(bolt):
        (first,) = slack.sockets.live
        match how:
            case "refresh":
                slack.sockets.disconnect("refresh_requested")
            case "closed":
                await slack.sockets.close()
            case "reset":
                slack.sockets.abort()
            case _:
                first.mute = True
        await slack.until(lambda: set(slack.sockets.live) - {first}, within=40)
        first.open = False
        await slack.person("alice").says("general", "hello")
        async with asyncio.timeout(40):
            await heard.wait()


async def test_the_sdk_survives_that_no_new_connection_can_be_had_for_a_while(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    async with connected(bolt):
        (first,) = slack.sockets.live
        slack.fail("apps.connections.open", ServerError(), times=1)
        slack.sockets.abort()
        await slack.until(lambda: set(slack.sockets.live) - {first}, within=40)
    assert [each.status for each in slack.calls("apps.connections.open")][:2] == [200, 500]


async def test_closing_takes_its_time_where_the_server_does_not_answer(
    slack: SlackSimulator, raw: Client
) -> None:
    slack.sockets.stubborn = True
    socket = await raw.ready()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(socket.close(), 0.2)
