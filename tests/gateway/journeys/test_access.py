"""One authority over every event: writing, answering, and costs."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.access.authority import Access, Admission, Denial
from gateway.adapter import NOT_ALLOWED
from gateway.app.operator import pair, people_table, unpair
from gateway.client import Answer
from gateway.config.routes import Route
from gateway.config.settings import LimitsConfig
from gateway.conversation import (
    LOCAL_OPERATOR,
    Attachment,
    Author,
    ConversationKey,
    InboundMessage,
    Quote,
)
from gateway.events import InputRequested, TurnHeld
from gateway.gateway import Gateway
from gateway.inbound.policy import BOT_MESSAGES, PRIVATE, WAITING_THREADS
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.store.decisions import PersonLimits
from gateway.store.records import Request
from teams import RoundRobinGroupChat
from teams.agents import BaseChatAgent
from teams.base import Response
from teams.messages import TextMessage
from teams.models.replay import ReplayChatCompletionClient
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
    opened,
    solo,
    turn,
    until,
)

KEY = ConversationKey(platform="chat", workspace="T1", channel="C1", root="1")
OPERATOR = Author(id="chat:T1:boss", name="Boss")
ALLOWED = Author(id="chat:T1:ann", name="Ann")
UNLISTED = Author(id="chat:T1:eve", name="Eve")
GUEST = Author(id="chat:T1:guest", name="Guest", kind="guest", groups=frozenset({"staff"}))
EXTERNAL = Author(id="chat:T9:ext", name="Ext", kind="external", groups=frozenset({"staff"}))
BOT = Author(id="chat:T1:bot", name="Bot", kind="bot", groups=frozenset({"staff"}))
PEOPLE = {
    "operator": OPERATOR,
    "allowed": ALLOWED,
    "unlisted": UNLISTED,
    "guest": GUEST,
    "external": EXTERNAL,
    "other bot": BOT,
}
ROUTE = {"adapter": "chat", "channels": ["C1"], "users": ["ann"], "roles": ["staff"]}
STAFF = Author(id="chat:T1:sam", name="Sam", groups=frozenset({"staff"}))


def access(*routes: dict, operators=(OPERATOR.id,), **limits) -> Access:
    return Access(
        operators,
        routes=[Route.model_validate(route) for route in routes or (ROUTE,)],
        limits=LimitsConfig(**limits),
    )


def message(author: Author, text: str = "hi", *, key=KEY, **more) -> InboundMessage:
    return InboundMessage(key=key, author=author, text=text, **more)


def lets_in(route: dict, author: Author, **more) -> bool:
    found = access({**ROUTE, **route}).judge(message(author, **more))
    return isinstance(found, Admission)


# --- routes ---


@pytest.mark.parametrize(
    ("route", "key", "direct", "there"),
    [
        ({}, KEY, False, True),
        ({}, replace(KEY, channel="C2"), False, False),
        ({"channels": ["*"]}, replace(KEY, channel="C2"), False, True),
        ({"workspace": "T1"}, KEY, False, True),
        ({"workspace": "T2"}, KEY, False, False),
        ({"guild": "T1"}, KEY, False, True),
        ({"adapter": "talk"}, KEY, False, False),
        ({}, KEY, True, False),
        ({"dm": True, "channels": []}, KEY, True, True),
        ({"dm": True, "channels": []}, KEY, False, False),
    ],
)
def test_a_route_is_for_its_place(route, key, direct, there):
    found = access({**ROUTE, **route})
    assert bool(found.at(key, direct=direct)) == there
    judged = found.judge(message(ALLOWED, key=key, direct=direct))
    assert isinstance(judged, Admission) == there


@pytest.mark.parametrize(
    ("route", "author", "inside"),
    [
        ({}, STAFF, True),
        ({"roles": [], "groups": ["staff"]}, STAFF, True),
        ({"roles": []}, STAFF, False),
        ({"users": "members"}, UNLISTED, True),
        ({"users": ["chat:T1:eve"]}, UNLISTED, True),
        ({"users": "members"}, GUEST, False),
        ({"users": "members", "guests": True}, GUEST, True),
        ({"users": ["guest"]}, GUEST, True),
        ({"users": "members", "guests": True}, EXTERNAL, False),
        ({"users": "members", "external": True}, EXTERNAL, True),
        ({"users": ["ext"]}, EXTERNAL, True),
        ({"users": ["members", "bot"], "guests": True, "external": True}, BOT, False),
        ({"bots": ["bot"]}, BOT, True),
        ({"bots": ["eve"], "users": []}, UNLISTED, False),
    ],
)
def test_a_route_is_for_its_people(route, author, inside):
    assert lets_in(route, author) == inside


def test_the_first_route_for_place_and_person_says_team_mode_and_limits():
    found = access(
        {**ROUTE, "users": ["eve"], "roles": [], "team": "first"},
        {**ROUTE, "team": "second", "mode": "steer", "limits": {"turns": 5}},
        {**ROUTE, "team": "third"},
        person_parallel_turns=2,
    )
    limits = PersonLimits(parallel=2, turns=5)
    assert found.judge(message(ALLOWED)) == Admission(
        team="second", mode="steer", limits=limits, rule="routes[1]"
    )
    assert found.judge(message(OPERATOR)) == Admission(team="first", rule="operators")
    assert found.judge(message(LOCAL_OPERATOR, key=ConversationKey.local("t"))) == Admission(
        rule="operators"
    )
    assert found.judge(message(ALLOWED, key=ConversationKey.local("t"))) == Denial()


@pytest.mark.parametrize(
    ("mention", "addressed"),
    [
        ("always", [True] * 4),
        ("mention", [False, True, False, True]),
        ("thread", [False] + [True] * 3),
    ],
)
def test_what_is_meant_for_the_team_depends_on_the_route(mention, addressed):
    found = access({**ROUTE, "mention": mention, "dm": True, "bots": ["bot"]})
    said = [
        found.addressed(KEY, UNLISTED, direct=False, mentioned=mentioned, in_thread=in_thread)
        for in_thread in (False, True)
        for mentioned in (False, True)
    ]
    assert said == addressed
    assert found.addressed(KEY, UNLISTED, direct=True, mentioned=False, in_thread=False)
    elsewhere = replace(KEY, channel="C2")
    everything = {"direct": False, "mentioned": True, "in_thread": True}
    assert not found.addressed(elsewhere, ALLOWED, **everything)
    assert found.addressed(elsewhere, OPERATOR, **everything)
    assert found.addressed(KEY, BOT, **everything)
    assert not found.addressed(KEY, replace(BOT, id="chat:T1:other"), **everything)


# --- answers ---


def request(**more) -> Request:
    values: dict[str, Any] = {"kind": "approval", "asker": ALLOWED.id, **more}
    return Request(
        id="r",
        engine_id="e",
        thread="t",
        turn="u",
        agent=("a",),
        prompt="Well?",
        asked_at=0.0,
        **values,
    )


@pytest.mark.parametrize(
    ("asked", "may"),
    [
        (request(), [OPERATOR, LOCAL_OPERATOR]),
        (request(approvers=(UNLISTED.id,)), [UNLISTED, LOCAL_OPERATOR]),
        (request(approvers=("asker",)), [ALLOWED, LOCAL_OPERATOR]),
        (request(approvers=("asker", "operators")), [ALLOWED, OPERATOR, LOCAL_OPERATOR]),
        (request(approvers=("asker",), asker=BOT.id), [LOCAL_OPERATOR]),
        (request(kind="text"), [ALLOWED, OPERATOR, LOCAL_OPERATOR]),
        (request(kind="choice", asker=GUEST.id), [GUEST, OPERATOR, LOCAL_OPERATOR]),
        (request(kind="text", asker=BOT.id), [OPERATOR, LOCAL_OPERATOR]),
    ],
)
def test_an_answer_is_for_its_approvers_or_for_whoever_asked(asked, may):
    everybody = [*PEOPLE.values(), LOCAL_OPERATOR]
    assert {a.id for a in everybody if access().operators.may_answer(a, asked)} == {
        a.id for a in may
    }


def test_a_bot_is_no_operator_even_if_it_is_called_one():
    bot = replace(BOT, id=OPERATOR.id)
    assert access().judge(message(bot)) == Denial()


# --- every kind of event, by everybody ---

KINDS: dict[str, dict[str, Any]] = {
    "message": {"text": "hello"},
    "edit": {"text": "hello again", "event": "edit", "message_id": "m1"},
    "delete": {"event": "delete", "message_id": "m1"},
    "command": {"text": "/new", "event": "command"},
    "click": {"event": "click"},
    "modal": {"event": "modal"},
    "reaction": {"text": "look at this", "event": "reaction"},
    "shortcut": {"text": "sum this up", "event": "shortcut"},
    "file": {
        "event": "file",
        "attachments": (Attachment(name="a.txt", media_type="text/plain", data=b"x"),),
    },
    "stop": {"text": "/stop", "event": "stop"},
}
TAKEN = {"turn", "queued", "command", "answer", "merged"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("person", PEOPLE)
async def test_every_event_of_everybody_meets_the_same_authority(tmp_path, person, kind):
    author, client = PEOPLE[person], model(calls("send"), *["done"] * 5)
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    teams = ScriptedTeams(
        lambda: solo(client, tools=[send]), rules={"send": ToolRule(action="ask")}
    )
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        opened = await gateway.accept(message(OPERATOR, "go", message_id="m1"))
        events = await until(gateway, opened.thread, ends)
        asked = of(InputRequested, events)[0].request
        before = len(client.create_calls)
        values = dict(KINDS[kind])
        if kind in ("click", "modal"):
            answer = Answer(kind="approve")
            values |= {"text": "", "click": Click(request=asked, answer=answer)}
        receipt = await gateway.accept(message(author, **values))
        if kind in ("edit", "delete") and person != "operator":  # it is not theirs to change
            assert (receipt.outcome, receipt.reply, receipt.inbox) == ("refused", "", 0)
        elif person in ("operator", "allowed"):
            assert receipt.outcome in TAKEN
        else:
            assert (receipt.outcome, receipt.reply) == ("refused", NOT_ALLOWED)
            again = await gateway.accept(message(author, **values))
            told = NOT_ALLOWED if kind in PRIVATE else ""
            assert (again.outcome, again.reply) == ("refused", told)
        if may_decide := person == "operator" and kind in ("click", "modal"):
            await until(gateway, opened.thread, lambda e: ends(e) and e.outcome == "done")
        elif (person, kind) == ("operator", "delete"):  # the team has nothing left to answer
            await until(gateway, opened.thread, lambda e: ends(e) and e.outcome == "stopped")
        elif kind not in ("stop", "command"):  # both end the turn that waits
            assert (await gateway.client.thread(opened.thread)).state == "waiting"
    assert len(client.create_calls) == before + may_decide
    assert sent == ["sent"] * may_decide


async def test_what_was_refused_leaves_no_text_behind(tmp_path):
    teams = ScriptedTeams(lambda: solo("never"))
    file = Attachment(name="secret.txt", media_type="text/plain", data=b"CANARY-FILE")
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        await gateway.accept(message(UNLISTED, "CANARY-TEXT", attachments=(file,)))
    assert b"CANARY" not in everything_in(tmp_path)
    assert teams.built == 0


# --- approvers ---


async def test_a_named_approver_decides_where_no_route_lets_them_in(tmp_path):
    done: list[str] = []

    async def send() -> str:
        done.append("sent")
        return "sent"

    rule = ToolRule(action="ask", approvers=(UNLISTED.id,), always_allowed=False)
    teams = ScriptedTeams(lambda: solo(calls("send"), "done", tools=[send]), rules={"send": rule})
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        opened = await gateway.accept(message(ALLOWED, "go"))
        asked = of(InputRequested, await until(gateway, opened.thread, ends))[0]
        assert asked.always is False

        async def click(author: Author, kind) -> str:
            there = ConversationKey(platform="chat", workspace="T1", channel="D7")
            decision = Click(request=asked.request, answer=Answer(kind=kind))
            receipt = await gateway.accept(
                message(author, "", key=there, click=decision, event="click", direct=True)
            )
            return receipt.reply or receipt.outcome

        assert [each.asked for each in await gateway.client.threads()] == ["its approvers"]
        assert await click(OPERATOR, "approve") == "You may not answer this request."
        assert "approve it once" in await click(UNLISTED, "approve_always")
        assert [each.asked for each in await gateway.client.threads()] == [UNLISTED.name]
        assert await click(GUEST, "approve") == NOT_ALLOWED
        assert await click(UNLISTED, "approve") == "answer"
        await until(gateway, opened.thread, lambda e: ends(e) and e.outcome == "done")
        assert (await gateway.accept(message(UNLISTED, "hello"))).outcome == "refused"
    assert done == ["sent"]


# --- bots, and people with many wishes ---


async def test_bots_that_go_on_talking_to_each_other_have_to_rest(tmp_path):
    clock = HandClock()
    teams = ScriptedTeams(lambda: solo(model(*["well"] * 60)))
    found = access({**ROUTE, "bots": ["bot"]})
    store = new_store(tmp_path, clock=clock.time)
    async with Gateway(store, teams, access=found, clock=clock.time) as gateway:
        said = [(await gateway.accept(message(BOT, f"{n}"))).outcome for n in range(25)]
        assert [outcome != "refused" for outcome in said] == [True] * BOT_MESSAGES + [False] * 5
        assert (await gateway.accept(message(ALLOWED, "people may"))).outcome != "refused"
        clock.advance(61)
        assert (await gateway.accept(message(BOT, "rested"))).outcome != "refused"


async def test_one_bot_rests_in_the_whole_workspace_and_others_go_on(tmp_path):
    clock = HandClock()
    teams = ScriptedTeams(lambda: solo(model(*["well"] * 60)))
    other = replace(BOT, id="chat:T1:other")
    found = access({**ROUTE, "bots": ["bot", "other"]})
    store = new_store(tmp_path, clock=clock.time)
    async with Gateway(store, teams, access=found, clock=clock.time) as gateway:

        async def say(author: Author, thread: int, **at: str) -> bool:
            key = replace(KEY, root=f"{thread}", **at)
            return (await gateway.accept(message(author, "hi", key=key))).outcome != "refused"

        heard = [await say(BOT, n) for n in range(BOT_MESSAGES + 5)]
        assert heard == [True] * BOT_MESSAGES + [False] * 5
        assert await say(other, 100)
        assert await say(ALLOWED, 101)
        assert await say(BOT, 102, workspace="T2")
        assert await say(BOT, 103, workspace="T10")  # T1 is the beginning of this name alone
        assert not await say(BOT, 104)
        clock.advance(61)
        assert await say(BOT, 105)


@pytest.mark.parametrize("name", ["B7", "chat:T1:B7", "bot", "chat:T1:bot"])
def test_a_bot_is_let_in_by_each_of_its_ids(name):
    bot = replace(BOT, aliases=frozenset({"B7", "chat:T1:B7"}))
    assert lets_in({"bots": [name]}, bot)
    assert not lets_in({"bots": [name]}, replace(bot, id="chat:T1:b", aliases=frozenset({"B8"})))


async def test_a_persons_messages_wait_in_a_bounded_number_of_threads(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), *["done"] * 9, tools=[wait]))
    found = access({**ROUTE, "limits": {"parallel_turns": 1}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:

        async def say(author: Author, thread: int):
            return await gateway.accept(message(author, "go", key=replace(KEY, root=f"{thread}")))

        first = await say(ALLOWED, 0)
        await door.reached.wait()
        receipts = [await say(ALLOWED, n) for n in range(1, WAITING_THREADS + 3)]
        outcomes = [receipt.outcome for receipt in receipts]
        assert "refused" not in outcomes[:WAITING_THREADS]
        assert outcomes[WAITING_THREADS:] == ["refused", "refused"]
        assert receipts[-1].reply.startswith("Messages of yours are already waiting in 20 other")
        assert (await say(ALLOWED, 1)).outcome != "refused"  # it waits there anyway
        assert (await say(STAFF, 99)).outcome != "refused"
        door.open()
        await until(gateway, first.thread, ends)
        last = receipts[WAITING_THREADS - 1]
        await until(gateway, last.thread, ends)
        assert (await say(ALLOWED, 50)).outcome != "refused"


class Breaking(BaseChatAgent):
    """Fails, except where it is asked to wait at the door."""

    def __init__(self, door: Door, tried: list[str]) -> None:
        super().__init__("solo", "breaks")
        self._door = door
        self._tried = tried

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        self._tried.append(messages[-1].to_text() if messages else "again")
        if "wait" in self._tried[-1]:
            await self._door.pass_through()
            return Response(chat_message=TextMessage(content="done", source=self.name))
        raise RuntimeError("not now")

    async def on_reset(self, cancellation_token):
        pass


@pytest.mark.usefixtures("told_at_once")
@pytest.mark.parametrize("limits", [{"parallel_turns": 1}, {"turns": 3}])
async def test_a_retry_counts_as_a_turn_of_who_asks_for_it(tmp_path, limits):
    door, tried = Door(), list[str]()
    teams = ScriptedTeams(lambda: RoundRobinGroupChat([Breaking(door, tried)], max_turns=1))
    found = access({**ROUTE, "limits": limits})
    elsewhere, staffs = replace(KEY, root="2"), replace(KEY, root="3")
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        broken = await gateway.accept(message(ALLOWED, "break"))
        events = await until(gateway, broken.thread, ends)
        held = await gateway.accept(message(ALLOWED, "wait", key=elsewhere))
        await door.reached.wait()
        if "turns" in limits:
            door.open()
            await until(gateway, held.thread, ends)
            await gateway.accept(message(ALLOWED, "/retry"))
            events = await until(gateway, broken.thread, ends, events[-1].seq)
        before = len(tried)
        await gateway.accept(message(ALLOWED, "/retry"))
        other = await gateway.accept(message(STAFF, "break", key=staffs))
        await until(gateway, other.thread, ends)
        assert len(tried) == before + 1  # Sam's alone
        if "turns" not in limits:
            held = await until(gateway, broken.thread, lambda e: e.kind == "turn_held")
            assert [each.limit for each in of(TurnHeld, held)] == ["person_parallel_turns"]
            door.open()
            await until(gateway, broken.thread, ends, events[-1].seq)
            assert len(tried) == before + 2


@pytest.mark.usefixtures("told_at_once")
async def test_a_person_over_their_limit_is_told_and_others_go_first(tmp_path):
    door, begun = Door(), []

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "done", tools=[wait]))
    found = access({**ROUTE, "limits": {"parallel_turns": 1}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        threads = []
        for n, author in enumerate([ALLOWED, ALLOWED, ALLOWED, STAFF]):
            receipt = await gateway.accept(message(author, "go", key=replace(KEY, root=f"{n}")))
            threads.append(receipt.thread)
            if n == 0:
                await door.reached.wait()
        await until(gateway, threads[3], lambda e: e.kind == "tool_started")
        begun = [(await gateway.client.thread(thread)).state for thread in threads]
        door.open()
        seen = [await until(gateway, thread, ends) for thread in threads]
    assert begun == ["working", "idle", "idle", "working"]
    told = [[event.text for event in of(TurnHeld, events)] for events in seen]
    busy = (
        "The turn waits: a turn of yours is running, which is the limit. It begins when one ends."
    )
    assert told == [[], [busy], [busy], []]


@pytest.mark.usefixtures("told_at_once")
async def test_turns_of_ten_minutes_are_counted(tmp_path):
    teams = ScriptedTeams(lambda: solo("one", "two", "three"))
    found = access({**ROUTE, "limits": {"turns": 2}})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        first = await gateway.accept(message(ALLOWED, "0"))
        await until(gateway, first.thread, ends)
        await turn(gateway, first.thread, "1", author=ALLOWED)
        await gateway.accept(message(ALLOWED, "2"))
        seen = await until(gateway, first.thread, lambda e: e.kind == "turn_held")
        had = "The turn waits: you had 2 turns within ten minutes. It begins in 10 minutes."
        assert of(TurnHeld, seen)[0].text == had
        assert (await gateway.client.thread(first.thread)).state == "idle"


# --- codes ---

DM = {"adapter": "chat", "dm": True, "pairing": True, "team": "other"}
DIRECT = ConversationKey(platform="chat", workspace="T1", channel="D1", user="eve")


async def test_an_unknown_person_is_let_in_by_the_code_they_were_told(tmp_path):
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    teams = ScriptedTeams(lambda: solo("welcome"))
    async with Gateway(
        store, teams, access=access(DM), clock=clock.time, steady=clock.time
    ) as gateway:
        told = await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        code = told.reply.split("parley pair ")[1].split("`")[0]
        assert told.outcome == "refused"
        assert code.encode() not in everything_in(tmp_path)
        quiet = await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        assert (quiet.outcome, quiet.reply) == ("refused", "")
        person = await gateway.client.pair(f" {code[:4].lower()}-{code[4:]} ")
        assert person is not None
        assert person.id == UNLISTED.id
        assert await gateway.client.pair(code) is None
        inside = await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        assert inside.outcome == "turn"
        assert (await gateway.client.thread(inside.thread)).team == "other"
        elsewhere = await gateway.accept(message(UNLISTED))
        assert elsewhere.outcome == "refused"
        assert await gateway.client.unpair(UNLISTED.id)
        assert (
            await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        ).outcome == "refused"


@pytest.mark.parametrize("spoilt_by", ["time", "tries"])
async def test_a_code_is_good_for_an_hour_and_five_tries(tmp_path, spoilt_by):
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    teams = ScriptedTeams(lambda: solo("welcome"))
    async with Gateway(
        store, teams, access=access(DM), clock=clock.time, steady=clock.time
    ) as gateway:
        told = await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        code = told.reply.split("parley pair ")[1].split("`")[0]
        if spoilt_by == "time":
            clock.advance(3601)
        else:
            for _ in range(5):
                assert await gateway.client.pair("WRONGONE") is None
        assert await gateway.client.pair(code) is None


@pytest.mark.parametrize("author", [BOT, replace(UNLISTED, id="chat:T1:eve")])
async def test_codes_are_told_in_direct_messages_to_people_only(tmp_path, author):
    teams = ScriptedTeams(lambda: solo("never"))
    found = access({**DM, "channels": ["C1"]})
    async with Gateway(new_store(tmp_path), teams, access=found) as gateway:
        receipt = await gateway.accept(message(author, direct=author is BOT))
    assert receipt.reply == NOT_ALLOWED


async def test_a_running_gateway_takes_codes_from_the_command_line(tmp_path):
    teams = ScriptedTeams(lambda: solo("welcome"))
    async with opened(tmp_path, teams, access=access(DM)) as gateway:
        told = await gateway.accept(message(UNLISTED, key=DIRECT, direct=True))
        code = told.reply.split("parley pair ")[1].split("`")[0]
        store = new_store(tmp_path)
        assert await pair(store, "WRONGONE") is None
        person = await pair(store, code)
        assert person is not None
        assert person.name == "Eve"
        assert await people_table(store) == "chat:T1:eve Eve"
        assert await unpair(store, UNLISTED.id)


# --- threads ---


async def test_threads_share_nothing(tmp_path):
    models: list[ReplayChatCompletionClient] = []

    def make():
        models.append(model("one", "two"))
        return solo(models[-1])

    teams = ScriptedTeams(make)
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        for author, root in ((ALLOWED, "1"), (STAFF, "2")):
            said = message(author, f"secret of {author.name}", key=replace(KEY, root=root))
            thread = (await gateway.accept(said)).thread
            await until(gateway, thread, ends)
    seen = [str(each.create_calls) for each in models]
    assert ["secret of Ann" in text for text in seen] == [True, False]
    assert ["secret of Sam" in text for text in seen] == [False, True]
    assert len(set(teams.workdirs)) == 2


async def test_what_is_taken_back_leaves_nothing_behind(tmp_path):
    door = Door()

    async def wait() -> str:
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "done", tools=[wait]))
    quote = Quote(text="CANARY-QUOTE")
    async with Gateway(new_store(tmp_path), teams, access=access()) as gateway:
        first = await gateway.accept(message(OPERATOR, "go"))
        await door.reached.wait()
        second = await gateway.accept(message(OPERATOR, "CANARY-TEXT", quotes=(quote,)))
        assert await gateway.client.withdraw(first.thread, second.inbox) == "CANARY-TEXT"
        row = await gateway.store.write(  # pyright: ignore[reportAttributeAccessIssue]
            lambda c: tuple(
                c.fetch("SELECT text, quotes FROM inbox WHERE id = :id", {"id": second.inbox})[0]
            )
        )
        door.open()
        await until(gateway, first.thread, ends)
    assert row == (None, "[]")
