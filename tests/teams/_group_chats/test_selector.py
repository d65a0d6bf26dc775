"""SelectorGroupChat: who speaks next, and what the choosing model is told."""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat, SelectorGroupChat
from teams.base import TaskResult, TeamError
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken, ComponentModel, FunctionCall, Image
from teams.messages import (
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    SelectorEvent,
    SelectSpeakerEvent,
    TextMessage,
)
from teams.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, texts

PROMPT = "{roles}|{participants}|{history}"


def three() -> list[Any]:
    return [Talker(name, f"{name} speaks", description=f"is {name}") for name in ("a", "b", "c_d")]


def speakers(result: TaskResult) -> list[str]:
    return [message.source for message in result.messages if message.source != "user"]


def prompt(model: ScriptedModel, request: int = -1) -> str:
    return model.requests[request]["messages"][0]["content"]


# The model's choice


async def test_the_model_is_told_of_the_candidates_and_the_conversation():
    model = ScriptedModel("b")
    team = SelectorGroupChat(three(), model, selector_prompt=PROMPT, max_turns=1)
    assert speakers(await team.run(task="hi")) == ["b"]
    assert prompt(model) == 'a: is a\nb: is b\nc_d: is c_d|["a", "b", "c_d"]|user: hi'


async def test_who_spoke_last_is_no_candidate():
    model = ScriptedModel("b", "a")
    team = SelectorGroupChat(three(), model, selector_prompt=PROMPT, max_turns=2)
    assert speakers(await team.run(task="hi")) == ["b", "a"]
    assert prompt(model) == 'a: is a\nc_d: is c_d|["a", "c_d"]|user: hi\n\nb: b speaks'


async def test_who_spoke_last_may_speak_again_where_that_is_allowed():
    model = ScriptedModel("b", "b")
    team = SelectorGroupChat(
        three(), model, selector_prompt=PROMPT, allow_repeated_speaker=True, max_turns=2
    )
    assert speakers(await team.run(task="hi")) == ["b", "b"]
    assert '["a", "b", "c_d"]' in prompt(model)


async def test_a_single_candidate_is_taken_without_asking_the_model():
    model = ScriptedModel("a")
    team = SelectorGroupChat(three()[:2], model, max_turns=4)
    assert speakers(await team.run(task="hi")) == ["a", "b", "a", "b"]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "answer", ["c_d", "c d", r"c\_d", "**c_d**", "c_d!", "I choose c_d.", "c_d, c d"]
)
async def test_a_name_is_found_in_what_the_model_says(answer: str):
    team = SelectorGroupChat(three(), ScriptedModel(answer), max_turns=1)
    assert speakers(await team.run(task="hi")) == ["c_d"]


async def test_a_name_within_a_longer_one_is_not_meant():
    agents = [Talker(name) for name in ("web", "web_search", "web_search_2")]
    team = SelectorGroupChat([*agents], ScriptedModel("web_search", "web search 2"), max_turns=2)
    assert speakers(await team.run(task="hi")) == ["web_search", "web_search_2"]


@pytest.mark.parametrize(
    ("wrong", "objection"),
    [
        ("nobody", "There is no participant's name in that."),
        ("axb", "There is no participant's name in that."),
        ("a and b", "That names 2 participants, but only one can speak."),
    ],
)
async def test_an_answer_that_names_nobody_or_several_is_objected_to(wrong: str, objection: str):
    model = ScriptedModel(wrong, "b")
    team = SelectorGroupChat(three(), model, max_turns=1)
    assert speakers(await team.run(task="hi")) == ["b"]
    first, *exchange = model.requests[1]["messages"]
    assert first == model.requests[0]["messages"][0]
    assert [(m["type"], m["content"]) for m in exchange] == [
        ("AssistantMessage", wrong),
        ("UserMessage", f"{objection} Answer with one of these names: a, b, c_d."),
    ]


async def test_naming_the_last_speaker_is_objected_to():
    model = ScriptedModel("a", "a", "b")
    team = SelectorGroupChat(three(), model, max_turns=2)
    assert speakers(await team.run(task="hi")) == ["a", "b"]
    assert model.texts()[-1] == "a can't speak now. Answer with one of these names: b, c_d."


async def test_without_a_valid_answer_the_first_participant_and_then_the_last_speaker_is_taken(
    caplog: pytest.LogCaptureFixture,
):
    model = ScriptedModel("?", "?", "c_d", "?", "?")
    team = SelectorGroupChat(three(), model, max_selector_attempts=2, max_turns=3)
    with caplog.at_level(logging.WARNING, "teams"):
        assert speakers(await team.run(task="hi")) == ["a", "c_d", "c_d"]
    assert [record.getMessage() for record in caplog.records] == [
        "The model chose no candidate of team SelectorGroupChat in 2 attempts; a speaks first.",
        "The model chose no candidate of team SelectorGroupChat in 2 attempts; c_d speaks again.",
    ]


