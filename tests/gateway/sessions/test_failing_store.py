"""Whatever operation of the store fails, a lane ends in a word."""

from __future__ import annotations

import ast
import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gateway.config.agent_parts import TeamMemoryConfig
from gateway.config.budgets import Budget
from gateway.conversation import LOCAL_OPERATOR, InboundMessage
from gateway.errors import OUR_FAULT, StatementRefused, StoreFull, StoreUnreachable
from gateway.events import MessageFinished, MessageWithdrawn, Notice, SessionEvent, TurnFinished
from gateway.factory.memory import TeamMemory
from gateway.gateway import Gateway
from gateway.registry import BuiltTeam, TeamInfo, ToolRule
from gateway.runtime import shared_nodes
from gateway.runtime.settings import Limits
from gateway.sessions import dispatcher, job_dispatcher, lanes
from gateway.store.jobs import JobSearch
from gateway.store.operations import OPERATIONS
from gateway.store.protocols import SessionStore
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate
from gateway.store.units import claims
from gateway.store.units import events as event_units
from gateway.store.units.invariants import broken_laws
from teams import RoundRobinGroupChat
from teams.agents import BaseChatAgent
from teams.base import Response, Team
from teams.core import CancellationToken
from teams.messages import BaseChatMessage, TextMessage
from teams.models import LLMMessage
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.new_store import is_on_postgres
from tests.fakes.scripted_model import Answer
from tests.fakes.shop import Shop
from tests.fakes.tested_store import ChangedStore, rows_in
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, solo, until

BUSY = """
    SELECT 1 FROM threads WHERE id = :thread AND state <> 'idle'
    UNION SELECT 1 FROM inbox WHERE thread = :thread AND outcome = 'queued'
"""
NOT_CALLED = "it was not called"
ROOT = Path(__file__).parents[3]
LANES = ["gateway/factory/memory.py", "gateway/budgets/*.py", "gateway/sessions/*.py"]
NOT_OF_A_LANE = {
    "thread": "who watches a thread has the error",
    "outdated": "housekeeping, which is tried again",
    "fill": "is asked next to is_attached, and fails as that does",
    "loaded_at": "asks no database",
    "outdated_messages": "is asked for a title, beside the lane, as title_thread",
    "title_thread": "is asked beside the lane; the thread then keeps the title that it has",
    "request": "who waits for it is a call of a tool server, which has the error",
}

Error = Callable[[], BaseException]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, before anything was done or `after` all of it."""

    error: Error
    after: bool = False


WRONG = Failure(lambda: KeyError("row"))
FAILURES: Mapping[str, Failure] = {
    "full": Failure(StoreFull),
    "refused": Failure(lambda: StatementRefused("A statement was refused.")),
    "unexpected": WRONG,
    "cancelled": Failure(asyncio.CancelledError),
    "its answer was lost": Failure(lambda: StoreUnreachable("No answer."), after=True),
    "unexpected, when done": Failure(lambda: KeyError("row"), after=True),
}


class FailingStore(ChangedStore):
    """Fails the next calls of some operations within lanes."""

    failing: dict[str, deque[Failure | None]]
    calls: Counter[str]
    failed: asyncio.Event
    test: asyncio.Task[Any] | None

    async def around(self, name: str, args: tuple[Any, ...], go: Any) -> Any:
        if name not in (*SCENES, "tell_hold") or asyncio.current_task() is self.test:
            return await go()
        self.calls[name] += 1
        planned = self.failing.get(name)
        failure = planned.popleft() if planned else None
        if failure is not None:
            self.failed.set()
        if failure is not None and not failure.after:
            raise failure.error()
        result = await go()
        if failure is not None:
            raise failure.error()
        return result

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        inner = super().record
        return await self.around("record", (), lambda: inner(lease, record))

    async def work_folder(self, thread: str) -> Path:
        inner = super().work_folder
        return await self.around("work_folder", (), lambda: inner(thread))

    async def probe(self) -> None:
        inner = super().probe
        await self.around("probe", (), lambda: inner())

    async def take(self, search: JobSearch) -> Any:
        inner: Any = getattr(super(), OF_NODES)
        return await self.around(OF_NODES, (), lambda: inner(search))


@dataclass
class Teams(ScriptedTeams):
    definition: int = 1

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        return TeamInfo(
            name=name,
            description="",
            participants=self.participants,
            models={},
            definition=str(self.definition),
        )


Prepare = Callable[[Gateway, Teams, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A turn that calls an operation.

    `before` is what happens in its thread first; `also` which operations fail, and how often, so
    that it is called.
    """

    make: Callable[[], Team]
    before: Prepare | None = None
    also: Mapping[str, int] = field(default_factory=dict[str, int])


