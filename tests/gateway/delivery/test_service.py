"""Delivery of a thread's events to its platform."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.client import Answer
from gateway.conversation import ConversationKey
from gateway.delivery.posted import OPENING, SCARCE
from gateway.events import (
    FileMade,
    InputReminded,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    Notice,
    RequestKind,
    SpeakerStarted,
    TextDelta,
    Thought,
    ThreadRenamed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkHandedOff,
)
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.surface import BusyState, Card, Document, File, Line, Place, Speech, TextLimits, Use
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_surface import Board, EditingSurface, PlainSurface, Surface
from tests.fakes.tested_store import UnitStore
from tests.gateway.delivery.delivered import ANN, HERE, Story, all_told, say, served
from tests.gateway.scripted import ScriptedTeams, calls, model, solo

BEGIN = TurnStarted(thread="", asker=ANN.id, asked_at=2_000_000.0)
DONE = TurnFinished(thread="", outcome="done")


def started(agent: str) -> SpeakerStarted:
    return SpeakerStarted(thread="", agent=agent)


def delta(agent: str, message: str, text: str, **more) -> TextDelta:
    return TextDelta(thread="", agent=agent, message=message, text=text, **more)


def said(agent: str, message: str, text: str) -> MessageFinished:
    return MessageFinished(thread="", agent=agent, message=message, text=text)


def calling(agent: str, call: str, tool: str) -> ToolStarted:
    return ToolStarted(thread="", agent=agent, call=call, tool=tool, arguments="{}")


def called(agent: str, call: str, tool: str, **more) -> ToolFinished:
    return ToolFinished(thread="", agent=agent, call=call, tool=tool, result="", **more)


def handed(agent: str, target: str) -> WorkHandedOff:
    return WorkHandedOff(thread="", agent=agent, target=target)


def asked(request: str, agent: str = "a", kind: RequestKind = "text", **more) -> InputRequested:
    prompt = f"{request}?"
    return InputRequested(
        thread="", request=request, agent=agent, request_kind=kind, prompt=prompt, **more
    )


async def shown(
    folder: Path, *events, surface: type[PlainSurface] = Surface, limits: TextLimits | None = None
) -> Board:
    """The platform's messages after these events."""
    board = Board()
    async with served(folder, surface(board, limits=limits)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*events)
        await story.told()
    return board


async def test_a_turn_and_its_delivery_are_four_commits(tmp_path: Path) -> None:
    """Message with turn, end, attempt to post, that it is there."""
    board = Board()
    async with served(tmp_path, Surface(board), lambda: solo(*["Hello there."] * 2)) as gateway:
        store = gateway.store
        assert isinstance(store, UnitStore)
        await say(gateway, "hi")
        await all_told(gateway)
        await store.probe()  # behind it, all commits that were seen are counted
        before = store.commits
        await say(gateway, "hi again")
        await all_told(gateway)
        await store.probe()
        assert store.commits - before == 4 + 1


async def test_text_grows_while_the_agent_speaks(tmp_path: Path) -> None:
    board, go_on = Board(), asyncio.Event()
    client = ScriptedModel(["One ", go_on, "two."])
    streaming = partial(solo, client, model_client_stream=True)
    async with served(tmp_path, Surface(board), streaming) as gateway:
        await say(gateway, "count")
        await board.until(lambda b: b.texts == ["solo: One "])
        assert board.posted[0].speech.growing
        await board.until(lambda b: b.busy == ["working"])
        go_on.set()
        await all_told(gateway)
    assert board.texts == ["solo: One two."]
    assert not board.posted[0].speech.growing


def ring() -> str:
    """Ring the bell."""
    return "rung"


async def test_a_question_is_a_card_that_shows_its_outcome(tmp_path: Path) -> None:
    board = Board()
    teams = ScriptedTeams(
        lambda: solo(calls("ring"), "It rang.", tools=[ring], messages=9),
        rules={"ring": ToolRule(action="ask")},
    )
    async with served(tmp_path, Surface(board), teams) as gateway:
        await say(gateway, "ring it")
        await board.until(lambda b: b.posted and isinstance(b.posted[0].content, Card))
        await all_told(gateway)
        card = board.posted[0].content
        assert isinstance(card, Card)
        assert board.texts == ["? solo wants to use ring. open"]
        assert card.mentions == (ANN.id,)
        assert board.busy[-1] == "waiting"
        await gateway.client.answer(card.request.request, Answer(kind="approve"), author=ANN)
        await board.until(lambda b: len(b.posted) > 1)
        await all_told(gateway)
    assert board.texts[0] == "? solo wants to use ring. approved"
    assert board.texts[1].startswith("solo: [ring: done]It rang.")
    assert board.busy[-1] == "idle"


