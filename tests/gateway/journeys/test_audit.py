"""The audit has what changes something; exceptions have a reason."""

import asyncio
import re
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from gateway.access.authority import Access, Admission, Denial, Operators
from gateway.cli import main
from gateway.control.operations import OPERATIONS
from gateway.conversation import LOCAL_OPERATOR, Author, ConversationKey, InboundMessage
from gateway.events import InputRequested
from gateway.gateway import Gateway
from gateway.inbound.commands import command_infos
from gateway.registry import ModelChoice, ToolRule
from gateway.sessions.expiry import RequestTimes
from gateway.store import decisions as decided
from gateway.store.records import EncryptedToken, MetTool
from gateway.store.turn_records import Lease, Succession
from gateway.store.units import adapters as adapter_units
from gateway.store.units import deletion, known_texts, met_tools, requests, team_changes
from gateway.store.units import expiry as expiry_units
from teams.models import CreateResult, RequestUsage
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.tested_store import ChangedStore, all_operations, new_audit
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, until

QUIET_DECISIONS = {
    decided.CommandReply: "it only answers",
    decided.UsageReply: "it only answers",
    decided.NoAction: "nothing is done",
    decided.MessageOffer: "nothing is done",
}
QUIET_OPERATIONS = {
    "accept_all": "is accept for several messages",
    "add_gaps": "what is still to be read after a pause: nobody decides it",
    "add_memo": "an agent's tool, which has its rows",
    "add_notice": "tells people what has failed: nobody decides it",
    "begin": "work that somebody's message has asked for",
    "begin_at": "what stands on a platform, where the messages are",
    "bring": "files of a message that was let in",
    "clear_gone": "what stands on a platform, where the messages are",
    "close_rate": "how fast platforms may be asked",
    "delete_memo": "an agent's tool, which has its rows",
    "title_thread": "a model's title of a thread: nobody decides it",
    "draw_shares": "how much of a budget a node may use",
    "draw_tokens": "how fast platforms may be asked",
    "drop_audit": "the config's audit_days",
    "end_unbegun": "work that can't be begun: nobody decides it",
    "take_out": "carries out a deletion, which has its row",
    "finish_page": "what is still to be read after a pause: nobody decides it",
    "give_up": "what stands on a platform, where the messages are",
    "refuse": "what stands on a platform, where the messages are",
    "index_words": "words of what is stored, for searches",
    "join": "messages that were let in",
    "keep_time": "the clock",
    "mark": "what an adapter remembers of its platform",
    "mark_delivered": "what stands on a platform, where the messages are",
    "release": "which node serves what",
    "put_part": "what stands on a platform, where the messages are",
    "tell_hold": "tells people what their turn waits for: nobody decides it",
}
QUIET_COMMANDS = {
    **dict.fromkeys(("status", "usage", "help", "grants"), "it only answers"),
    "team": "it begins a thread, as /new does",
}
QUIET_CALLS = {
    **dict.fromkeys(
        ("threads", "thread", "newest_thread", "agents", "choices", "file_faults", "made_file"),
        "it only reads",
    ),
    "status": "it only reads",
    "note_export": "is the row itself",
    "restore": "the restored store says it at its start",
}
"""Calls of the control socket; the others are operations of the store, or messages."""
AS_OPERATION = {
    "send": "accept",
    "fork_thread": "fork",
    "answer": "accept",
    "stop": "accept",
    "pair": "redeem",
    "withdraw": "withdraw_here",
    "reload": "note",
    "backup": "note",
}
READING = "it only reads, and whoever may run it may read the file"
FILES = "it writes files beside the store, which has no part in it"
CLI = {
    "audit": READING,
    "backup": "store.backed_up",
    "chat": "gateway.started",
    "check": "tool.accepted",
    "completion": FILES,
    "discord sync": "it changes Discord's list of commands",
    "doctor": READING,
    "feedback": "thread.exported",
    "init": FILES,
    "install-service": FILES,
    "log": READING,
    "migrate": FILES,
    "models": READING,
    "pair": "pairing.let_in pairing.removed pairing.code_refused",
    "plugins": READING,
    "reload": "config.reloaded",
    "restore": "store.restored",
    "run": "gateway.started",
    "schema": READING,
    "secrets key": READING,
    "secrets rotate": "token.stored",
    "serve": "gateway.started config.reloaded",
    "sessions audit": READING,
    "sessions delete": "thread.deleted person.deleted",
    "sessions export": "thread.exported",
    "sessions fork": "thread.forked",
    "sessions list": READING,
    "sessions replay": READING,
    "sessions retry": "turn.retried",
    "sessions show": READING,
    "simulate": "its store is deleted at its end",
    "slack manifest": READING,
    "status": READING,
    "store backup": "store.backed_up",
    "store check": READING,
    "store copy": "store.copied",
    "store repair": "it writes a new store, whose restore is told",
    "store restore": "store.restored",
    "teams dump": READING,
    "teams import": FILES,
    "teams list": READING,
    "web": "gateway.started",
}
"""The action of each command, or the reason why there is none."""

