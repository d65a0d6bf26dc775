"""Agents' messages in Slack: streamed if possible, always right at the end."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from slack_sdk.models.blocks import Block

from adapters.slack.simulator.clock import VirtualClock
from adapters.slack.testing import (
    AppSettings,
    ConnectionReset,
    Delay,
    Refusal,
    RenderedMessage,
    ServerError,
    TooManyRequests,
)
from gateway.surface import MessageFull, OutcomeUnknown, PlatformUnreachable, RateLimited, Speech
from tests.adapters.slack.desk import Desk, advancing, at_desk, handoff, speech, tool
from tests.fakes.slack_calls import over_tier


@pytest.mark.parametrize("streamed", [True, False])
async def test_what_a_message_does_not_hold_is_said_to_be_in_a_file(
    desk: Desk, *, streamed: bool
) -> None:
    message = await desk.surface.post(desk.place, speech("Well, ", growing=streamed))
    cut = speech("Well, yes.", growing=False, rest_in="writer.md")
    await desk.surface.edit(desk.place, message, cut)
    [shown] = desk.messages()
    assert shown.text.splitlines() == ["Well, yes.", "The rest is in writer.md below."]


async def test_a_growing_text_is_one_stream_that_takes_what_is_new(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("The answer is "))
    await desk.surface.edit(desk.place, message, speech("The answer is forty "))
    await desk.surface.edit(desk.place, message, speech("The answer is forty two.", growing=False))
    [shown] = desk.messages()
    assert shown.text.startswith("The answer is forty two.")
    assert shown.name == "writer"
    assert shown.stream == "stopped"
    assert desk.methods() == ["startStream", "appendStream", "stopStream"]


async def test_a_stream_is_for_the_one_who_asked_and_carries_the_parts_key(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("Hello "))
    await desk.surface.edit(desk.place, message, speech("Hello there", growing=False))
    [start] = desk.slack.calls("chat.startStream")
    assert start.arguments["recipient_team_id"] == "T0HOME"
    assert start.arguments["recipient_user_id"] == desk.slack.person("alice").id
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) == message


async def test_half_a_link_waits_until_it_is_whole(desk: Desk) -> None:
    whole = "See [the docs](https://docs.example/a) now."
    neutral = desk.surface.neutral
    message = await desk.surface.post(desk.place, speech(neutral(whole[:12])))
    for end in range(12, len(whole)):
        await desk.surface.edit(desk.place, message, speech(neutral(whole[:end])))
    await desk.surface.edit(desk.place, message, speech(neutral(whole), growing=False))
    assert desk.texts[0].startswith("See [the docs](https://docs.example/a) (docs.example) now.")
    assert "update" not in desk.methods()


async def test_links_are_dead_while_the_text_grows_and_live_at_its_end(desk: Desk) -> None:
    whole = desk.surface.neutral(
        "See [it](https://a.example/x) and https://b.example/y now: `<br/>`."
    )
    message = await desk.surface.post(desk.place, speech("See "))
    await desk.surface.edit(desk.place, message, speech(f"{whole} Or so"))
    assert desk.texts[0] == (
        "See it (`https://a.example/x`) and `https://b.example/y` now: `<br/>`. Or "
    )
    await desk.surface.edit(desk.place, message, speech(f"{whole} Or so.", growing=False))
    assert desk.methods() == ["startStream", "appendStream", "stopStream", "update"]
    assert markdown(desk.messages()[0]) == [
        "See [it](https://a.example/x) (a.example) and https://b.example/y now: `<br/>`. Or so."
    ]


async def test_links_at_the_very_end_need_no_update(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("See "))
    last = speech("See https://b.example/y.", growing=False)
    await desk.surface.edit(desk.place, message, last)
    assert desk.methods() == ["startStream", "stopStream"]
    assert desk.texts[0].startswith("See https://b.example/y.")


async def test_links_of_a_message_that_was_closed_before_its_end_come_to_life(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("See https://b.example/y and more "))
    desk.slack.clock.advance(61)
    with pytest.raises(MessageFull) as full:
        await desk.surface.edit(
            desk.place, message, speech("See https://b.example/y and more and ")
        )
    assert full.value.shown == "See https://b.example/y and more "
    assert markdown(desk.messages()[0]) == ["See https://b.example/y and more "]


async def test_a_growing_message_that_is_no_stream_has_dead_links_too() -> None:
    async with at_desk() as desk:
        desk.slack.fail("chat.startStream", Refusal("channel_type_not_supported"))
        message = await desk.surface.post(desk.place, speech("See https://b.example/y and "))
        assert desk.texts[0].startswith("See `https://b.example/y` and")
        await desk.surface.edit(desk.place, message, speech("See https://b.example/y and more "))
        assert desk.texts[0].startswith("See `https://b.example/y` and more")
        done = speech("See https://b.example/y and more.", growing=False)
        await desk.surface.edit(desk.place, message, done)
        assert desk.texts[0].startswith("See https://b.example/y and more.")


async def test_a_message_begins_with_its_first_word_but_not_with_half_a_mark(desk: Desk) -> None:
    for text, begins in {"[the": False, "https://a": False, "Hel": True, "I am": True}.items():
        growing = Speech(agent="a", text=text, growing=True)
        assert desk.surface.begins(desk.place, growing) is begins
    assert desk.surface.begins(desk.place, Speech(agent="a", text="[the"))
    assert desk.methods() == []
    await desk.surface.post(desk.place, speech("Hel"))
    assert desk.texts == ["Hel"]
    assert desk.slack.calls("chat.startStream")[0].arguments["chunks"]


async def test_tool_calls_are_cards_and_a_hand_off_is_a_line(desk: Desk) -> None:
    begun = speech("", activity=(tool(),))
    message = await desk.surface.post(desk.place, begun)
    assert desk.messages()[0].tasks == (("search", "in_progress"),)
    done = (tool("done", detail="3 hits"), handoff())
    await desk.surface.edit(desk.place, message, speech("Found it.", activity=done, growing=False))
    [shown] = desk.messages()
    assert shown.tasks == (("search", "complete"),)
    assert "writer handed over to reviewer" in shown.text
    assert "Found it." in shown.text


async def test_a_hand_off_stands_below_the_text_however_that_was_written(desk: Desk) -> None:
    acts = (tool("done"), handoff())
    said = speech("Found it.", activity=acts, growing=False)
    await desk.surface.post(desk.place, said)
    message = await desk.surface.post(desk.place, speech("Found it. ", key="k2"))
    await desk.surface.edit(desk.place, message, replace(said, key="k2"))
    for shown in desk.messages():
        text = shown.text
        assert text.index("search") < text.index("Found it.") < text.index("writer handed over")


async def test_without_leave_to_choose_a_name_the_text_begins_with_it() -> None:
    app = AppSettings()
    async with at_desk(replace(app, scopes=app.scopes - {"chat:write.customize"})) as desk:
        message = await desk.surface.post(desk.place, speech("Hello "))
        await desk.surface.edit(desk.place, message, speech("Hello.", growing=False))
        await desk.surface.post(desk.place, speech("Goodbye.", key="k2", growing=False))
        assert desk.texts[0].startswith("*writer*\nHello.")
        assert desk.texts[1].startswith("*writer*\nGoodbye.")
        await desk.surface.post(desk.place, speech("P.S.", key="k3", first=False, growing=False))
        await desk.surface.post(desk.place, speech("P.P.S. ", key="k4", first=False))
        assert desk.texts[2].startswith("*writer*\nP.S.")
        assert desk.texts[3].startswith("*writer*\nP.P.S.")


TABLE = "| city | people |\n|---|--:|\n| Oslo | 717,710 |\n"


def markdown(shown: RenderedMessage) -> list[str]:
    """Texts of a message's Markdown blocks, which may hold tables."""
    texts = [block["text"] for block in shown.blocks if block["type"] == "markdown"]
    for text in texts:
        parsed = Block.parse({"type": "markdown", "text": text})
        assert parsed is not None
        parsed.validate_json()
    return texts