async def test_each_agent_that_says_something_has_one_message(tmp_path: Path) -> None:
    board = await shown(
        tmp_path,
        BEGIN,
        started("a"),
        said("a", "m1", "I look."),
        calling("a", "c1", "look"),
        called("a", "c1", "look"),
        said("a", "m2", "Seen."),
        handed("a", "b"),
        started("b"),
        said("b", "m3", "Thanks."),
        DONE,
    )
    assert board.texts == ["a: I look.", "a: [look: done][b: done]Seen.", "b: Thanks."]


async def test_a_hand_off_without_words_is_told_by_the_last_message(tmp_path: Path) -> None:
    board = await shown(
        tmp_path,
        BEGIN,
        started("a"),
        said("a", "m1", "Hello."),
        handed("a", "b"),
        started("b"),
        handed("b", "c"),
        started("c"),
        said("c", "m2", "Me."),
        DONE,
    )
    assert board.texts == ["a: [b: done][b \u2192 c: done]Hello.", "c: Me."]


async def test_a_hand_off_that_nothing_came_before_is_told_in_the_next_message(
    tmp_path: Path,
) -> None:
    board = await shown(
        tmp_path, BEGIN, handed("triage", "b"), started("b"), said("b", "m", "Hi."), DONE
    )
    assert board.texts == ["b: [triage \u2192 b: done]Hi."]


async def test_a_hand_off_to_the_people_with_nothing_said_has_a_message_of_its_own(
    tmp_path: Path,
) -> None:
    board = await shown(tmp_path, BEGIN, handed("triage", "user"), DONE)
    assert board.texts == ["triage: [triage \u2192 user: done]"]


async def test_a_tool_call_is_told_before_its_agent_says_anything(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), calling("a", "c1", "look"))
        await board.until(lambda b: b.texts == ["a: [look: running]"])
        await story.tell(called("a", "c1", "look", failed=True), said("a", "m", "No."), DONE)
        await story.told()
    assert board.texts == ["a: [look: failed]No."]


async def test_a_stopped_call_is_told_with_its_time(tmp_path: Path) -> None:
    board = await shown(
        *(tmp_path, BEGIN, started("a"), calling("a", "c1", "look")),
        called("a", "c1", "look", failed=True, stopped=True, duration=5.0),
        TurnFinished(thread="", outcome="stopped"),
    )
    content = board.posted[0].content
    assert isinstance(content, Speech)
    [act] = content.activity
    assert (act.status, act.detail) == ("stopped", "stopped after 5 s")


async def test_nothing_is_posted_for_an_empty_message_or_a_thought(tmp_path: Path) -> None:
    thought = Thought(thread="", agent="a", text="Hmm.")
    board = await shown(tmp_path, BEGIN, thought, said("a", "m", " \n"), DONE)
    assert board.texts == []


async def test_agents_that_speak_side_by_side_have_a_message_each(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), started("b"), delta("a", "m1", "One"))
        await story.tell(delta("b", "m2", "Two"))
        await board.until(lambda b: b.texts == ["a: One", "b: Two"])
        await story.tell(said("b", "m2", "Two."), said("a", "m1", "One."), DONE)
        await story.told()
    assert board.texts == ["a: One.", "b: Two."]


async def test_notices_are_lines_with_what_can_be_done(tmp_path: Path) -> None:
    board = await shown(
        tmp_path,
        BEGIN,
        Notice(thread="", text="It rains.", command="/umbrella", label="Take one"),
        Notice(thread="", text="It broke.", level="error", incident="a1", retry=True),
        TurnFinished(thread="", outcome="failed", reason="It broke."),
    )
    assert [posted.content for posted in board.posted] == [
        Line(text="It rains.", command="/umbrella", label="Take one"),
        Line(text="It broke. (id a1)", level="error", command="/retry", label="Try again"),
    ]


async def test_a_turn_that_is_stopped_says_so(tmp_path: Path) -> None:
    board = await shown(
        tmp_path, BEGIN, said("a", "m", "So"), TurnFinished(thread="", outcome="stopped")
    )
    assert board.texts == ["a: So", "-- Stopped."]