BEHIND: ContextVar[deque[Callable[[], Awaitable[Any]]]] = ContextVar("behind")
"""Happens while a tool is at work."""


async def send() -> str:
    """Send."""
    while behind := BEHIND.get():
        await behind.popleft()()
    return "sent"


def talking() -> Team:
    return solo("one", "two", "three")


class Silent(BaseChatAgent):
    """It has nothing to say to "go"."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        text = "" if messages and messages[-1].to_text() == "go" else "fine"
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


def silent() -> Team:
    return RoundRobinGroupChat([Silent("solo", "Somebody.")], max_turns=1)


def calling() -> Team:
    return solo(calls("send"), "sent", "again", tools=[send])


def shopping() -> Team:
    return solo(calls("price"), "12 euros", "again", workbench=Shop())


def noting() -> Team:
    memory = TeamMemory("demo", TeamMemoryConfig())
    wanted = calls("remember", "forget", remember='{"text": "tea"}', forget='{"number": 1}')
    return solo(wanted, "noted", "again", memory=[memory], tools=memory.tools())


class Reading(NarrowModel):
    """It reads on when it hears "go"."""

    def _answer(self, messages: Sequence[LLMMessage]) -> Answer:
        wanted = calls("read_more", read_more='{"file": "message-1.txt"}')
        return wanted if messages[-1].content == "go" else "fine"


def reading() -> Team:
    return solo(Reading(most=20_000))


async def an_attachment(gateway: Gateway, teams: Teams, thread: str) -> None:
    failed = await say(gateway, thread, "long " * 9_000)
    await gateway.client.send(thread, "/aside attach")
    await until(gateway, thread, ends, failed[-1].seq)


async def a_turn(gateway: Gateway, teams: Teams, thread: str) -> None:
    await say(gateway, thread, "hello")


async def one_more(gateway: Gateway, teams: Teams, thread: str) -> None:
    BEHIND.get().append(lambda: tell(gateway, thread, "one more"))


async def another_definition(gateway: Gateway, teams: Teams, thread: str) -> None:
    await say(gateway, thread, "hello")
    teams.definition += 1


async def a_deletion(gateway: Gateway, teams: Teams, thread: str) -> None:
    number = f"said in {thread}"
    await say(gateway, thread, "hello", message_id=number)
    key = (await gateway.client.thread(thread)).key
    more: dict[str, Any] = {"author": LOCAL_OPERATOR, "thread": thread, "message_id": number}
    await gateway.accept(InboundMessage(key=key, text="", event="delete", **more))


async def other_participants(gateway: Gateway, teams: Teams, thread: str) -> None:
    await another_definition(gateway, teams, thread)
    teams.participants = (*teams.participants, f"agent_{teams.definition}")


async def steered(gateway: Gateway, teams: Teams, thread: str) -> None:
    await gateway.client.send(thread, "/queue mode steer")
    await one_more(gateway, teams, thread)


async def a_new_server(gateway: Gateway, teams: Teams, thread: str) -> None:
    pinned = ToolRule(action="allow", output="trusted", pin=f"shop of {thread}")
    teams.rules = {"price": pinned}


async def a_server_that_rewrites(gateway: Gateway, teams: Teams, thread: str) -> None:
    await a_new_server(gateway, teams, thread)
    await say(gateway, thread, "hello")
    free = ToolRule(action="allow", output="trusted", pin=f"shop of {thread}", pinned=False)
    teams.rules = {"price": free}


SCENES: Mapping[str, Scene] = {
    "take": Scene(talking),
    "begin": Scene(talking),
    "record": Scene(calling, one_more),
    "of_turn": Scene(silent),
    "context": Scene(calling),
    "work_folder": Scene(talking),
    "spent": Scene(talking),
    "checkpoints": Scene(talking, a_turn),
    "is_attached": Scene(talking, a_turn),
    "kept_text": Scene(reading, an_attachment),
    "succeed": Scene(talking, another_definition),
    "events": Scene(talking, other_participants),
    "gone_messages": Scene(talking, a_deletion),
    "take_out": Scene(talking, a_deletion),
    "join": Scene(calling, steered),
    "approval_mode": Scene(calling),
    "known_tool": Scene(shopping, a_new_server),
    "meet_tool": Scene(shopping, a_new_server),
    "forget_tool": Scene(shopping, a_server_that_rewrites),
    "memos": Scene(noting),
    "add_memo": Scene(noting),
    "delete_memo": Scene(noting),
    "probe": Scene(talking, also={"begin": 1, "end_unbegun": 1}),
    "open_messages": Scene(talking, also={"record": 2}),
    "end_unbegun": Scene(talking, also={"begin": 1}),
    "add_notice": Scene(talking, also={"begin": 1, "end_unbegun": 1}),
}
EACH_CALL = ("record",)
"""Operations of which each call fails in turn; of others, it is the first.

