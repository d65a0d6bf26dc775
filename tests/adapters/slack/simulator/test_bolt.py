"""The simulated workspace serves slack-bolt as Slack does: sockets, streams, clicks, modals."""

from typing import Any

from slack_bolt.async_app import AsyncApp

from adapters.slack.testing import SlackSimulator


async def test_a_mention_starts_a_streamed_answer_in_its_thread(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    app = bolt

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
    async with connected(app):
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


async def test_a_click_opens_a_modal_whose_answer_changes_the_card(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    app = bolt
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
    async with connected(app):
        card: Any = await app.client.chat_postMessage(
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


async def test_a_command_is_answered_privately_and_through_its_response_url(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    @bolt.command("/parley")
    async def command(ack, respond, command) -> None:
        await ack(f"Working on {command['text']}.")
        await respond("Done.", response_type="in_channel")

    alice = slack.person("alice")
    async with connected(bolt):
        await (await alice.commands("general", "/parley", "the plan")).answered()
        await slack.until(lambda: slack.messages("general"))
    assert [each.text for each in slack.private(alice)] == ["Working on the plan."]
    assert [each.text for each in slack.messages("general")] == ["Done."]


async def test_a_shortcut_tells_of_the_message_that_it_was_used_on(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    heard = []

    @bolt.shortcut("ask")
    async def shortcut(ack, body) -> None:
        await ack()
        heard.append(body["message"]["text"])

    alice = slack.person("alice")
    said = await alice.says("general", "a plan")
    async with connected(bolt):
        await (await alice.uses_shortcut(said, "ask")).answered()
    assert heard == ["a plan"]


async def test_a_listener_that_is_missing_leaves_the_event_unacknowledged(
    slack: SlackSimulator, bolt: AsyncApp, connected
) -> None:
    alice = slack.person("alice")
    async with connected(bolt):
        await alice.says("general", "is anybody there?")
        (delivery,) = slack.deliveries
        for advance in (3, 3, 60, 3, 300, 3):
            slack.clock.advance(advance)
    assert delivery.lost
    assert [each.number for each in delivery.attempts] == [0, 1, 2, 3]
    times = [each.at for each in delivery.attempts]
    assert [round(later - times[0]) for later in times] == [0, 3, 66, 369]
    assert slack.unacknowledged == [delivery]


async def test_the_stream_helper_works_with_tasks_and_closing_blocks(
    slack: SlackSimulator, bolt: AsyncApp, client
) -> None:
    alice = slack.person("alice")
    asked = await alice.tells("plan it")
    stream = await client.chat_stream(channel=alice.direct, thread_ts=asked.ts)
    task = {"type": "task_update", "id": "1", "title": "Look", "status": "in_progress"}
    await stream.append(chunks=[task])
    await stream.append(chunks=[task | {"status": "complete", "details": "found"}])
    await stream.append(markdown_text="Here it is.")
    await stream.stop(blocks=[{"type": "divider"}], session_status="suspended")
    _, reply = slack.messages(alice.direct, asked)
    assert reply.tasks == (("Look", "complete"),)
    assert reply.text == "[complete] Look\nHere it is.\n---"
    session = slack.session(alice.direct, asked)
    assert session is not None
    assert session.status == "suspended"
