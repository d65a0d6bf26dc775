"""The life of a request: its expiry, its voters, and its audit."""

import asyncio
import json
from zlib import crc32

import pytest

from gateway.access.authority import Access, Admission
from gateway.access.grants import arguments_hash
from gateway.app.threads import audit_table
from gateway.client import Answer
from gateway.control.socket_client import SocketClient
from gateway.control.socket_server import serve_control
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import (
    InputReminded,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    ToolFinished,
)
from gateway.gateway import Gateway, Limits
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.sessions import expiry as deadlines
from gateway.sessions.expiry import EXPIRED, EXPIRED_QUESTION, UNANSWERED
from gateway.store.connection import Connection
from gateway.store.units import audit as audit_units
from gateway.store.units import events as event_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import TextMentionTermination
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import everything_in
from tests.gateway.scripted import (
    Door,
    ScriptedTeams,
    calls,
    ends,
    model,
    of,
    solo,
    until,
)

HOUR = 3600.0
APPROVE, ALWAYS, DENY = (Answer(kind=kind) for kind in ("approve", "approve_always", "deny"))
SAME, BELOW = (Answer(kind=kind) for kind in ("approve_same", "approve_below"))
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
APPROVALS = ConversationKey(platform="x", workspace="T1", channel="approvals")
ANN = Author(id="x:T1:ann", name="Ann")
BOSSES = [Author(id=f"x:T1:boss{n}", name=f"Boss {n}") for n in range(20)]


class Everybody(Access):
    def __init__(self) -> None:
        super().__init__([boss.id for boss in BOSSES])

    def judge(self, message):
        return Admission()


class Office:
    """Ann's team with a message to send; its store outlives its gateways."""

    def __init__(self, folder, *answers, rule: ToolRule, access=None, limits=None) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.sent: list[str] = []
        self.client = model(*(answers or (calls("send", send=json.dumps({"to": "all"})), "done")))
        self.teams = ScriptedTeams(
            lambda: solo(self.client, tools=[self.send]), rules={"send": rule}
        )
        self.access = access or Everybody()
        self.limits = limits or Limits()
        self.thread = ""

    async def send(self, to: str = "") -> str:
        """Send something."""
        self.sent.append(to)
        return f"sent to {to}"

    def open(self) -> Gateway:
        self.gateway = Gateway(
            new_store(self.folder, clock=self.clock.time),
            self.teams,
            access=self.access,
            limits=self.limits,
            clock=self.clock.time,
            steady=self.clock.time,
        )
        self.person = self.gateway.client
        return self.gateway

    async def ask(self, text: str = "go") -> InputRequested:
        receipt = await self.gateway.accept(InboundMessage(key=KEY, author=ANN, text=text))
        after = (await self.gateway.client.thread(receipt.thread)).last_seq if self.thread else 0
        self.thread = receipt.thread
        events = await until(self.person, self.thread, lambda e: waits(e) and e.seq > after)
        return of(InputRequested, events)[-1]

    async def click(self, author: Author, request: str, answer: Answer, key=KEY):
        click = Click(request=request, answer=answer)
        return await self.gateway.accept(
            InboundMessage(key=key, author=author, event="click", click=click)
        )

    async def finished(self):
        return await until(self.person, self.thread, done)

    async def audit(self) -> list[tuple[str, str, str]]:
        rows = await self.gateway.store.run(audit_units.audit, self.thread)
        return [(row.what, row.person, row.outcome) for row in rows]


def waits(event) -> bool:
    return ends(event) and event.outcome == "waiting"


def done(event) -> bool:
    return ends(event) and event.outcome == "done"


@pytest.fixture
def soon(monkeypatch):
    """Poll for due work all the time."""
    monkeypatch.setattr(deadlines, "LONGEST", 0.01)
    monkeypatch.setattr(deadlines, "SHORTEST", 0.01)


# --- expiry ---


