from typing import Any

import pytest

from gateway.events import (
    MessageFinished,
    SpeakerStarted,
    TextDelta,
    Thought,
    Usage,
    WorkHandedOff,
)
from gateway.sessions.event_mapper import LONGEST, THINKING, EventMapper
from gateway.store.records import OpenMessage
from teams.base import Handoff
from teams.core import FunctionCall
from teams.messages import (
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    SelectSpeakerEvent,
    StopMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from teams.models import AssistantMessage, RequestUsage

USUAL = Handoff(target="user").message


def transcript(**more) -> EventMapper:
    return EventMapper("t", "u", {"ann": "gpt"}, **more)


def chunk(text, source="ann", message="m1"):
    return ModelClientStreamingChunkEvent(content=text, source=source, full_message_id=message)


def text(content, source="ann", message="m1"):
    return TextMessage(id=message, content=content, source=source)


def thought(content, message="m1"):
    return ThoughtEvent(id=message, content=content, source="ann")


REQUEST = ToolCallRequestEvent(
    content=[FunctionCall(id="1", name="add", arguments="{}")], source="ann"
)


def play(script: EventMapper, *items):
    """The shown events: deltas and messages in short, names of the rest."""
    shown = []
    events: list[Any] = [event for item in items for event in script.map_item(item)]
    for event in events:
        match event:
            case TextDelta():
                shown.append(("=" if event.replace else "+", event.message, event.text))
            case MessageFinished():
                shown.append(("!", event.message, event.text))
            case Thought():
                shown.append(("thought", event.text))
            case SpeakerStarted():
                shown.append(("speaker", event.agent, event.model))
            case _:
                shown.append(event.kind)
    return shown


def test_chunks_grow_the_message_that_the_final_text_finishes():
    shown = play(transcript(), chunk("Hel"), chunk("lo"), text("Hello"))
    speaker = ("speaker", "ann", "gpt")
    assert shown == [speaker, ("+", "m1", "Hel"), ("+", "m1", "lo"), ("!", "m1", "Hello")]


def test_agents_that_speak_side_by_side_keep_to_their_own_messages():
    script = transcript()
    shown = play(
        script, chunk("A"), chunk("B", "bob", "m2"), chunk("a"), text("Bb", "bob", "m2"), text("Aa")
    )
    assert [line for line in shown if line[0] != "speaker"] == [
        ("+", "m1", "A"),
        ("+", "m2", "B"),
        ("+", "m1", "a"),
        ("!", "m2", "Bb"),
        ("!", "m1", "Aa"),
    ]
    assert shown.count(("speaker", "bob", "")) == 1
    assert script.open_messages() == ()


def test_text_said_before_a_tool_is_called_becomes_a_message_of_its_own():
    script = transcript()
    shown = play(script, chunk("Let me see."), thought("Let me see."), REQUEST)
    assert shown[1:] == [("+", "m1", "Let me see."), ("!", "m1", "Let me see.")]
    assert play(script, chunk("Three.", message="m2"))[-1] == ("+", "m2", "Three.")


def test_reasoning_that_was_streamed_is_taken_out_of_the_message():
    shown = play(
        transcript(), chunk("<think>hm</think>Yes"), thought("hm"), text("Yes", message="m2")
    )
    assert shown[2:] == [("thought", "hm"), ("!", "m1", "Yes")]


def test_reasoning_that_was_not_streamed_is_shown_before_the_message():
    assert play(transcript(), thought("hm"), text("Yes", message="m2"))[1:] == [
        ("thought", "hm"),
        ("!", "m2", "Yes"),
    ]


OLD = OpenMessage(message="old", turn="u", agent="ann", text="Half an")


def test_what_an_interrupted_attempt_had_begun_is_replaced_in_place():
    script = transcript(resumed=[OLD])
    assert script.open_messages() == (OLD,)
    shown = play(script, chunk("A new "), chunk("one"), text("A new one"))
    assert shown[1:] == [("=", "old", "A new "), ("+", "old", "one"), ("!", "old", "A new one")]


def test_what_an_interrupted_attempt_had_begun_waits_for_what_the_agent_says_after_its_tools():
    script = transcript(resumed=[OLD])
    assert play(script, REQUEST) == [("speaker", "ann", "gpt")]
    assert script.open_messages() == (OLD,)
    assert play(script, chunk("Five"), text("Five")) == [("=", "old", "Five"), ("!", "old", "Five")]


@pytest.mark.parametrize("done", [True, False])
def test_what_was_not_said_again_stays_as_broken_off_if_nothing_else_was_said(done):
    script = transcript(resumed=[OLD])
    play(script, REQUEST)
    closed: list[Any] = script.close(done=done, broken=not done)
    assert [(event.message, event.text, event.broken) for event in closed] == [
        ("old", "Half an", True)
    ]


def test_a_person_who_stops_a_turn_knows_that_its_text_is_not_whole():
    closed: list[Any] = transcript(resumed=[OLD]).close(done=False)
    assert [(event.text, event.broken) for event in closed] == [("Half an", False)]


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize(
    "said",
    [text("Five", source="bob"), HandoffMessage(content="Yours.", source="bob", target="user")],
    ids=["message", "hand-off"],
)
def test_what_was_not_said_again_is_void_if_somebody_said_something_else(done, said):
    script = transcript(resumed=[OLD])
    script.map_item(REQUEST)
    script.map_item(said, to_people=True)
    closed: list[Any] = script.close(done=done, broken=not done)
    assert [(event.message, event.text, event.broken) for event in closed] == [("old", "", False)]


def test_what_was_not_said_again_is_void_before_people_are_asked():
    script = transcript(resumed=[OLD])
    play(script, REQUEST)
    taken: list[Any] = script.take_back()
    assert [(event.message, event.text) for event in taken] == [("old", "")]
    assert script.open_messages() == ()


def test_a_message_that_was_cut_off_ends_as_it_stands():
    script = transcript()
    play(script, chunk("Hel"))
    closed: list[Any] = list(script.close(done=False))
    assert [(event.message, event.text) for event in closed] == [("m1", "Hel")]
    assert script.open_messages() == ()


def test_a_handoff_is_told_and_ends_the_speakers_turn():
    script = transcript()
    handoff = HandoffMessage(source="ann", target="bob", content="Take it.")
    [_, handed] = script.map_item(handoff)
    assert isinstance(handed, WorkHandedOff)
    assert (handed.agent, handed.target, handed.text) == ("ann", "bob", "Take it.")
    assert play(script, text("I have it.", "bob", "m2"), text("Me again."))[0::2] == [
        ("speaker", "bob", ""),
        ("speaker", "ann", "gpt"),
    ]


@pytest.mark.parametrize(
    ("context", "content", "shown"),
    [
        ([AssistantMessage(content="Which order?", source="ann")], USUAL, "Which order?"),
        ([AssistantMessage(content=[], thought="Which?", source="ann")], USUAL, "Which?"),
        ([], "Over to you.", "Over to you."),
    ],
    ids=["said-with-it", "said-with-other-calls", "own-words"],
)
def test_what_is_said_when_people_get_the_work_is_a_message_to_them(context, content, shown):
    script = transcript()
    handoff = HandoffMessage(source="ann", target="user", content=content, context=context)
    [_, told, handed] = script.map_item(handoff, to_people=True)
    assert isinstance(told, MessageFinished)
    assert (told.agent, told.text) == ("ann", shown)
    assert isinstance(handed, WorkHandedOff)
    assert handed.to_people
    assert handed.text == ""


def test_what_was_streamed_before_a_hand_off_to_people_stands_once():
    script = transcript()
    play(script, chunk("Which "), chunk("order?"), thought("Which order?"))
    context = [AssistantMessage(content="Which order?", source="ann")]
    handoff = HandoffMessage(source="ann", target="user", content=USUAL, context=[*context])
    assert [event.kind for event in script.map_item(handoff, to_people=True)] == ["handed_off"]


def test_words_of_people_are_not_shown_as_an_agents():
    script = transcript(people=["person"])
    asked = UserInputRequestedEvent(request_id="1", source="other")
    shown = play(
        script, text("one", "person"), text("task", "user"), asked, text("two", "other"), chunk("x")
    )
    assert shown == [("speaker", "ann", "gpt"), ("+", "m1", "x")]


def test_chosen_speakers_are_named_before_they_speak():
    script = transcript()
    chosen = SelectSpeakerEvent(content=["ann", "bob"], source="manager")
    assert play(script, chosen, chunk("x")) == [
        ("speaker", "ann", "gpt"),
        ("speaker", "bob", ""),
        ("+", "m1", "x"),
    ]


def test_the_models_usage_is_told():
    usage = RequestUsage(prompt_tokens=7, completion_tokens=3)
    message = StopMessage(source="ann", content="Enough.", models_usage=usage)
    *_, last = transcript().map_item(message)
    assert isinstance(last, Usage)
    assert (last.agent, last.prompt_tokens, last.completion_tokens) == ("ann", 7, 3)
    assert last.cost is None


def test_an_answer_costs_what_its_agents_model_costs():
    prices = {"gpt": 2.0}
    script = EventMapper(
        "t", "u", {"ann": "gpt", "bob": "own"}, cost=lambda model, *_: prices.get(model)
    )
    used = RequestUsage(prompt_tokens=7, completion_tokens=3)
    said = [StopMessage(source=who, content="x", models_usage=used) for who in ("ann", "bob", "c")]
    events = [event for message in said for event in script.map_item(message)]
    costs = {event.agent: event.cost for event in events if isinstance(event, Usage)}
    assert costs == {"ann": 2.0, "bob": None, "c": None}


def shown_text(events) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("size", [1, 7_000, 300_000])
def test_people_are_shown_a_bounded_text_however_it_comes(size):
    answer = "x" * 300_000
    script = transcript()
    pieces = [answer[start : start + size] for start in range(0, len(answer), size)][:60_000]
    events = [event for piece in pieces for event in script.map_item(chunk(piece))]
    assert len(shown_text(events)) == min(200_000, size * len(pieces))
    [finished] = [
        event for event in script.map_item(text(answer)) if isinstance(event, MessageFinished)
    ]
    assert finished.text == f"{'x' * 200_000}\n\n(The rest is not shown: 100,000 characters.)"


def test_long_reasoning_is_bounded_and_still_taken_out_of_the_message():
    answer = "x" * 300_000
    script = transcript()
    script.map_item(chunk(answer))
    [finished] = script.map_item(thought(answer))
    assert isinstance(finished, MessageFinished)
    assert finished.text == "x" * 200_000
    [_, said] = transcript().map_item(thought(answer))
    assert isinstance(said, Thought)
    assert len(said.text) < 200_100


def thinks(text, source="ann", message="m1"):
    return ModelClientStreamingChunkEvent(
        content="", source=source, full_message_id=message, metadata={"thought": text}
    )


def test_a_thought_that_grows_is_a_quotation_that_gives_way_to_the_text():
    shown = play(
        transcript(),
        thinks("Hm.\n"),
        thinks("So."),
        chunk("Y"),
        chunk("es"),
        thought("Hm.\nSo."),
        text("Yes", message="m2"),
    )
    assert shown[1:] == [
        ("+", "m1", f"{THINKING}Hm.\n> "),
        ("+", "m1", "So."),
        ("=", "m1", "Y"),
        ("+", "m1", "es"),
        ("thought", "Hm.\nSo."),
        ("!", "m1", "Yes"),
    ]


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_no_end_of_a_line_ends_the_quotation(end):
    shown = play(transcript(), thinks(f"a{end}# b"), thinks(f"{end}{end}```"))
    lines = "".join(line[2] for line in shown[1:]).splitlines()
    assert len(lines) == 5
    assert all(line.startswith("> ") for line in lines)


def test_a_thought_before_a_tool_is_taken_back_and_its_message_goes_on():
    script = transcript()
    shown = play(script, thinks("Hm."), thought("Hm."), REQUEST, thinks("So.", message="m2"))
    assert shown[1:] == [
        ("+", "m1", f"{THINKING}Hm."),
        ("thought", "Hm."),
        ("=", "m1", ""),
        ("=", "m1", f"{THINKING}So."),
    ]
    assert play(script, chunk("Yes", message="m2"), text("Yes", message="m3"))[-1] == (
        "!",
        "m1",
        "Yes",
    )


@pytest.mark.parametrize("done", [True, False])
def test_a_thought_that_broke_off_is_no_text_of_its_message(done):
    script = transcript()
    play(script, thinks("Hm."))
    assert script.open_messages() == ()
    (closed,) = script.close(done=done, broken=not done)
    assert isinstance(closed, MessageFinished)
    assert (closed.message, closed.text, closed.broken) == ("m1", "", False)


def test_a_thought_after_the_text_has_begun_is_not_shown():
    shown = play(transcript(), chunk("Y"), thinks("Hm."), chunk("es"), text("Yes"))
    assert shown[1:] == [("+", "m1", "Y"), ("+", "m1", "es"), ("!", "m1", "Yes")]


def test_a_thought_of_a_resumed_turn_takes_the_place_of_what_was_begun():
    begun = OpenMessage(message="m0", turn="u", agent="ann", text="Hal")
    shown = play(transcript(resumed=[begun]), thinks("Hm."), chunk("Yes"), text("Yes"))
    assert shown[1:] == [("=", "m0", f"{THINKING}Hm."), ("=", "m0", "Yes"), ("!", "m0", "Yes")]


def test_a_thought_is_as_long_as_a_text_may_be():
    script = transcript()
    play(script, thinks("x" * (LONGEST - 10)))
    assert len(script._growing["ann"].text) == LONGEST
    assert play(script, thinks("y")) == []


def test_a_hand_off_after_a_thought_leaves_nothing_of_it():
    handoff = HandoffMessage(content="Go on.", source="ann", target="bob")
    shown = play(transcript(), thinks("Hm."), handoff)
    assert shown[2:] == [("!", "m1", ""), "handed_off"]