async def test_who_asked_is_told_when_it_took_long(tmp_path: Path) -> None:
    long = TurnStarted(thread="", asker=ANN.id, asked_at=2_000_000.0 - 121)
    board = await shown(tmp_path, long, said("a", "m", "At last."), DONE)
    assert board.texts == ["a: At last.", "-- Done."]
    assert board.posted[1].content == Line(text="Done.", mentions=(ANN.id,))


async def test_a_long_text_is_several_messages(tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(30))
    limits = TextLimits(message=100)
    board = await shown(tmp_path, BEGIN, said("a", "m", text), DONE, limits=limits)
    assert board.said() == text
    assert [posted.content.first for posted in board.posted if isinstance(posted.content, Speech)]
    assert len(board.posted) == 3


async def test_what_is_too_long_is_its_beginning_and_a_file(tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(300))
    limits = TextLimits(message=100, messages=2)
    board = await shown(tmp_path, BEGIN, said("a", "m", text), DONE, limits=limits)
    assert len(board.posted) == 3
    assert text.startswith(board.said())
    spoken = [each.content for each in board.posted if isinstance(each.content, Speech)]
    assert [each.rest_in for each in spoken] == ["", "a.md"]
    document = board.posted[-1].content
    assert isinstance(document, Document)
    assert document.files == (File(name="a.md", data=text.encode()),)
    assert document.agent == "a"


async def test_what_grows_too_long_stops_growing_until_its_end(tmp_path: Path) -> None:
    board = Board()
    limits = TextLimits(message=100, messages=2)
    async with served(tmp_path, Surface(board, limits=limits)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "word " * 100))
        await board.until(lambda b: len(b.posted) == 2)
        await story.tell(delta("a", "m", "word " * 100))
        await story.tell(said("a", "m", "word " * 200), DONE)
        await story.told()
    assert [type(posted.content) for posted in board.posted] == [Speech, Speech, Document]