@pytest.mark.parametrize(
    ("family", "role"), [("gpt-4o", "SystemMessage"), ("unknown", "UserMessage")]
)
async def test_openai_models_are_asked_as_system_and_others_as_user(family: str, role: str):
    model = ReplayChatCompletionClient(
        ["b"],
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": family,
            "structured_output": True,
        },
    )
    await SelectorGroupChat(three(), model, max_turns=1).run(task="hi")
    (message,) = model.create_calls[0]["messages"]
    assert message.type == role


async def test_descriptions_of_several_lines_and_images_are_one_line():
    model = ScriptedModel("b")
    team = SelectorGroupChat(
        [Talker("a", description="is\n  long"), Talker("b")],
        model,
        selector_prompt=PROMPT,
        allow_repeated_speaker=True,
        max_turns=1,
    )
    pixel = Image.from_base64(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    await team.run(task=MultiModalMessage(content=["see", pixel], source="user"))
    assert prompt(model) == 'a: is long\nb: talks|["a", "b"]|user: see [image]'


async def test_braces_in_what_was_said_are_no_fields():
    model = ScriptedModel("b")
    team = SelectorGroupChat(three(), model, selector_prompt="{history} {{x}}", max_turns=1)
    await team.run(task="{roles}")
    assert prompt(model) == "user: {roles} {x}"


async def test_a_model_that_calls_tools_ends_the_run():
    team = SelectorGroupChat(three(), ScriptedModel(calls(("a", {}))))
    with pytest.raises(TeamError, match="called tools, but it was given none"):
        await team.run(task="hi")


async def test_after_an_error_of_the_model_the_run_goes_on_with_the_same_attempt():
    model = ScriptedModel("?", OSError("gone"), "b")
    team = SelectorGroupChat(three(), model, max_turns=1)
    with pytest.raises(TeamError, match="gone"):
        await team.run(task="hi")
    assert speakers(await team.run()) == ["b"]
    assert model.requests[2]["messages"] == model.requests[1]["messages"]


async def test_a_stream_without_a_final_result_ends_the_run():
    team = SelectorGroupChat(three(), ScriptedModel([None]), model_client_streaming=True)
    with pytest.raises(TeamError, match="ended without a final result"):
        await team.run(task="hi")


# Functions


def first_is_a(thread: Sequence[Any]) -> str | None:
    return "a" if len(thread) == 1 else None


async def async_first_is_a(thread: Sequence[Any]) -> str | None:
    await asyncio.sleep(0)
    return first_is_a(thread)


@pytest.mark.parametrize("function", [first_is_a, async_first_is_a])
async def test_a_function_chooses_by_the_thread_or_leaves_it_to_the_model(function: Any):
    model = ScriptedModel("b")
    team = SelectorGroupChat(three(), model, selector_func=function, max_turns=2)
    assert speakers(await team.run(task="hi")) == ["a", "b"]
    assert len(model.requests) == 1


async def test_a_function_may_name_the_last_speaker_again():
    team = SelectorGroupChat(
        three(), ScriptedModel(), selector_func=lambda thread: "a", max_turns=2
    )
    assert speakers(await team.run(task="hi")) == ["a", "a"]


async def test_a_function_that_names_a_stranger_ends_the_run():
    team = SelectorGroupChat(three(), ScriptedModel(), selector_func=lambda thread: "x")
    with pytest.raises(TeamError, match="selector_func named 'x'; the participants are a, b, c_d"):
        await team.run(task="hi")


def not_c(thread: Sequence[Any]) -> list[str]:
    return ["b", "a", "b"]


async def async_not_c(thread: Sequence[Any]) -> list[str]:
    await asyncio.sleep(0)
    return not_c(thread)


@pytest.mark.parametrize("function", [not_c, async_not_c])
async def test_a_function_names_the_candidates(function: Any):
    model = ScriptedModel("a", "a")
    team = SelectorGroupChat(
        three(), model, candidate_func=function, selector_prompt=PROMPT, max_turns=2
    )
    assert speakers(await team.run(task="hi")) == ["a", "a"]
    assert '|["b", "a"]|' in prompt(model)


async def test_a_single_candidate_of_a_function_is_taken():
    model = ScriptedModel()
    team = SelectorGroupChat(
        three(),
        model,
        candidate_func=lambda thread: ["c_d"],
        selector_func=lambda thread: None,
        max_turns=2,
    )
    assert speakers(await team.run(task="hi")) == ["c_d", "c_d"]
    assert model.requests == []


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ([], "candidate_func must name at least one participant"),
        (None, "candidate_func must name at least one participant"),
        (["a", "x"], "candidate_func named 'x'; the participants are a, b, c_d"),
    ],
)
async def test_a_function_must_name_candidates_that_are_participants(named: Any, error: str):
    team = SelectorGroupChat(three(), ScriptedModel(), candidate_func=lambda thread: named)
    with pytest.raises(TeamError, match=error) as raised:
        await team.run(task="hi")
    assert isinstance(raised.value.__cause__, ValueError)


