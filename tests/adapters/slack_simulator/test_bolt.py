"""The simulated workspace serves slack-bolt as Slack does: sockets, streams, clicks, modals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.simulator import SlackSimulator


@asynccontextmanager
async def connected(slack: SlackSimulator, app: AsyncApp) -> AsyncIterator[AsyncSocketModeHandler]:
    before = asyncio.all_tasks()
    handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=1)
    handler.client.web_client.base_url = slack.api_url
    await handler.connect_async()
    await slack.until(lambda: slack.sockets.live)
    try:
        yield handler
    finally:
        await handler.close_async()
        await handler.client.aiohttp_client_session.close()
        # The SDK cancels its tasks and does not wait for them.
        left = asyncio.all_tasks() - before
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def bolt(slack: SlackSimulator) -> AsyncApp:
    return AsyncApp(
        client=AsyncWebClient(token=slack.bot_token, base_url=slack.api_url),
        signing_secret=slack.signing_secret,
    )


async def test_a_mention_starts_a_streamed_answer_in_its_thread(slack: SlackSimulator) -> None:
    app = bolt(slack)

    @app.event("app_mention")
    async def answer(event, client) -> None:
        stream = await client.chat_stream(
            channel=event["channel"],
            thread_ts=event["ts"],
            recipient_team_id=event["team"],
            recipient_user_id=event["user"],
            buffer_size=1,
        )
        for piece in ("Hello ", "**Alice**", "!"):
            await stream.append(markdown_text=piece)
        await stream.stop()

    @app.event("message")
    async def other() -> None: ...

    alice = slack.person("alice")
    async with connected(slack, app):
        asked = await alice.asks("general", "hello")
        await slack.until(lambda: slack.calls("chat.stopStream"))
        await slack.until(lambda: not slack.unacknowledged)
    _, reply = slack.messages("general", asked)
    assert reply.text == "Hello **Alice**!"
    assert reply.stream == "stopped"
    assert slack.open_streams == []
    assert slack.busy == []
    assert len(slack.calls("chat.appendStream")) == 2
    assert all(each.latency is not None for each in slack.deliveries)


async def test_a_click_opens_a_modal_whose_answer_changes_the_card(slack: SlackSimulator) -> None:
    app = bolt(slack)
    button = {"type": "button", "action_id": "g:1", "text": {"type": "plain_text", "text": "Say"}}

    @app.action("g:1")
    async def clicked(ack, body, client) -> None:
        await ack()
        field = {"type": "plain_text_input", "action_id": "answer"}
        await client.views_open(
            trigger_id=body["trigger_id"],
            view={
                "type": "modal",
                "callback_id": "asked",
                "private_metadata": body["container"]["message_ts"],
                "title": {"type": "plain_text", "text": "A question"},
                "submit": {"type": "plain_text", "text": "Send"},
                "blocks": [
                    {
                        "type": "input",
                        "block_id": "b",
                        "label": {"type": "plain_text", "text": "Your answer"},
                        "element": field,
                    }
                ],
            },
        )

    @app.view("asked")
    async def submitted(ack, view, client) -> None:
        said = view["state"]["values"]["b"]["answer"]["value"]
        if said == "no":
            await ack(response_action="errors", errors={"b": "Say yes."})
            return
        await ack()
        await client.chat_update(
            channel="C0GENERAL", ts=view["private_metadata"], text=f"It was {said}."
        )

    alice = slack.person("alice")
    async with connected(slack, app):
        card = await app.client.chat_postMessage(
            channel="C0GENERAL", text="?", blocks=[{"type": "actions", "elements": [button]}]
        )
        assert slack.messages("general")[0].buttons == ("Say",)
        await (await alice.clicks(card["ts"], "Say")).answered()
        await slack.until(lambda: alice.modal)
        await (await alice.submits({"Your answer": "no"})).answered()
        assert alice.modal is not None
        assert alice.modal.errors == {"b": "Say yes."}
        await (await alice.submits({"answer": "yes"})).answered()
        await slack.until(lambda: slack.calls("chat.update"))
        await slack.until(lambda: slack.messages("general")[0].text == "It was yes.")
    assert alice.modal is None
