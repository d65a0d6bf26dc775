"""Platform faults: nothing is lost, and repeats are marked."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.adapter import AuthError
from gateway.app.operator import owner_status
from gateway.app.stores import AnyStore
from gateway.conversation import ConversationKey
from gateway.delivery.service import delivering
from gateway.errors import NotFound
from gateway.events import FileMade, HumanText, InputResolved, ToolFinished, TurnFinished
from gateway.gateway import Gateway
from gateway.store.units import counts, outbox
from gateway.store.units.requests import UNSHOWN
from gateway.surface import (
    CallRejected,
    Card,
    MessageFull,
    MessageGone,
    OutcomeUnknown,
    Part,
    Place,
    PlatformUnreachable,
    RateLimited,
    Speech,
    TextLimits,
)
from teams._base.tool_call import current_tool_call
from teams._run.run import current_hooks
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import (
    Board,
    Call,
    EditingSurface,
    PlainSurface,
    RemovingSurface,
    Surface,
    When,
)
from tests.gateway.delivery.delivered import ANN, Story, all_told, say, served
from tests.gateway.delivery.test_service import (
    BEGIN,
    DONE,
    WithApprovals,
    asked,
    delta,
    said,
    started,
)
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, solo, until

FILE = FileMade(thread="", path="report.csv", size=3)
HELLO = (BEGIN, said("a", "m", "Hello."), DONE)
QUESTION = replace(BEGIN, messages=(HumanText(inbox=1, author="Ann", text="Again?"),))


async def told(
    folder: Path,
    board: Board,
    *events,
    surface: type[PlainSurface] = Surface,
    step: float = 1.0,
    **more,
) -> None:
    """Add events to a thread, and wait until delivered or given up."""
    clock = VirtualClock()
    async with served(folder, surface(board, **more), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*events)
        await all_told(gateway, clock, step)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_what_may_have_arrived_is_looked_up_first(tmp_path: Path, when) -> None:
    board = Board()
    board.fail("post", OutcomeUnknown(), when)
    await told(tmp_path, board, *HELLO)
    assert board.texts == ["a: Hello."]
    assert "find" in [call for call, _ in board.calls]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_what_can_not_be_looked_up_is_sent_again_and_marked(tmp_path: Path, when) -> None:
    board = Board(forgets=True)
    board.fail("post", OutcomeUnknown(), when)
    await told(tmp_path, board, *HELLO)
    assert board.texts[-1] == "a: Hello. (perhaps twice)"
    assert len({key for _, key in board.calls}) == 1


async def test_a_surface_that_finds_nothing_marks_what_is_sent_again(tmp_path: Path) -> None:
    board = Board()
    board.fail("post", OutcomeUnknown(), "after")
    await told(tmp_path, board, *HELLO, surface=PlainSurface)
    assert board.texts == ["a: Hello.", "a: Hello. (perhaps twice)"]


async def test_a_call_without_an_end_counts_as_unclear(tmp_path: Path) -> None:
    board = Board()
    board.fail("post", TimeoutError(), "after")
    await told(tmp_path, board, *HELLO)
    assert board.texts == ["a: Hello."]


async def test_a_rate_limited_message_waits_as_long_as_it_is_told_to(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    board.fail("post", RateLimited(30.0))
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await board.until(lambda b: b.calls)
        clock.advance(29.0)
        await asyncio.sleep(0.02)
        assert len(board.calls) == 1
        await all_told(gateway, clock)
    assert board.texts == ["a: Hello."]


async def test_an_unreachable_platform_is_tried_again_in_order(tmp_path: Path) -> None:
    board = Board()
    for _ in range(5):
        board.fail("post", PlatformUnreachable())
    events = (BEGIN, said("a", "m1", "One."), said("a", "m2", "Two."), DONE)
    await told(tmp_path, board, *events)
    assert board.texts == ["a: One.", "a: Two."]
    assert len([call for call, _ in board.calls if call == "post"]) == 7


async def test_other_threads_do_not_wait_for_one_that_fails(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        other = await Story.begun(gateway, ConversationKey(platform="scripted", root="2"))
        board.fail("post", RateLimited(600.0))
        await story.tell(*HELLO)
        await board.until(lambda b: b.calls)
        await other.tell(BEGIN, said("b", "x", "Here."), DONE)
        await board.until(lambda b: b.texts == ["b: Here."])
        await all_told(gateway, clock, 60.0)
    assert board.texts == ["b: Here.", "a: Hello."]


async def test_a_platform_that_stays_away_is_given_up_after_hours(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    for _ in range(400):
        board.fail("post", PlatformUnreachable())
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await all_told(gateway, clock, 300.0)
        assert (await gateway.store.run(outbox.delivery, story.thread)).gone
        assert (await gateway.store.run(counts.counts)).outbox == {"failed": 1}
        assert gateway.vitals.parts == {"failed": 1}


async def test_a_machine_that_slept_for_days_gives_no_thread_up(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    for _ in range(3):
        board.fail("post", PlatformUnreachable())
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await all_told(gateway, clock, 9 * 86_400.0)  # between any two tries
    assert board.texts == ["a: Hello."]


async def test_what_the_platform_never_takes_is_counted_and_told(tmp_path: Path) -> None:
    board = Board()
    board.fail("post", CallRejected("msg_blocks_too_long"))
    clock = VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, said("a", "m1", "One."), said("a", "m2", "Two."), DONE)
        await all_told(gateway, clock)
        assert (await gateway.store.run(counts.counts)).outbox["failed"] == 1
        assert gateway.vitals.parts == {"failed": 1, "posted": 2}
        store = cast("AnyStore", gateway.store)
        assert "Not delivered (1 failed)." in (await owner_status(store))[1]
    missing = "-- A part of this answer could not be shown here; see the log."
    assert board.texts == [missing, "a: Two."]


@pytest.mark.parametrize(
    ("call", "error", "why"),
    [
        ("post", CallRejected("the channel is archived"), "the channel is archived"),
        ("post", PlatformUnreachable("Slack answered 503"), "Slack answered 503"),
        ("edit", OutcomeUnknown(), "no answer"),
        ("find", PlatformUnreachable("Slack answered 503"), "Slack answered 503"),
    ],
    ids=["refused", "unreachable", "unclear edit", "unreachable look-up"],
)
async def test_the_operator_is_told_why_a_message_is_not_delivered(
    tmp_path: Path, call: Call, error: Exception, why: str
) -> None:
    board, clock = Board(), VirtualClock()
    if call == "find":
        board.fail("post", OutcomeUnknown(), "after")
    board.fail(call, error)
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "Hel"))
        await board.until(lambda b: b.calls)
        await story.tell(said("a", "m", "Hello."), DONE)
        await all_told(gateway, clock)
        assert [*(await gateway.client.status()).remarks] == [f"scripted: not delivered: {why}"]


async def test_a_place_that_is_gone_is_given_up_until_somebody_writes_there(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        board.fail("post", CallRejected("is_archived", gone=True))
        await story.tell(BEGIN, said("a", "m1", "One."))
        await board.until(lambda b: b.calls)
        await story.tell(said("a", "m2", "Two."), DONE)
        await all_told(gateway, clock)
        assert (await gateway.store.run(outbox.delivery, story.thread)).gone == "is_archived"
        assert board.texts == []
        await story.tell(QUESTION, said("a", "m3", "Three."), DONE)
        await all_told(gateway, clock)
        assert (await gateway.store.run(outbox.delivery, story.thread)).gone == ""
    assert board.texts == ["a: Three."]


async def test_a_place_that_is_gone_stays_given_up_after_a_restart(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        board.fail("post", CallRejected("is_archived", gone=True))
        await story.tell(BEGIN, said("a", "m1", "One."))
        await all_told(gateway, clock)
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        await Story(gateway, story.thread).tell(said("a", "m2", "Two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == []


class WithoutCards(Surface):
    """Refuses questions."""

    async def post(self, place: Place, part: Part) -> str:
        if isinstance(part.content, Card):
            raise CallRejected("invalid_blocks")
        return await super().post(place, part)


async def order() -> str:
    """Order, and ask back in the midst of the call."""
    call, elicit = current_tool_call(), current_hooks().elicit
    assert call is not None
    assert elicit is not None
    answers = [
        await elicit(replace(call, key=f"{call.key}:{n}", server="shop"), {"message": "Which?"})
        for n in range(2)
    ]
    return " ".join(str(answer["action"]) for answer in answers)


@pytest.mark.parametrize(
    ("gone", "shown"),
    [
        (
            False,
            [
                "-- A question could not be shown here; see the log.",
                "-- A question could not be shown here; see the log.",
                "solo: Done.",
            ],
        ),
        (True, []),
    ],
)
async def test_a_question_that_is_not_taken_is_called_off_and_its_call_goes_on(
    tmp_path: Path, gone: bool, shown: list[str]
) -> None:
    board = Board()
    if gone:
        board.fail("post", CallRejected("is_archived", gone=True))
    surface = Surface(board) if gone else WithoutCards(board)
    made = partial(solo, calls("order"), "Done.", tools=[order])
    async with served(tmp_path, surface, made) as gateway:
        thread = await say(gateway, "order it")
        events = await until(gateway, thread, ends)
        await all_told(gateway)
    assert [each.result for each in of(ToolFinished, events)] == ["cancel cancel"]
    assert [each.outcome for each in of(InputResolved, events)] == [UNSHOWN, UNSHOWN]
    assert [text for text in board.texts if "order" not in text] == shown


async def test_refused_credentials_end_the_adapter(tmp_path: Path) -> None:
    board = Board()
    board.fail("post", AuthError("token_revoked"))

    async def serve() -> None:
        async with served(tmp_path, Surface(board)) as gateway:
            story = await Story.begun(gateway)
            await story.tell(*HELLO)
            await asyncio.Event().wait()

    with pytest.raises(AuthError, match="token_revoked"):
        await serve()


async def test_a_bug_in_one_thread_leaves_the_others_alone(tmp_path: Path, caplog) -> None:
    board, clock = Board(), VirtualClock()
    board.fail("post", ValueError("a bug"))
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await all_told(gateway, clock)
    assert board.texts == ["a: Hello."]
    assert "a bug" in caplog.text


@pytest.mark.parametrize("shown", ["One two ", "", "something else"])
async def test_a_message_that_takes_no_more_is_gone_on_from(tmp_path: Path, shown: str) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two "))
        await board.until(lambda b: b.posted)
        board.fail("edit", MessageFull(shown))
        await story.tell(delta("a", "m", "three "))
        await board.until(lambda b: len(b.posted) == 2)
        await story.tell(said("a", "m", "One two three four."), DONE)
        await all_told(gateway, clock)
    if shown == "One two ":
        assert board.texts == ["a: One two ", "three four."]
    else:
        assert board.texts[1] == "One two three four."


async def test_bounds_that_a_platform_set_hold_after_a_restart(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two "))
        await board.until(lambda b: b.posted)
        board.fail("edit", MessageFull("One two "))
        await story.tell(delta("a", "m", "three "))
        await board.until(lambda b: len(b.posted) == 2)
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        await Story(gateway, story.thread).tell(said("a", "m", "One two three four."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One two ", "three four."]


async def test_an_old_message_is_followed_up_rather_than_edited(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    limits = TextLimits(message=200, edit_within=3600.0)
    async with served(tmp_path, Surface(board, limits=limits), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One "))
        await board.until(lambda b: b.posted)
        clock.advance(3700.0)
        await story.tell(said("a", "m", "One two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One ", "two."]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [OutcomeUnknown(), PlatformUnreachable("down"), TimeoutError()])
async def test_an_old_message_whose_last_edit_may_have_arrived_doubles_nothing(
    tmp_path: Path, error: Exception, when: When
) -> None:
    board, clock = Board(), VirtualClock()
    limits = TextLimits(message=200, edit_within=3600.0)
    async with served(tmp_path, Surface(board, limits=limits), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One "))
        await board.until(lambda b: b.posted)
        board.fail("edit", error, when)
        await story.tell(delta("a", "m", "two "))
        await board.until(lambda b: "edit" in [call for call, _ in b.calls])
        clock.advance(3700.0)
        await story.tell(said("a", "m", "One two three."), DONE)
        await all_told(gateway, clock)
    assert board.said() == "One two three."


async def test_an_old_half_is_removed_once_the_answer_that_was_begun_anew_stands_below(
    tmp_path: Path,
) -> None:
    board, clock = Board(), VirtualClock()
    surface = RemovingSurface(board, limits=TextLimits(message=200, edit_within=3600.0))
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One "))
        await board.until(lambda b: b.posted)
        clock.advance(3700.0)
        await story.tell(replace(BEGIN, resumed=True), said("a", "m", "Another answer."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["Another answer."]
    assert [call for call, _ in board.calls] == ["post", "post", "remove"]


async def test_a_question_that_somebody_removed_is_asked_once_more(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "Well"))
        await board.until(lambda b: b.posted)
        board.fail("edit", MessageGone("gone"))
        await story.tell(said("a", "m", "Well then."), DONE)
        await all_told(gateway, clock)
    assert [posted.text for posted in board.posted] == ["a: Well", "a: Well then."]
    assert len({posted.part.key for posted in board.posted}) == 2


async def test_an_edit_that_may_have_arrived_is_made_again(tmp_path: Path) -> None:
    board = Board()
    for _ in range(3):
        board.fail("edit", OutcomeUnknown(), "after")
    clock = VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "Well"))
        await board.until(lambda b: b.posted)
        await story.tell(said("a", "m", "Well then."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: Well then."]


async def test_a_deleted_thread_leaves_no_rows_and_no_writer(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "A secret"))
        await board.until(lambda b: b.posted and b.busy)
        await gateway.client.delete_thread(story.thread)
        await board.until(lambda b: b.busy[-1] == "idle")
        with pytest.raises(NotFound):
            await gateway.store.run(outbox.delivery, story.thread)
        assert (await gateway.store.run(counts.counts)).outbox == {}


async def test_rows_of_what_was_told_long_ago_are_removed(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        for n in range(5):
            await story.tell(BEGIN, said("a", f"m{n}", f"{n}."), DONE)
            await all_told(gateway, clock)
        rows = (await gateway.store.run(outbox.delivery, story.thread)).rows
    assert len(board.posted) == 5
    assert len(rows) == 1


async def test_an_interrupted_message_says_so_until_it_is_said_anew(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    again = replace(BEGIN, resumed=True)
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two"))
        await board.until(lambda b: b.posted)
        await story.tell(again)
        await board.until(lambda b: b.posted[0].speech.resuming)
        await story.tell(delta("a", "m", "Uno", replace=True))
        await board.until(lambda b: not b.posted[0].speech.resuming)
        await story.tell(said("a", "m", "Uno dos."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: Uno dos."]
    assert [content.resuming for content in board.posted[0].history if isinstance(content, Speech)][
        -1
    ] is False


@pytest.mark.parametrize(
    ("surface", "left"),
    [(EditingSurface, ["a: (This was interrupted and not repeated.)"]), (RemovingSurface, [])],
)
async def test_what_is_not_said_again_is_taken_back(
    tmp_path: Path, surface: type[EditingSurface], left: list[str]
) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two"))
        await board.until(lambda b: b.posted)
        await story.tell(replace(BEGIN, resumed=True), said("a", "m", ""), DONE)
        await all_told(gateway, clock)
    assert board.texts == left


@pytest.mark.parametrize(
    ("surface", "left"),
    [(EditingSurface, ["(No more was said here.)"]), (RemovingSurface, [])],
)
async def test_what_is_left_over_of_a_longer_attempt_goes(
    tmp_path: Path, surface: type[EditingSurface], left: list[str]
) -> None:
    board, clock = Board(), VirtualClock()
    limits = TextLimits(message=20)
    async with served(tmp_path, surface(board, limits=limits), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two three four five six."))
        await board.until(lambda b: len(b.posted) == 2)
        await story.tell(replace(BEGIN, resumed=True), said("a", "m", "One two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One two.", *left]


@pytest.mark.parametrize(
    ("fault", "times"),
    [(PlatformUnreachable("down"), 2), (RateLimited(3.0), 2), (MessageGone("by hand"), 1)],
)
async def test_what_is_left_over_is_removed_in_the_end(
    tmp_path: Path, fault: Exception, times: int
) -> None:
    board, clock = Board(), VirtualClock()
    board.fail("remove", fault, "after" if isinstance(fault, MessageGone) else "before")
    surface = RemovingSurface(board, limits=TextLimits(message=20))
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two three four five six."))
        await board.until(lambda b: len(b.posted) == 2)
        await story.tell(replace(BEGIN, resumed=True), said("a", "m", "One two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One two."]
    assert [call for call, _ in board.calls].count("remove") == times


CRASHES = [
    pytest.param("post", "before", id="after the attempt was noted"),
    pytest.param("post", "after", id="posted, not recorded"),
    pytest.param("edit", "after", id="edited, not recorded"),
    pytest.param("edit", "before", id="about to be edited"),
]


@pytest.mark.parametrize(("call", "when"), CRASHES)
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_crash_loses_nothing_and_doubles_nothing(
    tmp_path: Path, call, when, nth: int
) -> None:
    board = Board()
    crash = asyncio.CancelledError()
    board.fail(call, crash, when, nth=nth)
    text = "One two three four five six seven eight nine ten eleven twelve."
    async with served(tmp_path, Surface(board, limits=TextLimits(message=40))) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One "))
        await board.until(lambda b: b.calls)
        await story.tell(delta("a", "m", "two three"), asked("r1", agent="b"))
        await asyncio.sleep(0.05)
        await story.tell(
            said("a", "m", text), InputResolved(thread="", request="r1", outcome="answered"), DONE
        )
        await asyncio.sleep(0.1)
    async with served(tmp_path, Surface(board, limits=TextLimits(message=40))) as gateway:
        await all_told(gateway)
    assert board.said() == text
    assert [posted.text for posted in board.posted if isinstance(posted.content, Card)] == [
        "? r1? answered"
    ]
    assert not any(posted.part.unsure for posted in board.posted)


async def test_a_crash_without_a_way_to_look_up_marks_the_second_message(tmp_path: Path) -> None:
    board = Board()
    board.fail("post", asyncio.CancelledError(), "after")
    async with served(tmp_path, PlainSurface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await board.until(lambda b: b.posted)
    async with served(tmp_path, PlainSurface(board)) as gateway:
        await all_told(gateway)
    assert board.texts == ["a: Hello.", "a: Hello. (perhaps twice)"]


async def test_the_busy_sign_is_taken_back_after_a_crash(tmp_path: Path) -> None:
    board = Board()
    surface = Surface(board)
    async with served(tmp_path, surface) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"))
        await board.until(lambda b: b.busy == ["working"])
    board.busy.clear()
    async with served(tmp_path, surface) as gateway:
        await Story(gateway, story.thread).tell(TurnFinished(thread="", outcome="stopped"))
        await all_told(gateway)
    assert board.busy[-1] == "idle"


async def test_what_is_posted_keeps_its_bounds_when_the_limits_change(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    text = "".join(f"word{n:02} " for n in range(20))
    async with served(
        tmp_path, Surface(board, limits=TextLimits(message=60)), clock=clock
    ) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", text[:77]))
        await board.until(lambda b: len(b.posted) == 2)
    first = board.posted[0].text
    limits = TextLimits(message=40, messages=9)
    async with served(tmp_path, Surface(board, limits=limits), clock=clock) as gateway:
        await Story(gateway, story.thread).tell(said("a", "m", text), DONE)
        await all_told(gateway, clock)
    assert board.posted[0].text == first
    assert board.said() == text


async def test_a_platform_that_hangs_holds_up_no_turn(tmp_path: Path) -> None:
    board, surface = Board(), Surface(Board())
    surface.open.clear()
    async with served(tmp_path, surface, lambda: solo("Hello.")) as gateway:
        thread = await say(gateway, "hi")
        async with asyncio.timeout(5):
            while (await gateway.client.thread(thread)).state != "idle" or not (  # noqa: ASYNC110
                await gateway.client.thread(thread)
            ).last_seq:
                await asyncio.sleep(0.01)
        assert board.posted == []


async def test_threads_that_rest_keep_nothing_running(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        stories = [
            await Story.begun(gateway, ConversationKey(platform="scripted", root=str(n)))
            for n in range(30)
        ]
        for n, story in enumerate(stories):
            await story.tell(BEGIN, said("a", f"m{n}", f"{n}."), DONE)
        await all_told(gateway)
        while any(" thread" in task.get_name() for task in asyncio.all_tasks()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert len(board.posted) == 30


async def test_a_thread_goes_on_after_its_writer_has_rested(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        for n in range(20):
            await story.tell(BEGIN, said("a", f"m{n}", f"{n}."), DONE)
            if n % 3 == 0:
                await story.told()
        await story.told()
    assert board.texts == [f"a: {n}." for n in range(20)]


async def test_after_a_restart_an_interrupted_message_says_so(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One two"))
        await board.until(lambda b: b.posted)
    async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))) as gateway:
        again = Story(gateway, story.thread)
        await again.tell(delta("a", "m", "One two", replace=True))  # what it finds in its store
        await again.tell(replace(BEGIN, resumed=True))
        async with delivering(gateway.delivery, Surface(board), clock=clock):
            await board.until(lambda b: b.posted[0].speech.resuming)
            assert board.texts == ["a: One two"]
            await again.tell(delta("a", "m", "Uno", replace=True), said("a", "m", "Uno."), DONE)
            await all_told(gateway, clock)
    assert board.texts == ["a: Uno."]


class Slow(PlainSurface):
    """Takes its time to post."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.begun, self.arrives = asyncio.Event(), asyncio.Event()

    async def post(self, place, part) -> str:
        self.begun.set()
        await self.arrives.wait()
        return await super().post(place, part)