async def test_a_file_that_an_agent_made_is_sent_from_its_folder_alone(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        folder = await gateway.store.work_folder(story.thread)
        folder.mkdir(parents=True)
        (folder / "report.csv").write_bytes(b"1,2")
        await story.tell(
            BEGIN,
            FileMade(thread="", path="report.csv", size=3),
            FileMade(thread="", path="../../parley.db", size=3),
            DONE,
        )
        await story.told()
    (posted,) = board.posted
    assert isinstance(posted.content, Document)
    assert posted.content.files == (File(name="report.csv", data=b"1,2"),)
    assert posted.content.text == "The file parley.db can't be shown here."


async def test_files_of_one_turn_are_one_message_under_the_name_of_their_agent(
    tmp_path: Path,
) -> None:
    board = Board()
    async with served(
        tmp_path, Surface(board, limits=TextLimits(message=1000, file=30))
    ) as gateway:
        story = await Story.begun(gateway)
        folder = await gateway.store.work_folder(story.thread)
        folder.mkdir(parents=True)
        names = [f"{n}.txt" for n in range(13)]
        for name in names:
            (folder / name).write_bytes(b"..")
        (folder / "large").write_bytes(b"." * 25)
        made = [FileMade(thread="", path=name, size=2) for name in names]
        large = FileMade(thread="", path="large", size=25)
        await story.tell(BEGIN, said("writer", "m", "Here they are."), *made, large, DONE)
        await story.told()
        await story.tell(BEGIN, FileMade(thread="", path="gone.txt", size=2), DONE)
        await story.told()
    files = [post.content for post in board.posted if isinstance(post.content, Document)]
    assert [[file.name for file in each.files] for each in files] == [
        names[:10],
        names[10:],
        ["large"],
    ]
    assert {each.agent for each in files} == {"writer"}
    assert board.texts[-1] == "-- The file gone.txt can't be shown here."


async def test_a_new_title_is_shown(tmp_path: Path) -> None:
    board = await shown(tmp_path, ThreadRenamed(thread="", title="About <!everyone> bells"))
    assert board.titles == ["About \u2039!everyone> bells"]


async def test_what_agents_write_pings_nobody(tmp_path: Path) -> None:
    board = await shown(tmp_path, BEGIN, said("a", "m", "Hi @everyone"), DONE)
    assert "@everyone" not in board.texts[0]


async def test_a_plain_surface_gets_what_is_finished(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, PlainSurface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One"))
        await story.tell(said("a", "m", "One."), asked("r1", agent="b"))
        await board.until(lambda b: len(b.posted) == 2)
        await story.tell(InputResolved(thread="", request="r1", outcome="answered", by="Ann"))
        await story.tell(DONE)
        await story.told()
    assert board.texts == ["a: One.", "? r1? open", "-- answered (Ann)"]
    assert {call for call, _ in board.calls} == {"post"}


async def test_threads_of_other_platforms_are_left_alone(tmp_path: Path) -> None:
    board = Board()
    elsewhere = ConversationKey(platform="other", root="9")
    async with served(tmp_path, Surface(board), lambda: solo("Hello.")) as gateway:
        await say(gateway, "hi", key=elsewhere)
        await say(gateway, "hi")
        await all_told(gateway)
    assert len(board.posted) == 1


async def test_what_happened_before_is_told_at_the_start(tmp_path: Path) -> None:
    board = Board()
    async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, said("a", "m", "Early."), DONE)
    async with served(tmp_path, Surface(board)) as gateway:
        await all_told(gateway)
    assert board.texts == ["a: Early."]


class WithApprovals(Access):
    def __init__(self, operators: Collection[str] = ()) -> None:
        super().__init__(operators)
        self.approval_places = (ConversationKey(platform="scripted", channel="approvals"),)


async def test_an_approval_is_copied_to_where_approvers_look(tmp_path: Path) -> None:
    board = Board()
    teams = ScriptedTeams(
        lambda: solo(calls("ring"), "It rang.", tools=[ring], messages=9),
        rules={"ring": ToolRule(action="ask")},
    )
    access = WithApprovals([ANN.id])
    async with served(tmp_path, Surface(board), teams, access=access) as gateway:
        await say(gateway, "ring it")
        await board.until(lambda b: len(b.posted) == 2)
        await all_told(gateway)
        there, copy = board.posted
        assert isinstance(copy.content, Card)
        assert (there.place.key, copy.place.key.channel) == (HERE, "approvals")
        assert copy.content.away
        await gateway.client.answer(
            copy.content.request.request, Answer(kind="approve"), author=ANN
        )
        await board.until(lambda b: len(b.posted) > 2)
        await all_told(gateway)
    assert [posted.text.endswith("approved") for posted in board.posted[:2]] == [True, True]


async def test_growing_text_waits_for_the_pace_and_is_the_newest_then(tmp_path: Path) -> None:
    board = Board()
    surface = Surface(board)
    async with served(tmp_path, surface) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One"))
        await board.until(lambda b: b.texts == ["a: One"])
        surface.open.clear()
        for word in (" two", " three", " four"):
            await story.tell(delta("a", "m", word))
        surface.open.set()
        await board.until(lambda b: b.texts == ["a: One two three four"])
        assert board.posted[0].edits == 1
        await story.tell(said("a", "m", "One two three four."), DONE)
        await story.told()


async def test_a_question_does_not_wait_for_growing_text(tmp_path: Path) -> None:
    board = Board()
    surface = Surface(board)
    hold = asyncio.Event()
    ready = surface.ready

    async def slow_edits(place, use) -> None:
        await ready(place, use)
        if use == "edit":
            await hold.wait()

    surface.ready = slow_edits
    async with served(tmp_path, surface) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"), delta("a", "m", "One"))
        await board.until(lambda b: len(b.posted) == 1)
        await story.tell(delta("a", "m", " two"))
        await story.tell(asked("r1", agent="b"))
        await board.until(lambda b: len(b.posted) == 2)
        assert board.texts[0] == "a: One"
        await story.tell(said("a", "m", "One two"), TurnFinished(thread="", outcome="waiting"))
        await story.told()
    assert board.texts == ["a: One two", "? r1? open"]


async def test_a_surface_that_edits_but_does_nothing_else_gets_growing_text(tmp_path: Path) -> None:
    board = await shown(
        tmp_path,
        BEGIN,
        delta("a", "m", "One"),
        said("a", "m", "One two"),
        DONE,
        surface=EditingSurface,
    )
    assert board.texts == ["a: One two"]


async def test_news_of_a_question_is_told_wherever_it_is_asked(tmp_path: Path) -> None:
    board = Board()
    people = (ANN.id, "other:eve")
    async with served(tmp_path, Surface(board), access=WithApprovals([ANN.id])) as gateway:
        story = await Story.begun(gateway)
        await story.tell(
            BEGIN,
            asked("r1", kind="approval", quorum=2, may_answer=people),
            asked("r2", agent="b", may_answer=people),
            InputSupported(thread="", request="r1", by="Ann", approved=1, quorum=2),
            InputReminded(thread="", request="r2", text="Still open.", mentions=people),
            TurnFinished(thread="", outcome="waiting"),
        )
        await story.told()
    there = [posted.text for posted in board.posted if posted.place.key == HERE]
    copies = [posted.text for posted in board.posted if posted.place.key != HERE]
    approved = "-- Ann approved: 1 of 2 approvals."
    assert there == ["? r1? open", "? r2? open", approved, "-- Still open."]
    assert copies == ["? r1? open", approved]
    assert next(m for m in board.posted if m.text == "-- Still open.").content == Line(
        text="Still open.", mentions=(ANN.id,)
    )


async def test_an_agent_that_is_on_turn_again_speaks_below_what_came_since(tmp_path: Path) -> None:
    board = await shown(
        tmp_path,
        BEGIN,
        started("a"),
        calling("a", "c1", "look"),
        called("a", "c1", "look"),
        started("b"),
        said("b", "m1", "Me first."),
        started("a"),
        said("a", "m2", "Now I."),
        DONE,
    )
    assert board.texts == ["a: [look: done]", "b: Me first.", "a: Now I."]


async def test_why_a_turn_was_stopped_is_told_once(tmp_path: Path) -> None:
    why = "The turn took longer than 60 s."
    notice = Notice(thread="", text=why, level="warning")
    over = TurnFinished(thread="", outcome="stopped", reason=why)
    board = await shown(tmp_path, BEGIN, notice, over)
    assert board.texts == [f"-- {why}", "-- Stopped."]


async def test_why_a_turn_was_stopped_is_told(tmp_path: Path) -> None:
    over = TurnFinished(thread="", outcome="stopped", reason="the budget is used up")
    board = await shown(tmp_path, BEGIN, over)
    assert board.texts == ["-- Stopped: the budget is used up."]


async def test_what_was_written_elsewhere_is_shown_here(tmp_path: Path) -> None:
    board = Board()
    client, access = model("Hello.", "Again."), Access([ANN.id], operator_name="Olga")
    async with served(tmp_path, Surface(board), lambda: solo(client), access=access) as gateway:
        thread = await say(gateway, "hi")
        await all_told(gateway)
        await gateway.client.send(thread, "And you\nthere?")
        await board.until(lambda b: len(b.posted) == 3)
        await all_told(gateway)
    assert board.texts == [
        "solo: Hello.",
        "-- Olga wrote elsewhere: And you there?",
        "solo: Again.",
    ]
    [*_, told] = client.create_calls[-1]["messages"]
    assert told.content == "[Olga · ator]\nAnd you\nthere?"


async def test_what_grows_beyond_all_that_is_shown_keeps_its_beginning(tmp_path: Path) -> None:
    board = Board()
    limits = TextLimits(message=100, messages=9, whole=250)
    text = "".join(f"word{n:03} " for n in range(60))
    async with served(tmp_path, Surface(board, limits=limits)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, started("a"))
        for at in range(0, len(text), 40):
            await story.tell(delta("a", "m", text[at : at + 40]))
            shown_so_far = min(at, 200)
            await board.until(lambda b, least=shown_so_far: len(b.said()) >= least)
        await story.tell(said("a", "m", text), DONE)
        await story.told()
    assert text.startswith(board.said())
    assert len(board.said()) >= 250
    assert isinstance(board.posted[-1].content, Document)
    assert board.posted[-1].content.files[0].data.decode() == text


class Hesitant(Surface):
    """Begins no message with half a mark."""

    asked = 0
    scarce = False

    def begins(self, place: Place, speech: Speech) -> bool:
        self.asked += 1
        return not speech.text.endswith("[")

    def short_of_edits(self, place: Place) -> bool:
        return self.scarce


async def test_a_text_that_is_no_word_yet_is_shown_all_the_same_if_its_model_stalls(tmp_path):
    board, clock = Board(), VirtualClock()
    began = clock.time()
    async with served(tmp_path, Hesitant(board), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "See ["))
        while not board.posted:
            await asyncio.sleep(0.005)
            clock.advance(0.25)
        assert board.texts == ["a: See ["]
        assert clock.time() >= began + OPENING


