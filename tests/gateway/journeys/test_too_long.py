"""Journeys of texts that are too long for a model."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.client import Client, SentFile
from gateway.config.budgets import Budget
from gateway.conversation import Quote
from gateway.errors import NOT_SHORTENED, TOO_LONG
from gateway.events import MessageFinished, Notice, SessionEvent, TurnFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.inbound.replies import ASIDE_REPLIES, DECIDED, HOW_ASIDE, NOT_ASIDE, WORKING
from gateway.sessions.aside import LEFT_OUT
from teams import RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent
from teams.agents import _set_aside as teams_words
from teams.base import Team
from teams.models import BadAnswer, ContextOverflow, ModelRefused, RateLimited
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import Answer, ScriptedModel, calls
from tests.gateway.content.test_attachments import png
from tests.gateway.journeys.test_access import ALLOWED, ROUTE, UNLISTED, access, message
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import ScriptedTeams, ends, of, opened, turn, until
from tests.pairwise import pairwise

WORDS = "All is well on day {n}. "
LONG = "What is the secret?\n" + "".join(WORDS.format(n=n) for n in range(4_000)) + "It is 42."
SMALL = 20_000
"""Characters that the model takes."""


def asking(
    model: ScriptedModel, *, tools: Sequence[Callable[..., object]] = ()
) -> Callable[[], Team]:
    def make() -> Team:
        return RoundRobinGroupChat(
            [AssistantAgent("ann", model, tools=list(tools), max_tool_iterations=5)],
            max_turns=1,
        )

    return make


def said(events: Sequence[SessionEvent]) -> list[str]:
    return [each.text for each in of(MessageFinished, events)]


async def test_the_thread_goes_on_with_the_next_message(tmp_path: Path) -> None:
    model = NarrowModel("hello", "fine", most=SMALL)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hi")
        (notice,) = of(Notice, await turn(gateway, thread, LONG))
        assert said(await turn(gateway, thread, "well?")) == ["fine"]
    assert (notice.text, notice.aside) == (TOO_LONG["message"], "message")
    assert model.texts() == ["hi", "hello", teams_words.TOO_LONG, "well?"]


@pytest.mark.parametrize("chosen", [False, True], ids=["an agent", "a selector"])
async def test_of_a_conversation_that_is_too_long_nothing_is_set_aside(
    tmp_path: Path, chosen: bool
) -> None:
    model = NarrowModel(*["ann", "bob"] * 20 if chosen else ["hello"] * 20, most=SMALL // 10)

    def make() -> Team:
        agents = [AssistantAgent(name, ScriptedModel(*["hi"] * 40)) for name in ("ann", "bob")]
        return SelectorGroupChat([*agents], model, allow_repeated_speaker=True, max_turns=1)

    async with opened(tmp_path, make if chosen else asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        ends = [await turn(gateway, thread, f"Hi. {WORDS * 7}") for _ in range(14)]
    for events in ends[-2:]:
        (notice,) = of(Notice, events)
        said = "The conversation is too long for the model. Start a new one with /new."
        assert (notice.text, notice.aside) == (said, "")


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_a_summary_stands_for_it(tmp_path: Path, restarted: bool) -> None:
    model = NarrowModel("It is 42.", most=SMALL, summary="The sender asks for the secret; 42.")
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        events = [] if restarted else await turn(gateway, thread, "/aside summarise")
    if restarted:
        async with opened(tmp_path, asking(model)) as gateway:
            events = await turn(gateway, thread, "/aside summarise")
            again = await gateway.client.send(thread, "/aside drop")
            assert again.reply == DECIDED
    assert said(events) == ["It is 42."]
    assert [each.text for each in of(Notice, events)] == [ASIDE_REPLIES["summarise"]]
    assert of(TurnStarted, events)[0].resumed
    aside, heard = model.texts()
    assert aside == teams_words.TOO_LONG
    assert heard.startswith("The sender asks")
    assert model.summarised > 3


async def test_what_is_attached_can_be_read_on_in(tmp_path: Path) -> None:
    reads = calls(("read_more", {"file": "message-1.txt", "start": len(LONG) - 30}))
    model = NarrowModel(reads, "It is 42.", reads, "Still 42.", "No.", most=SMALL)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        events = await turn(gateway, thread, "/aside attach")
        heard = model.texts(1)[1]
        assert heard.startswith("What is the secret?\nAll is well on day 0.")
        assert "'message-1.txt': read_more reads on in it" in heard
        result = model.messages()[-1]["content"][0]["content"]
        later = await turn(gateway, thread, "sure?")
    async with opened(tmp_path, asking(model)) as gateway:
        await turn(gateway, thread, "well?")
        other = (await gateway.client.create_thread()).id
        model.add("Hi.")
        await turn(gateway, other, "hi")
    assert said(events) == ["It is 42."]
    assert result.endswith("It is 42.\n(That is its end.)")
    assert len(result) < 100
    assert said(later) == ["Still 42."]
    assert model.requests[-2]["tools"] == ["read_more"]
    assert model.requests[-1]["tools"] == []


async def test_what_is_dropped_stays_set_aside_and_is_decided_once(tmp_path: Path) -> None:
    model = NarrowModel("fine", most=SMALL)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        early = await gateway.client.send(thread, "/aside drop")
        await turn(gateway, thread, LONG)
        vague = await gateway.client.send(thread, "/aside")
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "/aside DROP")
        dropped = await until(gateway, thread, lambda event: event.kind == "notice", after)
        again = [await gateway.client.send(thread, f"/aside {way}") for way in ASIDE_REPLIES]
        assert said(await turn(gateway, thread, "well?")) == ["fine"]
        late = await gateway.client.send(thread, "/aside attach")
    assert (early.reply, vague.reply, late.reply) == (NOT_ASIDE, HOW_ASIDE, NOT_ASIDE)
    assert [(each.text, each.over) for each in of(Notice, dropped)] == [
        (ASIDE_REPLIES["drop"], "/aside summarise")
    ]
    assert {each.reply for each in again} == {DECIDED}
    assert model.texts() == [teams_words.TOO_LONG, "well?"]


async def test_trying_again_asks_without_it(tmp_path: Path) -> None:
    model = NarrowModel("Too long, you say.", most=SMALL)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        assert said(await turn(gateway, thread, "/retry")) == ["Too long, you say."]
    assert model.texts() == [teams_words.TOO_LONG]


async def test_of_a_message_with_a_text_file_the_file_alone_is_summarised(tmp_path: Path) -> None:
    model = NarrowModel("42.", "Still.", most=SMALL, summary="A diary; the secret is 42.")
    file = SentFile(name="diary.txt", media_type="text/plain", data=LONG.encode())
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "the secret?", files=[file])
        assert said(await turn(gateway, thread, "/aside summarise")) == ["42."]
    heard = model.texts()[-1]
    assert 'the contents of a file by "diary.txt"' in heard
    assert "\nA diary; the secret is 42.\n" in heard
    assert "\nthe secret?\n(This is a summary of the text of 'diary.txt'" in heard


@pytest.mark.usefixtures("told_at_once")
async def test_of_a_message_with_a_long_quote_the_quote_alone_is_summarised(
    tmp_path: Path,
) -> None:
    model = NarrowModel("42.", most=SMALL, summary="A diary; the secret is 42.")
    teams = ScriptedTeams(asking(model))
    quotes = (Quote(text=LONG, author="Bo", kind="history"), Quote(text="Hm.", author="Cy"))
    async with Gateway(new_store(tmp_path), teams, access=access(ROUTE)) as gateway:
        thread = (await gateway.accept(message(ALLOWED, "secret?", quotes=quotes))).thread
        first = await until(gateway, thread, ends)
        refused = await gateway.accept(message(UNLISTED, "/aside summarise"))
        await gateway.accept(message(ALLOWED, "/aside summarise"))
        second = await until(gateway, thread, ends, first[-1].seq)
    assert refused.outcome == "refused"
    assert said(second) == ["42."]
    heard = model.texts()[-1]
    assert "\nA diary; the secret is 42.\n" in heard
    assert "\nHm.\n" in heard
    assert "\nsecret?\n(This is a summary of the text of 'Bo'" in heard


async def test_of_several_messages_in_one_turn_the_long_ones_are_summarised(tmp_path: Path) -> None:
    model = NarrowModel("42.", most=SMALL, summary="A diary.")
    async with opened(tmp_path, asking(model), limits=Limits(collect=0.2)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "/queue mode collect")
        after = (await gateway.client.thread(thread)).last_seq
        for text in ("One.", LONG, "Three."):
            await gateway.client.send(thread, text)
        failed = await until(gateway, thread, ends, after)
        events = await turn(gateway, thread, "/aside summarise")
    assert [each.aside for each in of(Notice, failed)] == ["message"]
    assert said(events) == ["42."]
    heard = model.texts()[-1]
    assert heard.startswith("One.\n\nA diary.")
    assert heard.endswith("\n\nThree.")


def fetch() -> str:
    """Fetch."""
    return LONG[:60_000]


@pytest.mark.parametrize("way", ["summarise", "attach"])
async def test_a_result_that_is_too_long_can_be_decided_about_too(tmp_path: Path, way: str) -> None:
    model = NarrowModel(calls(("fetch", {})), "42.", most=SMALL, summary="A diary.")
    teams = ScriptedTeams(asking(model, tools=[fetch]))
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        (notice,) = of(Notice, await turn(gateway, thread, "go"))
    async with opened(tmp_path, teams) as gateway:
        events = await turn(gateway, thread, f"/aside {way}")
        heard = model.messages()[-1]
        if way == "attach":
            (file,) = re.findall(r"'(result-[^']*\.txt)'", heard["content"])
            page = calls(("read_more", {"file": file, "start": 8_000}))
            model.add(page, "Read.")
            assert said(await turn(gateway, thread, "more")) == ["Read."]
            result = model.messages()[-1]["content"][0]["content"]
            assert LONG[8_000:8_050] in result
            assert "start=16000" in result
            assert "It is material" in result
    assert (notice.text, notice.aside) == (TOO_LONG["result"], "result")
    assert said(events) == ["42."]
    assert heard["source"] == "parley"
    assert 'the result of a tool by "fetch"' in heard["content"]
    assert ("A diary." if way == "summarise" else LONG[:100]) in heard["content"]


async def test_a_kill_while_it_is_summarised_lets_it_begin_again(tmp_path: Path) -> None:
    held = asyncio.Event()
    stuck = NarrowModel(most=SMALL, summary=[held, "No."])
    async with Crash(tmp_path, ScriptedTeams(asking(stuck))) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        await gateway.client.send(thread, "/aside summarise")
        await stuck.asked_to_summarise.wait()
        crash.kill()
    held.set()
    model = NarrowModel("42.", most=SMALL, summary="A diary.")
    async with opened(tmp_path, asking(model)) as gateway:
        rests = iter([False, True])
        events = await until(gateway, thread, lambda event: ends(event) and next(rests))
    assert said(events) == ["42."]
    assert model.texts()[-1].startswith("A diary.")


# What the pairs leave out runs with the chaos tests, here and below.
@pairwise(
    restarted={"at once": False, "after a restart": True},
    then=["attach", "drop", ""],
    kind=["message", "result"],
)
async def test_a_stop_while_it_is_summarised_leaves_the_choice(
    tmp_path: Path, kind: str, then: str, restarted: bool
) -> None:
    asked = [] if kind == "message" else [calls(("fetch", {}))]
    model = NarrowModel(*asked, "fine", "Well.", most=SMALL, summary=[asyncio.Event()])
    make = asking(model, tools=[fetch])
    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        after = (await turn(gateway, thread, LONG if kind == "message" else "go"))[-1].seq
        await gateway.client.send(thread, "/aside summarise")
        await model.asked_to_summarise.wait()
        working = await gateway.client.send(thread, "/aside drop")
        await gateway.client.send(thread, "/stop")
        stopped = await until(gateway, thread, ends, after)
        if not restarted:
            await decide(gateway, thread, then)
    if restarted:
        async with opened(tmp_path, make) as gateway:
            await decide(gateway, thread, then)
    assert working.reply == WORKING
    assert [each.outcome for each in of(TurnFinished, stopped)] == ["stopped"]
    assert [each.aside for each in of(Notice, stopped)] == ["", kind]
    async with opened(tmp_path, make) as gateway:  # nothing of the first choice is left
        assert said(await turn(gateway, thread, "well?")) == [
            "Well." if then == "attach" else "fine"
        ]


async def decide(gateway: Gateway, thread: str, way: str) -> None:
    if way == "attach":
        assert said(await turn(gateway, thread, "/aside attach")) == ["fine"]
    elif way:
        assert (await gateway.client.send(thread, f"/aside {way}")).reply == ""


async def test_what_a_summary_takes_is_counted(tmp_path: Path) -> None:
    model = NarrowModel("42.", most=SMALL, summary="A diary.")
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        await turn(gateway, thread, "/aside summarise")
        used = await gateway.client.send(thread, "/usage")
    assert f"{15 * (model.summarised + 1):,} tokens" in used.reply


async def test_line_mode_offers_the_ways_and_waits_for_what_comes_of_one(tmp_path: Path) -> None:
    out, model = io.StringIO(), NarrowModel("42.", most=SMALL, summary="A diary.")
    plain = PlainChat(
        Settings(data_dir=tmp_path),
        stdin=io.StringIO(f"{'x ' * SMALL}\n/aside summarise\n/aside drop\n"),
        stdout=out,
        stderr=io.StringIO(),
    )

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client, None]:
        async with Gateway(new_store(tmp_path), ScriptedTeams(asking(model))) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        await plain.run(connect)
    shown = out.getvalue()
    assert TOO_LONG["message"] in shown
    assert "(Summarise it: /aside summarise; Attach as a file: /aside attach;" in shown
    assert shown.index(ASIDE_REPLIES["summarise"]) < shown.index("ann: 42.")
    assert DECIDED in shown


async def test_a_model_that_can_t_call_tools_gets_the_beginning_alone(tmp_path: Path) -> None:
    model = NarrowModel("Hm.", most=SMALL, function_calling=False)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        assert said(await turn(gateway, thread, "/aside attach")) == ["Hm."]
    assert "The rest can't be shown to you." in model.texts()[-1]
    assert model.requests[-1]["tools"] == []


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_others_in_the_team_need_no_second_choice(tmp_path: Path, restarted: bool) -> None:
    model = NarrowModel("42.", "Is it?", most=SMALL, summary="A diary.")

    def make() -> Team:
        critics = RoundRobinGroupChat([AssistantAgent("bob", model)], name="desk", max_turns=1)
        return RoundRobinGroupChat([AssistantAgent("ann", model), critics], max_turns=2)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        events = [] if restarted else await turn(gateway, thread, "/aside summarise")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            events = await turn(gateway, thread, "/aside summarise")
    assert said(events) == ["42.", "Is it?"]
    assert model.texts()[0] == teams_words.TOO_LONG


FAILURES = {
    "answer": (BadAnswer("No."), "not understandable"),
    "silent": (" ", "not understandable"),
    "refused": (ModelRefused("No."), "refused to answer"),
    "busy": (RateLimited("No."), "busy"),
    "too long": (ContextOverflow("No."), ""),
    "bug": (LookupError("No."), "went wrong"),
}


@pairwise(
    failure=FAILURES,
    restarted={"at once": False, "after a restart": True},
    kind=["message", "result"],
)
async def test_a_summary_that_fails_leaves_the_choice(
    tmp_path: Path, failure: tuple[Answer, str], restarted: bool, kind: str
) -> None:
    answer, why = failure
    asked = [] if kind == "message" else [calls(("fetch", {}))]
    model = NarrowModel(*asked, "fine", "Well.", most=SMALL, summary=answer)
    make = asking(model, tools=[fetch])
    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG if kind == "message" else "go")
        (_, notice) = of(Notice, await turn(gateway, thread, "/aside summarise"))
        assert notice.text.startswith(NOT_SHORTENED)
        assert why in notice.text
        assert "/new" not in notice.text
        assert (notice.aside, notice.level) == (kind, "error")
        (again,) = of(Notice, await turn(gateway, thread, "/retry"))
        assert again.aside == kind
        events = [] if restarted else await turn(gateway, thread, "/aside attach")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            events = await turn(gateway, thread, "/aside attach")
    assert said(events) == ["fine"]
    async with opened(tmp_path, make) as gateway:  # nothing of the first choice is left
        assert said(await turn(gateway, thread, "well?")) == ["Well."]


async def test_what_can_not_be_summarised_can_be_dropped(tmp_path: Path) -> None:
    model = NarrowModel("fine", most=SMALL, summary=BadAnswer("No."))
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        await turn(gateway, thread, "/aside summarise")
        dropped = await gateway.client.send(thread, "/aside drop")
        asked = model.summarised
        assert said(await turn(gateway, thread, "/retry")) == ["fine"]
    assert dropped.reply == ""
    assert model.summarised == asked
    assert model.texts() == [teams_words.TOO_LONG]


async def test_a_budget_that_a_summary_uses_up_leaves_the_choice(tmp_path: Path) -> None:
    model = NarrowModel("fine", most=SMALL, summary="A diary.")
    limits = Limits(budgets=[Budget(per="thread", window="turn", tokens=30)])
    async with opened(tmp_path, asking(model), limits=limits) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG)
        (_, notice) = of(Notice, await turn(gateway, thread, "/aside summarise"))
        dropped = await gateway.client.send(thread, "/aside drop")
    assert (notice.aside, notice.level, dropped.reply) == ("message", "warning", "")


PICTURE = SentFile(name="a.png", media_type="image/png", data=png())


@pairwise(
    text={"look": "look", "none": "", "long": "word " * 300},
    restarted={"at once": False, "after a restart": True},
    way=["summarise", "attach"],
)
async def test_images_that_are_too_long_are_left_out(
    tmp_path: Path, text: str, way: str, restarted: bool
) -> None:
    model = ScriptedModel(ContextOverflow("No."), "I see.", vision=True)
    make = asking(model)
    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        (notice,) = of(Notice, await turn(gateway, thread, text, files=[PICTURE]))
        assert notice.aside == "message"
        events = [] if restarted else await turn(gateway, thread, f"/aside {way}")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            events = await turn(gateway, thread, f"/aside {way}")
    assert said(events) == ["I see."]
    heard = model.texts()[-1]
    assert heard == f"{text}\n{LEFT_OUT}".lstrip()


async def test_images_stay_where_a_text_was_too_long(tmp_path: Path) -> None:
    model = ScriptedModel(ContextOverflow("No."), "I see.", vision=True)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, LONG, files=[PICTURE])
        assert said(await turn(gateway, thread, "/aside attach")) == ["I see."]
    assert len(model.messages()[-1]["content"]) == 2
    assert LEFT_OUT not in str(model.messages())


@pytest.mark.parametrize("nested", [False, True], ids=["of the team", "of a team in it"])
async def test_the_model_of_the_selector_that_failed_summarises(
    tmp_path: Path, nested: bool
) -> None:
    large = ScriptedModel(*["Hm."] * 9)
    small = NarrowModel("bob", most=SMALL, summary="A diary.")

    def make() -> Team:
        agents = [AssistantAgent(name, large) for name in ("ann", "bob", "cy")]
        desk = SelectorGroupChat([*agents], small, name="desk", max_turns=1)
        others = [AssistantAgent("dot", large), desk, AssistantAgent("eve", large)]
        return RoundRobinGroupChat(others, max_turns=1) if nested else desk

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        if nested:
            await turn(gateway, thread, "hi")
        (notice,) = of(Notice, await turn(gateway, thread, LONG))
        assert notice.aside == "message"
        await turn(gateway, thread, "/aside summarise")
    assert small.summarised


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("nested", [False, True], ids=["in the team", "in a team of it"])
async def test_the_model_of_the_agent_that_failed_summarises(
    tmp_path: Path, restarted: bool, nested: bool
) -> None:
    large = ScriptedModel("Hm.")
    small = NarrowModel("42.", most=SMALL, summary="A diary.")

    def make() -> Team:
        bob: AssistantAgent | Team = AssistantAgent("bob", small)
        if nested:
            bob = RoundRobinGroupChat([bob], name="desk", max_turns=1)
        others = [AssistantAgent("ann", large), bob, AssistantAgent("cy", large)]
        return RoundRobinGroupChat(others, max_turns=2)

    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        (notice,) = of(Notice, await turn(gateway, thread, LONG))
        assert notice.aside == "message"
        events = [] if restarted else await turn(gateway, thread, "/aside summarise")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            events = await turn(gateway, thread, "/aside summarise")
    assert said(events) == ["42."]
    assert small.summarised