DECISIONS = {
    **{what: f"request.{what}" for what in ("asked", "supported", "answered", "expired", "closed")},
    "revoked": "grant.revoked",
}
NAME = re.compile(r"[a-z]+\.[a-z_]+")
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
DIRECT = ConversationKey(platform="x", workspace="T1", channel="D1")
ANN, BOB, EVE = (Author(id=f"x:T1:{name}", name=name) for name in ("Ann", "Bob", "Eve"))
BOSS = Author(id="x:T1:Boss", name="Boss")
OPERATION: ContextVar[str] = ContextVar("operation", default="")
WRITES = {unit.__name__ for unit, how in all_operations().items() if how.writes} | {"record"}
DOCS = Path("docs/operate.md")


class Watched(ChangedStore):
    """A store that knows which rows its operations add to the audit."""

    @cached_property
    def by_operation(self) -> dict[str, set[str]]:
        return {}

    @cached_property
    def by_decision(self) -> dict[type, set[str]]:
        return {}

    async def around(self, name, args, go):
        token = OPERATION.set(name)
        try:
            return await go()
        finally:
            OPERATION.reset(token)

    async def record(self, lease, record):
        inner = super().record
        return await self.around("record", (), lambda: inner(lease, record))

    async def write(self, unit, then=None, *, alone=False):
        name = OPERATION.get()

        def watched(connection):
            ((last,),) = connection.fetch("SELECT COALESCE(MAX(id), 0) FROM audit")
            result = unit(connection)
            query = f"SELECT what FROM audit WHERE {new_audit(connection, last)}"
            added = {row["what"] for row in connection.fetch(query)}
            self.by_operation.setdefault(name, set()).update(added)
            if name == "accept":
                self.by_decision.setdefault(type(result.decision), set()).update(added)
            return result

        return await super().write(watched, then, alone=alone)


class Doors(Access):
    """Everybody but Eve, who may be let in by a code."""

    def __init__(self) -> None:
        super().__init__([BOSS.id])

    def judge(self, message):
        found = super().judge(message)
        if message.author == EVE:
            return Denial(once_paired=Admission(rule="pairing"))
        return Admission(rule="routes[0]") if message.author in (ANN, BOB) else found


CUT = CreateResult(
    finish_reason="length",
    content="Half of it",
    usage=RequestUsage(prompt_tokens=3, completion_tokens=2),
    cached=False,
)
ASKS = calls("send", send='{"to": "all"}')
MEMO = """
    INSERT INTO memos (call, team, scope, key, person, name, text, at)
    VALUES ('c', 'demo', 'team', '', :person, 'Ann', 'likes tea', 1)
"""


class Life:
    """People of a platform, and a team whose tool two approve."""

    def __init__(self, folder: Path, *answers: Any) -> None:
        async def send(to: str = "") -> str:
            """Send."""
            return "sent"

        narrow = isinstance(answers[0], NarrowModel)
        shared = answers[0] if narrow else model(*answers)
        teams = ScriptedTeams(
            lambda: solo(shared, tools=[send]),
            rules={"send": ToolRule(action="ask", quorum=2, approvers=(ANN.id, BOB.id))},
            choices=(ModelChoice(name="small", label="small-1"),),
        )
        self.store = Watched.of(folder)
        self.typed: set[str] = set()
        self.gateway = Gateway(self.store, teams, access=Doors())
        self.seen = 0
        self.said = 0

    async def say(self, text: str, author: Author = ANN, key=KEY, *, number="", **more):
        self.said += 1
        number = number or str(self.said)
        self.typed |= {text[1:].split()[0]} if text.startswith("/") else set()
        dedupe = (key.dedupe(more.get("event", "create"), number, str(self.said)),)
        message = InboundMessage(
            key=key, author=author, text=text, message_id=number, dedupe=dedupe, **more
        )
        return await self.gateway.accept(message)

    async def rest(self, thread: str) -> list[Any]:
        """The events until the thread's turn rests."""
        events = await until(self.gateway, thread, ends, self.seen)
        self.seen = events[-1].seq
        return events

    async def ask(self, text: str = "go") -> tuple[str, str]:
        """A task whose tool waits for approval: the thread and the request."""
        thread = (await self.say(text)).thread
        return thread, of(InputRequested, await self.rest(thread))[-1].request