async def test_cancelling_a_function_that_hangs_ends_the_run():
    called = asyncio.Event()

    async def hang(thread: Sequence[Any]) -> str | None:
        called.set()
        await asyncio.Event().wait()

    team = SelectorGroupChat(three(), ScriptedModel(), selector_func=hang)
    token = CancellationToken()
    run = asyncio.ensure_future(team.run(task="hi", cancellation_token=token))
    await called.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


# The model's own context


async def test_the_model_is_shown_what_its_context_shows():
    model = ScriptedModel("b", "a", "b")
    team = SelectorGroupChat(
        three(),
        model,
        selector_prompt="{history}",
        model_context=BufferedChatCompletionContext(2),
        max_turns=3,
    )
    await team.run(task="hi")
    assert prompt(model) == "b: b speaks\n\na: a speaks"


async def test_a_context_that_comes_with_messages_is_shown_from_them_on_until_the_reset():
    model = ScriptedModel("b", "a", "b")
    context = UnboundedChatCompletionContext(
        [
            SystemMessage(content="Be fair."),
            UserMessage(content="earlier", source="user"),
            AssistantMessage(content="indeed", source="old"),
            AssistantMessage(
                content=[FunctionCall(id="1", name="add", arguments="{}")], source="old"
            ),
            FunctionExecutionResultMessage(
                content=[FunctionExecutionResult(call_id="1", name="add", content="3")]
            ),
        ]
    )
    team = SelectorGroupChat(
        three(), model, selector_prompt="{history}", model_context=context, max_turns=1
    )
    await team.run(task="hi")
    before = "Be fair.\n\nuser: earlier\n\nold: indeed\n\n"
    assert prompt(model) == before + "user: hi"
    fresh = SelectorGroupChat(
        three(),
        model,
        selector_prompt="{history}",
        model_context=UnboundedChatCompletionContext(context.history[:5]),
        max_turns=1,
    )
    await fresh.load_state(await team.save_state())
    await fresh.run(task="more")
    assert prompt(model) == before + "user: hi\n\nb: b speaks\n\nuser: more"
    await team.reset()
    await team.run(task="new")
    assert prompt(model) == "user: new"


async def test_a_team_loaded_after_a_reset_does_not_show_what_its_context_came_with():
    def team() -> SelectorGroupChat:
        context = UnboundedChatCompletionContext([UserMessage(content="earlier", source="user")])
        return SelectorGroupChat(
            three(), model, selector_prompt="{history}", model_context=context, max_turns=1
        )

    model = ScriptedModel("a", "b")
    old, fresh = team(), team()
    await old.run(task="hi")
    await old.reset()
    await fresh.load_state(json.loads(json.dumps(await old.save_state())))
    await fresh.run(task="new")
    assert prompt(model) == "user: new"


# Events


async def test_what_the_model_says_is_streamed_with_the_team_events():
    model = ScriptedModel("well now", "c_d")
    team = SelectorGroupChat(
        three(), model, emit_team_events=True, model_client_streaming=True, max_turns=1
    )
    *items, result = await everything(team.run_stream(task="hi"))
    assert [(type(item), item.content) for item in items] == [
        (TextMessage, "hi"),
        (ModelClientStreamingChunkEvent, "well "),
        (ModelClientStreamingChunkEvent, "now"),
        (SelectorEvent, "well now"),
        (ModelClientStreamingChunkEvent, "c_d"),
        (SelectorEvent, "c_d"),
        (SelectSpeakerEvent, ["c_d"]),
        (TextMessage, "c_d speaks"),
    ]
    assert {item.source for item in items[1:7]} == {"SelectorGroupChatManager"}
    assert items[1].full_message_id == items[2].full_message_id == items[3].id != items[5].id
    assert items[3].models_usage.completion_tokens == 5
    assert [type(item) for item in result.messages] == [
        TextMessage,
        SelectorEvent,
        SelectorEvent,
        SelectSpeakerEvent,
        TextMessage,
    ]