@pytest.mark.parametrize("block", [TABLE, "- [x] done\n- [ ] open\n"])
async def test_a_streamed_table_is_shown_as_one_once_its_message_is_over(
    desk: Desk, block: str
) -> None:
    message = await desk.surface.post(desk.place, speech("Cities:\n\n"))
    await desk.surface.edit(desk.place, message, speech(f"Cities:\n\n{block}"))
    done = speech(f"Cities:\n\n{block}\nThat is all.", growing=False)
    await desk.surface.edit(desk.place, message, done)
    assert desk.methods() == ["startStream", "appendStream", "stopStream", "update"]
    assert markdown(desk.messages()[0]) == [f"Cities:\n\n{block}\nThat is all."]
    await desk.surface.post(desk.place, speech(block, key="k2", growing=False))
    assert markdown(desk.messages()[1]) == [block]


async def test_a_table_in_a_message_that_was_closed_before_its_end_is_one_too(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech(f"{TABLE}\nmore "))
    desk.slack.clock.advance(61)
    with pytest.raises(MessageFull):
        await desk.surface.edit(desk.place, message, speech(f"{TABLE}\nmore and "))
    assert TABLE in markdown(desk.messages()[0])[0]
    assert "Good answer" not in str(desk.messages()[0].blocks)  # it is not all of the answer