async def approvals(life: Life) -> None:
    thread, request = await life.ask()
    await life.say(f"/approve {request} always")
    await life.say(f"/approve {request} always", BOB)
    await life.rest(thread)
    await life.say("/revoke send")
    await life.gateway.conversations.rate(thread, "part", ANN.id, good=True)
    later = await life.say("go on", number="w")
    await life.rest(thread)
    await life.say("go on!", number="w", event="edit")
    await life.say(f"/again {later.inbox}")
    await life.rest(thread)


async def refusal(life: Life) -> None:
    thread, request = await life.ask()
    await life.say(f"/deny {request} not now", BOB)
    await life.rest(thread)


async def settings(life: Life) -> None:
    await life.say("hello")
    for text in ("/mute", "/unmute", "/queue mode collect", "/model small"):
        assert (await life.say(text, BOSS)).outcome == "command"
    assert (await life.say("/mode plan", LOCAL_OPERATOR)).outcome == "command"


async def the_queue(life: Life) -> None:
    thread, _ = await life.ask()
    first, second, third = [await life.say(f"wait {n}", number=f"w{n}") for n in range(3)]
    await life.say("wait!", number="w0", event="edit")
    await life.say(f"/queue first {second.inbox}")
    await life.say(f"/queue drop {third.inbox}")
    await life.say("", number="w1", event="delete")
    assert await life.gateway.client.withdraw(thread, first.inbox) == "wait!"
    await life.say("/stop")


async def failure(life: Life) -> None:
    thread = (await life.say("hello")).thread
    await life.rest(thread)
    await life.say("there is no second answer")
    assert (await life.rest(thread))[-1].outcome == "failed"
    await life.say("/retry")
    await life.rest(thread)


async def continuation(life: Life) -> None:
    thread = (await life.say("hello")).thread
    await life.rest(thread)
    for command in ("/continue", "/compact"):
        await life.say(command)
        assert (await life.rest(thread))[-1].outcome == "done"


async def too_long(life: Life) -> None:
    thread = (await life.say("hello " * 100)).thread
    await life.rest(thread)
    await life.say("/aside drop")
    assert "begins in a new message" in (await life.say("/fork")).reply


async def deletions(life: Life) -> None:
    await life.store.write(lambda connection: connection.execute(MEMO, {"person": ANN.id}))
    await life.say("/memory forget all")
    await life.say("hello")
    await life.say("/forget", BOSS)
    await life.say("/new")
    thread = (await life.gateway.client.create_thread()).id
    await life.gateway.client.send(thread, "hello")
    await until(life.gateway, thread, ends)
    await life.gateway.client.fork_thread(thread)
    await life.gateway.client.adopt_thread(thread)
    await life.gateway.client.rename_thread(thread, "Named")
    await life.gateway.client.delete_thread(thread)
    await life.gateway.client.delete_person(ANN.id)
    await life.gateway.client.note_export("any")
    await life.store.run(deletion.expire, 2.0**40)


async def strangers(life: Life) -> None:
    refused = await life.say("hello", EVE, DIRECT, direct=True)
    code = refused.reply.split("parley pair ")[1].split("`")[0]
    assert await life.gateway.client.pair("wrong") is None
    assert await life.gateway.client.pair(code) is not None
    assert await life.gateway.client.unpair(EVE.id)
    await life.store.run(
        adapter_units.put_tokens, [EncryptedToken(name="x:T1:bot", key="k", value=b"v")]
    )
    assert await life.store.run(adapter_units.delete_token, "x:T1:bot")


async def changed_config(life: Life) -> None:
    thread, _ = await life.ask()
    found = await life.gateway.conversations.thread_at(KEY)
    assert found is not None
    lease = Lease(thread=thread, turn="", epoch=found.epoch)
    new = Succession(definition="2", participants=(), notice="Another team.")
    await life.store.run(team_changes.succeed, lease, new)
    added = await life.store.run(
        team_changes.withdraw_questions, [thread], reason="gone", notice="gone"
    )
    assert added