@pytest.mark.parametrize(("events", "streaming"), [(True, False), (False, True), (False, False)])
async def test_otherwise_what_the_model_says_is_not_told(events: bool, streaming: bool):
    team = SelectorGroupChat(
        three(),
        ScriptedModel("c_d"),
        emit_team_events=events,
        model_client_streaming=streaming,
        max_turns=1,
    )
    *items, _ = await everything(team.run_stream(task="hi"))
    assert [type(item) for item in items] == [
        TextMessage,
        *([SelectSpeakerEvent] if events else []),
        TextMessage,
    ]


async def test_the_first_chunk_is_there_before_the_second_exists():
    second = asyncio.Event()
    team = SelectorGroupChat(
        three(),
        ScriptedModel(["a ", second, "it is"]),
        emit_team_events=True,
        model_client_streaming=True,
        max_turns=1,
    )
    stream = team.run_stream(task="hi")
    assert [item.content for item in await take(stream, 2)] == ["hi", "a "]
    second.set()
    assert isinstance((await everything(stream))[-1], TaskResult)


async def test_events_of_the_selection_are_no_part_of_the_conversation():
    model = ScriptedModel("?", "b", "a")
    team = SelectorGroupChat(
        three(),
        model,
        termination_condition=MaxMessageTermination(3, include_agent_event=True),
        emit_team_events=True,
        model_client_streaming=True,
        selector_prompt="{history}",
    )
    await team.run(task="hi")
    assert prompt(model) == "user: hi\n\nb: b speaks"


async def test_a_selector_within_a_selector_passes_its_events_on():
    inner = SelectorGroupChat(
        three(),
        ScriptedModel("b"),
        name="inner",
        description="the inner team",
        emit_team_events=True,
        model_client_streaming=True,
        max_turns=1,
    )
    model = ScriptedModel("inner")
    team = SelectorGroupChat([Talker("x"), inner], model, selector_prompt=PROMPT, max_turns=1)
    result = await team.run(task="hi")
    assert texts(result) == ["hi", "b", "['b']", "b speaks"]
    assert prompt(model).startswith("x: talks\ninner: the inner team|")


# Breaks


async def test_a_speaker_who_is_cancelled_has_not_spoken():
    hanging = asyncio.Event()

    agents = [Talker("a", "one", hanging.wait()), Talker("b", "two"), Talker("c")]
    model = ScriptedModel("a", "b", "a", "c", "b", "c")
    team = SelectorGroupChat([*agents], model, selector_prompt=PROMPT, max_turns=3)
    token = CancellationToken()
    stream = team.run_stream(task="hi", cancellation_token=token)
    await take(stream, 3)
    pull = asyncio.ensure_future(anext(stream))
    await model.asked(3)
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    await team.run(task="go on")
    assert '|["a", "c"]|' in prompt(model, 3)  # b was the last to speak


async def test_answers_of_a_cancelled_selection_do_not_count_for_the_next_one():
    asked = asyncio.Event()
    model = ScriptedModel("?", asked, "b")
    team = SelectorGroupChat(three(), model, max_turns=1)
    token = CancellationToken()
    run = asyncio.ensure_future(team.run(task="hi", cancellation_token=token))
    await model.asked(2)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert speakers(await team.run(task="again")) == ["b"]
    assert len(model.requests[2]["messages"]) == 1


async def test_the_documented_state_names_the_previous_speaker():
    team = SelectorGroupChat(three(), ScriptedModel("b"), max_turns=1)
    await team.run(task="hi")
    manager = (await team.save_state())["agent_states"]["SelectorGroupChatManager"]
    assert manager["type"] == "SelectorManagerState"
    assert manager["previous_speaker"] == "b"
    assert [message["content"] for message in manager["message_thread"]] == ["hi", "b speaks"]


async def test_a_state_with_a_stranger_as_previous_speaker_is_refused():
    team = SelectorGroupChat(three(), ScriptedModel("b"), max_turns=1)
    await team.run(task="hi")
    state = json.loads(json.dumps(await team.save_state()))
    state["agent_states"]["SelectorGroupChatManager"]["previous_speaker"] = "x"
    with pytest.raises(ValueError, match="saved state named 'x'"):
        await SelectorGroupChat(three(), ScriptedModel()).load_state(state)


# Making one