How each may fail before it has done anything, `test_last_word` has.
"""
OF_NODES = "take"
"""It is called on PostgreSQL alone, by a node that looks for jobs."""
ON_POSTGRES = (OF_NODES, "begin", "record", "end_unbegun")
"""Operations that fail on PostgreSQL with each change; the others do at night."""
CASES = [
    *(pytest.param("sqlite", name) for name in SCENES if name != OF_NODES),
    *(
        pytest.param(
            "postgres",
            name,
            marks=pytest.mark.chaos if name in ON_POSTGRES else pytest.mark.nightly,
        )
        for name in SCENES
    ),
]
on_both = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=pytest.mark.chaos)], indirect=True
)


def is_told(event: SessionEvent) -> bool:
    is_word = isinstance(event, Notice) and event.level == "error" and not event.turn
    return ends(event) or is_word or isinstance(event, MessageWithdrawn)


def store_of(gateway: Gateway) -> FailingStore:
    assert isinstance(gateway.store, FailingStore)
    return gateway.store


async def tell(gateway: Gateway, thread: str, text: str, message_id: str = "") -> int:
    """Let the operator write; the seq of the thread's last event before."""
    found = await gateway.client.thread(thread)
    message = InboundMessage(
        key=found.key, thread=thread, author=LOCAL_OPERATOR, text=text, message_id=message_id
    )
    await gateway.accept_missed([message])
    return found.last_seq


async def say(gateway: Gateway, thread: str, text: str, message_id: str = "") -> list[SessionEvent]:
    """Write; what is seen until nothing is left to do."""
    after, events = await tell(gateway, thread, text, message_id), list[SessionEvent]()
    while not events or await store_of(gateway).read(
        lambda each: each.fetch(BUSY, {"thread": thread})
    ):
        after = events[-1].seq if events else after
        events += await until(gateway, thread, is_told, after)
    return events


async def fails(gateway: Gateway, teams: Teams, name: str, call: int, failure: Failure) -> str:
    """Let a call of a turn fail; whatever is wrong afterwards."""
    store, scene = store_of(gateway), SCENES[name]
    thread = (await gateway.client.create_thread()).id
    if scene.before is not None:
        await scene.before(gateway, teams, thread)
    store.calls.clear()
    store.failing = {each: deque([WRONG] * times) for each, times in scene.also.items()}
    store.failing[name] = deque([*[None] * (call - 1), failure])
    try:
        async with asyncio.timeout(3):
            events = await say(gateway, thread, "go")
    except TimeoutError:
        return f"no word; calls: {dict(store.calls)}"
    left, store.failing = store.failing[name], {}
    if left:
        return NOT_CALLED
    if wrong := without_word(events):
        return wrong
    try:
        async with asyncio.timeout(3):
            return without_answer(await say(gateway, thread, "and now?"))
    except TimeoutError:
        return "its next message is not answered"


def without_word(events: list[SessionEvent]) -> str:
    """The events, if one of their turns has no word, or two."""
    for ended in of(TurnFinished, events):
        own = [each for each in events if each.turn == ended.turn]
        answers = [each for each in of(MessageFinished, own) if not each.broken]
        if len(answers) != 1 if ended.outcome == "done" else not of(Notice, own):
            return str(events)
    return ""


def without_answer(events: list[SessionEvent]) -> str:
    """The events, unless they end with an answer."""
    outcomes = [each.outcome for each in of(TurnFinished, events)]
    return "" if outcomes[-1:] == ["done"] else str(events)