async def unshown(life: Life) -> None:
    thread, _ = await life.ask()
    await life.store.write(lambda c: c.execute("UPDATE requests SET taken = TRUE", {}))
    assert await life.store.run(requests.close_unshown, thread)


async def expiry(life: Life) -> None:
    await life.ask()
    rules = RequestTimes(operators=Operators(ids=frozenset()))
    settled = await life.store.run(expiry_units.settle_due, rules, 2.0**40)
    assert settled.events


async def changed_tools(life: Life) -> None:
    old, new = (MetTool(server="shop", tool="price", digest=each, text=each) for each in "ab")
    for met in (old, new):
        await life.store.run(met_tools.meet_tool, met)
    assert await life.gateway.client.accept_tool(new)
    await life.store.run(known_texts.forget_tool, "shop", "price")


SCENES = {
    changed_tools: ("-",),
    approvals: (ASKS, "ok", "yes", "again", "-"),
    refusal: (ASKS, "a pity"),
    settings: ("hello",),
    the_queue: (ASKS,),
    failure: ("ok",),
    continuation: (CUT, "the rest"),
    too_long: (NarrowModel(most=100),),
    deletions: ("hello",),
    strangers: ("-",),
    changed_config: (ASKS,),
    unshown: (ASKS,),
    expiry: (ASKS,),
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory) -> dict[str, Any]:
    """The rows of all scenes, by their causes, and the commands typed."""

    async def live() -> dict[str, Any]:
        found: dict[str, Any] = {"operation": {}, "decision": {}, "typed": set()}
        for scene, answers in SCENES.items():
            life = Life(tmp_path_factory.mktemp(scene.__name__), *answers)
            async with asyncio.timeout(20), life.gateway:
                await scene(life)
            found["typed"] |= life.typed
            for kind in ("operation", "decision"):
                for name, actions in getattr(life.store, f"by_{kind}").items():
                    found[kind].setdefault(name, set()).update(actions)
        return found

    return asyncio.run(live())


def told(found: dict[Any, set[str]]) -> set[Any]:
    return {name for name, actions in found.items() if actions}


def test_every_operation_that_changes_something_has_a_row(lived):
    assert told(lived["operation"]) == WRITES - QUIET_OPERATIONS.keys()


def test_every_decision_about_a_message_that_changes_something_has_a_row(lived):
    assert told(lived["decision"]) == {*get_args(decided.Decision)} - QUIET_DECISIONS.keys()


def test_every_command_of_a_thread_was_typed_or_only_answers(lived):
    commands = {info.name for info in command_infos()}
    assert commands - lived["typed"] == QUIET_COMMANDS.keys()


def test_every_call_of_the_control_socket_is_an_audited_operation():
    operations = {AS_OPERATION.get(name, name) for name in OPERATIONS.keys() - QUIET_CALLS.keys()}
    assert operations <= WRITES - QUIET_OPERATIONS.keys()
    assert AS_OPERATION.keys() | QUIET_CALLS.keys() <= OPERATIONS.keys()


def leaves(command: click.Command, path: str = "") -> set[str]:
    if not isinstance(command, click.Group):
        return {path}
    ctx = click.Context(command)
    inner = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
    return set().union(
        *(leaves(each, f"{path} {name}".strip()) for name, each in inner.items() if each)
    )


def test_every_command_line_has_an_action_or_a_reason_for_none():
    assert leaves(main) == CLI.keys()


def test_the_docs_have_every_action(lived):
    noted = {
        what if "." in what else DECISIONS[what]
        for what in set().union(*lived["operation"].values())
    }
    by_commands = set(NAME.findall(" ".join(CLI.values())))
    section = DOCS.read_text().split("## Audit")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in NAME.findall(row.split("|")[1])}
    assert listed == noted | by_commands | {"store.damaged", "thread.mended"}


async def test_a_turn_without_tools_adds_one_row_at_most_and_only_the_first(tmp_path):
    life = Life(tmp_path, "one", "two")
    async with life.gateway:
        for rows in ({"access.granted"}, set()):
            life.store.by_operation.clear()
            await life.rest((await life.say("hello")).thread)
            assert set().union(*life.store.by_operation.values()) == rows
