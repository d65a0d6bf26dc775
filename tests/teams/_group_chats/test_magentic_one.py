"""The orchestrator of MagenticOneGroupChat: facts, plan, ledger, stalls, final answer."""

import asyncio
import base64
import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, ClassVar, cast

import pytest
from pydantic import BaseModel

from teams import MagenticOneGroupChat, RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import ChatAgent, InputRequired, TaskResult, Team, TeamError
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken, Image
from teams.messages import (
    HandoffMessage,
    MultiModalMessage,
    SelectSpeakerEvent,
    StructuredMessage,
    TextMessage,
)
from teams.models import LLMMessage, ModelFamily, ModelInfo
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.interrupted_runs import (
    WAYS,
    Interrupted,
    Models,
    Way,
    assert_same,
    uninterrupted,
)
from tests.fakes.scripted_model import Answer, ScriptedModel, calls

ORCHESTRATOR = "MagenticOneOrchestrator"
PIXEL = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="


def ledger(
    *,
    done: bool = False,
    progress: bool = True,
    loop: bool = False,
    speaker: str = "helper",
    tell: str = "Find it.",
) -> str:
    def entry(answer: Any) -> dict[str, Any]:
        return {"reason": f"because {answer}", "answer": answer}

    return json.dumps(
        {
            "is_request_satisfied": entry(done),
            "is_in_loop": entry(loop),
            "is_progress_being_made": entry(progress),
            "next_speaker": entry(speaker),
            "instruction_or_question": entry(tell),
        }
    )


class Orchestrator(ScriptedModel):
    """Answers by prompt; each prompt is known by a phrase.

    Ledgers are given by how often the orchestrator has spoken since its last plan.
    """

    PHRASES: ClassVar = {
        "take stock": "facts",
        "Write a short plan": "plan",
        "Judge where we stand": "progress",
        "do not get ahead": "new facts",
        "has not worked": "new plan",
        "The work is over": "answer",
    }

    def __init__(
        self, *ledgers: Answer | list[str], after: Sequence[Answer] = (), **others: Answer
    ) -> None:
        super().__init__()
        self.ledgers = {"the plan": ledgers, "the new plan": after}
        self.others: dict[str, Answer] = {"answer": "the answer", **others}

    def _answer(self, messages: Sequence[LLMMessage]) -> Answer:
        complaints = sum("cannot be used" in str(message.content) for message in messages)
        said = [*messages[: len(messages) - 2 * complaints]]
        kind = self.kind_of(str(said[-1].content))
        if kind != "progress":
            return self.others.get(kind, f"the {kind}")
        spoken = [message for message in said if message.type == "AssistantMessage"]
        plan = "the new plan" if "the new plan" in str(spoken[0].content) else "the plan"
        answer = self.ledgers[plan][len(spoken) - 1]
        return cast("Answer", answer[complaints] if isinstance(answer, list) else answer)

    def kind_of(self, prompt: str) -> str:
        """The kind of answer that a prompt asks for."""
        kinds = (kind for phrase, kind in self.PHRASES.items() if phrase in prompt)
        return next(kinds, "ledger again")

    def asked_for(self) -> list[str]:
        """The kinds of its requests, in order."""
        return [self.kind_of(request["messages"][-1]["content"]) for request in self.requests]


def helper(*answers: Answer, name: str = "helper", **options: Any) -> AssistantAgent:
    options.setdefault("system_message", None)
    return AssistantAgent(
        name, ScriptedModel(*answers, speaker=name), description="Helps.", **options
    )


def model_of(agent: AssistantAgent) -> ScriptedModel:
    return cast("ScriptedModel", agent.model_client)


def replay(*answers: str, **info: Any) -> ReplayChatCompletionClient:
    known = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=True,
        family=ModelFamily.UNKNOWN,
        structured_output=True,
    )
    return ReplayChatCompletionClient(answers, model_info={**known, **info})  # type: ignore


def said(items: Sequence[Any]) -> list[tuple[str, str]]:
    return [(item.source, item.to_text()) for item in items]


def prompt(request: dict[str, Any]) -> str:
    return request["messages"][-1].content


