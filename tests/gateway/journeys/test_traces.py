"""Traces of turns: one each, from the message's acceptance to its delivery."""

import asyncio
import logging
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once

from gateway.access.authority import Access
from gateway.app.tracing import exporting
from gateway.client import Answer
from gateway.config.tracing import TracingConfig
from gateway.conversation import InboundMessage
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.runtime.settings import Limits
from gateway.surface import CallRejected, Card, RateLimited
from teams.model_context import AutoChatCompletionContext
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.forked import ForkedProcess, forked
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Fail, Reply
from tests.fakes.otlp_collector import Collector, Received, collecting
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import ANN, HERE, all_told, say, served
from tests.gateway.scripted import Door, ScriptedTeams, calls, model, solo

ROOT = Path(__file__).resolve().parents[3]
PARTS = ["accept", "wait", "claim", "run", "deliver"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the process's tracer provider after the test."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())


@contextmanager
def traced(collector: Collector, **more: Any) -> Generator[None]:
    """A process that traces: all is sent and forgotten at its end."""
    with exporting(TracingConfig(endpoint=collector.url, **more)):
        yield
    trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = None, Once()


def parts(collector: Collector) -> list[str]:
    """The gateway's spans below the root, as they began."""
    return [each.name for each in collector.spans if each.name in PARTS]


def only(collector: Collector, name: str) -> Received:
    (span,) = collector.named(name)
    return span


async def test_a_turn_is_one_trace_with_the_engines_spans_in_its_run(
    tmp_path: Path, collector: Collector, openai_server
) -> None:
    def look(place: str) -> str:
        """Look there."""
        return "hidden result"

    openai_server.script(
        Reply(calls=[Call(name="look", arguments={"place": "hidden place"})]),
        Reply(text="hidden answer"),
    )
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, max_retries=0
    )

    def team() -> Any:
        return solo(client, tools=[look], messages=2)

    with traced(collector, headers={"x-key": "k1"}):
        async with served(tmp_path, Surface(Board()), team) as gateway:
            thread = await say(gateway, "hidden question")
            await all_told(gateway)
    await client.close()

    assert len(collector.traces()) == 1
    engine = [
        ("invoke_workflow RoundRobinGroupChat", "run"),
        ("invoke_agent solo", "invoke_workflow RoundRobinGroupChat"),
        ("chat gpt-4o", "invoke_agent solo"),
        ("execute_tool look", "invoke_agent solo"),
        ("chat gpt-4o", "invoke_agent solo"),
    ]
    tree = collector.tree()
    assert [each for each in tree if each[0] not in ("turn", *PARTS)] == engine
    assert [each for each in tree if each not in engine] == [
        ("turn", None),
        *((name, "turn") for name in PARTS),
    ]
    begun = [span.span.start_time_unix_nano for span in collector.spans]
    root, run, deliver = (only(collector, name) for name in ("turn", "run", "deliver"))
    assert root.span.start_time_unix_nano == begun[0]
    assert root.attributes == run.attributes
    assert run.attributes == {
        "gen_ai.conversation.id": thread,
        "parley.turn.id": run.attributes["parley.turn.id"],
        "parley.platform": "scripted",
        "parley.team": "demo",
        "parley.resumed": False,
        "parley.outcome": "done",
    }
    assert deliver.attributes["parley.delivery.posts"] >= 1
    assert root.service == "parley"
    sent = b"".join(collector.bodies)
    assert b"hidden" not in sent
    assert ANN.id.encode() not in sent
    assert ANN.name.encode() not in sent
    assert {each["x-key"] for each in collector.headers} == {"k1"}


async def test_a_summarys_model_call_is_in_the_trace_of_its_turn(
    tmp_path: Path, collector: Collector, openai_server
) -> None:
    too_long = "This model's maximum context length is 1000 tokens."
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, max_retries=0
    )
    board, context = Board(), AutoChatCompletionContext(client)
    with traced(collector):
        async with served(
            tmp_path, Surface(board), lambda: solo(client, model_context=context, messages=2)
        ) as gateway:
            openai_server.script(Reply(text="hidden answer"))
            await say(gateway, "hidden question " * 150)
            await board.until(lambda b: len(b.posted) == 1)
            openai_server.script(
                Fail(status=400, message=too_long, code="context_length_exceeded"),
                Reply(text="hidden summary"),
                Reply(text="hidden end"),
            )
            await say(gateway, "and now?")
            await board.until(lambda b: len(b.posted) == 3)
            await all_told(gateway)
    await client.close()

    assert len(collector.traces()) == 2
    second = {each.span.trace_id for each in collector.spans[-1:]}
    asked = [each for each in collector.named("chat gpt-4o") if each.span.trace_id in second]
    assert [each.failed for each in asked] == [True, False, False]
    assert [each for each in collector.tree() if each[0] == "chat gpt-4o"] == [
        ("chat gpt-4o", "invoke_agent solo")
    ] * 4
    assert [each.attributes["parley.outcome"] for each in collector.named("run")] == ["done"] * 2
    assert b"hidden" not in b"".join(collector.bodies)


