"""The picture: independent of text cuts, the same when replayed."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import events
from gateway.items import (
    AgentItem,
    HumanItem,
    News,
    NoticeItem,
    RequestItem,
    ToolItem,
    TurnItem,
    WaitItem,
)
from gateway.picture import COLOURS, Picture
from tests.adapters.terminal.running import (
    approval,
    asked,
    began,
    called,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.fakes.news import apply_all, news_of

AGENTS = ("planner", "coder", "reviewer")
TEXTS = st.text(alphabet="ab \n\t\r\x1b[]31m;\x07\x9b\u202eé", max_size=30)


def numbered(*happened: events.SessionEvent) -> list[events.SessionEvent]:
    """Events with stored sequence numbers; deltas have none."""
    seq = 0
    result: list[events.SessionEvent] = []
    for event in happened:
        seq += not isinstance(event, events.TextDelta)
        result.append(
            event if isinstance(event, events.TextDelta) else replace(event, seq=seq, at=float(seq))
        )
    return result


def model_of(*happened: events.SessionEvent) -> Picture:
    model = Picture()
    apply_all(model, numbered(*happened))
    return model


def picture(model: Picture) -> tuple[object, ...]:
    items = [model.items[key] for key in model.keys]
    agents = {name: (state.agent, state.used) for name, state in model.agents.items()}
    return items, agents, model.used, model.queued, model.requests, model.activity, model.title


@st.composite
def threads(draw: st.DrawFn) -> list[events.SessionEvent]:
    """Some turns, in which several agents may speak at the same time."""
    happened: list[events.SessionEvent] = []
    for turn in range(draw(st.integers(1, 3))):
        happened.append(began(draw(TEXTS), first=turn))
        happened += [speaker(agent) for agent in AGENTS]
        scripts = [draw(speeches(agent, turn)) for agent in AGENTS]
        while scripts := [script for script in scripts if script]:
            happened.append(draw(st.sampled_from(scripts)).pop(0))
        happened.append(ended(draw(st.sampled_from(("done", "stopped", "failed")))))
    return numbered(*happened)


@st.composite
def speeches(draw: st.DrawFn, agent: str, turn: int) -> list[events.SessionEvent]:
    script: list[events.SessionEvent] = []
    for number in range(draw(st.integers(0, 3))):
        name = f"{agent}-{turn}-{number}"
        match draw(st.sampled_from(("say", "call", "ask"))):
            case "say":
                chunks = draw(st.lists(TEXTS, max_size=4))
                script += [delta(agent, name, chunk) for chunk in chunks]
                script.append(said(agent, name, "".join(chunks)))
            case "call":
                failed = draw(st.booleans())
                script.append(called(agent, name, "shell", draw(TEXTS)))
                script.append(approval(agent, f"r{name}", "shell", call=name))
                script.append(events.InputResolved(thread="", request=f"r{name}", outcome="yes"))
                script.append(returned(agent, name, "shell", draw(TEXTS), failed=failed))
            case _:
                script.append(asked(agent, f"r{name}", draw(TEXTS)))
                script.append(events.InputResolved(thread="", request=f"r{name}", outcome="no"))
    return script


@given(st.lists(TEXTS, max_size=6), st.data())
def test_how_a_text_was_cut_does_not_matter(pieces: list[str], data: st.DataObject):
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *cuts, len(whole)]
    others = [whole[start:end] for start, end in pairwise(edges)]
    start = (began("go"), speaker("coder"))
    one = model_of(*start, delta("coder", "m", ""), *(delta("coder", "m", p) for p in pieces))
    other = model_of(*start, delta("coder", "m", ""), *(delta("coder", "m", p) for p in others))
    assert one.items["m"] == other.items["m"]
    shown = one.items["m"]
    assert isinstance(shown, AgentItem)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(shown.text)


@given(threads())
def test_a_replay_gives_the_same_picture_as_the_live_thread(happened: list[events.SessionEvent]):
    live, replayed = Picture(), Picture()
    apply_all(live, happened)
    apply_all(replayed, (each for each in happened if not isinstance(each, events.TextDelta)))
    assert picture(live) == picture(replayed)


@given(threads(), st.data())
def test_events_that_are_known_change_nothing(
    happened: list[events.SessionEvent], data: st.DataObject
):
    stored = [event for event in happened if not isinstance(event, events.TextDelta)]
    model = Picture()
    known = data.draw(st.integers(0, len(stored)))
    apply_all(model, stored[:known])
    before = picture(model)
    assert not any(model.apply(event) for event in stored[:known])
    assert picture(model) == before
    apply_all(model, stored)
    once = Picture()
    apply_all(once, stored)
    assert picture(model) == picture(once)


@given(threads(), st.data())
def test_a_broken_stream_that_is_taken_up_again_loses_and_doubles_nothing(
    happened: list[events.SessionEvent], data: st.DataObject
):
    cut = data.draw(st.integers(0, len(happened)))
    model = Picture()
    apply_all(model, happened[:cut])
    model.reconnect()
    spoken: dict[str, str] = {}
    for event in happened[:cut]:
        match event:
            case events.TextDelta(message=message, text=text):
                spoken[message] = spoken.get(message, "") + text
            case events.MessageFinished(message=message):
                spoken.pop(message, None)
            case _:
                pass
    agents = {message: message.split("-")[0] for message in spoken}
    apply_all(model, [delta(agents[name], name, text) for name, text in spoken.items()])
    apply_all(model, happened[cut:])
    whole = Picture()
    apply_all(whole, happened)
    assert picture(model) == picture(whole)


def test_a_finished_text_wins_over_what_streamed():
    model = model_of(began("go"), delta("coder", "m", "half"), said("coder", "m", "the whole"))
    assert model.items["m"] == AgentItem(
        key="m", agent=model.agents["coder"].agent, text="the whole"
    )
    assert model.apply(delta("coder", "m", "late"))
    assert model.last_reply() == "the whole"


def test_replacing_text_starts_over():
    wrong = delta("coder", "m", "wrong")
    model = model_of(began("go"), wrong, replace(delta("coder", "m", "right"), replace=True))
    assert model.last_reply() == "right"


def test_an_open_message_stands_below_what_is_finished():
    model = model_of(
        began("go"), delta("coder", "m1", "slow"), delta("planner", "m2", "quick"),
        said("planner", "m2", "quick"),
    )  # fmt: skip
    assert model.keys == ["human-100", "m2", "m1"]


def test_queued_messages_are_known_until_they_start_or_are_taken_back():
    queued = [
        events.MessageQueued(
            thread="", message=events.HumanText(inbox=n, author="you", text=str(n))
        )
        for n in (1, 2, 3)
    ]
    taken = events.MessageWithdrawn(thread="", inbox=2)
    model = model_of(began("go"), *queued, taken, ended(), began("1", first=1))
    assert model.queued == {3: "3"}
    assert [item.text for item in model.items.values() if isinstance(item, HumanItem)] == [
        "go",
        "1",
    ]


def test_a_turn_that_waits_is_settled_and_goes_on_after_the_answer():
    ask = (began("go"), asked("coder", "r1", "City?"), ended("waiting"))
    answered = events.InputResolved(thread="", request="r1", outcome="Lisbon")
    waiting = model_of(*ask)
    assert (waiting.activity, waiting.settled) == ("waiting", True)
    assert waiting.agents["coder"].doing == "asks you"
    going_on = model_of(*ask, answered)
    assert not going_on.settled
    item = going_on.items["request-r1"]
    assert isinstance(item, RequestItem)
    assert item.outcome == "Lisbon"


def test_a_model_that_says_nothing_shows_it_until_it_does():
    begun = (began("go"), events.ModelSilent(thread="", seconds=30))
    assert model_of(*begun).silence == "The model has been silent for 30 s."
    over = events.ModelSilent(thread="", seconds=30, over=True)
    for end in (over, speaker("coder"), ended("stopped")):
        assert model_of(*begun, end).silence == ""


def test_a_summary_is_a_line_of_the_gateway_s_own():
    made = events.ContextSummarised(thread="", agent="coder", covered=1200)
    item = [*model_of(began("go"), made).items.values()][-1]
    assert isinstance(item, NoticeItem)
    assert item.level == "info"
    assert item.told == "1,200 earlier messages are summarised in what coder reads."
    left_out = replace(made, left_out=True)
    assert left_out.text == "1,200 earlier messages are left out of what coder reads."
    assert replace(made, covered=1).text.startswith("1 earlier message is summarised")


def test_who_asks_twice_still_asks_after_the_first_answer():
    model = model_of(
        began("go"),
        asked("coder", "r1", "City?"),
        asked("coder", "r2", "Street?"),
        ended("waiting"),
        events.InputResolved(thread="", request="r1", outcome="Lisbon"),
    )
    assert model.agents["coder"].doing == "asks you"


def test_a_stopped_call_tells_how_long_it_ran_unless_it_never_did():
    ran, waited, killed = (
        model_of(began("go"), called("coder", "c", "shell"), *then).items["c"]
        for then in (
            (speaker("coder"), said("coder", "m", "hm"), ended("stopped")),
            (approval("coder", "r", "shell", call="c"), ended("stopped")),
            (ended("interrupted"),),
        )
    )
    assert isinstance(ran, ToolItem)
    assert isinstance(waited, ToolItem)
    assert isinstance(killed, ToolItem)
    assert (ran.state, ran.duration) == ("stopped", 3.0)
    assert (waited.state, waited.duration) == ("stopped", 0.0)
    assert (killed.state, killed.duration) == ("stopped", 0.0)


def test_a_stopped_turn_leaves_nothing_open():
    model = model_of(
        began("go"), called("coder", "c", "shell"), delta("coder", "m", "half a"), ended("stopped")
    )
    tool, message = model.items["c"], model.items["m"]
    assert isinstance(tool, ToolItem)
    assert isinstance(message, AgentItem)
    assert (tool.state, message.open, message.text) == ("stopped", False, "half a")
    last = model.items[model.keys[-1]]
    assert isinstance(last, NoticeItem)
    assert last.text == "stopped"


def test_an_end_whose_reason_a_notice_has_just_given_is_not_said_twice():
    notice = events.Notice(thread="", text="No network.", level="error", incident="ab")
    twice = model_of(began("go"), notice, ended("failed", "No network."))
    assert len(twice.keys) == 2
    other = model_of(began("go"), notice, ended("stopped", "stopped"))
    last = other.items[other.keys[-1]]
    assert isinstance(last, NoticeItem)
    assert last.text == "stopped"


def test_an_agent_keeps_its_colour_and_two_agents_never_share_one():
    names = [f"agent {number}" for number in range(COLOURS)]
    model = model_of(*(speaker(name) for name in names))
    assert len({state.agent.colour for state in model.agents.values()}) == COLOURS
    assert model_of(speaker(names[3])).agents[names[3]].agent.colour == (
        model_of(speaker(names[3]), speaker("other")).agents[names[3]].agent.colour
    )


def test_tokens_are_counted_for_the_thread_and_for_each_agent():
    usage = [
        events.Usage(thread="", agent=agent, prompt_tokens=prompt, completion_tokens=5)
        for agent, prompt in (("a", 10), ("b", 20), ("a", 30))
    ]
    model = model_of(*usage)
    assert (model.used.read, model.used.written) == (60, 15)
    assert {name: state.used.tokens for name, state in model.agents.items()} == {"a": 50, "b": 25}


# --- the news of an event ---


def news(*happened: events.SessionEvent) -> list[News]:
    return list(news_of(numbered(*happened)))


def test_each_event_tells_of_the_items_that_it_changes():
    told = news(began("go"), speaker("coder"), delta("coder", "m", "Hi"), said("coder", "m", "Hi."))
    assert [item.key for item in told] == ["turn-1", "human-100", "speaker", "m", "m"]
    assert [item.open for item in told if isinstance(item, AgentItem)] == [True, False]


def test_the_end_of_a_turn_is_told_once_with_its_result():
    told = news(began("go"), delta("coder", "m", "half"), ended("failed", "No network."))
    turns = [item for item in told if isinstance(item, TurnItem)]
    assert [(turn.outcome, turn.reason) for turn in turns] == [("", ""), ("failed", "No network.")]
    assert isinstance(told[-1], TurnItem)  # neither a notice nor a finished message beside it


@pytest.mark.parametrize(
    ("notice", "outcome", "told"),
    [
        (events.Notice(thread="", text="No network.", level="error"), "failed", True),
        (events.Notice(thread="", text="Budget spent.", level="error"), "failed", True),
        (events.Notice(thread="", text="No network."), "stopped", True),
        (events.Notice(thread="", text="Something else."), "stopped", False),
        (events.Notice(thread="", text="No network."), "failed", True),
        (events.Notice(thread="", text="No network.", level="warning"), "failed", True),
        (events.Notice(thread="", text="No network.", command="/retry"), "failed", True),
        (events.Notice(thread="", text="No network."), "interrupted", True),
        (events.Notice(thread="", text="Something else.", level="warning"), "failed", False),
    ],
)
def test_a_turn_knows_whether_its_reason_was_told(notice, outcome, told):
    assert model_of(began("go"), notice, ended(outcome, "No network.")).turn.told is told


def test_an_end_without_a_reason_has_none_that_was_told():
    assert not model_of(began("go"), ended("failed", "")).turn.told


def test_a_message_grows_anew_in_a_further_attempt_and_stands_until_it_is_finished():
    half = replace(said("coder", "m", "half"), ending="broken")
    again = replace(delta("coder", "m", "whole"), replace=True)
    model = model_of(began("go"), half, replace(began(), resumed=True), again)
    assert [item.key for item in model.news] == ["m"]
    assert model.last_reply() == "half"
    assert model.keys == ["human-100", "m"]
    apply_all(model, [replace(said("coder", "m", "whole"), seq=9)])
    assert model.last_reply() == "whole"


def test_a_late_piece_of_a_finished_message_is_no_news():
    model = model_of(began("go"), said("coder", "m", "Hi."), delta("coder", "m", "Hi"))
    assert model.news == []


def test_a_call_that_only_asks_is_told_and_stands_nowhere():
    call = replace(called("coder", "c", "ask"), asks=True)
    back = replace(returned("coder", "c", "ask", "blue"), asks=True)
    model = model_of(began("go"), call, back)
    assert "c" not in model.items
    (item,) = model.news
    assert isinstance(item, ToolItem)
    assert (item.state, item.result) == ("done", "blue")


def test_a_call_that_waits_for_its_approval_is_told_by_the_question():
    model = model_of(
        began("go"), called("coder", "c", "shell"), approval("coder", "r", "shell", call="c")
    )
    (item,) = model.news
    assert isinstance(item, RequestItem)
    assert model.keys == ["human-100", "c"]


@pytest.mark.parametrize(
    "end", [speaker("coder"), began("on"), ended("stopped"), ended("waiting")], ids=lambda e: e.kind
)
def test_a_silence_that_something_ends_is_over_once(end: events.SessionEvent):
    silent = events.ModelSilent(thread="", seconds=150.0)
    told = news(began("go"), silent, end, replace(silent, over=True))
    assert [item.over for item in told if isinstance(item, WaitItem)] == [False, True]


def test_work_in_the_hands_of_people_is_known_until_somebody_goes_on():
    to_people = events.WorkHandedOff(thread="", agent="coder", target="user", to_people=True)
    model = model_of(began("go"), to_people, ended())
    assert model.handed is not None
    assert model_of(began("go"), to_people, speaker("planner"), ended()).handed is None
    assert model_of(began("go"), to_people, ended(), began("on", first=1)).handed is None


def test_an_answer_to_what_was_asked_long_ago_is_told():
    resolved = events.InputResolved(thread="", request="r", outcome="approved", by="Ann")
    (item,) = news(resolved)
    assert isinstance(item, RequestItem)
    assert (item.request, item.outcome, item.by) == ("r", "approved", "Ann")
    assert model_of(resolved).keys == []


def test_a_picture_without_its_items_goes_on():
    model = model_of(began("go"), asked("coder", "r", "City?"), delta("coder", "m", "half"))
    model.forget_items()
    assert (model.keys, list(model.requests)) == ([], ["r"])
    apply_all(model, [replace(said("coder", "m", "whole"), seq=9), replace(ended(), seq=10)])
    assert model.last_reply() == "whole"