async def test_facts_plan_ledger_instruction_answer():
    model = replay("The facts.", "The plan.", ledger(), ledger(done=True), "It is 42.")
    agent = helper("I found 42.")
    team = MagenticOneGroupChat([agent, helper(name="other")], model)
    result = await team.run(task="What is it?")
    [task, plan, instruction, answer, final] = result.messages
    assert said([task, instruction, answer, final]) == [
        ("user", "What is it?"),
        (ORCHESTRATOR, "Find it."),
        ("helper", "I found 42."),
        (ORCHESTRATOR, "It is 42."),
    ]
    assert plan.source == ORCHESTRATOR
    for part in ("What is it?", "The facts.", "The plan.", "helper: Helps.", "other: Helps."):
        assert part in plan.to_text()
    assert result.stop_reason == "because True"
    assert all(isinstance(message, TextMessage) for message in result.messages)
    assert model_of(agent).texts() == ["What is it?", plan.to_text(), "Find it."]


async def test_what_the_orchestrator_is_asked():
    model = replay("The facts.", "The plan.", ledger(), ledger(done=True), "It is 42.")
    team = MagenticOneGroupChat(
        [helper("I found 42.")], model, final_answer_prompt="Answer this: {task}"
    )
    result = await team.run(task="What is it?")
    [facts, plan, first, second, final] = model.create_calls
    assert "What is it?" in prompt(facts)
    assert "The facts." in prompt(plan)
    assert "helper: Helps." in prompt(plan)
    assert "One of: helper" in prompt(first)
    assert prompt(final) == "Answer this: What is it?"
    spoken = [message.content for message in final["messages"]]
    assert spoken[:-1] == [message.to_text() for message in result.messages[:-1]]
    assert [message.type for message in final["messages"]] == [
        "UserMessage",
        "AssistantMessage",
        "AssistantMessage",
        "UserMessage",
        "UserMessage",
    ]
    kinds = [getattr(call["json_output"], "__name__", None) for call in model.create_calls]
    assert kinds == [None, None, "ProgressLedger", "ProgressLedger", None]
    assert len(second["messages"]) == len(first["messages"]) + 2


@pytest.mark.parametrize(
    ("info", "wanted"),
    [
        ({"structured_output": False}, True),
        ({"structured_output": False, "json_output": False}, None),
    ],
    ids=["json", "neither"],
)
async def test_a_model_is_asked_for_json_as_far_as_it_can(info, wanted):
    model = replay("F", "P", ledger(done=True), "A", **info)
    await MagenticOneGroupChat([helper()], model).run(task="go")
    assert model.create_calls[2]["json_output"] is wanted


@pytest.mark.parametrize(
    "written",
    [
        "Well, here it is: {ledger} That's it.",
        "```json\n{ledger}\n```",
        "So {{see below}}:\n```\n{ledger}\n```\nDone.",
        '```json\n{{"draft": 1}}\n```\n```json\n{ledger}\n```',
    ],
    ids=["text around", "fenced", "fenced without language", "the last of several"],
)
async def test_text_around_the_ledger_does_not_matter(written: str):
    model = replay("F", "P", written.format(ledger=ledger(done=True)), "A")
    result = await MagenticOneGroupChat([helper()], model).run(task="go")
    assert result.stop_reason == "because True"
    assert len(model.create_calls) == 4


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("I don't know.", "There is no JSON object"),
        ('{"next_speaker": {"reason": "", "answer": "helper"}}', "is_in_loop: Field required"),
        (ledger(speaker="nobody"), "'nobody', who is not in the team. Choose one of: helper, two"),
    ],
    ids=["no json", "wrong form", "unknown speaker"],
)
async def test_an_unusable_ledger_is_asked_for_again_with_the_reason(answer: str, complaint: str):
    model = replay("F", "P", answer, ledger(speaker=" two "), ledger(done=True), "A")
    team = MagenticOneGroupChat([helper(), helper("Done.", name="two")], model)
    result = await team.run(task="go")
    assert said(result.messages)[3] == ("two", "Done.")
    [own, feedback] = model.create_calls[3]["messages"][-2:]
    assert (own.type, own.content) == ("AssistantMessage", answer)
    assert complaint in feedback.content


