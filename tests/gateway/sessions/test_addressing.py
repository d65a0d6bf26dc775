"""Messages that begin with `@` and an agent's name."""

import pytest

from gateway.access.authority import Access, Admission
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import InputRequested, InputResolved, MessageFinished, Notice, TurnFinished
from gateway.inbound.policy import JOINS, NO_TASK
from gateway.runtime.settings import Limits
from gateway.sessions.addressing import NOT_FIRST
from teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import Team
from teams.conditions import HandoffTermination, MaxMessageTermination
from tests.fakes.agents import Talker
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, opened, turn, until

NAMES = ("ann", "bob", "cleo")


def talkers(**lines: object) -> list[Talker]:
    return [Talker(name, lines.get(name, f"{name} here")) for name in NAMES]


def in_turn() -> Team:
    return RoundRobinGroupChat(talkers(), termination_condition=MaxMessageTermination(2))


def selected() -> Team:
    return SelectorGroupChat(
        talkers(), model("ann", "ann"), termination_condition=MaxMessageTermination(2)
    )


def swarm() -> Team:
    agents = [AssistantAgent(name, model(f"{name} here"), handoffs=["user"]) for name in NAMES]
    return Swarm(agents, termination_condition=MaxMessageTermination(2))


def nested() -> Team:
    ann, bob, cleo = talkers()
    inner = RoundRobinGroupChat([ann, bob], name="pair", max_turns=1)
    return RoundRobinGroupChat([cleo, inner], termination_condition=MaxMessageTermination(2))


def graph() -> Team:
    ann, bob, cleo = talkers()
    builder = DiGraphBuilder()
    builder.add_node(ann).add_node(bob).add_node(cleo).add_edge(ann, bob).add_edge(bob, cleo)
    return GraphFlow(
        [ann, bob, cleo], builder.build(), termination_condition=MaxMessageTermination(2)
    )


def orchestrated() -> Team:
    return MagenticOneGroupChat(talkers(), model("facts", "plan"), max_turns=1)


ONE, TWO = Author(id="x:one", name="One"), Author(id="x:two", name="Two")


class Everybody(Access):
    def judge(self, message):
        return Admission()


def said(text: str, author: Author, **more) -> InboundMessage:
    key = ConversationKey(platform="x", root="1")
    return InboundMessage(key=key, author=author, text=text, **more)


def teams_of(make) -> ScriptedTeams:
    return ScriptedTeams(make, participants=NAMES)


def speakers(events) -> list[str]:
    return [event.agent for event in of(MessageFinished, events)]


def notices(events) -> list[str]:
    return [event.text for event in of(Notice, events)]


@pytest.mark.parametrize("make", [in_turn, selected, swarm, nested])
async def test_who_is_addressed_speaks_first(tmp_path, make):
    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "@Bob what do you think?")
    assert speakers(events) == ["bob"]
    assert notices(events) == []


@pytest.mark.parametrize(
    ("make", "chooser"), [(graph, "its graph"), (orchestrated, "its orchestrator")]
)
async def test_a_team_that_can_let_nobody_be_called_says_so_and_has_the_message(
    tmp_path, make, chooser
):
    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "@bob what do you think?")
    assert NOT_FIRST.format(name="bob", chooser=chooser) in notices(events)
    if make is graph:
        assert speakers(events) == ["ann"]


async def test_a_name_alone_is_refused_with_a_sentence_and_an_unknown_name_is_text(tmp_path):
    async with opened(tmp_path, teams_of(in_turn)) as gateway:
        thread = (await gateway.client.create_thread()).id
        assert (await gateway.client.send(thread, "@cleo ")).reply == NO_TASK.format(name="cleo")
        assert speakers(await turn(gateway, thread, "@dora hello")) == ["ann"]


async def test_the_agents_read_the_name_too_and_in_company_who_wrote_it(tmp_path):
    made: list[Talker] = []

    def make() -> Team:
        made[:] = talkers()
        return RoundRobinGroupChat(made, termination_condition=MaxMessageTermination(2))

    async with opened(tmp_path, teams_of(make), access=Everybody()) as gateway:
        first = await gateway.accept(said("hello", ONE))
        await until(gateway, first.thread, ends)
        events = await turn(gateway, first.thread, "@cleo go", author=TWO)
    assert speakers(events) == ["cleo"]
    assert made[2].given[-1][-1] == "[Two \u00b7 xtwo]\n@cleo go"