async def test_what_arrives_while_the_gateway_ends_is_not_posted_again(tmp_path: Path) -> None:
    surface = Slow(board := Board())
    async with served(tmp_path, surface) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await surface.begun.wait()
        await gateway.close()
        surface.arrives.set()
        name = f"writes {story.thread}"
        await asyncio.wait([each for each in asyncio.all_tasks() if each.get_name() == name])
    async with served(tmp_path, PlainSurface(board)) as gateway:
        await all_told(gateway)
    assert board.texts == ["a: Hello."]


class Stubborn(Surface):
    """Fails when it is told to stop."""

    async def post(self, place, part) -> str:
        self.board.calls.append(("post", part.key))
        self.board.stir()
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("not now")


async def test_leaving_ends_a_writer_that_fails_meanwhile(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Stubborn(board), clock=VirtualClock()) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*HELLO)
        await board.until(lambda b: b.calls)
    assert board.posted == []


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (asked("r1"), "-- A question could not be shown here; see the log."),
        (FILE, "-- A file could not be shown here; see the log."),
    ],
    ids=["question", "file"],
)
async def test_what_is_refused_is_named(tmp_path: Path, event, text: str) -> None:
    board, clock = Board(), VirtualClock()
    board.fail("post", CallRejected("invalid"))
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        folder = await gateway.store.work_folder(story.thread)
        folder.mkdir(parents=True)
        (folder / "report.csv").write_bytes(b"1,2")
        await story.tell(BEGIN, event, DONE)
        await all_told(gateway, clock)
    assert board.texts == [text]