async def test_an_approval_that_nobody_gives_in_time_is_a_denial(tmp_path, soon):
    office = Office(tmp_path, rule=ToolRule(action="ask", expires=2 * HOUR))
    async with office.open():
        request = await office.ask()
        office.clock.advance(2 * HOUR - 1)
        assert (
            await office.gateway.store.run(event_units.request, request.request)
        ).state == "open"
        office.clock.advance(1)
        events = await office.finished()
        late = await office.click(BOSSES[0], request.request, APPROVE)
        audit = await office.audit()
    assert request.expires_at == 1000 + 2 * HOUR
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]
    assert of(ToolFinished, events)[0].result == "No approval came in time."
    assert office.sent == []
    assert late.reply == f"This is already settled: {EXPIRED}."
    assert audit == [("asked", "", ""), ("expired", "", EXPIRED)]


async def test_an_answer_after_the_time_has_the_team_go_on_at_once(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask", expires=2 * HOUR))
    async with office.open():  # with half a minute between two looks
        request = await office.ask()
        office.clock.advance(2 * HOUR)
        late = await office.click(BOSSES[0], request.request, APPROVE)
        events = await office.finished()
    assert late.reply == "The request has expired."
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]
    assert office.sent == []


async def test_what_expired_while_nothing_ran_is_settled_at_the_next_start(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask"), limits=Limits(requests_expire=HOUR))
    async with office.open():
        await office.ask()
    office.clock.advance(2 * HOUR)
    async with office.open():
        events = await office.finished()
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED]
    assert office.sent == []


async def test_a_question_that_nobody_answers_goes_on_with_a_sentence_to_the_model(tmp_path, soon):
    client = model("Which city?", "I can't say. DONE")

    def make():
        return RoundRobinGroupChat(
            [AssistantAgent("helper", client), UserProxyAgent("person")],
            termination_condition=TextMentionTermination("DONE"),
        )

    office = Office(tmp_path, rule=ToolRule(action="ask"), limits=Limits(requests_expire=HOUR))
    office.teams = ScriptedTeams(make)
    async with office.open():
        await office.ask()
        office.clock.advance(HOUR)
        events = await office.finished()
    assert [event.outcome for event in of(InputResolved, events)] == [EXPIRED_QUESTION]
    heard = client.create_calls[-1]["messages"]
    assert str(heard[-1].content) == UNANSWERED
    assert of(MessageFinished, events)[-1].text == "I can't say. DONE"


async def test_without_an_expiry_a_request_stays_open(tmp_path, soon):
    office = Office(tmp_path, rule=ToolRule(action="ask", expires=0.0))
    async with office.open():
        request = await office.ask()
        office.clock.advance(1000 * HOUR)
        await until(office.person, office.thread, lambda e: isinstance(e, InputReminded))
        assert (
            await office.gateway.store.run(event_units.request, request.request)
        ).state == "open"
    assert request.expires_at is None


async def test_reminders_back_off_and_end_and_say_who_may_answer(tmp_path, soon):
    rule = ToolRule(action="ask", expires=0.0, approvers=("x:T1:boss1", "asker"))
    office = Office(tmp_path, rule=rule)
    reminded: list = []
    async with office.open():
        request = await office.ask()
        for hours in (1, 3, 20):
            office.clock.advance(hours * HOUR)
            seen = len(reminded) + 1
            reminded = of(
                InputReminded,
                await until(office.person, office.thread, counts(InputReminded, seen)),
            )
    office.clock.advance(1000 * HOUR)
    async with office.open():
        await office.click(BOSSES[1], request.request, APPROVE)
        reminded = of(InputReminded, await office.finished())
    assert [event.text for event in reminded] == [
        "Waiting for an hour: solo wants to use send.",
        "Waiting for 4 hours: solo wants to use send.",
        "Waiting for 24 hours: solo wants to use send.",
    ]
    assert {event.mentions for event in reminded} == {("x:T1:ann", "x:T1:boss1")}
    assert request.may_answer == ("x:T1:ann", "x:T1:boss1")


def counts(kind: type, number: int):
    seen = 0

    def enough(event) -> bool:
        nonlocal seen
        seen += isinstance(event, kind)
        return seen == number

    return enough


# --- who, and how many ---