async def test_a_table_of_code_costs_nothing(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("Look:\n"))
    code = speech(f"Look:\n```\n{TABLE}```\nDone.", growing=False)
    await desk.surface.edit(desk.place, message, code)
    assert desk.methods() == ["startStream", "stopStream"]


async def test_a_text_that_was_changed_is_set_right_at_the_end(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("It was the butler "))
    await desk.surface.edit(desk.place, message, speech("It was nobody "))
    assert desk.texts == ["It was the butler "]
    await desk.surface.edit(desk.place, message, speech("It was nobody.", growing=False))
    assert desk.texts[0].startswith("It was nobody.")
    assert desk.methods() == ["startStream", "stopStream", "update"]


async def test_after_four_minutes_the_text_goes_on_in_a_new_message(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("One. "))
    for seconds in range(50, 250, 50):
        desk.slack.clock.advance(50)
        await desk.surface.edit(desk.place, message, speech(f"One. {'and more ' * seconds}"))
    desk.slack.clock.advance(50)
    text = f"One. {'and more ' * 200}Two.\n\nThree"
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech(text))
    assert text.startswith(end.value.shown)
    assert end.value.shown.endswith(("Two.", "more"))
    assert desk.messages()[0].text == end.value.shown
    assert desk.slack.open_streams == []


async def test_a_stream_that_rests_for_a_minute_is_stopped(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("Thinking "))
    desk.slack.clock.advance(61)
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech("Thinking about it. "))
    assert end.value.shown == desk.messages()[0].text
    assert desk.slack.open_streams == []


async def test_an_expired_stream_is_set_right_by_an_update(desk: Desk) -> None:
    desk.slack.world.stream_life = 20
    message = await desk.surface.post(desk.place, speech("First. "))
    desk.slack.clock.advance(30)
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech("First. Second. "))
    assert desk.messages()[0].text == end.value.shown == "First. Second."
    assert await desk.surface.find(desk.place, "k1", 0.0, speech=True) == message


async def test_the_last_text_reaches_a_stream_that_has_expired(desk: Desk) -> None:
    desk.slack.world.stream_life = 20
    message = await desk.surface.post(desk.place, speech("First. "))
    desk.slack.clock.advance(30)
    await desk.surface.edit(desk.place, message, speech("First. Second.", growing=False))
    assert desk.texts[0].startswith("First. Second.")


async def test_after_stop_nothing_is_added_until_the_text_is_final(desk: Desk) -> None:
    await desk.surface.busy(desk.place, "working")
    message = await desk.surface.post(desk.place, speech("One. "))
    await desk.slack.person("alice").stops("general", desk.asked)
    await desk.surface.edit(desk.place, message, speech("One. Two. "))
    await desk.surface.edit(desk.place, message, speech("One. Two. Three. "))
    assert desk.texts == ["One. "]
    await desk.surface.edit(desk.place, message, speech("One. Two.", growing=False))
    assert len(desk.messages()) == 1
    assert desk.texts[0].startswith("One. Two.")


@pytest.mark.parametrize(
    "code",
    [
        "missing_recipient_user_id",
        "channel_type_not_supported",
        "not_authorized",
    ],
)
async def test_where_slack_does_not_stream_messages_are_posted_and_updated(
    desk: Desk, code: str
) -> None:
    desk.slack.fail("chat.startStream", Refusal(code))
    message = await desk.surface.post(desk.place, speech("Hello "))
    await desk.surface.edit(desk.place, message, speech("Hello there"))
    await desk.surface.edit(desk.place, message, speech("Hello there.", growing=False))
    assert desk.texts[0].startswith("Hello there.")
    again = await desk.thread()
    await desk.surface.post(again, speech("Hi", key="k2"))
    assert desk.methods() == ["startStream", "postMessage", "update", "update", "postMessage"]


async def test_no_stream_is_begun_with_less_than_a_quarter_of_the_budget(desk: Desk) -> None:
    places = [await desk.thread() for _ in range(17)]
    for n, place in enumerate(places):
        await desk.surface.post(place, speech("Hello ", key=f"p{n}"))
    assert desk.methods() == ["startStream"] * 14 + ["postMessage"] * 3
    assert over_tier(desk.slack) == {}