async def test_a_message_that_waits_for_another_process_is_one_trace(
    tmp_path: Path, collector: Collector
) -> None:
    with traced(collector):
        limits = Limits(parallel_turns=0)  # it ends before the turn begins
        store, teams = new_store(tmp_path), ScriptedTeams(lambda: solo("unused"))
        async with Gateway(store, teams, access=Access([ANN.id]), limits=limits) as gateway:
            await gateway.accept(InboundMessage(key=HERE, author=ANN, text="hi"))
    assert collector.spans == []
    with traced(collector):
        async with served(tmp_path, Surface(Board()), lambda: solo("Hello.")) as gateway:
            await all_told(gateway)
    assert len(collector.traces()) == 1
    assert parts(collector) == PARTS
    accept, wait = only(collector, "accept"), only(collector, "wait")
    assert accept.span.start_time_unix_nano == wait.span.start_time_unix_nano
    assert {parent for name, parent in collector.tree() if name in PARTS} == {"turn"}


async def test_a_turn_that_goes_on_in_another_process_stays_one_trace(
    tmp_path: Path, collector: Collector
) -> None:
    door = Door()

    async def linger() -> str:
        """Linger."""
        await door.pass_through()
        return "late"

    teams = ScriptedTeams(lambda: solo(calls("linger"), "Done.", tools=[linger], messages=9))
    with traced(collector):
        async with served(tmp_path, Surface(Board()), teams) as gateway:
            await say(gateway, "linger")
            await door.reached.wait()
            gateway.hurry()
    assert [run.attributes["parley.outcome"] for run in collector.named("run")] == ["cut short"]
    assert collector.named("turn") == []
    with traced(collector):
        teams = ScriptedTeams(lambda: solo("Done.", tools=[linger]))
        async with served(tmp_path, Surface(Board()), teams) as gateway:
            await all_told(gateway)
    assert len(collector.traces()) == 1
    runs = [run.attributes for run in collector.named("run")]
    assert [run["parley.resumed"] for run in runs] == [False, True]
    root = only(collector, "turn")
    assert root.span.start_time_unix_nano <= only(collector, "wait").span.start_time_unix_nano


async def test_a_turn_that_waits_for_people_shows_how_long(
    tmp_path: Path, collector: Collector
) -> None:
    async def ring() -> str:
        """Ring the bell."""
        return "ding"

    board, answers = Board(), model(calls("ring"), "It rang.")
    teams = ScriptedTeams(
        lambda: solo(answers, tools=[ring], messages=9), rules={"ring": ToolRule(action="ask")}
    )
    with traced(collector):
        async with served(tmp_path, Surface(board), teams) as gateway:
            await say(gateway, "ring it")
            await board.until(lambda b: b.posted)
            await all_told(gateway)
            card = board.posted[0].content
            assert isinstance(card, Card)
    assert collector.named("turn") == []
    with traced(collector):
        async with served(tmp_path, Surface(board), teams) as gateway:
            await gateway.client.answer(card.request.request, Answer(kind="approve"), author=ANN)
            await board.until(lambda b: "rang" in b.said() or len(b.posted) > 1)
            await all_told(gateway)

    assert len(collector.traces()) == 1
    assert [each.attributes["parley.wait"] for each in collector.named("wait")] == [
        "turn",
        "people",
    ]
    parked = collector.named("wait")[1].span
    first, second = collector.named("run")
    assert first.attributes["parley.outcome"] == "waiting"
    assert first.span.start_time_unix_nano <= parked.start_time_unix_nano
    assert parked.start_time_unix_nano < parked.end_time_unix_nano
    assert parked.end_time_unix_nano <= second.span.start_time_unix_nano
    assert only(collector, "turn").attributes["parley.resumed"] is True


async def test_turns_that_are_not_sampled_send_nothing(
    tmp_path: Path, collector: Collector
) -> None:
    board = Board()
    with traced(collector, sample=0.0):
        async with served(tmp_path, Surface(board), lambda: solo("Hello.")) as gateway:
            await say(gateway, "hi")
            await all_told(gateway)
    assert board.texts == ["solo: Hello."]
    assert collector.bodies == []


