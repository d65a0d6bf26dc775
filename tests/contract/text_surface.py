"""The contract of every text surface, run against each platform's simulator.

    class TestTheContract(TextSurfaceContract):
        @pytest.fixture
        async def harness(self): ...        # yields a Harness

What a surface can't do (no method, no test) is skipped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pytest

from gateway.events import (
    InputRequested,
    InputResolved,
    MessageFinished,
    Notice,
    SpeakerStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkHandedOff,
)
from gateway.surface import (
    Activity,
    BusySurface,
    CallRejected,
    Card,
    Content,
    Document,
    EditSurface,
    File,
    Line,
    LookupSurface,
    MessageGone,
    OutcomeUnknown,
    PacedSurface,
    Part,
    Place,
    PlatformUnreachable,
    RateLimited,
    RemovalSurface,
    RenameSurface,
    RoomSurface,
    Speech,
    TextSurface,
)
from tests.gateway.delivery.delivered import Story, served

PATIENCE = 8.0
"""Seconds of real time within which something has to be seen."""


@dataclass(frozen=True)
class VisibleMessage:
    """A message as people see it.

    Its text has the agent's name, activity and marks.
    """

    id: str
    text: str
    pings: frozenset[str] = frozenset()
    """Whom it notifies (Author.id); "everyone" for a mention of a channel or a role."""
    buttons: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


class Harness(Protocol):
    """A surface on a simulated platform, with the people's view and actions.

    A harness whose simulator lacks a fault leaves the method out by raising NotImplementedError.
    """

    surface: TextSurface
    place: Place
    """A thread of `surface.platform` in which the bot may write; its asker is `people[0]`."""
    people: tuple[str, str]
    """Two who are there (Author.id)."""

    async def seen(self) -> list[VisibleMessage]:
        """The bot's messages in the thread, the oldest first."""
        ...

    async def busy(self) -> bool:
        """True if people see that the team works."""
        ...

    async def title(self) -> str:
        """The thread's title."""
        ...

    def limit_rate(self) -> None:
        """The next call that writes is one too many."""
        ...

    def lose_answer(self) -> None:
        """Let the next writing call take effect, but lose its answer."""
        ...

    def break_down(self) -> None:
        """The platform can't be reached for the next call that writes."""
        ...

    async def archive(self) -> None:
        """Nothing can be written in the thread any more."""
        ...

    async def remove(self, message: str) -> None:
        """Somebody removes a message, by the id that `post` gave."""
        ...


@dataclass
class _KeySequence:
    n: int = 0

    def key(self) -> str:
        self.n += 1
        return f"{id(self) % 10**9:09d}k{self.n:07d}"


def speech(text: str, **more) -> Speech:
    return Speech(agent="planner", text=text, **more)


QUESTION = InputRequested(
    thread="t",
    request="0123456789ab",
    request_kind="approval",
    agent="planner",
    prompt="planner wants to use ring.",
    tool="ring",
    arguments='{"times": 3}',
)


@dataclass
class _Poster:
    """Posts parts on a harness."""

    harness: Harness
    numbers: _KeySequence = field(default_factory=_KeySequence)

    async def post(self, content: Content, **more) -> tuple[str, Part]:
        part = Part(key=self.numbers.key(), content=content, **more)
        return await self.harness.surface.post(self.harness.place, part), part

    async def edit(self, message: str, part: Part, content: Content) -> Part:
        surface = self.harness.surface
        assert isinstance(surface, EditSurface)
        part = replace(part, content=content)
        await surface.edit(self.harness.place, message, part)
        return part

    async def last(self) -> VisibleMessage:
        return (await self.harness.seen())[-1]