@pytest.mark.parametrize(
    "fault", [ConnectionReset(applied=True), ServerError(applied=True), ConnectionReset()]
)
async def test_an_append_without_an_answer_is_never_made_twice(desk: Desk, fault) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.appendStream", fault)
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech("A B "))
    assert desk.messages()[0].text == end.value.shown == "A B"
    assert len(desk.slack.calls("chat.appendStream")) == 1


@pytest.mark.parametrize(
    "fault", [ConnectionReset(applied=True), ServerError(applied=True), ConnectionReset()]
)
async def test_a_stop_without_an_answer_ends_with_the_right_text(desk: Desk, fault) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.stopStream", fault)
    await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    assert desk.texts[0].startswith("A B.")
    assert desk.slack.open_streams == []


@pytest.mark.parametrize("fault", [ConnectionReset(applied=True), ServerError(applied=True)])
async def test_a_start_without_an_answer_is_found_again(desk: Desk, fault) -> None:
    since = desk.slack.clock.time()
    desk.slack.fail("chat.startStream", fault)
    with pytest.raises(OutcomeUnknown):
        await desk.surface.post(desk.place, speech("A "))
    message = await desk.surface.find(desk.place, "k1", since, speech=True)
    assert message is not None
    await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    assert desk.texts[0].startswith("A B.")
    assert desk.slack.open_streams == []
    assert await desk.surface.find(desk.place, "k1", since, speech=True) == message