async def test_a_turn_that_fails_is_told_by_type_and_incident_alone(
    tmp_path: Path, collector: Collector, openai_server, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.script(Fail(status=401, message="hidden reason"))
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, max_retries=0
    )
    board = Board()
    with traced(collector):
        async with served(tmp_path, Surface(board), lambda: solo(client)) as gateway:
            await say(gateway, "hi")
            await all_told(gateway)
    await client.close()

    failed = [each.name for each in collector.spans if each.failed]
    assert failed[0] == "turn"
    assert {"run", "chat gpt-4o"} < {*failed}
    for name in ("turn", "run"):
        noted = only(collector, name).attributes
        assert (noted["error.type"], noted["parley.outcome"]) == ("BadCredentials", "failed")
        assert f"incident {noted['parley.incident']}" in caplog.text
    assert "hidden reason" in caplog.text
    assert b"hidden" not in b"".join(collector.bodies)


async def test_waits_and_failures_of_the_platform_are_counted_in_the_delivery(
    tmp_path: Path, collector: Collector
) -> None:
    board = Board()
    board.fail("post", RateLimited(0.01))
    board.fail("post", CallRejected("not like this"))
    with traced(collector):
        async with served(tmp_path, Surface(board), lambda: solo("Hello.")) as gateway:
            await say(gateway, "hi")
            await all_told(gateway)
    deliver = only(collector, "deliver")
    assert deliver.attributes["parley.delivery.wait_seconds"] == pytest.approx(0.01)
    assert deliver.attributes["parley.delivery.failed"] == 1
    assert deliver.failed
    assert deliver.seconds >= 0.01


async def test_turns_in_a_row_are_delivered_in_their_own_traces(
    tmp_path: Path, collector: Collector
) -> None:
    board, shared = Board(), model("One.", "Two.")
    with traced(collector):
        async with served(tmp_path, Surface(board), lambda: solo(shared)) as gateway:
            await asyncio.gather(say(gateway, "first"), say(gateway, "second"))
            await board.until(lambda b: len(b.posted) == 2)
            await all_told(gateway)
    assert len(collector.traces()) == 2
    for trace_id in collector.traces():
        of_trace = [each for each in collector.spans if each.span.trace_id == trace_id]
        assert [each.name for each in of_trace if each.name in PARTS] == PARTS
        turns = {each.attributes.get("parley.turn.id") for each in of_trace if each.name in PARTS}
        assert len(turns) == 1


async def test_a_collector_that_is_gone_holds_nobody_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    with collecting() as gone:
        pass
    board, shared = Board(), model(*["Hello."] * 3)
    loop = asyncio.get_running_loop()
    with caplog.at_level(logging.INFO), traced(gone):
        async with served(tmp_path, Surface(board), lambda: solo(shared)) as gateway:
            for number in (1, 2, 3):
                await say(gateway, "hi")
                await board.until(lambda b, posts=number: len(b.posted) == posts)
            began = loop.time()
    assert loop.time() - began < 5
    assert len(board.posted) == 3
    told = [each.getMessage() for each in caplog.records if "traces" in each.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("traces are dropped until the collector answers: ")
    assert not [each for each in caplog.records if each.name.startswith("opentelemetry")]


async def start(folder: Path, collector: Collector, part: str) -> ForkedProcess:
    return await forked(
        *("tests.gateway.journeys.traces_child", str(folder), collector.url, part),
        folder=ROOT,
        log=folder / "log",
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        },
    )


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_a_turn_of_three_processes_of_which_two_are_killed_is_one_trace(
    tmp_path: Path, collector: Collector
) -> None:
    async with asyncio.timeout(50):
        accepting = await start(tmp_path, collector, "accept")
        assert await accepting.wait() == -signal.SIGKILL
        assert collector.spans == []
        running = await start(tmp_path, collector, "run")
        assert await asyncio.to_thread(collector.received.wait, 20)
        assert [each.name for each in collector.spans] == ["accept", "wait", "claim"]
        running.kill()
        await running.wait()
        assert collector.named("run") == []
        assert await (await start(tmp_path, collector, "deliver")).wait() == 0
    assert len(collector.traces()) == 1
    assert {*parts(collector)} == {*PARTS}  # a delivery may end before its turn
    run, root = only(collector, "run"), only(collector, "turn")
    assert run.attributes["parley.resumed"] is True
    assert root.attributes["parley.outcome"] == "done"
    first, second = collector.named("claim")
    assert root.span.start_time_unix_nano <= first.span.start_time_unix_nano
    assert first.span.end_time_unix_nano < second.span.start_time_unix_nano