async def test_whoever_is_named_next_does_not_matter_when_the_work_is_done():
    model = replay("F", "P", ledger(done=True, speaker="nobody"), "A")
    assert (await MagenticOneGroupChat([helper()], model).run(task="go")).messages[
        -1
    ].to_text() == "A"


async def test_after_ten_unusable_ledgers_the_run_fails_and_can_go_on():
    model = replay("F", "P", *["nothing"] * 10, ledger(done=True), "A")
    team = MagenticOneGroupChat([helper()], model)
    with pytest.raises(TeamError, match="no usable progress ledger in 10 attempts") as caught:
        await team.run(task="go")
    assert type(caught.value.__cause__) is ValueError
    assert (await team.run()).messages[-1].to_text() == "A"


async def test_stalls_lead_to_new_facts_a_new_plan_and_fresh_agents():
    stuck = [ledger(progress=False), ledger(loop=True)]
    model = Orchestrator(
        ledger(progress=False), ledger(), *stuck, after=[ledger(tell="Again."), ledger(done=True)]
    )
    agent = helper("one", "two", "three")
    team = MagenticOneGroupChat([agent], model, max_stalls=2)
    *items, result = [cast("Any", item) async for item in team.run_stream(task="go")]
    # The stall of the first round is made good by the second.
    assert model.asked_for() == [
        *["facts", "plan", "progress", "progress", "progress", "progress"],
        *["new facts", "new plan", "progress", "progress", "answer"],
    ]
    texts = [text for source, text in said(items) if source != ORCHESTRATOR]
    assert texts == ["go", "one", "two", "three", "one"]
    assert "the facts" in model.texts(6)[-1]
    assert "the new facts" in model.texts(7)[-1]
    assert "the plan" in model.texts(7)[-1]
    [plan] = [item for item in items if "the new plan" in item.to_text()]
    assert model_of(agent).texts() == [plan.to_text(), "Again."]
    state = await team.save_state()
    manager = state["agent_states"][ORCHESTRATOR]
    assert manager["message_thread"][0]["id"] == plan.id
    assert manager["facts"] == "the new facts"
    assert manager["n_stalls"] == 0
    assert result.messages == items


async def test_after_the_last_round_there_is_an_answer_all_the_same():
    model = replay("F", "P", ledger(), ledger(), "So far.")
    team = MagenticOneGroupChat([helper("one", "two")], model, max_turns=2)
    result = await team.run(task="go")
    assert result.stop_reason == "Max rounds reached."
    assert said(result.messages)[-3:] == [
        (ORCHESTRATOR, "Find it."),
        ("helper", "two"),
        (ORCHESTRATOR, "So far."),
    ]


async def test_without_a_limit_it_goes_on_until_the_condition_stops_it():
    model = replay("F", "P", *[ledger()] * 30)
    team = MagenticOneGroupChat(
        [helper(*["more"] * 30)],
        model,
        max_turns=None,
        termination_condition=MaxMessageTermination(52),
    )
    result = await team.run(task="go")
    assert len(result.messages) == 52
    assert "52" in (result.stop_reason or "")


async def test_the_condition_sees_the_task_and_what_the_orchestrator_said():
    condition = TextMentionTermination("Find it", sources=[ORCHESTRATOR])
    model = replay("F", "P", ledger())
    team = MagenticOneGroupChat([helper("one")], model, termination_condition=condition)
    assert (await team.run(task="go")).stop_reason == "Text 'Find it' mentioned"
    early = MagenticOneGroupChat(
        [helper()], replay(), termination_condition=TextMentionTermination("go")
    )
    assert len((await early.run(task="go")).messages) == 1


async def test_team_events_name_the_speaker_after_the_instruction():
    model = replay("F", "P", ledger(), ledger(done=True), "A")
    team = MagenticOneGroupChat([helper("one")], model, emit_team_events=True)
    result = await team.run(task="go")
    kinds = [type(message).__name__ for message in result.messages]
    assert kinds.index("SelectSpeakerEvent") == 3
    event = result.messages[3]
    assert isinstance(event, SelectSpeakerEvent)
    assert (event.content, event.source) == (["helper"], ORCHESTRATOR)