async def test_a_rate_limit_keeps_the_text_and_closes_the_bucket(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.appendStream", TooManyRequests(retry_after=30))
    with pytest.raises(RateLimited) as limited:
        await desk.surface.edit(desk.place, message, speech("A B "))
    assert limited.value.retry_after == 30
    with pytest.raises(RateLimited):  # Slack is not even asked
        await desk.surface.edit(desk.place, message, speech("A B C "))
    assert len(desk.slack.calls("chat.appendStream")) == 1
    await desk.surface.edit(desk.place, message, speech("A B C.", growing=False))
    assert desk.texts[0].startswith("A B C.")


@pytest.mark.parametrize("limit", [TooManyRequests(20), TooManyRequests(20, plainly=True)])
async def test_a_refused_start_is_posted_instead(desk: Desk, limit: TooManyRequests) -> None:
    desk.slack.fail("chat.startStream", limit)
    await desk.surface.post(desk.place, speech("A "))
    assert desk.methods() == ["startStream", "postMessage"]


async def test_a_message_of_an_earlier_run_is_ended_and_set_right(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("Half an ans "))
    after = desk.restarted()
    await after.edit(desk.place, message, speech("Half an ans", resuming=True))
    assert "Interrupted" in desk.texts[0]
    await after.edit(desk.place, message, speech("The whole answer.", growing=False))
    assert desk.texts[0].startswith("The whole answer.")
    assert desk.slack.open_streams == []
    assert desk.methods() == ["startStream", "stopStream", "update", "update"]


async def test_too_long_a_stream_goes_on_in_a_new_message(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.appendStream", Refusal("msg_too_long"))
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech("A B "))
    assert desk.messages()[0].text.startswith(end.value.shown)
    assert desk.slack.open_streams == []


async def test_tending_stops_what_rests_and_at_the_end_everything(desk: Desk) -> None:
    other = await desk.thread()
    await desk.surface.post(desk.place, speech("A ", key="k1"))
    async with desk.surface.maintained():
        async with advancing(desk.slack, 1.0):
            await desk.slack.until(lambda: not desk.slack.open_streams)
        await desk.surface.post(other, speech("B ", key="k2"))
        assert len(desk.slack.open_streams) == 1
    assert desk.slack.open_streams == []


async def test_a_changed_text_is_set_right_when_its_message_grows_old(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("It was the butler "))
    for _ in range(5):
        desk.slack.clock.advance(49)
        desk.slack.world.stream_life = 10_000
        with contextlib.suppress(MessageFull):
            await desk.surface.edit(desk.place, message, speech("It was ", activity=(tool(),)))
    assert desk.slack.open_streams == []
    assert "It was the butler" not in desk.texts[0]


@pytest.mark.parametrize("code", ["msg_too_long", "msg_blocks_too_long"])
async def test_an_end_that_is_too_long_goes_on_in_a_new_message(desk: Desk, code: str) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.stopStream", Refusal(code))
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    assert end.value.shown == "A "
    assert desk.texts == ["A "]
    assert desk.slack.open_streams == []


async def test_a_stream_that_slack_breaks_off_is_ended_and_set_right(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.appendStream", Refusal("streaming_mode_mismatch"))
    with pytest.raises(MessageFull):
        await desk.surface.edit(desk.place, message, speech("A B "))
    assert desk.texts == ["A B"]
    assert desk.slack.open_streams == []


async def test_a_stream_that_can_not_be_set_right_yet_is_tried_again(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.stopStream", Refusal("message_not_in_streaming_state"))
    with pytest.raises(PlatformUnreachable):  # it streams all the same, and takes no update
        await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    assert desk.texts[0].startswith("A B.")
    assert desk.slack.open_streams == []


@pytest.mark.parametrize(
    "fault",
    [TooManyRequests(7), ConnectionReset(), ConnectionReset(applied=True), Refusal("not_known")],
)
async def test_a_stream_that_rests_is_stopped_whatever_happens(desk: Desk, fault) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.stopStream", fault)
    async with desk.surface.maintained(), advancing(desk.slack, 1.0):
        await desk.slack.until(lambda: len(desk.slack.calls("chat.stopStream")) > 0)
        with contextlib.suppress(MessageFull, RateLimited):
            await desk.surface.edit(desk.place, message, speech("A B "))
        desk.slack.clock.advance(10)
        with contextlib.suppress(MessageFull):
            await desk.surface.edit(desk.place, message, speech("A B "))
    assert desk.slack.open_streams == []
    assert "A" in desk.texts[0]


async def test_a_message_of_long_ago_is_only_updated(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A."))
    desk.slack.clock.advance(3600)
    await desk.restarted().edit(desk.place, message, speech("A B.", growing=False))
    assert desk.texts[0].startswith("A B.")
    assert desk.methods() == ["startStream", "update"]


async def test_a_stream_of_an_earlier_run_is_ended_with_a_clock_that_is_ahead(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("Half an ans "))
    ahead = desk.restarted(clock=VirtualClock(desk.slack.clock.time() + 3600))
    await ahead.edit(desk.place, message, speech("The whole answer.", growing=False))
    assert desk.texts[0].startswith("The whole answer.")
    assert desk.slack.open_streams == []


async def test_a_message_that_ends_within_code_closes_it(desk: Desk) -> None:
    text = f"Look at this code:\n\n```py\n{'x = 1' * 3}\n"
    message = await desk.surface.post(desk.place, speech(text))
    desk.slack.clock.advance(61)
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, speech(f"{text}y = 2\n"))
    assert end.value.shown == text
    assert desk.texts == [f"{text}```"]


async def test_a_tool_that_ends_after_its_message_was_stopped_is_told_there(desk: Desk) -> None:
    running, done = (speech("", activity=(tool(status),)) for status in ("running", "done"))
    message = await desk.surface.post(desk.place, running)
    async with desk.surface.maintained(), advancing(desk.slack, 1.0):
        await desk.slack.until(lambda: not desk.slack.open_streams)
    with pytest.raises(MessageFull) as end:
        await desk.surface.edit(desk.place, message, done)
    assert end.value.shown == ""
    assert desk.texts == [":white_check_mark: search"]


async def test_an_append_that_was_cut_short_is_never_made_twice(desk: Desk) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.appendStream", Delay(1000, applied=True))
    editing = asyncio.ensure_future(desk.surface.edit(desk.place, message, speech("A B ")))
    await desk.slack.until(lambda: desk.texts == ["A B "])
    editing.cancel()
    await asyncio.wait([editing])
    with pytest.raises(MessageFull):
        await desk.surface.edit(desk.place, message, speech("A B C "))
    assert desk.texts == ["A B C"]


async def test_a_stream_that_slack_does_not_end_is_set_right_once_it_has_expired(
    desk: Desk,
) -> None:
    message = await desk.surface.post(desk.place, speech("A "))
    desk.slack.fail("chat.stopStream", Refusal("msg_too_long"), times=9)
    for _ in range(2):
        with pytest.raises(PlatformUnreachable):
            await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    desk.slack.clock.advance(310)
    await desk.surface.edit(desk.place, message, speech("A B.", growing=False))
    assert desk.texts[0].startswith("A B.")


async def test_a_clock_that_is_set_back_holds_no_growing_text_up(desk: Desk) -> None:
    await desk.surface.post(desk.place, speech("The answer is "))
    desk.slack.clock.advance(-86_400)
    ready = asyncio.ensure_future(desk.surface.ready(desk.place, "edit"))
    await asyncio.sleep(0)
    desk.slack.clock.advance(5)
    async with asyncio.timeout(5):
        await ready
