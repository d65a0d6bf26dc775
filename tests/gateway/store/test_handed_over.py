"""The writer's thread receives values that the event loop never changes."""

import threading
from functools import partial

import pytest

from gateway.access.authority import Access
from gateway.client import Answer
from gateway.config.budgets import Budget
from gateway.config.routes import Route
from gateway.conversation import (
    LOCAL_OPERATOR,
    Attachment,
    Author,
    AwaitedFile,
    ConversationKey,
    InboundMessage,
)
from gateway.events import InputRequested
from gateway.gateway import Gateway, Limits
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.store.records import Situation
from tests.fakes.hand_clock import HandClock
from tests.fakes.handed_over import HandingStore, live_objects
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, until

ANN, BOB = Author(id="x:T1:ann", name="Ann"), Author(id="x:T1:bob", name="Bob")
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
DIRECT = ConversationKey(platform="x", workspace="T1", channel="D1")
ROUTES = [
    Route.model_validate({"adapter": "x", "channels": ["*"], "users": [ANN.id]}),
    Route.model_validate({"adapter": "x", "dm": True, "pairing": True}),
]
WORKERS = ("parley-writer", "parley-store")
"""Names of threads that run units, on either database."""
PLAN = AwaitedFile(name="plan.txt", media_type="text/plain", size=9, ref="F1")


async def send() -> str:
    """Send something."""
    return "sent"


def office(folder) -> Gateway:
    client = model(calls("send"), calls("send"), *["fine"] * 9)
    rule = ToolRule(action="ask")
    teams = ScriptedTeams(lambda: solo(client, tools=[send]), rules={"send": rule})
    clock = HandClock()
    return Gateway(
        HandingStore.of(folder, clock=clock.time),
        teams,
        access=Access(routes=ROUTES),
        limits=Limits(
            crowd_turns={"team": 1},
            timezone="Europe/Berlin",
            budgets=[Budget(per="person", window="day", tokens=1_000_000)],
        ),
        clock=clock.time,
        steady=clock.time,
    )


async def work_a_day(gateway: Gateway) -> None:
    """A message, edit, files, answer, expiry, commands, pairing, and the end."""

    async def say(text: str, author=ANN, key=KEY, **more):
        message = InboundMessage(key=key, author=author, text=text, **more)
        return await gateway.accept(message)

    thread = (await say("go", message_id="1", dedupe=("1",))).thread
    events = await until(gateway, thread, ends)
    asked = of(InputRequested, events)[-1].request
    await say("wait", message_id="2", dedupe=("2",))
    await say("wait a bit", message_id="2", dedupe=("2/e",), event="edit")
    waiting = await say("look", message_id="3", dedupe=("3",), awaited=(PLAN,))
    plan = Attachment(name="plan.txt", media_type="text/plain", data=b"buy bread")
    await gateway.files.bring_files(waiting.inbox, [plan], [])
    for command in ("/usage", "/queue", f"/queue first {waiting.inbox}", "/status", "/grants"):
        await say(command, LOCAL_OPERATOR)
    click = Click(request=asked, answer=Answer(kind="approve_always"))
    await say("", LOCAL_OPERATOR, event="click", click=click)
    await until(gateway, thread, ends, events[-1].seq)
    await gateway._life._settle_due()
    told = await say("hello", BOB, DIRECT, direct=True)
    code = told.reply.split("parley pair ")[1].split("`")[0]
    assert await gateway.client.pair(code) is not None
    assert (await say("hello", BOB, DIRECT, direct=True)).outcome in ("turn", "queued")
    await gateway.client.unpair(BOB.id)
    await gateway.client.rename_thread(thread, "Bread")
    await say("", Author(id=""), message_id="3", event="delete")
    await gateway.accept_missed([InboundMessage(key=KEY, author=ANN, text="and?", dedupe=("4",))])
    await say("/forget", LOCAL_OPERATOR)


async def test_no_live_object_is_handed_to_the_thread_that_writes(tmp_path):
    gateway = office(tmp_path)
    async with gateway:
        await work_a_day(gateway)
    store = gateway.store
    assert isinstance(store, HandingStore)
    assert store.units >= {
        "accept_all",
        "begin",
        "bring",
        "record",
        "recover",
        "redeem",
        "rename_thread",
        "settle_due",
        "unpair",
    }
    assert {path for unit in store.handed for path in live_objects(unit)} == set()


async def test_the_thread_that_writes_runs_no_code_of_what_the_loop_changes(tmp_path):
    entered: set[str] = set()

    def called(frame, event, _argument) -> None:
        if event == "call" and threading.current_thread().name.startswith(WORKERS):
            entered.add(frame.f_globals.get("__name__", ""))

    threading.setprofile(called)
    try:
        async with office(tmp_path) as gateway:
            threading.setprofile(None)  # the writer thread has begun
            await work_a_day(gateway)
    finally:
        threading.setprofile(None)
    wings = {".".join(name.split(".")[:2]) for name in entered if name.startswith("gateway.")}
    # The policy runs there, over frozen values; what is alive does not.
    assert "gateway.inbound" in wings
    assert not wings & {"gateway.sessions", "gateway.runtime", "gateway.gateway", "gateway.control"}
    assert not entered & {"gateway.inbound.intake", "gateway.budgets.ledger"}
    assert not {name for name in entered if name.startswith(("adapters.", "teams"))}


class Judge:
    """Something alive, as the intake was."""

    def __init__(self) -> None:
        self.dispatcher = LocalDispatcher(1)

    def decide(self, situation: Situation) -> object:
        return self.dispatcher.limit


@pytest.mark.parametrize(
    "hand",
    [
        lambda judge: lambda c: judge,
        lambda judge: lambda c: judge.decide(c),
        lambda judge: partial(print, judge.decide),
        lambda judge: lambda c, to=judge: to,
        lambda judge: lambda c: [{"in": (judge.dispatcher,)}][0] if judge else None,
    ],
    ids=["itself", "in a closure", "bound, in a partial", "as a default", "deeper"],
)
def test_somebody_who_hands_over_self_is_found(hand):
    assert live_objects(hand(Judge()))


def test_values_and_plain_functions_are_no_live_objects():
    rules = Access(routes=ROUTES).operators
    assert live_objects(lambda c: (rules, KEY, ANN, send, ROUTES)) == []
    assert live_objects(Access(routes=ROUTES).judge) != []


@pytest.mark.parametrize("container", [[1], {"a": 1}, {1}], ids=["list", "dict", "set"])
def test_a_container_that_can_be_changed_is_found(container: object):
    assert live_objects(lambda c: (container,))
    assert live_objects(lambda c, to=(container,): to)