async def test_a_growing_text_that_is_refused_is_shown_at_its_end(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One"))
        await board.until(lambda b: b.posted)
        board.fail("edit", CallRejected("invalid"))
        await story.tell(delta("a", "m", " two"))
        await board.until(lambda b: not b.faults)
        await story.tell(said("a", "m", "One two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One two."]


async def test_a_message_that_people_remove_again_and_again_is_left(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One"))
        await board.until(lambda b: b.posted)
        board.fail("edit", MessageGone("gone"))
        await story.tell(delta("a", "m", " two"))
        await board.until(lambda b: len(b.posted) == 2)
        board.fail("edit", MessageGone("gone"))
        await story.tell(said("a", "m", "One two three."), DONE)
        await all_told(gateway, clock)
    assert board.texts[:2] == ["a: One", "a: One two"]
    assert board.texts[2:] == ["-- A part of this answer could not be shown here; see the log."]


async def test_a_copy_that_can_not_be_posted_leaves_the_thread_alone(tmp_path: Path) -> None:
    board, clock = Board(), VirtualClock()
    gone = CallRejected("channel_not_found", gone=True)
    board.fail("post", gone, matches=lambda part: getattr(part.content, "away", False))
    access = WithApprovals([ANN.id])
    async with served(tmp_path, Surface(board), clock=clock, access=access) as gateway:
        story = await Story.begun(gateway)
        await story.tell(
            BEGIN, asked("r1", kind="approval"), TurnFinished(thread="", outcome="waiting")
        )
        await all_told(gateway, clock)
        assert (await gateway.store.run(outbox.delivery, story.thread)).gone == ""
    assert board.texts == ["? r1? open"]


@pytest.mark.sqlite
@pytest.mark.parametrize("forgets", [False, True], ids=["looked-up", "marked"])
async def test_what_was_posted_after_a_backup_is_not_posted_again_unmarked(
    tmp_path: Path, forgets: bool
) -> None:
    board, backup = Board(), tmp_path / "backup.db"
    folder = tmp_path / "store"
    teams = ScriptedTeams(lambda: solo("unused"))
    async with Gateway(new_store(folder), teams) as gateway:
        await (await Story.begun(gateway)).tell(*HELLO)
        await gateway.client.backup(backup)
    clock = VirtualClock()
    async with served(folder, Surface(board), clock=clock) as gateway:
        await all_told(gateway, clock)
    assert board.texts == ["a: Hello."]
    store = new_store(folder)
    await store.stage(backup)
    await store.restore()
    board.forgets = forgets
    async with served(folder, Surface(board), clock=clock) as gateway:
        await all_told(gateway, clock)
    again = ["a: Hello. (perhaps twice)"] if forgets else []
    assert board.texts == ["a: Hello.", *again]