async def test_a_text_that_is_no_word_yet_waits_no_longer_for_what_comes_meanwhile(tmp_path):
    board, clock = Board(), VirtualClock()
    surface, began = Hesitant(board), clock.time()
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "See ["))
        for asked, more in ((1, "["), (2, "[")):
            while surface.asked < asked:  # noqa: ASYNC110 (a count tells nobody)
                await asyncio.sleep(0.005)
            clock.advance(0.4 * OPENING)
            await story.tell(delta("a", "m", more))
        while not board.posted:
            await asyncio.sleep(0.005)
            clock.advance(0.05 * OPENING)
        assert board.texts == ["a: See [[["]
        assert clock.time() < began + 1.5 * OPENING


async def test_a_text_is_posted_whole_where_edits_are_short(tmp_path):
    board, clock = Board(), VirtualClock()
    surface = Hesitant(board)
    surface.scarce = True
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "One"))
        for word in (" two", " three"):
            clock.advance(SCARCE / 3)
            await story.tell(delta("a", "m", word))
        await story.tell(said("a", "m", "One two three."), DONE)
        await all_told(gateway, clock)
    assert [(each.text, each.edits) for each in board.posted] == [("a: One two three.", 0)]


@pytest.mark.parametrize("scarce", [True, False])
async def test_a_text_begins_in_time_though_edits_are_short_or_once_they_are_not(tmp_path, scarce):
    board, clock = Board(), VirtualClock()
    surface, began = Hesitant(board), clock.time()
    surface.scarce = True
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "One"))
        await story.tell(delta("a", "m", " two"))
        surface.scarce = scarce
        await story.tell(delta("a", "m", " three"))
        while not board.posted:
            await asyncio.sleep(0.005)
            clock.advance(1.0)
    # Once edits are not short it begins at once, perhaps before the last word has come.
    assert board.texts[0] in {"a: One two three", *([] if scarce else ["a: One two"])}
    assert (clock.time() - began >= SCARCE) == scarce