async def test_what_the_orchestrators_model_took_is_counted():
    model = Orchestrator(ledger(), ledger(done=True))
    result = await MagenticOneGroupChat([helper("one")], model).run(task="go")
    own = [each.models_usage for each in result.messages if each.source == ORCHESTRATOR]
    # Facts and plan; a ledger; a ledger and the answer: 10 + 5 tokens each.
    assert [usage.prompt_tokens for usage in own if usage] == [20, 10, 20]
    assert [usage.completion_tokens for usage in own if usage] == [10, 5, 10]


async def test_each_item_is_there_as_soon_as_it_exists():
    model = Orchestrator(ledger(), ledger(done=True))
    team = MagenticOneGroupChat([helper("one")], model)
    asked: list[int] = [len(model.requests) async for _ in team.run_stream(task="go")]
    assert asked == [0, 2, 3, 3, 5, 5]


async def test_a_further_task_is_planned_anew_in_view_of_the_conversation():
    model = replay(
        *["F", "P", ledger(), ledger(done=True), "A"],
        *["F2", "P2", ledger(tell="More."), ledger(done=True), "A2"],
    )
    agent = helper("one", "two")
    team = MagenticOneGroupChat([agent], model, max_turns=2)
    first = await team.run(task="go")
    result = await team.run(task="and then?")
    assert said(result.messages)[0] == ("user", "and then?")
    assert said(result.messages)[-1] == (ORCHESTRATOR, "A2")
    assert "and then?" in prompt(model.create_calls[5])
    assert "go" not in prompt(model.create_calls[5]).split()
    earlier = [message.content for message in model.create_calls[5]["messages"]]
    assert earlier[:-2] == [message.to_text() for message in first.messages]
    assert model_of(agent).texts()[0] == "go"


async def test_without_a_new_task_it_goes_on_with_the_old_one():
    model = replay("F", "P", ledger(done=True), "A", ledger(), ledger(done=True), "B")
    team = MagenticOneGroupChat([helper("one")], model)
    await team.run(task="go")
    result = await team.run()
    assert said(result.messages) == [
        (ORCHESTRATOR, "Find it."),
        ("helper", "one"),
        (ORCHESTRATOR, "B"),
    ]


async def test_the_first_run_needs_a_task():
    team = MagenticOneGroupChat([helper()], replay())
    with pytest.raises(ValueError, match="has no task yet"):
        await team.run()
    await team.reset()
    with pytest.raises(ValueError, match="has no task yet"):
        await team.run()


async def test_a_reset_forgets_task_facts_and_plan():
    model = replay("F", "P", ledger(done=True), "A", "F2", "P2", ledger(done=True), "B")
    team = MagenticOneGroupChat([helper()], model)
    fresh = await team.save_state()
    await team.run(task="go")
    await team.reset()
    assert await team.save_state() == fresh
    await team.run(task="other")
    assert model.create_calls[4]["messages"][0].content == "other"


async def test_what_the_user_adds_belongs_to_the_task():
    model = Orchestrator(ledger(), ledger(), ledger(done=True))
    agent = helper("one", "two")
    team = MagenticOneGroupChat([agent], model)
    async with aclosing(team.run_stream(task="go")) as stream:
        async for item in stream:
            if isinstance(item, TextMessage) and item.content == "one":
                team.add_messages([TextMessage(content="in blue", source="user")])
    assert "go\n\nin blue" in model.texts(3)[-1]
    assert "in blue" in model.texts(3)[:-1]
    assert "in blue" in model_of(agent).texts()


async def test_a_task_given_to_an_unfinished_run_joins_it():
    model = Orchestrator(ledger(), ledger(done=True))
    team = MagenticOneGroupChat([helper("one")], model)
    async with aclosing(team.run_stream(task="go")) as stream:
        await anext(stream)
        await anext(stream)
    await team.run(task="in blue")
    assert model.asked_for() == ["facts", "plan", "progress", "progress", "answer"]
    assert "go\n\nin blue" in model.texts(2)[-1]


async def test_images_reach_agents_and_models_that_see():
    image = Image.from_bytes(base64.b64decode(PIXEL))
    task = MultiModalMessage(content=["What is this?", image], source="user")
    for vision in (True, False):
        model = replay("F", "P", ledger(done=True), "A", vision=vision)
        await MagenticOneGroupChat([helper()], model).run(task=task)
        [shown, asked] = model.create_calls[0]["messages"]
        assert (shown.content == ["What is this?", image]) is vision
        assert "What is this? [image]" in asked.content


