"""Deliveries over HTTP, taken by slack-bolt's own server."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp

from adapters.slack.testing import SlackSimulator
from tests.fakes.served import served

Handler = Callable[[web.Request], object]


@asynccontextmanager
async def serving(app: web.Application) -> AsyncGenerator[str]:
    async with served(app) as url:
        yield f"{url}/slack/events"


def over_http(slack: SlackSimulator, url: str):
    return replace(slack.world.app, socket_mode=False, url=url)


class Endpoint:
    """An endpoint that answers as it is told, and remembers what came."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], str]] = []
        self.answers: list[web.Response] = []

    async def take(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.text()))
        return self.answers.pop(0) if self.answers else web.Response()

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/slack/events", self.take)
        return app


async def test_bolt_takes_signed_events_clicks_and_commands(
    slack: SlackSimulator, bolt: AsyncApp
) -> None:
    heard: list[str] = []

    @bolt.event("app_mention")
    async def mentioned(event) -> None:
        heard.append(event["text"])

    @bolt.event("message")
    async def message() -> None: ...

    @bolt.command("/parley")
    async def command(ack) -> None:
        await ack("yes")

    @bolt.action("a")
    async def action(ack, say) -> None:
        await ack()
        await say("clicked")

    server = bolt.server(port=0, path="/slack/events")
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
    alice = slack.person("alice")
    async with serving(server.web_app) as url:
        assert await slack.use_app(over_http(slack, url))
        asked = await alice.asks("general", "hello")
        await slack.until(lambda: heard)
        assert await (await alice.commands("general", "/parley")).answered() == {"text": "yes"}
        card = await bolt.client.chat_postMessage(
            channel="C0GENERAL", text="?", blocks=[{"type": "actions", "elements": [button]}]
        )
        await (await alice.clicks(str(card["ts"]), "Go")).answered()
        await slack.until(lambda: slack.messages("general")[-1].text == "clicked")
        await slack.until(lambda: not slack.unacknowledged)
    assert heard == [asked.text]


async def test_another_secret_is_refused_by_bolt(slack: SlackSimulator, bolt: AsyncApp) -> None:
    @bolt.event("message")
    async def message() -> None: ...

    server = bolt.server(port=0, path="/slack/events")
    async with serving(server.web_app) as url:
        assert not await slack.use_app(replace(over_http(slack, url), signing_secret="other"))
        await slack.person("alice").says("general", "hello")
        await slack.until(lambda: slack.deliveries[0].attempts[0].failure)
    assert slack.deliveries[0].attempts[0].failure == "http_error 401"


async def test_a_failed_delivery_is_repeated_and_says_why(slack: SlackSimulator) -> None:
    endpoint = Endpoint()
    endpoint.answers = [web.Response(status=503), web.Response(status=500)]
    async with serving(endpoint.app()) as url:
        slack.world.app = over_http(slack, url)
        await slack.use_app(slack.world.app)
        endpoint.requests.clear()
        endpoint.answers = [web.Response(status=503), web.Response(status=500)]
        await slack.person("alice").says("general", "hello")
        for count, wait in ((1, 0), (2, 60), (3, 0)):
            await slack.until(lambda count=count: len(endpoint.requests) == count)
            await slack.until(
                lambda count=count: (
                    slack.deliveries[0].acked or slack.deliveries[0].attempts[count - 1].failure
                )
            )
            slack.clock.advance(wait)
    headers = [each for each, _ in endpoint.requests]
    assert "X-Slack-Retry-Num" not in headers[0]
    assert [(each["X-Slack-Retry-Num"], each["X-Slack-Retry-Reason"]) for each in headers[1:]] == [
        ("1", "http_error"),
        ("2", "http_error"),
    ]
    bodies = [json.loads(body) for _, body in endpoint.requests]
    assert bodies[0] == bodies[1] == bodies[2]
    assert slack.deliveries[0].acked


async def test_an_answer_that_takes_too_long_counts_as_none(slack: SlackSimulator) -> None:
    endpoint = Endpoint()
    async with serving(endpoint.app()) as url:
        await slack.use_app(over_http(slack, url))
        await slack.person("alice").says("general", "hello")
        slack.clock.advance(3)
        slack.clock.advance(0)
        await slack.until(lambda: len(endpoint.requests) == 3)
    headers, _ = endpoint.requests[-1]
    assert headers["X-Slack-Retry-Reason"] == "http_timeout"


async def test_the_app_can_ask_not_to_be_told_again(slack: SlackSimulator) -> None:
    endpoint = Endpoint()
    async with serving(endpoint.app()) as url:
        await slack.use_app(over_http(slack, url))
        endpoint.answers = [web.Response(status=500, headers={"X-Slack-No-Retry": "1"})]
        await slack.person("alice").says("general", "hello")
        await slack.until(lambda: slack.deliveries[0].lost)
        slack.clock.advance(1000)
    assert len(slack.deliveries[0].attempts) == 1


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/slack/events"], ids=["none", "dead"])
async def test_an_app_that_is_not_there_is_tried_four_times(
    slack: SlackSimulator, url: str
) -> None:
    slack.world.app = over_http(slack, url)
    slack.world.deliveries.transport = slack.http
    await slack.person("alice").says("general", "hello")
    for number, wait in enumerate((0, 60, 300, 0)):
        await slack.until(lambda number=number: slack.deliveries[0].attempts[number].failure)
        slack.clock.advance(wait)
    assert slack.deliveries[0].lost
