"""Modals and Home tabs: triggers, stacks, changes, and answers through a response_url."""

from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import AppSettings, SlackSimulator
from adapters.slack.testing.people import Person


def modal(**more: Any) -> dict[str, Any]:
    title = {"type": "plain_text", "text": "A modal"}
    return {"type": "modal", "title": title, "blocks": [], **more}


def field(name: str) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": name,
        "label": {"type": "plain_text", "text": name.title()},
        "element": {"type": "plain_text_input", "action_id": f"{name}-value"},
    }


@pytest.fixture
def alice(slack: SlackSimulator) -> Person:
    return slack.person("alice")


async def trigger(slack: SlackSimulator, alice: Person) -> str:
    await alice.commands("general", "/parley")
    return slack.deliveries[-1].payload["trigger_id"]


async def test_a_trigger_opens_one_modal_within_three_seconds(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    first = await trigger(slack, alice)
    await client.views_open(trigger_id=first, view=modal())
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=first, view=modal())
    late = await trigger(slack, alice)
    slack.clock.advance(3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=late, view=modal())
    with pytest.raises(SlackApiError, match="invalid_trigger_id"):
        await client.views_open(trigger_id="made up", view=modal())


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (modal(title={"type": "plain_text", "text": "x" * 25}), "25 characters"),
        (modal(title=None), "title"),
        (modal(private_metadata="x" * 3001), "3001 characters"),
        (modal(blocks=[field("reason")]), "submit"),
        (modal(blocks=[{"type": "odd"}]), "unsupported type"),
        (modal(type="home"), "must be modal"),
        ("no view", "invalid_arguments"),
    ],
)
async def test_a_view_is_refused(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person, view: Any, said: str
) -> None:
    arguments = {"trigger_id": await trigger(slack, alice), "view": view}
    with pytest.raises(SlackApiError, match="invalid_arguments") as caught:
        await client.api_call("views.open", json=arguments)
    assert said in str(caught.value.response.data)
    assert alice.modal is None


async def test_modals_lie_three_deep_and_close_one_by_one(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    await client.views_open(trigger_id=await trigger(slack, alice), view=modal())
    for _ in range(2):
        await client.views_push(
            trigger_id=await trigger(slack, alice), view=modal(notify_on_close=True)
        )
    with pytest.raises(SlackApiError, match="push_limit_reached"):
        await client.views_push(trigger_id=await trigger(slack, alice), view=modal())
    top = alice.modal
    assert top is not None
    closed = await alice.closes()
    assert closed is not None
    assert closed.payload["view"]["previous_view_id"] == top.parent
    assert alice.modal is not None
    assert alice.modal.id == top.parent
    await alice.closes(all_of_them=True)
    assert alice.modal is None


async def test_a_modal_is_changed_by_whoever_saw_its_last_form(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    opened: Any = await client.views_open(
        trigger_id=await trigger(slack, alice), view=modal(external_id="loading")
    )
    seen = opened["view"]["hash"]
    title = {"type": "plain_text", "text": "Changed"}
    await client.views_update(view_id=opened["view"]["id"], hash=seen, view=modal(title=title))
    assert alice.modal is not None
    assert alice.modal.body["title"]["text"] == "Changed"
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_update(view_id=opened["view"]["id"], hash=seen, view=modal())
    with pytest.raises(SlackApiError, match="not_found"):
        await client.views_update(view_id="V0NONE", view=modal())


async def test_an_answer_to_a_submission_updates_or_pushes(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    view = modal(
        submit={"type": "plain_text", "text": "Go"},
        blocks=[field("reason"), {"type": "actions", "elements": [button()]}],
    )
    await client.views_open(trigger_id=await trigger(slack, alice), view=view)
    pressed = await alice.clicks_in_modal("More")
    assert pressed.payload["container"]["type"] == "view"
    for answer, shown in (
        ({"response_action": "update", "view": modal() | {"callback_id": "u"}}, "u"),
        ({"response_action": "push", "view": modal() | {"callback_id": "p"}}, "p"),
    ):
        submitted = await alice.submits({})
        slack.world.deliveries.ack(submitted.id, answer, "test")
        assert alice.modal is not None
        assert alice.modal.body["callback_id"] == shown
    submitted = await alice.submits({})
    slack.world.deliveries.ack(submitted.id, {"response_action": "clear"}, "test")
    assert alice.modal is None


def button() -> dict[str, Any]:
    return {"type": "button", "action_id": "more", "text": {"type": "plain_text", "text": "More"}}


async def test_a_response_url_is_good_for_five_answers_in_half_an_hour(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    sent: Any = await client.chat_postMessage(
        channel="C0GENERAL", text="?", blocks=[{"type": "actions", "elements": [button()]}]
    )
    click = await alice.clicks(sent["ts"], "More")
    url = click.payload["response_url"]
    async with aiohttp.ClientSession() as session:

        async def answer(**body: Any) -> int:
            async with session.post(url, json=body) as response:
                return response.status

        assert await answer(text="only you") == 200
        assert await answer(text="all", response_type="in_channel") == 200
        assert await answer(text="decided", replace_original=True) == 200
        assert await answer(blocks=[{"type": "odd"}]) == 400
        assert await answer(delete_original=True) == 200
        assert await answer(text="once more") == 200
        assert await answer(text="too often") == 404
    assert [each.text for each in slack.private(alice)] == ["only you", "once more"]
    assert [each.text for each in slack.messages("general")] == ["all"]


async def test_a_response_url_ends_after_half_an_hour(slack: SlackSimulator, alice: Person) -> None:
    command = await alice.commands("general", "/parley")
    slack.clock.advance(30 * 60 + 1)
    url = command.payload["response_url"]
    async with aiohttp.ClientSession() as session, session.post(url, json={}) as response:
        assert response.status == 404


def home(**more: Any) -> dict[str, Any]:
    return {"type": "home", "blocks": [], **more}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (modal(), "must be home"),
        (home(blocks=[{"type": "markdown", "text": "hi"}]), "unsupported type"),
        (home(blocks=[{"type": "divider"}] * 101), "msg_blocks_too_many"),
        (home(private_metadata="x" * 3001), "3001 characters"),
        (home(callback_id="x" * 256), "256 characters"),
    ],
)
async def test_a_home_tab_is_refused(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person, view: Any, said: str
) -> None:
    with pytest.raises(SlackApiError, match="invalid_arguments") as caught:
        await client.views_publish(user_id=alice.id, view=view)
    assert said in str(caught.value.response.data)
    assert alice.home is None


async def test_a_home_tab_is_one_persons_and_replaced_by_whoever_saw_it_last(
    slack: SlackSimulator, client: AsyncWebClient, alice: Person
) -> None:
    shown: Any = await client.views_publish(user_id=alice.id, view=home(callback_id="a"))
    again: Any = await client.views_publish(
        user_id=alice.id, hash=shown["view"]["hash"], view=home(callback_id="b")
    )
    assert again["view"]["id"] == shown["view"]["id"]
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_publish(user_id=alice.id, hash=shown["view"]["hash"], view=home())
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        await client.views_publish(user_id="U0NOBODY", view=home())
    assert alice.home is not None
    assert alice.home.body["callback_id"] == "b"
    assert slack.person("bob").home is None
    opened = await alice.opens_app("home")
    assert opened is not None
    assert opened.event["view"]["callback_id"] == "b"


async def test_an_app_without_the_tab_publishes_nothing() -> None:
    async with SlackSimulator(AppSettings(home=False)) as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        with pytest.raises(SlackApiError, match="not_enabled"):
            await client.views_publish(user_id=slack.person("alice").id, view=home())