@asynccontextmanager
async def opened(folder: Path, teams: Teams, **more: Any) -> AsyncGenerator[Gateway]:
    store = FailingStore.of(folder)
    store.failing, store.calls, store.test = {}, Counter(), asyncio.current_task()
    store.failed = asyncio.Event()
    BEHIND.set(deque())
    budget = Budget(per="thread", tokens=1_000_000)
    limits = Limits(live_teams=0, budgets=[budget], **more)
    with pytest.MonkeyPatch.context() as patch:
        if is_on_postgres():  # there a job begins the turn, and its lane where that fails
            begin = _unless_it_fails(store, claims.begin)
            patch.setitem(OPERATIONS, begin, OPERATIONS[claims.begin])
            patch.setattr(claims, "begin", begin)
        async with Gateway(store, teams, limits=limits) as gateway:
            yield gateway


def _unless_it_fails(store: FailingStore, begin: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(begin)
    def unit(*args: Any, **kwargs: Any) -> Any:
        if store.failing.get("begin"):
            raise KeyError("row")
        return begin(*args, **kwargs)

    return unit


@pytest.mark.parametrize(("database", "name"), CASES, indirect=["database"])
async def test_the_lane_has_a_word_and_takes_the_next_message(
    tmp_path: Path, database: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "FIRST_RETRY", 0.01)
    monkeypatch.setattr(dispatcher, "AGAIN", 0.01)
    monkeypatch.setattr(job_dispatcher, "LOOK", 0.05)
    monkeypatch.setattr(job_dispatcher, "SIDE_BY_SIDE", 1)  # so it is the one that finds work
    monkeypatch.setattr(shared_nodes, "HEAL_EVERY", 0.1)
    teams = Teams(SCENES[name].make)
    async with opened(tmp_path, teams) as gateway:
        for how, failure in FAILURES.items():
            if name in EACH_CALL and not failure.after and how != "cancelled":
                continue
            for call in count(1):
                wrong = await fails(gateway, teams, name, call, failure)
                if wrong == NOT_CALLED and call > 1:
                    break
                assert not wrong, f"call {call}, {how}: {wrong}"
                if name not in EACH_CALL:
                    break
    assert rows_in(tmp_path, "SELECT 1 FROM turns WHERE status = 'running'") == []
    assert rows_in(tmp_path, "SELECT 1 FROM open_messages") == []
    async with opened(tmp_path, teams) as gateway:
        for thread in await gateway.client.threads():
            told = of(Notice, await gateway.store.run(event_units.events, thread.id))
            assert set(Counter(each.incident for each in told).values()) <= {1}
            assert without_answer(await say(gateway, thread.id, "and after a restart?")) == ""
        assert await store_of(gateway).read(broken_laws) == []


class CancelledBuilds(Teams):
    """Teams of which the first is cancelled while it is built."""

    async def build(self, name: str, *, workdir: Path, model: str = "") -> BuiltTeam:
        if self.built < 1:
            self.built += 1
            raise asyncio.CancelledError
        return await super().build(name, workdir=workdir, model=model)


async def test_what_is_cancelled_beside_the_lane_ends_its_turn_with_a_word(tmp_path: Path) -> None:
    async with opened(tmp_path, CancelledBuilds(talking)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await say(gateway, thread, "go")
        assert [each.outcome for each in of(TurnFinished, events)] == ["failed"]
        assert [each.text for each in of(Notice, events)] == [OUR_FAULT]
        assert without_answer(await say(gateway, thread, "and now?")) == ""


@on_both
@pytest.mark.usefixtures("database", "told_at_once")
async def test_who_can_t_be_told_that_they_wait_is_answered_in_their_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, Teams(calling), parallel_turns=1) as gateway:
        store = store_of(gateway)
        for failure in FAILURES.values():
            store.failed.clear()
            store.failing = {"tell_hold": deque([failure])}
            BEHIND.get().append(store.failed.wait)
            first, second = [(await gateway.client.create_thread()).id for _ in range(2)]
            after = await tell(gateway, first, "go")
            assert without_answer(await say(gateway, second, "go")) == ""
            assert without_answer(await until(gateway, first, ends, after)) == ""


def test_each_operation_that_a_lane_calls_is_let_fail() -> None:
    methods = {name for name in dir(SessionStore) if not name.startswith("_")}
    called: set[str] = set()
    for path in (path for each in LANES for path in ROOT.glob(each)):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="run" | "run_then" as how), args=args):
                    if isinstance(unit := args[how == "run_then"], ast.Attribute):
                        called.add(unit.attr)
                case ast.Attribute(attr=name) if name in methods - {"run", "run_then"}:
                    of_store = ast.unparse(node.value).rpartition(".")[2] in ("store", "_store")
                    called |= {name} if of_store else set()
                case _:
                    pass
    assert called - NOT_OF_A_LANE.keys() == {"tell_hold", *SCENES} - {"spent", "take"}
