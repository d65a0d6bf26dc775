import asyncio
import json

import pytest

from gateway.access.authority import Access, Admission
from gateway.client import Answer
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import (
    InputRequested,
    InputResolved,
    MessageFinished,
    Notice,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkHandedOff,
)
from gateway.gateway import Gateway
from gateway.human_tools import ask_human
from gateway.inbound.policy import WAITS_FOR_APPROVAL
from gateway.interactions import Click
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import HandoffTermination, TextMentionTermination
from teams.messages import HandoffMessage
from tests.fakes.new_store import new_store
from tests.gateway.scripted import (
    ScriptedTeams,
    calls,
    ends,
    kinds,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)

ASK = ToolRule(action="ask")
APPROVE = Answer(kind="approve")


class Tools:
    """Tools that note what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def delete(self, name: str = "") -> str:
        """Delete something."""
        self.done.append(f"delete {name}")
        return f"deleted {name}"

    async def read(self) -> str:
        """Read something."""
        self.done.append("read")
        return "read it"


def requested(event) -> bool:
    return isinstance(event, InputRequested)


def waits(event) -> bool:
    return isinstance(event, TurnFinished) and event.outcome == "waiting"


def deleting(tools: Tools, *answers, **rules: ToolRule) -> ScriptedTeams:
    shared = model(calls("delete", delete=json.dumps({"name": "a"})), *answers)
    return ScriptedTeams(
        lambda: solo(shared, tools=[tools.delete, tools.read]), rules={"delete": ASK, **rules}
    )


async def asked(gateway: Gateway, text: str = "go") -> tuple[str, InputRequested]:
    thread = (await gateway.client.create_thread()).id
    await gateway.client.send(thread, text)
    events = await until(gateway, thread, waits)
    return thread, of(InputRequested, events)[-1]


@pytest.mark.parametrize("arguments", ["not json", "[1]"])
async def test_nobody_is_asked_to_approve_what_no_tool_could_take(tmp_path, arguments):
    tools = Tools()
    shared = model(calls("delete", delete=arguments), "I could not.")
    teams = ScriptedTeams(lambda: solo(shared, tools=[tools.delete]), rules={"delete": ASK})
    async with opened(tmp_path, teams) as gateway:
        events = await turn(gateway, (await gateway.client.create_thread()).id, "go")
    assert not of(InputRequested, events)
    [finished] = of(ToolFinished, events)
    assert finished.failed
    assert "not a JSON object" in finished.result
    assert tools.done == []


async def test_nobody_is_asked_to_approve_a_tool_that_is_not_there(tmp_path):
    shared = model(calls("destroy"), "There is no such thing.")
    teams = ScriptedTeams(lambda: solo(shared, tools=[Tools().read]), rule_of_others=ASK)
    async with opened(tmp_path, teams) as gateway:
        events = await turn(gateway, (await gateway.client.create_thread()).id, "go")
    assert not of(InputRequested, events)
    [finished] = of(ToolFinished, events)
    assert finished.failed
    assert "not found" in finished.result


async def test_a_tool_runs_only_once_it_is_approved(tmp_path):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "It is gone.")) as gateway:
        thread, request = await asked(gateway)
        assert tools.done == []
        assert (await gateway.client.thread(thread)).state == "waiting"
        assert await gateway.client.answer(request.request, APPROVE) is None
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert tools.done == ["delete a"]
    assert (request.request_kind, request.tool) == ("approval", "delete")
    assert json.loads(request.arguments) == {"name": "a"}
    assert [event.call for event in of(ToolStarted, events)] == [request.call]
    assert [event.result for event in of(ToolFinished, events)] == ["deleted a"]
    assert [(event.outcome, event.by) for event in of(InputResolved, events)] == [
        ("approved", "operator")
    ]
    assert [event.resumed for event in of(TurnStarted, events)] == [False, True]
    assert of(MessageFinished, events)[-1].text == "It is gone."


async def test_a_denied_tool_does_not_run_and_the_model_is_told_why(tmp_path):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "Then not.")) as gateway:
        thread, request = await asked(gateway)
        await gateway.client.answer(request.request, Answer(kind="deny", text="too risky"))
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert tools.done == []
    [finished] = of(ToolFinished, events)
    assert finished.failed
    assert "too risky" in finished.result
    assert of(InputResolved, events)[0].outcome == "denied: too risky"
    assert of(MessageFinished, events)[-1].text == "Then not."


async def test_always_holds_for_this_tool_in_this_thread_and_for_nothing_else(tmp_path):
    tools = Tools()
    more = [calls("delete", delete=json.dumps({"name": "b"})), calls("read"), calls("delete")]
    async with opened(tmp_path, deleting(tools, *more, read=ASK)) as gateway:
        thread, request = await asked(gateway)
        await gateway.client.answer(request.request, Answer(kind="approve_always"))
        events = await until(
            gateway, thread, waits, after=(await gateway.client.thread(thread)).last_seq
        )
        _, elsewhere = await asked(gateway)
    assert tools.done == ["delete a", "delete b"]
    assert of(InputRequested, events)[-1].tool == "read"
    assert elsewhere.tool == "delete"


async def test_a_forbidden_tool_is_refused_with_the_policys_reason(tmp_path):
    tools = Tools()
    deny = ToolRule(action="deny", reason="nothing is deleted here")
    async with opened(tmp_path, deleting(tools, "ok", delete=deny)) as gateway:
        events = await turn(gateway, (await gateway.client.create_thread()).id, "go")
    assert tools.done == []
    assert "nothing is deleted here" in of(ToolFinished, events)[0].result


async def test_all_approvals_of_a_batch_are_asked_before_any_call_of_it_starts(tmp_path):
    tools = Tools()
    batch = calls("read", "delete", "delete")
    team = ScriptedTeams(
        lambda: solo(batch, "done", tools=[tools.delete, tools.read]), rules={"delete": ASK}
    )
    async with opened(tmp_path, team) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        events = await until(gateway, thread, waits)
        requests = of(InputRequested, events)
        first_end = kinds(events).index("tool_finished")
        assert len(requests) == 2
        assert max(n for n, event in enumerate(events) if event in requests) < first_end
        assert tools.done == ["read"]
        await gateway.client.answer(requests[0].request, APPROVE)
        assert (await gateway.client.thread(thread)).state == "waiting"
        assert tools.done == ["read"]
        await gateway.client.answer(requests[1].request, APPROVE)
        after = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert tools.done == ["read", "delete ", "delete "]
    assert len({event.call for event in of(ToolStarted, after)}) == 3
    assert len(of(ToolStarted, after)) == len(of(ToolFinished, after)) == 3


async def test_a_request_is_answered_exactly_once_under_races(tmp_path):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "done")) as gateway:
        thread, request = await asked(gateway)
        answers = [APPROVE, Answer(kind="deny"), Answer(kind="approve_always")] * 5
        said = await asyncio.gather(
            *(gateway.client.answer(request.request, answer) for answer in answers)
        )
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    # They come at once, so any of them may be the first.
    [first] = [answer for answer, why in zip(answers, said, strict=True) if why is None]
    [resolved] = of(InputResolved, events)
    assert {why for why in said if why} == {f"This is already settled: {resolved.outcome}."}
    assert tools.done == ([] if first.kind == "deny" else ["delete a"])


async def test_requests_survive_a_restart_and_are_answered_after_it(tmp_path):
    tools = Tools()
    team = deleting(tools, "done")
    async with opened(tmp_path, team) as gateway:
        thread, request = await asked(gateway)
    async with opened(tmp_path, team) as gateway:
        shown = of(InputRequested, await until(gateway, thread, waits))
        assert [event.request for event in shown] == [request.request]
        await gateway.client.answer(request.request, APPROVE)
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert tools.done == ["delete a"]
    assert of(MessageFinished, events)[-1].text == "done"
    assert of(Notice, events) == []


@pytest.mark.parametrize(
    ("text", "outcome", "done"),
    [
        ("approve {id}", "approved", ["delete a"]),
        ("/approve {id} always", "approved for this thread: any arguments", ["delete a"]),
        ("Deny {id} not today", "denied: not today", []),
    ],
)
async def test_an_approval_can_be_typed(tmp_path, text, outcome, done):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "done")) as gateway:
        thread, request = await asked(gateway)
        receipt = await gateway.client.send(thread, text.format(id=request.request))
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert receipt.outcome == "answer"
    assert of(InputResolved, events)[0].outcome == outcome
    assert tools.done == done


async def test_other_text_waits_behind_an_approval_and_says_so(tmp_path):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "done", "And hello to you.")) as gateway:
        thread, request = await asked(gateway)
        receipt = await gateway.client.send(thread, "yes, please")
        assert receipt.outcome == "queued"
        events = await until(gateway, thread, lambda e: isinstance(e, Notice))
        assert events[-1].text == WAITS_FOR_APPROVAL
        assert tools.done == []
        await gateway.client.answer(request.request, APPROVE)
        events = await until(
            gateway, thread, lambda e: e.kind == "message_finished" and "hello" in e.text
        )
    assert tools.done == ["delete a"]


async def test_stopping_a_waiting_turn_closes_its_request_and_frees_the_thread(tmp_path):
    tools = Tools()
    async with opened(tmp_path, deleting(tools, "Something else.")) as gateway:
        thread, request = await asked(gateway)
        assert await gateway.client.stop(thread)
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
        assert events[-1].outcome == "stopped"
        assert of(InputResolved, events)[0].outcome == "closed: stopped"
        late = await gateway.client.answer(request.request, APPROVE)
        assert late == "This is already settled: closed: stopped."
        went_on = await turn(gateway, thread, "something else")
    assert tools.done == []
    assert of(MessageFinished, went_on)[-1].text == "Something else."


def talking() -> RoundRobinGroupChat:
    agent = AssistantAgent("helper", model("Which city?", "Nice there. DONE"))
    return RoundRobinGroupChat(
        [agent, UserProxyAgent("person")], termination_condition=TextMentionTermination("DONE")
    )


async def test_a_free_text_question_is_answered_by_the_next_message(tmp_path):
    async with opened(tmp_path, talking) as gateway:
        thread, request = await asked(gateway)
        assert (request.request_kind, request.agent) == ("text", "person")
        receipt = await gateway.client.send(thread, "Berlin")
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert receipt.outcome == "answer"
    assert of(InputResolved, events)[0].outcome == "Berlin"
    assert [event.text for event in of(MessageFinished, events)] == [
        "Which city?",
        "Nice there. DONE",
    ]


async def test_a_tool_that_asks_gets_the_answer_as_its_result(tmp_path):
    question = json.dumps({"question": "Which size?", "options": ["S", "M"]})
    team = ScriptedTeams(
        lambda: solo(calls("ask_human", ask_human=question), "Size M then.", tools=[ask_human])
    )
    async with opened(tmp_path, team) as gateway:
        thread, request = await asked(gateway)
        assert (request.request_kind, request.options) == ("choice", ("S", "M"))
        await gateway.client.send(thread, "2")
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert [event.result for event in of(ToolFinished, events)] == ["M"]
    assert len(of(ToolStarted, events)) == 1
    assert of(MessageFinished, events)[-1].text == "Size M then."


async def test_an_approved_tool_that_asks_is_approved_once_and_answered_once(tmp_path):
    question = json.dumps({"question": "Which size?"})
    team = ScriptedTeams(
        lambda: solo(calls("ask_human", ask_human=question), "ok", tools=[ask_human]),
        rule_of_others=ASK,
    )
    async with opened(tmp_path, team) as gateway:
        thread, request = await asked(gateway)
        await gateway.client.answer(request.request, APPROVE)
        seq = (await gateway.client.thread(thread)).last_seq
        events = await until(gateway, thread, waits, after=seq)
        assert of(InputRequested, events)[0].prompt == "Which size?"
        await gateway.client.send(thread, "M")
        events = await until(gateway, thread, lambda e: ends(e) and not waits(e))
    assert len(of(InputRequested, events)) == 2
    assert [event.result for event in of(ToolFinished, events)] == ["M"]


def swarm() -> Swarm:
    desk = AssistantAgent(
        "desk", model(calls("transfer_to_user"), "Thanks, noted."), handoffs=["user"]
    )
    return Swarm(
        [desk], termination_condition=HandoffTermination("user") | TextMentionTermination("noted")
    )


async def test_a_swarm_that_handed_off_to_the_user_gets_the_next_message_as_a_handoff_back(
    tmp_path,
):
    teams = ScriptedTeams(swarm, participants=("desk",))
    built = []

    def make():
        built.append(swarm())
        return built[-1]

    teams.make = make
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        first = await turn(gateway, thread, "I want a refund")
        second = await turn(gateway, thread, "Order 7")
        state = await built[0].save_state()
    [handed] = of(WorkHandedOff, first)
    assert (handed.agent, handed.target) == ("desk", "user")
    assert of(MessageFinished, second)[-1].text == "Thanks, noted."
    messages = state["agent_states"]["SwarmGroupChatManager"]["message_thread"]
    answers = [m for m in messages if m["type"] == "HandoffMessage" and m["source"] == "user"]
    assert [(m["target"], m["content"]) for m in answers] == [("desk", "Order 7")]
    assert HandoffMessage.model_validate(answers[0]).metadata["author_id"] == "local:operator"


async def test_only_operators_approve_and_only_they_or_the_asker_answer(tmp_path):
    tools = Tools()
    ann, bob = Author(id="x:ann", name="Ann"), Author(id="x:bob", name="Bob")

    class Everybody(Access):
        def judge(self, message):
            return Admission()

    key = ConversationKey(platform="x", root="1")

    def click(author, request, answer):
        click = Click(request=request, answer=answer)
        return InboundMessage(key=key, author=author, click=click)

    async with Gateway(new_store(tmp_path), deleting(tools, "done"), access=Everybody()) as gateway:
        receipt = await gateway.accept(InboundMessage(key=key, author=ann, text="go"))
        events = await until(gateway, receipt.thread, waits)
        request = of(InputRequested, events)[0].request
        replies = [await gateway.accept(click(author, request, APPROVE)) for author in (ann, bob)]
        assert {reply.reply for reply in replies} == {"You may not answer this request."}
        assert tools.done == []
        await gateway.client.answer(request, APPROVE)
        await until(gateway, receipt.thread, lambda e: ends(e) and not waits(e))
    assert tools.done == ["delete a"]
