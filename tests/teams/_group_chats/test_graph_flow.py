"""Teams that run along a graph."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from teams import DiGraph, DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import InputRequired, TaskResult, TeamError
from teams.conditions import MaxMessageTermination, SourceMatchTermination
from teams.core import CancellationToken
from teams.messages import BaseChatMessage, StructuredMessage
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import take, texts
from tests.teams._group_chats.graphs import agents, nodes, said
from tests.teams.test_safe_points import Words

COMPLETE = "Digraph execution is complete"


Edge = tuple[Any, ...]


def graph_of(people: dict[str, Talker], *edges: Edge, entry: str | None = None) -> DiGraph:
    builder = DiGraphBuilder()
    for agent in people.values():
        builder.add_node(agent)
    for source, target, *rest in edges:
        builder.add_edge(source, target, **(rest[0] if rest else {}))
    if entry:
        builder.set_entry_point(entry)
    return builder.build()


def flow_of(
    people: dict[str, Talker], *edges: Edge, entry: str | None = None, **options: Any
) -> GraphFlow:
    return GraphFlow([*people.values()], graph_of(people, *edges, entry=entry), **options)


def manager(state: Any) -> dict[str, Any]:
    state = dict(state["agent_states"]["GraphManager"])
    return {name: state[name] for name in ("remaining", "enqueued_any", "ready")}


async def test_a_sequence_is_spoken_in_its_order_and_then_is_complete():
    people = agents("abc")
    result = await flow_of(people, ("a", "b"), ("b", "c")).run(task="hi")
    assert texts(result) == ["hi", "a1", "b1", "c1"]
    assert result.stop_reason == COMPLETE
    assert people["c"].given == [["hi", "a1", "b1"]]


async def test_the_next_task_begins_at_the_start_again():
    people = agents("ab")
    flow = flow_of(people, ("a", "b"))
    await flow.run(task="hi")
    assert texts(await flow.run(task="more")) == ["more", "a2", "b2"]
    assert people["a"].given == [["hi"], ["b1", "more"]]


async def test_a_fan_out_speaks_side_by_side_and_the_join_waits_for_all():
    met = asyncio.Event()

    async def first() -> str:
        await met.wait()
        return "b waited"

    def second() -> str:
        met.set()
        return "c freed it"

    people = agents("abcd", b=[lambda: first()], c=[second])
    edges = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    result = await flow_of(people, *edges).run(task="hi")
    assert texts(result) == ["hi", "a1", "c freed it", "b waited", "d1"]
    assert people["d"].given == [["hi", "a1", "c freed it", "b waited"]]


async def test_speakers_side_by_side_do_not_hear_each_other_before_all_are_done():
    """The same holds if one calls its model again after the other."""
    slow_tool = asyncio.Event()

    async def wait() -> str:
        await slow_tool.wait()
        return "waited"

    model = ScriptedModel(calls(("wait", {})), "slow one", "after")
    slow = AssistantAgent("slow", model, tools=[wait], max_tool_iterations=2)
    fast = Talker("fast", lambda: slow_tool.set() or "fast one")
    builder = DiGraphBuilder().add_node(slow).add_node(fast)
    flow = GraphFlow([slow, fast], builder.build())
    assert texts(await flow.run(task="hi"))[-1] == "slow one"
    assert model.texts(1) == ["hi"]
    await flow.run(task="more")
    assert model.texts(2) == ["hi", "slow one", "fast one", "more"]


async def test_a_condition_is_a_text_in_the_message_or_a_function_of_it():
    def long(message: BaseChatMessage) -> bool:
        return len(message.to_model_text()) > 5

    for line, path in (("yes", "a b"), ("no, thanks", "a c"), ("no", "a")):
        people = agents("abc", a=[line])
        edges = (("a", "b", {"condition": "yes"}), ("a", "c", {"condition": long}))
        result = await flow_of(people, *edges).run(task="hi")
        assert said(result) == path
        assert result.stop_reason == COMPLETE


async def test_a_text_condition_looks_at_what_a_model_would_read():
    content = StructuredMessage[Words](content=Words(text="yes"), source="a")
    people = agents("ab", a=[content])
    people["a"].__class__ = type(
        "Structured", (Talker,), {"produced_message_types": (StructuredMessage[Words],)}
    )
    assert said(await flow_of(people, ("a", "b", {"condition": '"yes"'})).run(task="hi")) == "a b"


LOOP: tuple[Edge, ...] = (
    ("a", "b"),
    ("b", "a", {"condition": "no"}),
    ("b", "c", {"condition": "yes"}),
)


async def test_a_loop_goes_round_until_its_exit_is_taken():
    people = agents("abc", b=["no", "no", "yes"])
    result = await flow_of(people, *LOOP, entry="a", max_turns=20).run(task="hi")
    assert said(result) == "a b a b a b c"
    assert result.stop_reason == COMPLETE


async def test_a_node_in_a_loop_waits_for_all_edges_unless_they_are_in_groups():
    """A reviewed B: the first edge starts it, the second repeats it."""
    edges = (
        ("b", "c", {"condition": "again"}),
        ("b", "d", {"condition": "done"}),
    )
    apart = (
        ("a", "b", {"activation_group": "first"}),
        ("c", "b", {"activation_group": "review"}),
    )
    people = agents("abcd", b=["again", "again", "done"])
    assert said(await flow_of(people, *edges, *apart, max_turns=20).run(task="hi")) == (
        "a b c b c b d"
    )
    people = agents("abcd", b=["again"])
    flow = flow_of(people, *edges, ("a", "b"), ("c", "b"), max_turns=20)
    assert said(await flow.run(task="hi")) == "a"


async def test_with_any_the_first_of_a_group_is_enough_and_the_others_do_not_count_again():
    any_of = {"activation_condition": "any"}
    people = agents("abcde")
    edges = (("a", "b"), ("a", "c"), ("b", "d", any_of), ("c", "d", any_of), ("d", "e"))
    assert said(await flow_of(people, *edges).run(task="hi")) == "a b c d e"


async def test_with_any_a_later_one_of_the_group_makes_the_target_speak_again():
    people = agents("abcd")
    edges = (("a", "d"), ("a", "b"), ("b", "c"), ("c", "d"))
    alike = [(*edge, {"activation_condition": "any"}) for edge in edges]
    assert sorted(said(await flow_of(people, *alike).run(task="hi")).split()) == list("abcdd")


async def test_a_node_may_say_any_for_all_edges_that_lead_to_it():
    people = agents("abcd")
    builder = DiGraphBuilder().add_node(people["a"]).add_node(people["b"]).add_node(people["c"])
    builder.add_node(people["d"], activation="any")
    builder.add_edge("a", "d").add_edge("a", "b").add_edge("b", "c").add_edge("c", "d")
    flow = GraphFlow([*people.values()], builder.build())
    assert sorted(said(await flow.run(task="hi")).split()) == list("abcdd")


async def test_each_group_that_fires_makes_the_target_speak():
    people = agents("abcd")
    edges = (
        ("a", "b"),
        ("a", "c"),
        ("b", "d", {"activation_group": "one"}),
        ("c", "d", {"activation_group": "two"}),
    )
    result = await flow_of(people, *edges).run(task="hi")
    assert said(result) == "a b c d d"
    assert people["d"].given == [["hi", "a1", "b1", "c1"], []]


async def test_a_fan_out_in_a_loop_is_joined_each_time():
    people = agents("abcd", d=["again", "again", "done"])
    edges = (
        ("a", "b"),
        ("a", "c"),
        ("b", "d"),
        ("c", "d"),
        ("d", "a", {"condition": "again"}),
        ("d", "e", {"condition": "done"}),
    )
    people |= agents("e")
    result = await flow_of(people, *edges, entry="a", max_turns=20).run(task="hi")
    assert said(result) == "a b c d a b c d a b c d e"


async def test_several_starts_speak_side_by_side_unless_an_entry_point_is_set():
    people = agents("abc")
    assert said(await flow_of(people, ("a", "c"), ("b", "c")).run(task="hi")) == "a b c"
    people = agents("abc")
    edges = (("a", "b"), ("a", "c"))
    assert said(await flow_of(people, *edges, entry="b").run(task="hi")) == "b"


async def test_participants_outside_of_the_graph_hear_but_do_not_speak():
    people, extra = agents("ab"), Talker("x")
    flow = GraphFlow([*people.values(), extra], graph_of(people, ("a", "b")))
    assert said(await flow.run(task="hi")) == "a b"
    assert extra.given == []


async def test_agents_side_by_side_are_one_turn():
    people = agents("abcd")
    edges = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    result = await flow_of(people, *edges, max_turns=2).run(task="hi")
    assert said(result) == "a b c"
    assert result.stop_reason == "Maximum number of turns 2 reached."


async def test_a_run_that_a_condition_ended_goes_on_where_it_stood():
    people = agents("abc")
    flow = flow_of(
        people, ("a", "b"), ("b", "c"), termination_condition=SourceMatchTermination(["a"])
    )
    assert said(await flow.run(task="hi")) == "a"
    result = await flow.run(task="more")
    assert texts(result) == ["more", "b1", "c1"]
    assert result.stop_reason == COMPLETE


@pytest.mark.parametrize(
    "end", [{"termination_condition": SourceMatchTermination(["b"])}, {"max_turns": 2}]
)
async def test_a_flow_is_complete_at_its_last_node_whatever_else_would_end_it_there(end: Any):
    flow = flow_of(agents("ab"), ("a", "b"), **end)
    for task in ("hi", "again", None):
        result = await flow.run(task=task)
        assert said(result) == "a b"
        assert result.stop_reason == COMPLETE


async def test_a_reset_goes_back_to_the_start():
    people = agents("abc")
    flow = flow_of(people, ("a", "b"), ("b", "c"), max_turns=2)
    assert said(await flow.run(task="hi")) == "a b"
    await flow.reset()
    assert said(await flow.run(task="hi")) == "a b"


async def test_a_condition_that_raises_ends_the_run_and_is_asked_again_when_it_goes_on():
    broken = True

    def condition(message: BaseChatMessage) -> bool:
        if broken:
            raise LookupError("no idea")
        return True

    def flow() -> GraphFlow:
        return flow_of(agents("ab"), ("a", "b", {"condition": condition}))

    old, fresh = flow(), flow()
    with pytest.raises(TeamError, match="LookupError: no idea"):
        await old.run(task="hi")
    await fresh.load_state(json.loads(json.dumps(await old.save_state())))
    broken = False
    for team in (old, fresh):
        assert texts(await team.run()) == ["a1", "b1"]


async def test_the_documented_state_tells_what_is_waited_for():
    any_of = {"activation_condition": "any", "activation_group": "g"}
    people = agents("abc")
    flow = flow_of(people, ("a", "c"), ("b", "c"), ("a", "b", any_of), max_turns=1)
    empty = manager(await flow.save_state())
    assert empty == {
        "remaining": {"c": {"c": 2}, "b": {"g": 1}},
        "enqueued_any": {"c": {"c": False}, "b": {"g": False}},
        "ready": ["a"],
    }
    await flow.run(task="hi")
    assert manager(await flow.save_state()) == {
        "remaining": {"c": {"c": 1}, "b": {"g": 1}},
        "enqueued_any": {"c": {"c": False}, "b": {"g": True}},
        "ready": ["b"],
    }
    await flow.run()
    await flow.run()
    assert manager(await flow.save_state()) == empty


@pytest.mark.parametrize("compact", [False, True])
async def test_a_loop_goes_on_after_each_load(compact: bool):
    spoken = ""
    state: Any = None
    for number in range(10):
        people = agents("abc", b=["no"] if number < 6 else ["yes"])
        flow = flow_of(people, *LOOP, entry="a", max_turns=1)
        if isinstance(state, bytes):
            await flow.load_snapshot([state])
        elif state is not None:
            await flow.load_state(json.loads(state))
        result = await flow.run(task="hi" if state is None else None)
        spoken += said(result)
        if result.stop_reason == COMPLETE:
            break
        state = await flow.save_snapshot() if compact else json.dumps(await flow.save_state())
    assert spoken == "abababab" + "c"


async def test_a_state_of_autogen_in_which_a_group_has_fired_goes_on():
    state = {
        "type": "TeamState",
        "version": "1.0.0",
        "agent_states": {
            **{
                name: {
                    "type": "ChatAgentContainerState",
                    "version": "1.0.0",
                    "agent_state": {},
                    "message_buffer": [],
                }
                for name in "abc"
            },
            "GraphManager": {
                "message_thread": [],
                "current_turn": 0,
                "remaining": {"b": {"b": 1}, "a": {"a": 0}, "c": {"c": 1}},
                "enqueued_any": {"b": {"b": False}, "a": {"a": False}, "c": {"c": False}},
                "ready": ["a"],
            },
        },
    }
    people = agents("abc", b=["no", "yes"])
    flow = flow_of(people, *LOOP, entry="a", max_turns=20)
    await flow.load_state(state)
    assert said(await flow.run()) == "a b a b c"


def autogen_state(ready: Sequence[str], remaining: dict[str, Any]) -> dict[str, Any]:
    container = {"type": "ChatAgentContainerState", "agent_state": {}, "message_buffer": []}
    manager = {
        "message_thread": [],
        "current_turn": 1,
        "remaining": remaining,
        "enqueued_any": {name: dict.fromkeys(groups, False) for name, groups in remaining.items()},
        "ready": list(ready),
    }
    return {"agent_states": {**dict.fromkeys("abc", container), "GraphManager": manager}}


async def test_a_state_that_autogen_saved_in_mid_run_does_not_swallow_the_next_task():
    people = agents("abc")
    flow = flow_of(people, ("a", "c"), ("b", "c"))
    # It says neither who was on turn nor what they said: b's edge counts no longer.
    await flow.load_state(autogen_state([], {"c": {"c": 1}}))
    result = await flow.run(task="next")
    assert (sorted(said(result).split()), result.stop_reason) == (["a", "b", "c"], COMPLETE)
    await flow.load_state(autogen_state(["c"], {"c": {"c": 2}}))
    assert said(await flow.run(task="next")) == "c"


async def test_a_state_of_another_graph_is_refused():
    flow = flow_of(agents("ab"), ("a", "b"))
    state = json.loads(json.dumps(await flow.save_state()))
    state["agent_states"]["GraphManager"]["ready"] = ["x"]
    with pytest.raises(ValueError, match="another graph, with nodes x"):
        await flow.load_state(state)


async def test_a_speaker_who_was_cancelled_is_still_to_speak():
    speaking = asyncio.Event()

    async def hang() -> None:
        speaking.set()
        await asyncio.Event().wait()

    people = agents("abcd", c=[hang, "c2"])
    flow = flow_of(people, ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    token = CancellationToken()
    stream = flow.run_stream(task="hi", cancellation_token=token)
    assert texts(TaskResult(messages=await take(stream, 3))) == ["hi", "a1", "b1"]
    pull = asyncio.ensure_future(anext(stream))
    await speaking.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    assert manager(await flow.save_state())["ready"] == ["c"]
    assert texts(await flow.run(task="on")) == ["on", "c2", "d1"]
    assert people["d"].given == [["hi", "a1", "b1", "on", "c2"]]


class Human:
    def __init__(self) -> None:
        self.answer = ""

    async def ask(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        if not self.answer:
            raise InputRequired(prompt)
        return self.answer


@pytest.mark.parametrize("way", ["same", "state", "snapshot"])
async def test_beside_a_speaker_who_waits_for_a_human_the_other_finishes(way: str):
    human = Human()
    heard: list[list[str]] = []

    def flow() -> GraphFlow:
        people = agents("abd")
        boss = UserProxyAgent("boss", input_func=human.ask)
        people["d"].given = heard
        builder = DiGraphBuilder()
        for agent in (*people.values(), boss):
            builder.add_node(agent)
        builder.add_edge("a", "b").add_edge("a", "boss").add_edge("b", "d").add_edge("boss", "d")
        return GraphFlow(builder.get_participants(), builder.build())

    team = flow()
    result = await team.run(task="hi")
    assert [message.source for message in result.messages] == ["user", "a", "b", "boss"]
    (request,) = result.pending
    assert request.agent == ("boss",)
    for answer in ("", "go"):
        human.answer = answer
        old, team = team, team if way == "same" else flow()
        if way == "state":
            await team.load_state(json.loads(json.dumps(await old.save_state())))
        elif way == "snapshot":
            await team.load_snapshot([await old.save_snapshot()])
        result = await team.run()
        if not answer:
            assert (texts(result), list(result.pending)) == ([], [request])
    assert texts(result) == ["go", "d1"]
    assert result.stop_reason == COMPLETE
    assert heard == [["hi", "a1", "b1", "go"]]


async def test_two_who_wait_are_both_asked_and_one_may_be_answered_first():
    humans = {name: Human() for name in ("left", "right")}
    both = [UserProxyAgent(name, input_func=human.ask) for name, human in humans.items()]
    builder = DiGraphBuilder().add_node(both[0]).add_node(both[1])
    flow = GraphFlow([*both], builder.build())
    first = await flow.run(task="hi")
    assert [request.agent for request in first.pending] == [("left",), ("right",)]
    humans["right"].answer = "r"
    second = await flow.run()
    assert (texts(second), list(second.pending)) == (["r"], [first.pending[0]])
    humans["left"].answer = "l"
    assert texts(await flow.run()) == ["l"]


def test_only_agents_take_part():
    pair = RoundRobinGroupChat([Talker("x")], name="a")
    graph = DiGraph(nodes=nodes(a=[]))
    with pytest.raises(TypeError, match="participants of a GraphFlow must be agents"):
        GraphFlow([pair], graph)  # pyright: ignore[reportArgumentType]


async def test_cycles_need_an_end_when_they_run():
    flow = flow_of(agents("abc"), *LOOP, entry="a")
    with pytest.raises(ValueError, match="cycles needs a termination condition or max_turns"):
        await flow.run(task="go")
    assert json.loads(json.dumps(await flow.save_state()))
    ended = flow_of(agents("abc"), *LOOP, entry="a", max_turns=3)
    await take(ended.run_stream(task="go"), 1)
    await flow.load_state(await ended.save_state())
    with pytest.raises(ValueError, match="cycles needs"):
        await flow.run()
    outer = RoundRobinGroupChat([flow], max_turns=1)
    with pytest.raises(TeamError, match="cycles needs"):
        await outer.run(task="go")


def test_nodes_need_participants():
    people = agents("abc")
    with pytest.raises(ValueError, match="nodes without a participant: b, c"):
        GraphFlow([people["a"]], graph_of(people, ("a", "b")))
    with pytest.raises(ValueError, match="unique"):
        GraphFlow([people["a"], people["a"]], DiGraph(nodes=nodes(a=[])))


def test_a_flow_dumps_and_loads_with_its_graph():
    model = {"left": UserProxyAgent("left"), "right": UserProxyAgent("right")}
    builder = DiGraphBuilder()
    for agent in model.values():
        builder.add_node(agent)
    builder.add_edge("left", "right", condition="go", activation_group="g")
    flow = GraphFlow(
        builder.get_participants(),
        builder.build(),
        termination_condition=MaxMessageTermination(9),
        max_turns=4,
    )
    dumped = flow.dump_component().model_dump()
    assert dumped["provider"] == "teams.GraphFlow"
    (edge,) = dumped["config"]["graph"]["nodes"]["left"]["edges"]
    assert edge == {
        "target": "right",
        "condition": "go",
        "activation_group": "g",
        "activation_condition": "all",
    }
    loaded = GraphFlow.load_component(json.loads(json.dumps(dumped)))
    assert loaded.dump_component().model_dump() == dumped
    foreign = {**dumped, "provider": "autogen_agentchat.teams.GraphFlow"}
    assert GraphFlow.load_component(foreign).dump_component().model_dump() == dumped