class LateEnds(Surface):
    """Gives last states of messages no turn until it may."""

    def __init__(self, board: Board, **more: Any) -> None:
        super().__init__(board, **more)
        self.may_end = asyncio.Event()

    async def ready(self, place: Place, use: Use) -> None:
        await super().ready(place, use)
        if use == "final":
            await self.may_end.wait()


async def test_the_rest_of_a_message_stands_before_what_was_said_after_it(tmp_path):
    board, clock = Board(), VirtualClock()
    surface = LateEnds(board, limits=TextLimits(message=40, messages=9))
    text = " ".join(["word"] * 12)
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "word word"))
        await board.until(lambda b: b.texts == ["a: word word"])
        await story.tell(said("a", "m", text), DONE, BEGIN, said("b", "n", "Another."), DONE)
        while not gateway.vitals.owed:  # noqa: ASYNC110 (a figure tells nobody)
            await asyncio.sleep(0.005)
        for _ in range(20):
            await asyncio.sleep(0.005)
            clock.advance(0.25)
        assert board.texts == ["a: word word"]
        surface.may_end.set()
        await all_told(gateway, clock)
    assert board.texts[-1] == "b: Another."
    assert len(board.texts) > 2


class SlowToRest(Surface):
    """Takes its time to show that the team rests."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.rests = asyncio.Event()
        self.may_rest = asyncio.Event()

    async def busy(self, place: Place, state: BusyState) -> None:
        if state == "idle":
            self.rests.set()
            await self.may_rest.wait()
        await super().busy(place, state)


HALF = replace(said("a", "m1", "Half"), ending="broken")
FAILED = TurnFinished(thread="", outcome="failed")
AGAIN = replace(BEGIN, resumed=True)


async def test_a_turn_that_is_tried_again_while_its_end_is_told_changes_its_own_message(tmp_path):
    surface = SlowToRest(board := Board())
    async with served(tmp_path, surface) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, HALF, FAILED)
        await surface.rests.wait()
        await story.tell(AGAIN)
        surface.may_rest.set()
        await board.until(lambda b: b.busy[-1:] == ["working"])
        await story.tell(said("a", "m1", "The whole."), DONE)
        await story.told()
    assert board.texts[0] == "a: The whole."
    assert len([each for each in board.posted if isinstance(each.content, Speech)]) == 1


async def test_a_turn_that_is_tried_again_and_again_has_one_message(tmp_path):
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, HALF, FAILED)
        for ending in (HALF, HALF, said("a", "m1", "The whole.")):
            await story.told()
            await story.tell(AGAIN, ending, FAILED if ending is HALF else DONE)
        await story.told()
    assert board.texts[0] == "a: The whole."
    assert len([each for each in board.posted if isinstance(each.content, Speech)]) == 1