async def eventually(holds) -> None:
    """Wait until an async condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 (the platform's doing)
            await asyncio.sleep(0.02)


def needs(harness: Harness, ability: type) -> None:
    if not isinstance(harness.surface, ability):
        pytest.skip(f"it is no surface that {ability.__name__}")


class TextSurfaceContract:
    """Give it a fixture `harness`."""

    @pytest.fixture
    def posting(self, harness: Harness) -> _Poster:
        return _Poster(harness)

    async def test_a_message_shows_the_agents_name_and_text(self, posting: _Poster) -> None:
        await posting.post(speech("Good morning."))
        seen = await posting.last()
        assert "Good morning." in seen.text
        assert "planner" in seen.text

    async def test_a_further_piece_goes_without_the_name(self, posting: _Poster) -> None:
        await posting.post(speech("and so on.", first=False))
        seen = await posting.last()
        assert "and so on." in seen.text

    async def test_a_message_as_long_as_may_be_is_taken_whole(self, posting: _Poster) -> None:
        surface = posting.harness.surface
        text, most = "", surface.limits.message
        if isinstance(surface, RoomSurface):
            most = surface.room(speech(""))
        for n in range(100_000):
            longer = f"{text}word{n} "
            if surface.length(surface.neutral(longer)) > most:
                break
            text = longer
        text = surface.neutral(text.strip())
        await posting.post(speech(text))
        assert text.split() == [word for word in _words(await posting.last()) if word in text]

    async def test_a_message_is_changed(self, harness: Harness, posting: _Poster) -> None:
        needs(harness, EditSurface)
        message, part = await posting.post(speech("One"))
        await posting.edit(message, part, speech("One two."))
        seen = await harness.seen()
        assert len(seen) == 1
        assert "One two." in seen[0].text

    async def test_a_growing_message_is_one_message(
        self, harness: Harness, posting: _Poster
    ) -> None:
        needs(harness, EditSurface)
        message, part = await posting.post(speech("One ", growing=True))
        part = await posting.edit(message, part, speech("One two ", growing=True))
        part = await posting.edit(message, part, speech("One two three."))
        await posting.edit(message, part, speech("One two three."))  # twice does no harm
        seen = await harness.seen()
        assert len(seen) == 1
        assert "One two three." in seen[0].text
        assert seen[0].text.count("One") == 1

    async def test_what_an_agent_does_is_told_in_its_message(
        self, harness: Harness, posting: _Poster
    ) -> None:
        needs(harness, EditSurface)
        running = Activity(id="c1", kind="tool", title="lookup", status="running")
        message, part = await posting.post(speech("", activity=(running,), growing=True))
        assert "lookup" in (await posting.last()).text
        done = (
            replace(running, status="done"),
            Activity(id="h1", kind="handoff", title="checker"),
        )
        await posting.edit(message, part, speech("Found.", activity=done))
        seen = await posting.last()
        assert "lookup" in seen.text
        assert "checker" in seen.text
        assert "Found." in seen.text

    async def test_an_interrupted_message_says_so(self, harness: Harness, posting: _Poster) -> None:
        needs(harness, EditSurface)
        message, part = await posting.post(speech("One two"))
        plain = (await posting.last()).text
        await posting.edit(message, part, speech("One two", resuming=True))
        assert (await posting.last()).text != plain

    async def test_what_may_stand_there_twice_is_marked(self, posting: _Poster) -> None:
        await posting.post(speech("Good morning."))
        plain = (await posting.last()).text
        await posting.post(speech("Good morning."), unsure=True)
        marked = (await posting.last()).text
        assert "Good morning." in marked
        assert len(marked) > len(plain)

    async def test_an_agents_text_pings_nobody(self, harness: Harness, posting: _Poster) -> None:
        whom = harness.people[1].rpartition(":")[2]
        text = f"@everyone @here <!channel> <@{whom}> <@&{whom}> <!subteam^S1> @channel"
        await posting.post(speech(harness.surface.neutral(text)))
        assert (await posting.last()).pings == frozenset()
        await posting.post(speech(f"```\n{harness.surface.neutral(text)}\n```"))
        assert (await posting.last()).pings == frozenset()

    async def test_an_agents_name_pings_nobody(self, posting: _Poster) -> None:
        await posting.post(Speech(agent="@everyone", text="Hello."))
        assert (await posting.last()).pings == frozenset()

    async def test_the_gateways_lines_ping_whom_they_are_for(
        self, harness: Harness, posting: _Poster
    ) -> None:
        await posting.post(Line(text="Done.", mentions=(harness.people[0],)))
        seen = await posting.last()
        assert seen.pings == {harness.people[0]}
        assert "Done." in seen.text

    async def test_a_line_says_what_can_be_done(self, posting: _Poster) -> None:
        await posting.post(
            Line(text="That failed.", level="error", command="/retry", label="Try again")
        )
        seen = await posting.last()
        assert "That failed." in seen.text
        assert "Try again" in seen.buttons or "retry" in seen.text

    async def test_a_question_has_buttons_until_it_is_settled(
        self, harness: Harness, posting: _Poster
    ) -> None:
        needs(harness, EditSurface)
        card = Card(request=QUESTION, mentions=(harness.people[0],))
        message, part = await posting.post(card)
        seen = await posting.last()
        assert seen.pings == {harness.people[0]}
        assert len(seen.buttons) >= 2
        assert "ring" in seen.text
        assert "times" in seen.text
        await posting.edit(message, part, replace(card, outcome="approved", by=harness.people[0]))
        seen = await posting.last()
        assert "approved" in seen.text.lower()
        assert seen.buttons == ()

    async def test_a_choice_offers_its_options(self, posting: _Poster) -> None:
        request = replace(QUESTION, request_kind="choice", options=("red", "green"), tool="")
        await posting.post(Card(request=request))
        seen = await posting.last()
        assert "red" in (*seen.buttons, *seen.text.split())
        assert "green" in (*seen.buttons, *seen.text.split())

    async def test_a_copy_of_a_question_leads_to_its_thread(
        self, harness: Harness, posting: _Poster
    ) -> None:
        link = "https://example.org/thread"
        await posting.post(Card(request=QUESTION, away=True, link=link))
        seen = await posting.last()
        assert len(seen.buttons) >= 2

    async def test_a_hostile_question_pings_nobody(self, posting: _Poster) -> None:
        hostile = replace(QUESTION, prompt="@everyone <!here>", arguments='{"a": "<!channel>"}')
        await posting.post(Card(request=hostile))
        assert (await posting.last()).pings == frozenset()

    async def test_a_question_with_long_arguments_is_taken(self, posting: _Poster) -> None:
        arguments = '{"text": "' + "word " * 5000 + '"}'
        await posting.post(Card(request=replace(QUESTION, arguments=arguments)))
        assert len((await posting.last()).buttons) >= 2

    async def test_a_file_arrives_as_it_is(self, posting: _Poster) -> None:
        data = bytes(range(256))
        await posting.post(Document(files=(File(name="report.bin", data=data),), text="All of it:"))
        seen = [file for each in await posting.harness.seen() for file in each.files]
        assert seen == [("report.bin", data)]

    async def test_several_files_are_one_message(self, posting: _Poster) -> None:
        files = [("a.txt", b"one"), ("b.bin", bytes(range(9))), ("a.txt", b"two")]
        parts = tuple(File(name=name, data=data) for name, data in files)
        await posting.post(Document(files=parts, agent="writer"))
        (seen,) = [each for each in await posting.harness.seen() if each.files]
        assert sorted(seen.files) == sorted(files)

    async def test_too_many_calls_say_when_to_come_again(
        self, harness: Harness, posting: _Poster
    ) -> None:
        _or_skip(harness.limit_rate)
        with pytest.raises(RateLimited) as limited:
            await posting.post(Line(text="Hello."))
        assert limited.value.retry_after > 0
        assert await harness.seen() == []

    async def test_a_lost_answer_is_unclear_and_found(
        self, harness: Harness, posting: _Poster
    ) -> None:
        _or_skip(harness.lose_answer)
        part = Part(key=posting.numbers.key(), content=Line(text="Hello."))
        with pytest.raises(OutcomeUnknown):
            await harness.surface.post(harness.place, part)
        assert len(await harness.seen()) == 1
        needs(harness, LookupSurface)
        assert isinstance(harness.surface, LookupSurface)
        try:
            found = await harness.surface.find(harness.place, part.key, 0.0, speech=True)
        except OutcomeUnknown:
            return
        if found is None:  # it knows that the same key is not taken twice
            await harness.surface.post(harness.place, part)
            assert len(await harness.seen()) == 1
        else:
            assert found == (await posting.last()).id

    async def test_a_platform_that_is_away_may_be_tried_again(
        self, harness: Harness, posting: _Poster
    ) -> None:
        _or_skip(harness.break_down)
        with pytest.raises((PlatformUnreachable, OutcomeUnknown)):
            await posting.post(Line(text="Hello."))

    async def test_a_thread_that_is_closed_is_gone(
        self, harness: Harness, posting: _Poster
    ) -> None:
        try:
            await harness.archive()
        except NotImplementedError:
            pytest.skip("its simulator can't do that")
        with pytest.raises(CallRejected) as rejected:
            await posting.post(Line(text="Hello."))
        assert rejected.value.gone

    async def test_a_message_that_was_removed_is_known_to_be_gone(
        self, harness: Harness, posting: _Poster
    ) -> None:
        needs(harness, EditSurface)
        message, part = await posting.post(speech("One"))
        await harness.remove(message)
        with pytest.raises(MessageGone):
            await posting.edit(message, part, speech("Two"))

    @pytest.mark.parametrize("growing", [False, True], ids=["finished", "growing"])
    async def test_what_is_left_over_is_removed(
        self, harness: Harness, posting: _Poster, *, growing: bool
    ) -> None:
        needs(harness, RemovalSurface)
        assert isinstance(harness.surface, RemovalSurface)
        message, _ = await posting.post(speech("One two ", growing=growing))
        await harness.surface.remove(harness.place, message)
        assert await harness.seen() == []
        with pytest.raises(MessageGone):
            await harness.surface.remove(harness.place, message)

    async def test_the_pace_lets_every_kind_of_call_through(self, harness: Harness) -> None:
        needs(harness, PacedSurface)
        assert isinstance(harness.surface, PacedSurface)
        async with asyncio.timeout(PATIENCE):
            for use in ("post", "edit", "final", "card"):
                await harness.surface.ready(harness.place, use)

    async def test_the_team_is_seen_to_work_until_it_rests(self, harness: Harness) -> None:
        needs(harness, BusySurface)
        assert isinstance(harness.surface, BusySurface)
        await harness.surface.busy(harness.place, "working")
        await eventually(harness.busy)
        await harness.surface.busy(harness.place, "idle")

        async def rests() -> bool:
            return not await harness.busy()

        await eventually(rests)

    async def test_a_thread_gets_its_title(self, harness: Harness) -> None:
        needs(harness, RenameSurface)
        assert isinstance(harness.surface, RenameSurface)
        await harness.surface.rename(harness.place, "About bells")
        if isinstance(harness.surface, BusySurface):  # some platforms take it with the status
            await harness.surface.busy(harness.place, "working")

        async def titled() -> bool:
            return "About bells" in await harness.title()

        await eventually(titled)

    async def test_every_beginning_of_a_text_is_neutral_and_measured(
        self, harness: Harness
    ) -> None:
        surface = harness.surface
        text = "Hi <@U1>, see [this](https://example.org) & `code` **bold** 👩‍👩‍👧 @everyone"
        for end in range(len(text) + 1):
            neutral = surface.neutral(text[:end])
            assert surface.length(neutral) >= len(neutral.strip())
            assert "@everyone" not in neutral

    async def test_a_thread_comes_to_stand_there(self, harness: Harness, tmp_path: Path) -> None:
        """A whole thread arrives: text, tool call, hand-off, question and outcome."""
        asker = harness.people[0]
        begin = TurnStarted(thread="", asker=asker, asked_at=2_000_000.0)
        async with served(tmp_path, harness.surface) as gateway:
            story = await Story.begun(gateway, harness.place.key)
            await story.tell(
                begin,
                SpeakerStarted(thread="", agent="planner"),
                ToolStarted(thread="", agent="planner", call="c1", tool="lookup", arguments="{}"),
            )

            async def sees(*texts: str) -> bool:
                whole = "\n".join(seen.text for seen in await harness.seen())
                return all(text in whole for text in texts)

            if isinstance(harness.surface, EditSurface):
                await eventually(lambda: sees("lookup"))
            await story.tell(
                ToolFinished(thread="", agent="planner", call="c1", tool="lookup", result=""),
                TextDelta(thread="", agent="planner", message="m1", text="I found "),
            )
            if isinstance(harness.surface, EditSurface):
                await eventually(lambda: sees("I found"))
            await story.tell(
                MessageFinished(thread="", agent="planner", message="m1", text="I found it all."),
                WorkHandedOff(thread="", agent="planner", target="checker"),
                SpeakerStarted(thread="", agent="checker"),
                MessageFinished(thread="", agent="checker", message="m2", text="It is right."),
                Notice(thread="", text="It rains outside."),
                replace(QUESTION, agent="checker"),
                TurnFinished(thread="", outcome="waiting"),
            )
            await story.told()
            assert await sees("I found it all.", "It is right.", "It rains outside.")
            await story.tell(
                InputResolved(thread="", request=QUESTION.request, outcome="denied"),
                begin,
                TurnFinished(thread="", outcome="done"),
            )
            await story.told()
        seen = await harness.seen()
        whole = [each.text for each in seen]
        assert sum("I found it all." in text for text in whole) == 1
        assert sum("It is right." in text for text in whole) == 1
        order = [
            next(n for n, text in enumerate(whole) if mark in text)
            for mark in ("I found it all.", "It is right.", "It rains outside.")
        ]
        assert order == sorted(order)


def _words(seen: VisibleMessage) -> list[str]:
    return seen.text.replace("*", " ").split()


def _or_skip(fault) -> None:
    try:
        fault()
    except NotImplementedError:
        pytest.skip("its simulator can't do that")