async def test_a_failed_step_is_taken_again_but_not_those_before_it():
    model = Orchestrator(ledger(), ledger(done=True), plan=RuntimeError("busy"))
    team = MagenticOneGroupChat([helper("one")], model)
    with pytest.raises(TeamError, match="busy"):
        await team.run(task="go")
    model.others.pop("plan")
    assert (await team.run()).stop_reason == "because True"
    assert model.asked_for() == ["facts", "plan", "plan", "progress", "progress", "answer"]


async def test_a_model_that_calls_tools_is_an_error():
    model = Orchestrator(facts=calls(("f", {})))
    with pytest.raises(TeamError, match="tool calls"):
        await MagenticOneGroupChat([helper()], model).run(task="go")


async def test_only_agents_take_part():
    inner = RoundRobinGroupChat([helper()])
    with pytest.raises(TypeError, match="must be agents"):
        MagenticOneGroupChat([inner], replay())  # type: ignore


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"max_turns": 0}, "max_turns"),
        ({"max_stalls": 0}, "max_stalls"),
        ({"final_answer_prompt": "{other}"}, "final_answer_prompt"),
        ({"final_answer_prompt": "{"}, "final_answer_prompt"),
        ({"final_answer_prompt": "{task.__class__}"}, "no attribute"),
    ],
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        MagenticOneGroupChat([helper()], replay(), **bad)


def test_it_round_trips_as_a_component():
    agents: list[ChatAgent] = [AssistantAgent("a", replay("x"), description="A.")]
    team = MagenticOneGroupChat(
        agents,
        replay("y"),
        name="one",
        description="Does it.",
        termination_condition=MaxMessageTermination(3),
        max_turns=None,
        max_stalls=5,
        final_answer_prompt="Answer {task}",
        emit_team_events=True,
    )
    dumped = team.dump_component()
    assert dumped.provider == "teams.MagenticOneGroupChat"
    assert dumped.config["max_turns"] is None
    loaded = Team.load_component(dumped)
    assert isinstance(loaded, MagenticOneGroupChat)
    assert loaded.dump_component() == dumped
    default = MagenticOneGroupChat(agents, replay("y")).dump_component().config
    assert (default["max_turns"], default["max_stalls"]) == (20, 3)


# Stopping and going on


def plain(models: Models) -> MagenticOneGroupChat:
    models.of["lead"] = model = Orchestrator(
        ledger(speaker="left"), ledger(speaker="right", tell="You, too."), ledger(done=True)
    )
    return MagenticOneGroupChat(
        [
            models.agent("left", "one two", model_client_stream=True),
            models.agent("right", calls(("add", {"a": 1, "b": 2})), tools=[add]),
        ],
        model,
        emit_team_events=True,
    )


def stalling(models: Models) -> MagenticOneGroupChat:
    models.of["lead"] = model = Orchestrator(
        ledger(speaker="left"),
        ["no ledger", ledger(progress=False, speaker="right")],
        after=[ledger(speaker="right"), ledger(done=True)],
    )
    return MagenticOneGroupChat(
        [models.agent("left", "one", "two"), models.agent("right", "uno", "due")],
        model,
        max_stalls=1,
        termination_condition=MaxMessageTermination(30),
    )


def last_round(models: Models) -> MagenticOneGroupChat:
    models.of["lead"] = model = Orchestrator(ledger(speaker="left"), ledger(speaker="left"))
    return MagenticOneGroupChat([models.agent("left", "one", "two")], model, max_turns=2)


def inside(models: Models) -> RoundRobinGroupChat:
    models.of["lead"] = model = Orchestrator(ledger(speaker="left"), ledger(done=True))
    team = MagenticOneGroupChat(
        [models.agent("left", "one", "two")], model, name="inner", description="Works."
    )
    return RoundRobinGroupChat([team, models.agent("judge", "good", "better")], max_turns=2)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize("build", [plain, stalling, last_round, inside], ids=lambda b: b.__name__)
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_stopped_at_any_item_goes_on_as_if_it_had_not_stopped(build: Any, way: Way):
    whole = await uninterrupted(build)
    for count in range(1, len(whole.items) + 1):
        part = Interrupted(build)
        await part.take(count, way)
        await part.take(10_000, way)
        assert_same(part.run, whole)


