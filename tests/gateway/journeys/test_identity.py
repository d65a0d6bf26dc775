"""A message id belongs to one turn."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.terminal.plain import PlainChat
from adapters.terminal.plain_text import PlainText
from adapters.terminal.settings import Settings
from gateway.client import Client
from gateway.events import BROKE_OFF, MessageFinished, SessionEvent
from gateway.gateway import Gateway
from gateway.items import AgentItem
from gateway.picture import Picture
from gateway.store.turn_records import MAX_RESUMES
from gateway.store.units import events as event_units
from gateway.store.units import rows
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, BaseChatAgent
from teams.base import Response, Team
from teams.conditions import MaxMessageTermination
from teams.core import CancellationToken
from teams.messages import BaseChatMessage, TextMessage
from teams.models import ModelUnreachable
from tests.fakes.new_store import new_store
from tests.fakes.news import apply_all, news_of
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import ScriptedTeams, ends, of, opened, turn, until

HALF = "Half an answer of \n"
WHOLE = "The whole answer, in \nmore lines."


def breaking() -> Callable[[], Team]:
    """Teams that share a model whose first answer breaks off."""
    model = ScriptedModel([HALF, ModelUnreachable("cut")], [WHOLE])

    def make() -> Team:
        agent = AssistantAgent("solo", model, model_client_stream=True)
        return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))

    return make


def finished(events: Sequence[SessionEvent]) -> list[MessageFinished]:
    return of(MessageFinished, events)


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_the_next_answer_is_a_message_of_its_own(tmp_path: Path, restarted: bool) -> None:
    make = breaking()
    async with opened(tmp_path, make) as gateway:
        thread = (await gateway.client.create_thread()).id
        (broken,) = finished(await turn(gateway, thread, "first"))
        if not restarted:
            await turn(gateway, thread, "second")
    if restarted:
        async with opened(tmp_path, make) as gateway:
            await turn(gateway, thread, "second")
    async with opened(tmp_path, make) as gateway:
        events = await gateway.store.run(event_units.events, thread, limit=500)
    assert (broken.text, broken.broken) == (HALF, True)
    first, second = finished(events)
    assert first == broken
    assert (second.text, second.broken) == (WHOLE, False)
    assert second.message != broken.message

    model = Picture()
    apply_all(model, events)
    shown = [model.items[key] for key in model.keys]
    agents = [each for each in shown if isinstance(each, AgentItem)]
    assert [(each.text, each.broken) for each in agents] == [(HALF, True), (WHOLE, False)]
    assert shown[-1] == agents[-1]

    written = PlainText(names=False)
    text = "".join(map(written.append, news_of(events)))
    assert text.count(BROKE_OFF) == 1
    assert text.endswith(f"{WHOLE}\n")


async def test_a_retry_finishes_the_message_that_broke_off(tmp_path: Path) -> None:
    async with opened(tmp_path, breaking()) as gateway:
        thread = (await gateway.client.create_thread()).id
        (broken,) = finished(await turn(gateway, thread, "first"))
        (whole,) = finished(await turn(gateway, thread, "/retry"))
    assert (whole.message, whole.text, whole.broken) == (broken.message, WHOLE, False)


async def test_line_mode_prints_all_of_the_next_answer(tmp_path: Path) -> None:
    out, make = io.StringIO(), breaking()
    plain = PlainChat(
        Settings(data_dir=tmp_path),
        stdin=io.StringIO("first\nsecond\n"),
        stdout=out,
        stderr=io.StringIO(),
    )

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client, None]:
        async with Gateway(new_store(tmp_path), ScriptedTeams(make)) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        await plain.run(connect)
    shown = out.getvalue()
    assert shown.index("Half an answer of") < shown.index(BROKE_OFF)
    assert shown.index(BROKE_OFF) < shown.index("The whole answer, in")
    assert "more lines." in shown


class Same(BaseChatAgent):
    """Gives all its messages one id."""

    said = 0

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self.said += 1
        text = f"answer {self.said}"
        return Response(chat_message=TextMessage(content=text, source=self.name, id="same"))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


def same() -> Team:
    return RoundRobinGroupChat([Same("solo", "Answers.")], max_turns=1)


async def test_an_id_of_another_turn_is_a_fault_under_test(tmp_path: Path) -> None:
    async with opened(tmp_path, same) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "first")
        assert finished(await turn(gateway, thread, "second")) == []


async def test_an_id_of_another_turn_is_replaced_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("gateway.faults"), "handlers", [])
    async with opened(tmp_path, same) as gateway:
        thread = (await gateway.client.create_thread()).id
        (first,) = finished(await turn(gateway, thread, "first"))
        (second,) = finished(await turn(gateway, thread, "second"))
    assert first.message == "same"
    assert second.message not in ("", "same")
    assert (first.text, second.text) == ("answer 1", "answer 2")
    assert [each for each in caplog.messages if "message same belongs to turn" in each]


async def test_after_a_crash_and_a_park_the_model_is_told_of_the_half_text_once(
    tmp_path: Path,
) -> None:
    crashes = range(MAX_RESUMES + 1)
    heard = ScriptedModel(*[[HALF, asyncio.Event()] for _ in crashes], [WHOLE], [WHOLE])

    def make() -> Team:
        agent = AssistantAgent("solo", heard, model_client_stream=True)
        return RoundRobinGroupChat([agent], max_turns=1)

    thread = ""
    for number in crashes:
        async with Crash(tmp_path, ScriptedTeams(make)) as (crash, gateway):
            if not thread:
                thread = (await gateway.client.create_thread()).id
                await gateway.client.send(thread, "first")
            shown = await crash.store.run(rows.open_messages, thread)
            while len(heard.requests) <= number or not shown:
                await asyncio.sleep(0.005)
                shown = await crash.store.run(rows.open_messages, thread)
    async with opened(tmp_path, make) as gateway:
        await until(gateway, thread, ends)
        for text in ("second", "third"):
            await turn(gateway, thread, text)
        events = await gateway.store.run(event_units.events, thread, limit=500)
    assert [each.broken for each in finished(events)] == [True, False, False]
    second, third = (str(each) for each in heard.requests[-2:])
    assert second.count(BROKE_OFF) == second.count(HALF.strip()) == 1
    assert third.count(BROKE_OFF) == 1