def test_fewer_than_two_participants_are_refused():
    for count in (0, 1):
        with pytest.raises(ValueError, match="participant"):
            SelectorGroupChat(three()[:count], ScriptedModel())


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{role}", "unknown fields: 'role'"),
        ("{}", "unknown fields: ''"),
        ("{roles.x} {history}", "no attribute: 'roles.x'"),
        ("{roles:{history.__class__}}", "no attribute: 'history.__class__'"),
        ("a { b", "no valid template"),
    ],
)
def test_a_prompt_with_other_fields_is_refused(template: str, error: str):
    with pytest.raises(ValueError, match=error):
        SelectorGroupChat(three(), ScriptedModel(), selector_prompt=template)


def test_no_attempt_at_all_is_refused():
    with pytest.raises(ValueError, match="max_selector_attempts must be at least 1, found 0"):
        SelectorGroupChat(three(), ScriptedModel(), max_selector_attempts=0)


def component() -> dict[str, Any]:
    from teams.agents import UserProxyAgent

    inner = RoundRobinGroupChat([UserProxyAgent("me")], name="inner", max_turns=1)
    team = SelectorGroupChat(
        [UserProxyAgent("you"), inner],
        ReplayChatCompletionClient(["you"]),
        termination_condition=MaxMessageTermination(5),
        selector_prompt=PROMPT,
        allow_repeated_speaker=True,
        max_selector_attempts=7,
        emit_team_events=True,
        model_client_streaming=True,
        model_context=BufferedChatCompletionContext(4),
        selector_func=lambda thread: "you",
        candidate_func=lambda thread: ["you"],
    )
    return team.dump_component().model_dump()


def test_a_team_dumps_and_loads_without_its_functions():
    dumped = component()
    assert dumped["provider"] == "teams.SelectorGroupChat"
    assert dumped["config"]["selector_prompt"] == PROMPT
    assert dumped["config"]["max_selector_attempts"] == 7
    assert dumped["config"]["model_context"]["config"] == {"buffer_size": 4}
    assert "selector_func" not in dumped["config"]
    loaded = SelectorGroupChat.load_component(ComponentModel.model_validate(dumped))
    assert loaded.dump_component().model_dump() == dumped


def test_autogens_name_for_it_loads_and_what_a_config_leaves_out_is_the_default():
    dumped = component()
    dumped["provider"] = "autogen_agentchat.teams.SelectorGroupChat"
    keep = ("participants", "model_client", "selector_prompt", "allow_repeated_speaker")
    dumped["config"] = {name: dumped["config"][name] for name in keep}
    loaded = SelectorGroupChat.load_component(dumped)
    config = loaded.dump_component().config
    assert config["max_selector_attempts"] == 3
    assert config["name"] == "SelectorGroupChat"
    assert config["allow_repeated_speaker"] is True


async def test_whom_autogen_chose_and_did_not_let_speak_can_be_chosen():
    """Its state names the last speaker of the run as previous speaker."""
    old = SelectorGroupChat(three(), ScriptedModel("b"), max_turns=1)
    await old.run(task="hi")
    state = json.loads(json.dumps(await old.save_state()))
    manager = state["agent_states"]["SelectorGroupChatManager"]
    for ours in ("run", "earlier_speaker", "silent", "answers", "preloaded"):
        del manager[ours]
    manager["previous_speaker"] = "a"
    model = ScriptedModel("a")
    team = SelectorGroupChat(three(), model, selector_prompt=PROMPT, max_turns=1)
    await team.load_state(state)
    assert speakers(await team.run()) == ["a"]
    assert '["a", "c_d"]' in prompt(model)


@pytest.mark.parametrize("form", ["documented", "compact"])
async def test_whoever_is_called_on_speaks_first_without_a_choice_of_the_model(form):
    def make(*answers: str) -> SelectorGroupChat:
        return SelectorGroupChat(three(), ScriptedModel(*answers), max_turns=2)

    team, fresh = make(), make("a", "b")
    assert "next_speaker" not in team.manager_state()
    await team.call_on("c_d")
    stream = team.run_stream(task="hi")
    await anext(stream)  # the task: nobody is chosen yet
    if form == "compact":
        await fresh.load_snapshot([await team.save_snapshot()])
    else:
        await fresh.load_state(await team.save_state())
    await stream.aclose()
    assert speakers(await fresh.run()) == ["c_d", "a"]
    assert "next_speaker" not in fresh.manager_state()


async def test_who_was_called_on_for_a_run_that_ended_before_is_not_called_for_the_next():
    model = ScriptedModel("b")
    team = SelectorGroupChat(
        three(), model, termination_condition=TextMentionTermination("STOP"), max_turns=1
    )
    await team.call_on("c_d")
    await team.run(task="STOP")
    assert speakers(await team.run(task="hi")) == ["b"]
