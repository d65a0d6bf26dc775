"""The page on flows: sequence, parallel, filters, loops, and activation groups."""

import json

from teams import DiGraphBuilder, GraphFlow
from teams.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
)
from teams.conditions import MaxMessageTermination
from tests.fakes.openai_script import Reply, Request, Script
from tests.guide.harness import Trace, conversations, goes_on_alike, watch

COMPLETE = "Digraph execution is complete"
TASK = "A paragraph about glaciers."


def agent(name: str, model) -> AssistantAgent:
    return AssistantAgent(name, model, system_message=f"You are {name}.")


def spoken(*names: str) -> Trace:
    return [("TextMessage", name) for name in names]


def say(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]


def to(name: str, *answers: str) -> Script:
    """The agent's answers in order."""
    left = list(answers)

    def answer(request: Request) -> Reply | None:
        return Reply(text=left.pop(0)) if request.system == f"You are {name}." and left else None

    return answer


# In sequence


def in_sequence(model) -> GraphFlow:
    writer, reviewer = agent("writer", model), agent("reviewer", model)
    builder = DiGraphBuilder()
    builder.add_node(writer).add_node(reviewer)
    builder.add_edge(writer, reviewer)
    return GraphFlow([writer, reviewer], graph=builder.build())


async def test_a_flow_ends_when_nobody_is_left_to_speak(openai_server, model):
    openai_server.script(*say("Glaciers are ice.", "Add their names."))
    flow = in_sequence(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken("user", "writer", "reviewer")
    assert run.stop_reason == COMPLETE
    assert conversations(openai_server)[-1] == [
        "system: You are reviewer.",
        f"user[user]: {TASK}",
        "user[writer]: Glaciers are ice.",
    ]
    again = await goes_on_alike(
        flow,
        in_sequence,
        openai_server,
        *say("The Aletsch is ice.", "Good."),
        task="With names.",
    )
    assert again.trace == spoken("user", "writer", "reviewer")
    assert again.stop_reason == COMPLETE
    assert conversations(openai_server)[-2][-2:] == [
        "user[reviewer]: Add their names.",
        "user[user]: With names.",
    ]


# Side by side, and joined


def fan_out_and_join(model) -> GraphFlow:
    writer, final = agent("writer", model), agent("final", model)
    grammar, style = agent("grammar", model), agent("style", model)
    builder = DiGraphBuilder()
    builder.add_node(writer).add_node(grammar).add_node(style).add_node(final)
    builder.add_edge(writer, grammar)
    builder.add_edge(writer, style)
    builder.add_edge(grammar, final)
    builder.add_edge(style, final)
    return GraphFlow(builder.get_participants(), graph=builder.build())


async def test_two_editors_work_side_by_side_and_a_third_joins_their_work(openai_server, model):
    openai_server.rule(
        to("writer", *["Ice flow."] * 4),
        to("grammar", *["Ice flows."] * 4),
        to("style", *["Ice creeps."] * 4),
        to("final", *["The ice creeps."] * 4),
    )
    flow = fan_out_and_join(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace[:2] == spoken("user", "writer")
    assert sorted(run.trace[2:4]) == spoken("grammar", "style")
    assert run.trace[4:] == spoken("final")
    assert run.stop_reason == COMPLETE
    writer, *editors, final = conversations(openai_server)
    shared = [f"user[user]: {TASK}", "user[writer]: Ice flow."]
    assert writer == ["system: You are writer.", shared[0]]
    assert sorted(editors) == [
        ["system: You are grammar.", *shared],
        ["system: You are style.", *shared],
    ]
    assert final[:3] == ["system: You are final.", *shared]
    assert sorted(final[3:]) == ["user[grammar]: Ice flows.", "user[style]: Ice creeps."]

    again = await goes_on_alike(
        flow, fan_out_and_join, openai_server, task="Once more.", side_by_side=True
    )
    assert sorted(again.trace) == sorted(spoken("user", "writer", "grammar", "style", "final"))


# One way or the other


def branching(model) -> GraphFlow:
    chooser, painter, singer = (agent(name, model) for name in ("chooser", "painter", "singer"))
    builder = DiGraphBuilder()
    builder.add_node(chooser).add_node(painter).add_node(singer)
    builder.add_conditional_edges(chooser, {"PAINT": painter, "SING": singer})
    return GraphFlow(builder.get_participants(), graph=builder.build())


async def test_a_condition_chooses_the_branch(openai_server, model):
    openai_server.script(*say("SING it.", "La la."))
    flow = branching(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken("user", "chooser", "singer")
    assert run.stop_reason == COMPLETE
    again = await goes_on_alike(
        flow, branching, openai_server, *say("PAINT it.", "Done."), task="Once more."
    )
    assert again.trace == spoken("user", "chooser", "painter")


# Who hears what


def filtered(model) -> GraphFlow:
    analyst = MessageFilterAgent(
        name="analyst",
        wrapped_agent=agent("analyst", model),
        filter=MessageFilterConfig(
            per_source=[PerSourceFilter(source="researcher", position="last", count=1)]
        ),
    )
    presenter = MessageFilterAgent(
        name="presenter",
        wrapped_agent=agent("presenter", model),
        filter=MessageFilterConfig(
            per_source=[PerSourceFilter(source="analyst", position="last", count=1)]
        ),
    )
    researcher = agent("researcher", model)
    builder = DiGraphBuilder()
    builder.add_node(researcher).add_node(analyst).add_node(presenter)
    builder.add_edge(researcher, analyst).add_edge(analyst, presenter)
    return GraphFlow(builder.get_participants(), graph=builder.build())


async def test_a_filter_says_what_an_agent_hears(openai_server, model):
    openai_server.script(*say("Ice melts.", "Faster than before.", "Look!"))
    flow = filtered(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken("user", "researcher", "analyst", "presenter")
    assert conversations(openai_server) == [
        ["system: You are researcher.", f"user[user]: {TASK}"],
        ["system: You are analyst.", "user[researcher]: Ice melts."],
        ["system: You are presenter.", "user[analyst]: Faster than before."],
    ]
    again = await goes_on_alike(
        flow, filtered, openai_server, *say("Snow melts.", "Too.", "See."), task="And snow?"
    )
    assert again.trace == run.trace
    assert conversations(openai_server)[-1] == [
        "system: You are presenter.",
        "user[analyst]: Faster than before.",
        "assistant: Look!",
        "user[analyst]: Too.",
    ]


def loop_and_summary(model) -> GraphFlow:
    generator, reviewer = agent("generator", model), agent("reviewer", model)
    summarizer = MessageFilterAgent(
        name="summarizer",
        wrapped_agent=agent("summarizer", model),
        filter=MessageFilterConfig(
            per_source=[
                PerSourceFilter(source="user", position="first", count=1),
                PerSourceFilter(source="reviewer", position="last", count=1),
            ]
        ),
    )
    builder = DiGraphBuilder()
    builder.add_node(generator).add_node(reviewer).add_node(summarizer)
    builder.add_edge(generator, reviewer)
    builder.add_edge(reviewer, summarizer, condition="APPROVE")
    builder.add_edge(reviewer, generator, condition="REVISE")
    builder.set_entry_point(generator)
    return GraphFlow(
        builder.get_participants(),
        graph=builder.build(),
        termination_condition=MaxMessageTermination(10),
    )


async def test_a_summary_of_a_loop_hears_the_task_and_the_last_word(openai_server, model):
    openai_server.script(*say("One.", "REVISE it.", "Two.", "APPROVE: fine.", "It was approved."))
    flow = loop_and_summary(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken(
        "user", "generator", "reviewer", "generator", "reviewer", "summarizer"
    )
    assert run.stop_reason == COMPLETE
    assert conversations(openai_server)[-1] == [
        "system: You are summarizer.",
        f"user[user]: {TASK}",
        "user[reviewer]: APPROVE: fine.",
    ]
    again = await goes_on_alike(
        flow,
        loop_and_summary,
        openai_server,
        *say("Three.", "APPROVE", "Done."),
        task="Next.",
    )
    assert again.trace == spoken("user", "generator", "reviewer", "summarizer")


# Loops


def loop_until_approved(model) -> GraphFlow:
    author, reviewer, printer = (agent(name, model) for name in ("author", "reviewer", "printer"))
    builder = DiGraphBuilder()
    builder.add_node(author).add_node(reviewer).add_node(printer)
    builder.add_edge(author, reviewer)
    builder.add_edge(reviewer, printer, condition=lambda msg: "APPROVE" in msg.to_model_text())
    builder.add_edge(reviewer, author, condition=lambda msg: "APPROVE" not in msg.to_model_text())
    builder.set_entry_point(author)
    return GraphFlow(
        builder.get_participants(),
        graph=builder.build(),
        termination_condition=MaxMessageTermination(10),
    )


async def test_a_loop_goes_round_until_its_condition_lets_it_out(openai_server, model):
    openai_server.script(*say("Draft.", "Longer.", "Long draft.", "APPROVE", "Printed."))
    flow = loop_until_approved(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken("user", "author", "reviewer", "author", "reviewer", "printer")
    assert run.stop_reason == COMPLETE
    assert conversations(openai_server)[2] == [
        "system: You are author.",
        f"user[user]: {TASK}",
        "assistant: Draft.",
        "user[reviewer]: Longer.",
    ]
    again = await goes_on_alike(
        flow, loop_until_approved, openai_server, *say("New.", "APPROVE", "Out."), task="Anew."
    )
    assert again.trace == spoken("user", "author", "reviewer", "printer")


async def test_a_flow_loaded_in_the_middle_of_a_loop_goes_on_in_it(openai_server, model):
    openai_server.script(*say("Draft.", "Longer."))
    flow = loop_until_approved(model)
    async for item in flow.run_stream(task=TASK):
        if getattr(item, "source", "") == "reviewer":
            break
    state = json.dumps(await flow.save_state())

    fresh = loop_until_approved(model)
    await fresh.load_state(json.loads(state))
    openai_server.script(*say("Long draft.", "APPROVE", "Printed."))
    run = await watch(fresh.run_stream())

    assert run.trace == spoken("author", "reviewer", "printer")
    assert run.stop_reason == COMPLETE


# Activation groups


def all_of_a_group(model) -> GraphFlow:
    """A loop in which b waits for all of a group.

    a -> b -> c -> b: b first waits for a and c, then only for c.
    """
    a, b, c, end = (agent(name, model) for name in ("a", "b", "c", "end"))
    builder = DiGraphBuilder()
    builder.add_node(a).add_node(b).add_node(c).add_node(end)
    builder.add_edge(a, b, activation_group="initial", activation_condition="all")
    builder.add_edge(b, c, condition="CHECK")
    builder.add_edge(b, end, condition="DONE")
    builder.add_edge(c, b, activation_group="feedback", activation_condition="all")
    builder.set_entry_point(a)
    return GraphFlow(
        builder.get_participants(),
        graph=builder.build(),
        termination_condition=MaxMessageTermination(20),
    )


async def test_two_ways_into_a_node_are_two_groups(openai_server, model):
    openai_server.script(
        *say("Start.", "CHECK it.", "Wrong.", "CHECK again.", "Right.", "DONE", ".")
    )
    flow = all_of_a_group(model)

    run = await watch(flow.run_stream(task=TASK))

    assert run.trace == spoken("user", "a", "b", "c", "b", "c", "b", "end")
    assert run.stop_reason == COMPLETE
    again = await goes_on_alike(
        flow, all_of_a_group, openai_server, *say("Start.", "DONE", "."), task="Again."
    )
    assert again.trace == spoken("user", "a", "b", "end")


def any_of_a_group(model) -> GraphFlow:
    """A loop in which any answer of a group is enough.

    a -> b -> (c1, c2) -> b: one answer is enough for b.
    """
    a, b, c1, c2, end = (agent(name, model) for name in ("a", "b", "c1", "c2", "end"))
    builder = DiGraphBuilder()
    builder.add_node(a).add_node(b).add_node(c1).add_node(c2).add_node(end)
    builder.add_edge(a, b, activation_group="initial")
    builder.add_edge(b, c1, condition="SEARCH")
    builder.add_edge(b, c2, condition="SEARCH")
    builder.add_edge(b, end, condition="DONE")
    builder.add_edge(c1, b, activation_group="loop_back", activation_condition="any")
    builder.add_edge(c2, b, activation_group="loop_back", activation_condition="any")
    builder.set_entry_point(a)
    return GraphFlow(
        builder.get_participants(),
        graph=builder.build(),
        termination_condition=MaxMessageTermination(20),
    )


async def test_any_of_two_answers_is_enough(openai_server, model):
    openai_server.rule(
        to("a", "Start."),
        to("b", "SEARCH.", "DONE."),
        to("c1", "One."),
        to("c2", "Two."),
        to("end", "End."),
    )

    run = await watch(any_of_a_group(model).run_stream(task=TASK))

    assert run.trace[:3] == spoken("user", "a", "b")
    assert sorted(run.trace[3:5]) == spoken("c1", "c2")
    assert run.trace[5:] == spoken("b", "end")
    assert run.stop_reason == COMPLETE


def mixed_groups(model) -> GraphFlow:
    """A node with a group of all and a group of any.

    d waits for a and b together, and for whichever of c and e is first.
    """
    a, b, c, d, e = (agent(name, model) for name in "abcde")
    builder = DiGraphBuilder()
    builder.add_node(a).add_node(b).add_node(c).add_node(d).add_node(e)
    builder.add_edge(a, b)
    builder.add_edge(a, c)
    builder.add_edge(a, e)
    builder.add_edge(a, d, activation_group="critical", activation_condition="all")
    builder.add_edge(b, d, activation_group="critical", activation_condition="all")
    builder.add_edge(c, d, activation_group="optional", activation_condition="any")
    builder.add_edge(e, d, activation_group="optional", activation_condition="any")
    return GraphFlow(builder.get_participants(), graph=builder.build())


async def test_groups_of_one_node_fire_each_for_itself(openai_server, model):
    openai_server.rule(*(to(name, f"{name} speaks.", f"{name} speaks.") for name in "abcde"))

    run = await watch(mixed_groups(model).run_stream(task=TASK))

    assert run.trace[:2] == spoken("user", "a")
    assert sorted(run.trace[2:5]) == spoken("b", "c", "e")
    assert run.trace[5:] == spoken("d", "d")
    assert run.stop_reason == COMPLETE