async def test_several_people_approve_and_each_of_them_counts_once(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask", quorum=3))
    async with office.open():
        request = await office.ask()
        replies = [
            (await office.click(boss, request.request, APPROVE)).reply
            for boss in (BOSSES[0], BOSSES[0], BOSSES[1])
        ]
        assert office.sent == []
        await office.click(BOSSES[2], request.request, APPROVE)
        events = await office.finished()
        audit = await office.audit()
    assert request.quorum == 3
    assert replies == ["", "You have already approved this (1 of 3 so far).", ""]
    assert [(e.by, e.approved, e.quorum) for e in of(InputSupported, events)] == [
        ("Boss 0", 1, 3),
        ("Boss 1", 2, 3),
    ]
    assert [e.outcome for e in of(InputResolved, events)] == ["approved by 3 people"]
    assert office.sent == ["all"]
    assert audit == [
        ("asked", "", ""),
        ("supported", BOSSES[0].id, "approved, 1 of 3"),
        ("supported", BOSSES[1].id, "approved, 2 of 3"),
        ("answered", BOSSES[2].id, "approved by 3 people"),
    ]


async def test_one_who_denies_is_enough(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask", quorum=2))
    async with office.open():
        request = await office.ask()
        await office.click(BOSSES[0], request.request, APPROVE)
        await office.click(BOSSES[1], request.request, Answer(kind="deny", text="no"))
        events = await office.finished()
    assert [e.outcome for e in of(InputResolved, events)] == ["denied: no"]
    assert office.sent == []


@pytest.mark.parametrize(
    ("answers", "granted"),
    [
        ((ALWAYS, ALWAYS), "send with any arguments"),
        ((SAME, ALWAYS), "send with exactly the arguments"),
        ((APPROVE, ALWAYS), ""),
    ],
)
async def test_several_people_approve_for_the_thread_only_together(tmp_path, answers, granted):
    office = Office(tmp_path, rule=ToolRule(action="ask", quorum=2))
    async with office.open():
        request = await office.ask()
        for boss, answer in zip(BOSSES, answers, strict=False):
            await office.click(boss, request.request, answer)
        await office.finished()
        grants = (await office.person.send(office.thread, "/grants")).reply
    assert grants.startswith(granted or "No tool is approved")


async def test_support_survives_a_restart(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask", quorum=2))
    async with office.open():
        request = await office.ask()
        await office.click(BOSSES[0], request.request, APPROVE)
    async with office.open():
        await office.click(BOSSES[1], request.request, APPROVE)
        await office.finished()
    assert office.sent == ["all"]


async def test_the_asker_may_approve_where_the_tools_policy_says_so(tmp_path):
    for approvers, may in (((), False), (("asker",), True)):
        office = Office(tmp_path / str(may), rule=ToolRule(action="ask", approvers=approvers))
        async with office.open():
            request = await office.ask()
            receipt = await office.click(ANN, request.request, APPROVE)
        assert (receipt.outcome == "answer") == may


async def test_twenty_people_in_two_processes_settle_it_exactly_once(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask"))
    answers = [APPROVE, DENY, ALWAYS, Answer(kind="deny", text="no")]
    async with office.open() as gateway, serve_control(gateway):
        request = await office.ask()
        elsewhere = await SocketClient.connect(tmp_path)
        said = await asyncio.gather(
            *(office.click(boss, request.request, answers[n % 4]) for n, boss in enumerate(BOSSES)),
            *(elsewhere.answer(request.request, answers[n % 4]) for n in range(20)),
        )
        events = await office.finished()
        audit = await office.audit()
    taken = [each for each in said if each is None or getattr(each, "outcome", "") == "answer"]
    late = [getattr(each, "reply", each) for each in said if each not in taken]
    [resolved] = of(InputResolved, events)
    assert len(taken) == 1
    assert set(late) == {f"This is already settled: {resolved.outcome}."}
    assert [what for what, _, _ in audit] == ["asked", "answered"]
    assert office.sent == (["all"] if resolved.outcome.startswith("approved") else [])


async def test_twenty_people_fill_a_quorum_exactly_once(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask", quorum=7))
    async with office.open():
        request = await office.ask()
        await asyncio.gather(*(office.click(boss, request.request, APPROVE) for boss in BOSSES * 2))
        events = await office.finished()
        audit = await office.audit()
    assert [event.approved for event in of(InputSupported, events)] == [1, 2, 3, 4, 5, 6]
    assert [what for what, _, _ in audit].count("supported") == 6
    assert len({person for what, person, _ in audit if what != "asked"}) == 7
    assert office.sent == ["all"]


# --- other places ---


async def test_approvals_are_given_in_a_channel_that_does_not_see_the_thread(tmp_path):
    class Open(Access):
        def judge(self, message):
            return Admission() if message.key == KEY else super().judge(message)

    access = Open([BOSSES[0].id], approvals=["x:T1:approvals"])
    office = Office(tmp_path, rule=ToolRule(action="ask", approvers=(BOSSES[1].id,)), access=access)
    async with office.open():
        assert office.gateway.delivery.approval_places == (APPROVALS,)
        request = await office.ask()
        stranger = await office.click(ANN, request.request, APPROVE, key=APPROVALS)
        operator = await office.click(BOSSES[0], request.request, APPROVE, key=APPROVALS)
        approver = await office.click(BOSSES[1], request.request, APPROVE, key=APPROVALS)
        await office.finished()
        [row] = [
            row
            for row in await office.gateway.store.run(audit_units.audit, office.thread)
            if row.person
        ]
    assert stranger.outcome == "refused"
    assert operator.reply == "You may not answer this request."
    assert approver.outcome == "answer"
    assert row.place == str(APPROVALS)
    assert office.sent == ["all"]


# --- grants ---


async def test_a_grant_ends_with_its_thread_when_a_new_one_begins_in_the_conversation(tmp_path):
    office = Office(
        tmp_path, calls("send"), "done", calls("send"), "done", rule=ToolRule(action="ask")
    )
    async with office.open():
        request = await office.ask()
        await office.click(BOSSES[0], request.request, ALWAYS)
        await office.finished()
        listed = InboundMessage(key=KEY, author=ANN, text="/grants")
        assert "send" in (await office.gateway.accept(listed)).reply
        fresh = await office.gateway.accept(InboundMessage(key=KEY, author=ANN, text="/new"))
        assert (await office.gateway.accept(listed)).reply.startswith("No tool is approved")
        office.thread = ""
        again = await office.ask("go again")
        assert office.thread == fresh.thread
        await office.click(BOSSES[0], again.request, APPROVE)
        await office.finished()
        assert (await office.gateway.accept(listed)).reply.startswith("No tool is approved")
    assert len(office.sent) == 2


async def test_a_grant_is_listed_and_taken_back_also_from_a_turn_that_runs(tmp_path):
    door = Door()
    office = Office(
        tmp_path,
        calls("send"),
        calls("wait"),
        calls("send"),
        "done",
        rule=ToolRule(action="ask", output="trusted"),
    )

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    office.teams.make = lambda: solo(office.client, tools=[office.send, wait], messages=2)
    async with office.open():
        request = await office.ask()
        await office.click(BOSSES[0], request.request, ALWAYS)
        await door.reached.wait()
        listed = (await office.person.send(office.thread, "/grants")).reply
        nobodys = await office.gateway.accept(
            InboundMessage(key=KEY, author=Author(id="x:T1:eve"), text="/revoke send")
        )
        revoked = await office.gateway.accept(
            InboundMessage(key=KEY, author=ANN, text="/revoke send")
        )
        door.open()
        await until(office.person, office.thread, counts(InputRequested, 2))
        none = (await office.person.send(office.thread, "/grants")).reply
        audit = await office.audit()
    assert listed == "send with any arguments, for Ann; approved by Boss 0"
    assert nobodys.reply.startswith("send has no approval")
    assert revoked.reply == "send needs approval again before it runs."
    assert none.startswith("No tool is approved")
    assert ("revoked", ANN.id, "asked for again") in audit
    assert office.sent == [""]


async def test_a_grant_covers_what_it_says_also_after_a_restart(tmp_path):
    def sends(to: str):
        return calls("send", send=json.dumps({"to": to}))

    office = Office(
        tmp_path,
        *(sends("reports/q1.md"), "done"),
        *(sends("reports/q2.md"), sends("reports/../q3.md"), "done"),
        *(sends("reports/../q3.md"), sends("q4.md"), "done"),
        rule=ToolRule(action="ask", paths=("to",), output="trusted"),
    )
    async with office.open():
        first = await office.ask()
        await office.click(BOSSES[0], first.request, BELOW)
        await office.finished()
    async with office.open():
        second = await office.ask()
        refused = await office.click(BOSSES[0], second.request, BELOW)
        await office.click(BOSSES[0], second.request, SAME)
        events = await until(office.person, office.thread, counts(InputResolved, 2))
    async with office.open():
        third = await office.ask()
        listed = (await office.person.send(office.thread, "/grants")).reply
    assert first.grants == (
        ("approve_same", "exactly these arguments"),
        ("approve_below", "to below reports/"),
        ("approve_always", "any arguments"),
    )
    assert second.below == third.below[:0] == ()
    assert "names no folder" in refused.reply
    assert [e.outcome for e in of(InputResolved, events)] == [
        "approved for this thread: to below reports/",
        "approved for this thread: exactly these arguments",
    ]
    assert json.loads(third.arguments) == {"to": "q4.md"}
    assert office.sent == ["reports/q1.md", "reports/q2.md", *["reports/../q3.md"] * 2]
    assert [line.split(",")[0] for line in listed.splitlines()] == [
        "send with to below reports/",
        f"send with exactly the arguments {arguments_hash(second.arguments)[:12]}",
    ]


# --- what an approval is bound to ---


async def test_an_approval_holds_for_this_agent_tool_and_arguments_alone(tmp_path):
    """After a change of the saved state, the same call is new."""
    office = Office(tmp_path, rule=ToolRule(action="ask"))
    async with office.open():
        request = await office.ask()
    await rewrite(office.folder, b'"to\\": \\"all', b'"to\\": \\"eve')
    async with office.open():
        await office.click(BOSSES[0], request.request, APPROVE)
        events = await until(office.person, office.thread, counts(InputRequested, 2))
    assert office.sent == []
    assert of(InputRequested, events)[-1].arguments == '{"to": "eve"}'


async def rewrite(folder, old: bytes, new: bytes) -> None:
    def change(connection: Connection) -> None:
        rows = connection.fetch("SELECT thread, n, data FROM checkpoints")
        assert any(old in row["data"] for row in rows)
        for row in rows:
            _, _, body = row["data"].replace(old, new).partition(b"\n")
            head = b'{"parley_state":2,"crc32":"%08x"}\n' % crc32(body)  # no protection from a hand
            connection.execute(
                "UPDATE checkpoints SET data = :data WHERE thread = :thread AND n = :n",
                {"data": head + body, "thread": row["thread"], "n": row["n"]},
            )

    store = new_store(folder)
    async with store.own():
        await store.write(change)


# --- audit ---


async def test_the_audit_says_who_decided_what_and_is_deleted_with_the_person(tmp_path):
    office = Office(tmp_path, rule=ToolRule(action="ask"))
    async with office.open():
        request = await office.ask()
        await office.click(BOSSES[0], request.request, Answer(kind="deny", text="CANARY"))
        await office.finished()
        rows = await office.gateway.store.run(audit_units.audit, office.thread)
        table = audit_table(rows)
        await office.gateway.client.delete_person(BOSSES[0].id)
        left = await office.gateway.store.run(audit_units.audit, office.thread)
    assert [row.arguments_hash for row in rows] == [rows[0].arguments_hash] * 2
    assert len(rows[0].arguments_hash) == 64
    assert (rows[1].tool, rows[1].kind, rows[1].request) == ("send", "approval", request.request)
    assert "denied: CANARY" in table
    assert BOSSES[0].id in table
    assert [(row.person, row.outcome, row.arguments_hash, row.place) for row in left] == [
        ("", "", "", ""),
        ("deleted", "deny", "", ""),
    ]
    kept = everything_in(tmp_path)
    assert b"CANARY" not in kept
