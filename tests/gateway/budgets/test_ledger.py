"""Usage of models is counted and told, and stops at a budget."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.budgets import ledger as budgets
from gateway.config.budgets import Budget, Price
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import ContextSummarised, InputRequested, MessageFinished, Notice, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from gateway.store.records import UsageTotals
from gateway.store.units import counts as count_units
from gateway.store.units import deletion, usage
from teams import DiGraphBuilder, GraphFlow
from teams.agents import AssistantAgent
from teams.base import ChatAgent
from teams.core import FunctionCall
from teams.model_context import AutoChatCompletionContext
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.deep_teams import DEEP
from tests.fakes.new_store import new_store
from tests.fakes.small_model import Model
from tests.fakes.tested_store import UnitStore
from tests.gateway.scripted import Door, ScriptedTeams, ends, model, of, solo, until

ANN, BEN = Author(id="slack:T1:ANN", name="Ann"), Author(id="slack:T1:BEN", name="Ben")
NOON = 1_800_014_400.0
"""A time at 12:00 UTC."""
DAY = 86400.0
MODEL = "ReplayChatCompletionClient"


def answer(text: str = "fine", *, read: int = 60, written: int = 40) -> CreateResult:
    return CreateResult(
        finish_reason="stop",
        content=text,
        usage=RequestUsage(prompt_tokens=read, completion_tokens=written),
        cached=False,
    )


def call(name: str) -> CreateResult:
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="1", name=name, arguments="{}")],
        usage=RequestUsage(prompt_tokens=60, completion_tokens=40),
        cached=False,
    )


class Counting:
    """A model whose answers each count a hundred tokens, sixty for input."""

    def __init__(self, answers: int = 100, *more: CreateResult) -> None:
        self.client = model(*more, *[answer() for _ in range(answers)])
        self.client._result = lambda found, _: found  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def asked(self) -> int:
        return len(self.client.create_calls)


class Everybody(Access):
    def judge(self, message):
        return Admission()


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


class World:
    """A gateway, people who write in it, and what they see."""

    def __init__(self, gateway: Gateway, clock: Clock) -> None:
        self.gateway = gateway
        self.clock = clock
        self.seen: dict[str, int] = {}

    async def say(
        self, text: str = "go", *, author: Author = ANN, root: str = "1", workspace: str = "T1"
    ) -> Any:
        """The events until the turn has ended."""
        receipt = await self.gateway.accept(
            InboundMessage(
                key=ConversationKey(platform="slack", workspace=workspace, channel="C", root=root),
                author=author,
                text=text,
            )
        )
        if receipt.outcome == "command":
            return receipt.reply
        after = self.seen.get(receipt.thread, 0)
        events = await until(self.gateway, receipt.thread, ends, after)
        self.seen[receipt.thread] = events[-1].seq
        return events


@asynccontextmanager
async def world(folder, teams, *budgets: Budget, clock: Clock | None = None, **limits: Any):
    clock = clock or Clock()
    teams = teams if isinstance(teams, ScriptedTeams) else ScriptedTeams(teams)
    given: dict[str, Any] = {"timezone": "UTC", **limits}
    more = Limits(budgets=budgets, **given)
    store = new_store(folder, clock=clock)
    access = Everybody()
    async with Gateway(
        store, teams, access=access, limits=more, clock=clock, steady=clock
    ) as gateway:
        yield World(gateway, clock)


def outcome(events) -> str:
    return of(TurnFinished, events)[-1].outcome


def told(events) -> list[str]:
    return [notice.text for notice in of(Notice, events)]


async def test_a_turn_over_budget_ends_before_the_model_is_asked_and_says_when_it_can_go_on(
    tmp_path,
):
    counting = Counting()
    daily = Budget(per="thread", tokens=250)
    async with world(tmp_path, lambda: solo(counting.client), daily) as here:
        for _ in range(3):
            assert outcome(await here.say()) == "done"
        refused = await here.say("and this?")
        assert outcome(refused) == "failed"
        assert told(refused) == [
            "The budget of this thread for today is used up (250 tokens). It resets at"
            " 00:00 UTC. An operator can raise it. The conversation is kept: your next message, or"
            " /retry, continues from here."
        ]
        assert counting.asked == 3
        assert outcome(await here.say(root="another thread")) == "done"
        here.clock.now += DAY
        assert outcome(await here.say("still there?")) == "done"
    # What was said meanwhile was not lost.
    words = [m.content for m in counting.client.create_calls[-1]["messages"]]
    assert "and this?" in words
    assert "still there?" in words


async def test_retry_goes_on_once_the_budget_allows_it(tmp_path):
    counting = Counting()
    async with world(
        tmp_path, lambda: solo(counting.client), Budget(per="thread", turns=1)
    ) as here:
        await here.say()
        assert outcome(await here.say("second")) == "failed"
        here.clock.now += DAY
        reply = await here.say("/retry")
        assert "Trying again" in reply
        (thread,) = here.seen
        events = await until(here.gateway, thread, ends, here.seen[thread])
        assert outcome(events) == "done"


@pytest.mark.parametrize(
    ("budget", "tries"),
    [
        (Budget(per="thread", turns=2), 2),
        (Budget(per="thread", window="turn", tokens=100), 1),
        (Budget(per="thread", tokens=100), 1),
    ],
    ids=["turns", "tokens of a turn", "tokens of a day"],
)
async def test_a_retry_counts_as_a_turn_and_keeps_what_its_turn_has_used(tmp_path, budget, tries):
    async def look() -> str:
        """Look."""
        return "a result"

    counting = Counting(0, call("look"))  # and then the model breaks
    team = lambda: solo(counting.client, tools=[look], messages=9)  # noqa: E731
    refused: list[bool] = []
    async with world(tmp_path, team, budget) as here:
        events = await here.say()
        for _ in range(2):
            (thread,) = here.seen
            after = (await here.gateway.client.thread(thread)).last_seq
            await here.say("/retry")
            events = await until(here.gateway, thread, ends, after)
            assert outcome(events) == "failed"
            refused.append("is used up" in told(events)[0])
    assert refused == [tries == 1, True]


async def test_a_budget_ends_a_turn_in_its_midst_and_the_next_message_goes_on_from_there(tmp_path):
    async def look() -> str:
        """Look."""
        return "a result"

    counting = Counting(5, call("look"))
    budget = Budget(per="thread", window="hour", tokens=100)
    team = lambda: solo(counting.client, tools=[look], messages=3)  # noqa: E731
    async with world(tmp_path, team, budget) as here:
        first = await here.say()
        assert outcome(first) == "failed"
        assert "for this hour is used up (100 tokens)" in told(first)[0]
        assert counting.asked == 1
        here.clock.now += 3600
        second = await here.say("go on")
    assert outcome(second) == "done"
    assert of(MessageFinished, second)[-1].text == "fine"
    sent = counting.client.create_calls[1]["messages"]
    assert "a result" in str(sent)
    assert "go on" in str(sent)


@pytest.mark.parametrize(("tokens", "left_out"), [(4_400, True), (50_000, False)])
async def test_without_budget_for_a_summary_the_oldest_messages_are_left_out(
    tmp_path, tokens: int, left_out: bool
):
    client = Model()
    team = lambda: solo(client, model_context=AutoChatCompletionContext(client))  # noqa: E731
    async with world(tmp_path, team, Budget(per="thread", tokens=tokens)) as here:
        events: Any = []
        while not (made := of(ContextSummarised, events)):
            events = await here.say("and so on " * 40)
        assert outcome(events) == "done"
        assert made[0].left_out is left_out
        assert outcome(await here.say()) == "done"


@pytest.mark.parametrize(
    ("budget", "shared_by"),
    [
        (Budget(per="person", tokens=100), {"author": ANN}),
        (Budget(per="team", tokens=100), {}),
        (Budget(per="workspace", tokens=100), {"workspace": "T1"}),
    ],
    ids=["person", "team", "workspace"],
)
async def test_each_scope_counts_for_itself_over_all_threads(tmp_path, budget, shared_by):
    counting = Counting()
    async with world(tmp_path, lambda: solo(counting.client), budget) as here:
        assert outcome(await here.say(root="1")) == "done"
        assert outcome(await here.say(root="2")) == "failed"
        if shared_by:
            other: dict[str, Any] = (
                {"author": BEN} if "author" in shared_by else {"workspace": "T2"}
            )
            assert outcome(await here.say(root="3", **other)) == "done"


async def test_operators_have_no_budget_as_persons_and_may_be_named_for_none(tmp_path):
    class Ann(Everybody):
        def __init__(self):
            super().__init__([ANN.id])

    counting = Counting()
    budgets = [Budget(per="person", tokens=1), Budget(per="person", tokens=1, only=["ANN"])]
    store = new_store(tmp_path)
    limits = Limits(budgets=budgets)
    teams = ScriptedTeams(lambda: solo(counting.client))
    async with Gateway(store, teams, access=Ann(), limits=limits) as gateway:
        here = World(gateway, Clock())
        for _ in range(3):
            assert outcome(await here.say()) == "done"


async def test_a_budget_holds_only_for_whom_it_names(tmp_path):
    counting = Counting()
    budget = Budget(per="person", turns=1, only=["ANN"])
    async with world(tmp_path, lambda: solo(counting.client), budget) as here:
        outcomes = [outcome(await here.say(author=who)) for who in (ANN, BEN, ANN, BEN)]
    assert outcomes == ["done", "done", "failed", "done"]


async def test_cost_follows_the_prices_and_is_told_at_four_fifths(tmp_path):
    counting = Counting()
    prices = {MODEL: Price(input=5_000, output=10_000)}  # 0.30 + 0.40 for each answer
    budget = Budget(per="workspace", window="month", cost=1.5)
    team = lambda: solo(counting.client)  # noqa: E731
    async with world(tmp_path, team, budget, prices=prices) as here:
        assert told(await here.say(root="1")) == []
        assert told(await here.say(root="2")) == [
            "The budget of this workspace for this month is 93% used: 1.40 of a cost of 1.50."
            " It resets on 2027-02-01 at 00:00 UTC. An operator can raise it."
        ]
        assert told(await here.say(root="3")) == []  # beyond it
        assert "is used up (a cost of 1.50)" in told(await here.say(root="4"))[0]
        spent = await here.gateway.store.run(usage.spent, "workspace", "slack:T1", 0.0)
        assert spent.cost == pytest.approx(2.1)
        counts = await here.gateway.store.run(count_units.counts)
        assert counts.tokens == {"today": 300, "this month": 300}
        assert counts.cost["today"] == pytest.approx(2.1)


async def test_one_turn_has_a_budget_of_its_own_also_over_a_wait_for_people(tmp_path):
    async def tell() -> str:
        """Tell."""
        return "told"

    counting = Counting(5, call("tell"))
    teams = ScriptedTeams(
        lambda: solo(counting.client, tools=[tell], messages=3),
        rules={"tell": ToolRule(action="ask")},
    )
    budget = Budget(per="thread", window="turn", tokens=100)
    clock = Clock()
    async with world(tmp_path, teams, budget, clock=clock) as here:
        waiting = await here.say()
        (asked,) = of(InputRequested, waiting)
        (thread,) = here.seen
    # Another process goes on with it.
    async with world(tmp_path, teams, budget, clock=clock) as again:
        await again.gateway.client.send(thread, f"/approve {asked.request}")
        events = await until(again.gateway, thread, ends, waiting[-1].seq)
        assert outcome(events) == "failed"
        assert "for one turn is used up (100 tokens). An operator can raise it." in told(events)[0]
        assert counting.asked == 1
        again.seen[thread] = events[-1].seq
        assert outcome(await again.say("a new turn")) == "done"


async def test_a_turn_that_takes_too_long_is_stopped(tmp_path):
    reached = asyncio.Event()

    async def hang() -> str:
        """Hang."""
        reached.set()
        await asyncio.Event().wait()
        return ""

    counting = Counting(5, call("hang"))
    budget = Budget(per="team", window="turn", seconds=0.2)
    team = lambda: solo(counting.client, tools=[hang], messages=4)  # noqa: E731
    async with world(tmp_path, team, budget) as here:
        events = await here.say()
        assert outcome(events) == "stopped"
        assert reached.is_set()
        assert "for one turn is used up (0.2 seconds)" in told(events)[0]
        assert outcome(await here.say("go on")) == "done"


async def test_what_was_used_survives_a_restart(tmp_path):
    counting = Counting()
    budget = Budget(per="person", tokens=150)
    clock = Clock()
    for expected in ("done", "done", "failed"):
        async with world(tmp_path, lambda: solo(counting.client), budget, clock=clock) as here:
            assert outcome(await here.say(root=expected + str(counting.asked))) == expected
    assert counting.asked == 2


HOSTILE = [(0, 40), (60, 0), (0, 0), (-60, -40), (2**62, 10**30), ("60", 1.5)]


@pytest.mark.parametrize(("read", "written"), HOSTILE)
async def test_what_a_model_does_not_tell_is_estimated_field_by_field(
    tmp_path, caplog, read, written
):
    counting = Counting(0, *[answer("word " * 100, read=read, written=written)] * 100)
    daily = Budget(per="thread", tokens=400)
    async with world(tmp_path, lambda: solo(counting.client), daily) as here:
        first = await here.say("one")
        assert outcome(first) == "done"
        once = await here.say("/usage")
        assert "of them estimated) in 1 turn" in once
        assert ("(60 read" in once) is (read == 60)
        assert ("40 written" in once) is (written == 40)
        events = [await here.say(f"turn {number}") for number in range(12)]
        assert outcome(events[-1]) == "failed"
        assert counting.asked < 10
    warnings = [each for each in caplog.messages if "does not tell all that it uses" in each]
    assert warnings == [f"The model {MODEL!r} does not tell all that it uses: it is estimated"]


async def test_an_answer_without_text_that_tells_no_tokens_is_no_lie(tmp_path, caplog):
    counting = Counting(0, answer("", read=60, written=0))
    async with world(tmp_path, lambda: solo(counting.client)) as here:
        await here.say()
        assert "estimated" not in await here.say("/usage")
    assert not caplog.messages


async def test_a_count_above_twice_the_window_is_counted_and_warned_of_once(tmp_path, caplog):
    counting = Counting(0, *[answer(read=20_001, written=1)] * 3)
    async with world(tmp_path, lambda: solo(counting.client)) as here:
        for _ in range(3):
            assert outcome(await here.say()) == "done"
        assert "60,006 tokens (60,003 read, 3 written)" in await here.say("/usage")
    warnings = [each for each in caplog.messages if "twice" in each]
    assert warnings == [
        f"The model {MODEL!r} tells more than twice what it can read: it is counted"
    ]


async def test_usage_tells_the_thread_s_and_the_person_s_own_and_operators_everybody_s(tmp_path):
    counting = Counting()
    budget = Budget(per="person", tokens=1000)
    async with world(tmp_path, lambda: solo(counting.client), budget) as here:
        assert await here.say("/usage", root="elsewhere") == (
            "You, today: 0 tokens (0 read, 0 written) in 0 turns.\n"
            "You, this month: 0 tokens (0 read, 0 written) in 0 turns."
        )
        await here.say()
        await here.say(author=BEN)
        assert await here.say("/usage") == (
            "This thread: 200 tokens (120 read, 80 written) in 2 turns.\n"
            "You, today: 100 tokens (60 read, 40 written) in 1 turn.\n"
            "You, this month: 100 tokens (60 read, 40 written) in 1 turn.\n"
            "Your budget for today: 100 of 1,000 tokens. It resets at 00:00 UTC."
            " An operator can raise it."
        )
        (thread,) = here.seen
        operator = await here.gateway.client.send(thread, "/usage")
        assert "Everybody, today: 200 tokens (120 read, 80 written) in 2 turns." in operator.reply


async def test_what_is_deleted_stays_in_the_sums_without_names(tmp_path):
    counting = Counting()
    budget = Budget(per="person", turns=2)
    async with world(tmp_path, lambda: solo(counting.client), budget) as here:
        store = here.gateway.store
        assert isinstance(store, UnitStore)
        await here.say(root="1")
        await here.say(root="2")
        first, second = here.seen
        await here.gateway.client.delete_thread(first)
        # Who has a thread deleted gets no new budget by that.
        assert outcome(await here.say(root="3")) == "failed"
        whole = UsageTotals(prompt_tokens=120, completion_tokens=80, turns=2)
        assert await store.run(usage.spent, "workspace", "slack:T1", 0.0) == whole
        await here.gateway.client.delete_person(ANN.id)
        assert outcome(await here.say(root="4")) == "done"
        everything = await store.write(lambda c: c.fetch("SELECT * FROM usage"))
        assert {row["thread"] for row in everything if row["person"] == ""} == {""}
        await store.run(deletion.expire, NOON + 1)
        merged = await store.write(lambda c: c.fetch("SELECT * FROM usage WHERE person = ''"))
        assert [(row["prompt_tokens"], row["turns"]) for row in merged] == [(180, 3)]
        assert (await store.run(usage.spent, "team", "demo", 0.0)).turns == 3
        assert second not in str([tuple(row) for row in merged])


async def test_turns_of_one_budget_that_run_side_by_side_share_it_at_once(tmp_path):
    counting = Counting()
    budget = Budget(per="team", turns=3)
    async with world(tmp_path, lambda: solo(counting.client), budget) as here:
        seen = await asyncio.gather(*(here.say(root=str(n)) for n in range(8)))
    outcomes = [outcome(events) for events in seen]
    assert outcomes.count("done") == counting.asked == 3
    assert outcomes.count("failed") == 5


class Slow(ReplayChatCompletionClient):
    """A model that answers once all teams are built.

    It records the most concurrent calls. Each answer counts a hundred tokens.
    """

    def __init__(self, turns: int = 0) -> None:
        super().__init__([])
        self.turns = turns
        self.begun = asyncio.Event()
        self.running = self.most = 0

    async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
        self.running += 1
        self.most = max(self.most, self.running)
        if self.turns:
            await self.begun.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        self.running -= 1
        return answer()

    def solo(self) -> ScriptedTeams:
        def make() -> Any:
            if teams.built == self.turns:
                self.begun.set()
            return solo(self)

        teams = ScriptedTeams(make)
        return teams


@pytest.mark.parametrize(
    ("limit", "prices"),
    [({"tokens": 250}, {}), ({"cost": 2.5}, {"Slow": Price(input=10_000, output=10_000)})],
    ids=["tokens", "cost"],
)
async def test_turns_side_by_side_exceed_a_budget_by_no_more_than_one_would(
    tmp_path, limit, prices
):
    slow = Slow(8)
    budget = Budget(per="team", **limit)
    async with world(tmp_path, slow.solo(), budget, prices=prices) as here:
        seen = await asyncio.gather(*(here.say(root=str(n)) for n in range(8)))
        used = await here.gateway.store.run(usage.spent, "team", "demo", 0.0)
    assert [outcome(events) for events in seen].count("done") == 3
    assert used.tokens == 300


async def test_turns_side_by_side_do_not_wait_while_the_budget_is_wide(tmp_path):
    slow = Slow(8)
    budget = Budget(per="team", tokens=100_000)
    async with world(tmp_path, slow.solo(), budget) as here:
        seen = await asyncio.gather(*(here.say(root=str(n)) for n in range(8)))
    assert {outcome(events) for events in seen} == {"done"}
    assert slow.most == 8


async def test_agents_of_one_turn_that_speak_side_by_side_share_its_budget(tmp_path):
    slow = Slow()

    def graph() -> GraphFlow:
        agents: list[ChatAgent] = [AssistantAgent(name, slow) for name in ("a", "b", "c", "d")]
        builder = DiGraphBuilder()
        for agent in agents:
            builder.add_node(agent)
        return GraphFlow(agents, builder.build())

    teams = ScriptedTeams(graph, participants=("a", "b", "c", "d"))
    budget = Budget(per="thread", window="turn", tokens=150)
    async with world(tmp_path, teams, budget) as here:
        assert outcome(await here.say()) == "failed"
        used = await here.gateway.store.run(usage.spent, "team", "demo", 0.0)
    assert used.tokens == 200


async def test_a_request_does_not_wait_for_ever_for_one_that_is_never_answered(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(budgets, "PATIENCE", 0.01)
    door = Door()

    class Stuck(Slow):
        async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
            if not door.reached.is_set():
                await door.pass_through()
            return answer()

    stuck = Stuck()
    budget = Budget(per="team", tokens=250)
    async with world(tmp_path, lambda: solo(stuck), budget) as here:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(here.say(root="1"))
            await door.reached.wait()
            assert outcome(await here.say(root="2")) == "done"
            door.open()
        assert outcome(first.result()) == "done"


async def test_a_request_that_fails_gives_back_what_it_was_to_use(tmp_path):
    class Failing(Slow):
        async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
            for _ in range(50):
                await asyncio.sleep(0)
            raise ConnectionError("gone")

    failing = Failing()
    budget = Budget(per="team", tokens=250)
    async with world(tmp_path, lambda: solo(failing), budget) as here:
        seen = await asyncio.gather(*(here.say(root=str(n)) for n in range(4)))
        used = await here.gateway.store.run(usage.spent, "team", "demo", 0.0)
    assert {outcome(events) for events in seen} == {"failed"}
    assert not any("used up" in text for events in seen for text in told(events))
    assert used.tokens == 0


async def test_an_answer_that_was_stopped_counts_as_far_as_it_came(tmp_path):
    begun = asyncio.Event()

    class Hanging(ReplayChatCompletionClient):
        async def create_stream(
            self, *args: Any, **kwargs: Any
        ) -> AsyncGenerator[str | CreateResult]:
            yield "eight by"
            begun.set()
            await asyncio.Event().wait()

    hanging = Hanging([])
    async with world(tmp_path, lambda: solo(hanging, model_client_stream=True)) as here:
        async with asyncio.TaskGroup() as group:
            turn = group.create_task(here.say("one two three"))
            await begun.wait()
            (thread,) = [each.id for each in await here.gateway.client.threads()]
            await here.gateway.client.send(thread, "/stop")
        assert outcome(turn.result()) == "stopped"
        used = await here.gateway.store.run(usage.spent, "thread", thread, 0.0)
    assert used.completion_tokens == 2
    assert used.prompt_tokens >= 3


async def test_turns_of_a_team_wait_for_each_other_and_say_so(tmp_path):
    door, full, most, running = Door(), asyncio.Event(), 0, 0

    async def hold() -> str:
        """Hold."""
        nonlocal most, running
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await door.pass_through()
        running -= 1
        return "held"

    counting = Counting(50, *[call("hold")] * 8)
    team = lambda: solo(counting.client, tools=[hold])  # noqa: E731
    async with world(tmp_path, team, crowd_turns={"team": 2}) as here:

        def said(number: int) -> InboundMessage:
            key = ConversationKey(platform="slack", workspace="T1", root=str(number))
            return InboundMessage(key=key, author=ANN, text="go")

        threads = [(await here.gateway.accept(said(number))).thread for number in range(2)]
        await full.wait()
        threads += [(await here.gateway.accept(said(number))).thread for number in range(2, 8)]
        door.open()
        client = here.gateway
        seen = [await until(client, thread, ends) for thread in threads]
    assert most == 2
    assert not any(map(told, seen))


async def test_a_changed_config_counts_for_turns_that_begin(tmp_path):
    counting = Counting()
    async with world(tmp_path, lambda: solo(counting.client), Budget(per="team", turns=1)) as here:
        gateway = here.gateway
        assert outcome(await here.say()) == "done"
        assert outcome(await here.say()) == "failed"
        raised = Limits(budgets=[Budget(per="team", turns=3)])
        teams = ScriptedTeams(lambda: solo(counting.client))
        await gateway.reconfigure(teams, access=Everybody(), limits=raised)
        assert [outcome(await here.say()) for _ in range(3)] == ["done", "done", "failed"]


@pytest.mark.parametrize("make", DEEP, ids=lambda make: make.__name__)
async def test_what_is_asked_deep_in_a_team_counts_too(tmp_path, make):
    _, requests = make()
    async with world(tmp_path, lambda: make()[0]) as here:
        await here.say()
        (thread,) = here.seen
        used = await here.gateway.store.run(usage.spent, "thread", thread, 0.0)
    assert used == UsageTotals(prompt_tokens=3 * requests, completion_tokens=2 * requests, turns=1)