async def test_a_human_among_the_agents_is_waited_for():
    answers: list[str] = []

    async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
        if not answers:
            raise InputRequired("What now?")
        return answers.pop()

    def build() -> tuple[MagenticOneGroupChat, Orchestrator]:
        model = Orchestrator(ledger(speaker="boss", tell="Which colour?"), ledger(done=True))
        return MagenticOneGroupChat([UserProxyAgent("boss", input_func=ask)], model), model

    team, _ = build()
    result = await team.run(task="go")
    [pending] = result.pending
    assert (pending.agent, pending.prompt) == (("boss",), "What now?")
    state = json.loads(json.dumps(await team.save_state()))
    answers.append("blue")
    again, model = build()
    await again.load_state(state)
    result = await again.run()
    assert said(result.messages) == [("boss", "blue"), (ORCHESTRATOR, "the answer")]
    assert model.asked_for() == ["progress", "answer"]


@pytest.mark.parametrize("phase", ["facts", "plan", "progress", "helper", "new facts", "answer"])
async def test_cancelling_ends_any_phase_and_the_team_can_go_on(phase: str):
    never = asyncio.Event()
    first = never if phase == "progress" else ledger(progress=phase != "new facts")
    model = Orchestrator(first, ledger(done=True), after=[ledger(done=True)])
    agent = helper(never if phase == "helper" else "one", "two")
    team = MagenticOneGroupChat([agent], model, max_stalls=1)
    if phase in ("facts", "plan", "new facts", "answer"):
        model.others[phase] = never
    token = CancellationToken()
    running = asyncio.ensure_future(team.run(task="go", cancellation_token=token))
    if phase == "helper":
        await model_of(agent).asked()
    else:
        await model.asked(
            {"facts": 1, "plan": 2, "progress": 3, "new facts": 4, "answer": 5}[phase]
        )
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    model.others = {"answer": "the answer"}
    model.ledgers["the plan"] = [ledger(done=True)] * 3
    model.requests.clear()
    assert (await team.run()).messages[-1].to_text() == "the answer"
    planned = {"facts": ["facts", "plan"], "plan": ["plan"], "new facts": ["new facts", "new plan"]}
    wanted = planned.get(phase, []) + (["progress"] if phase != "answer" else []) + ["answer"]
    assert model.asked_for() == wanted


async def test_an_instruction_that_was_cancelled_before_the_turn_is_not_given_again():
    model = Orchestrator(ledger(), ledger(done=True))
    team, token = MagenticOneGroupChat([helper("one")], model), CancellationToken()
    stream = team.run_stream(task="go", cancellation_token=token)
    async with aclosing(stream):
        while (await anext(stream)).to_text() != "Find it.":  # type: ignore
            pass
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await anext(stream)
    result = await team.run()
    assert said(result.messages) == [(ORCHESTRATOR, "the answer")]


async def test_a_state_that_names_a_stranger_is_refused():
    model = Orchestrator(ledger(), ledger(done=True))
    team = MagenticOneGroupChat([helper("one")], model)
    async with aclosing(team.run_stream(task="go")) as stream:
        for _ in range(3):
            await anext(stream)
        state = json.loads(json.dumps(await team.save_state()))
    state["agent_states"][ORCHESTRATOR]["speaker"] = "stranger"
    with pytest.raises(ValueError, match="'stranger' on turn"):
        await MagenticOneGroupChat([helper()], replay()).load_state(state)


class Count(BaseModel):
    n: int


async def test_custom_message_types_are_known_to_the_team():
    model = replay("F", "P", ledger(done=True), "A")
    message = HandoffMessage(content="go", source="user", target="helper")
    assert isinstance((await MagenticOneGroupChat([helper()], model).run(task=message)), TaskResult)
    team = MagenticOneGroupChat(
        [helper()],
        replay("F", "P", ledger(done=True), "A"),
        custom_message_types=[StructuredMessage[Count]],
    )
    result = await team.run(task=StructuredMessage[Count](content=Count(n=1), source="user"))
    assert result.stop_reason == "because True"