async def test_a_person_of_the_platform_who_is_called_like_an_agent_is_not_the_agent(tmp_path):
    async with opened(tmp_path, teams_of(in_turn), access=Everybody()) as gateway:
        receipt = await gateway.accept(said("@Bob is here", ONE, opens_with_mention=True))
        events = await until(gateway, receipt.thread, ends)
    assert speakers(events) == ["ann"]


async def test_it_is_said_that_a_message_that_joins_a_turn_calls_nobody_first(tmp_path):
    door = Door()

    async def held() -> str:
        await door.pass_through()
        return "ann here"

    def make() -> Team:
        return RoundRobinGroupChat(
            talkers(ann=held), termination_condition=MaxMessageTermination(4)
        )

    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "/queue mode steer")
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "hello")
        await door.reached.wait()
        await gateway.client.send(thread, "@cleo you too")
        door.open()
        events = await until(gateway, thread, ends, after)
    assert JOINS.format(name="cleo") in notices(events)
    assert speakers(events)[:2] == ["ann", "bob"]


async def test_of_messages_for_one_turn_the_first_that_names_somebody_counts(tmp_path):
    async with opened(tmp_path, teams_of(in_turn), limits=Limits(collect=0.2)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "/queue mode collect")
        after = (await gateway.client.thread(thread)).last_seq
        for text in ("hello", "@cleo go", "@bob you too"):
            await gateway.client.send(thread, text)
        events = await until(gateway, thread, ends, after)
    assert speakers(events) == ["cleo"]


async def test_an_answer_that_begins_with_a_name_stays_an_answer(tmp_path):
    def make() -> Team:
        agents = [UserProxyAgent("ann"), *talkers()[1:]]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3))

    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        [_] = of(InputRequested, await turn(gateway, thread, "hello"))
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.send(thread, "@cleo")
        events = await until(gateway, thread, lambda e: ends(e) and e.outcome == "done", after)
    assert [event.outcome for event in of(InputResolved, events)] == ["@cleo"]
    assert speakers(events)[-1] == "bob"


async def test_who_is_addressed_takes_over_from_a_hand_off_to_the_user(tmp_path):
    def make() -> Team:
        first = model(calls("transfer_to_user"), "ann again")
        models = [first, *(model(f"{name} here") for name in NAMES[1:])]
        agents = [
            AssistantAgent(name, each, handoffs=["user"])
            for name, each in zip(NAMES, models, strict=True)
        ]
        ends_at = HandoffTermination("user") | MaxMessageTermination(5)
        return Swarm(agents, termination_condition=ends_at)

    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hello")
        assert speakers(await turn(gateway, thread, "@cleo go"))[0] == "cleo"


async def test_a_failed_agents_unfinished_work_does_not_come_first(tmp_path):
    def make() -> Team:
        lines = talkers(ann=ValueError("no"))
        return RoundRobinGroupChat(lines, termination_condition=MaxMessageTermination(2))

    async with opened(tmp_path, teams_of(make)) as gateway:
        thread = (await gateway.client.create_thread()).id
        [failed] = of(TurnFinished, await turn(gateway, thread, "hello"))
        assert failed.outcome == "failed"
        assert speakers(await turn(gateway, thread, "@bob you then")) == ["bob"]


@pytest.mark.parametrize("kind", ["round robin", "selector"])
async def test_it_holds_in_the_next_process_too(tmp_path, kind):
    door, first = Door(), True

    async def held() -> str:
        nonlocal first
        if first:
            first = False
            await door.pass_through()
        return "bob here"

    def make() -> Team:
        lines, end = talkers(bob=held), MaxMessageTermination(2)
        if kind == "selector":
            return SelectorGroupChat(lines, model("ann"), termination_condition=end)
        return RoundRobinGroupChat(lines, termination_condition=end)

    async with opened(tmp_path, teams_of(make), limits=Limits(shutdown=0.0)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "@bob go")
        await door.reached.wait()
    async with opened(tmp_path, teams_of(make)) as gateway:
        events = await until(gateway, thread, ends)
    assert speakers(events) == ["bob"]
