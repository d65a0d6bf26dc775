"""GraphFlow: graphs, their errors, and who speaks when."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teams import DiGraph, DiGraphBuilder, DiGraphEdge, DiGraphNode, GraphFlow
from teams.agents import UserProxyAgent
from teams.messages import TextMessage
from tests.fakes.agents import Talker
from tests.teams._group_chats.graphs import agents, nodes, said

# Who speaks when


async def test_conditional_edges_by_keyword():
    people = agents("abc", a=["take the left", "take the right"])
    builder = DiGraphBuilder()
    for agent in people.values():
        builder.add_node(agent)
    builder.add_conditional_edges("a", {"left": "b", "right": people["c"]})
    flow = GraphFlow(builder.get_participants(), builder.build())
    assert said(await flow.run(task="hi")) == "a b"
    assert said(await flow.run(task="hi")) == "a c"


# Ends


# State


# Cancelled and suspended


# Graphs


@pytest.mark.parametrize(
    ("graph", "error"),
    [
        (DiGraph(nodes={}), "Graph has no nodes"),
        (DiGraph(nodes=nodes(a=["b"])), "edge from 'a' leads to no node: 'b'"),
        (DiGraph(nodes=nodes(a=[]), default_start_node="b"), "start node is no node: 'b'"),
        (DiGraph(nodes={"a": DiGraphNode(name="b")}), "Node 'b' stands under another name: 'a'"),
        (DiGraph(nodes=nodes(a=["b"], b=["a"])), "at least one start node"),
        (
            DiGraph(nodes=nodes(a=["b"], b=["c"], c=["b"])),
            "at least one leaf node",
        ),
        (
            DiGraph(nodes=nodes(a=["b", {"target": "c", "condition": "x"}], b=[], c=[])),
            "Node 'a' has a mix of conditional and unconditional edges",
        ),
        (
            DiGraph(nodes=nodes(A=["B"], B=["A"], C=[]), default_start_node="A"),
            "^Cycle detected without exit condition: A -> B -> A$",
        ),
        (
            DiGraph(nodes=nodes(a=["b", "d"], b=["c"], c=["b"], d=[])),
            "^Cycle detected without exit condition: b -> c -> b$",
        ),
        (
            DiGraph(nodes=nodes(a=["a"], b=[])),
            "^Cycle detected without exit condition: a -> a$",
        ),
        (
            DiGraph(nodes=nodes(a=["c"], b=[{"target": "c", "activation_condition": "any"}], c=[])),
            "Conflicting activation conditions for target 'c' group 'c': "
            r"'all' \(from 'a'\) and 'any' \(from 'b'\)",
        ),
    ],
)
def test_a_graph_that_cannot_be_executed_is_refused(graph: DiGraph, error: str):
    if "start node$" in error or not graph.nodes:
        assert graph.get_start_nodes() == set()
    with pytest.raises(ValueError, match=error):
        graph.graph_validate()
    with pytest.raises(ValueError, match=error):
        GraphFlow([Talker(name) for name in "abcdABC"], graph, max_turns=5)


def test_a_cycle_with_a_conditional_edge_anywhere_is_one_that_ends():
    loop = nodes(a=["b"], b=["c"], c=[{"target": "a", "condition": "x"}], d=[])
    graph = DiGraph(nodes=loop, default_start_node="a")
    graph.graph_validate()
    assert graph.has_cycles_with_exit()
    assert graph.get_has_cycles()
    straight = DiGraph(nodes=nodes(a=["b"], b=[]))
    assert not straight.has_cycles_with_exit()
    assert not straight.get_has_cycles()


def test_a_graph_tells_parents_starts_leaves_and_what_is_waited_for():
    graph = DiGraph(nodes=nodes(a=["b", "c"], b=["c"], c=[]))
    assert graph.get_parents() == {"a": [], "b": ["a"], "c": ["a", "b"]}
    assert graph.get_start_nodes() == {"a"}
    assert graph.get_leaf_nodes() == {"c"}
    assert graph.get_remaining_map() == {"b": {"b": 1}, "c": {"c": 2}}
    assert DiGraph(nodes=graph.nodes, default_start_node="b").get_start_nodes() == {"b"}


def test_an_edge_says_whether_it_is_taken():
    message = TextMessage(content="all APPROVEd", source="a")
    assert DiGraphEdge(target="b").check_condition(message)
    assert DiGraphEdge(target="b", condition="APPROVE").check_condition(message)
    assert not DiGraphEdge(target="b", condition="REJECT").check_condition(message)
    assert DiGraphEdge(target="b", condition=lambda m: m.source == "a").check_condition(message)
    by_function = DiGraphEdge(target="b", condition=lambda m: False)
    assert not by_function.check_condition(message)
    assert by_function.condition is None
    assert by_function.condition_function is not None


def test_an_edge_belongs_to_the_group_of_its_target_unless_it_says_otherwise():
    assert DiGraphEdge(target="b").activation_group == "b"
    assert DiGraphEdge(target="b", activation_group="g").activation_group == "g"


def test_the_schemas_of_graphs_know_no_functions():
    condition = DiGraphEdge.model_json_schema()["properties"]["condition"]
    assert condition["anyOf"] == [{"type": "string"}, {"type": "null"}]
    GraphFlow.component_config_schema.model_json_schema()


def test_a_builder_refuses_nodes_it_does_not_know():
    a, b = Talker("a"), Talker("b")
    builder = DiGraphBuilder().add_node(a)
    for build, error in (
        (lambda: builder.add_edge(a, b), "Target node 'b' must be added"),
        (lambda: builder.add_edge("x", a), "Source node 'x' must be added"),
        (lambda: builder.add_conditional_edges(a, {"x": "b"}), "Target node 'b' must be added"),
        (lambda: builder.set_entry_point("x"), "Start node 'x' must be added"),
        (lambda: builder.add_node(Talker("a")), "another agent named 'a'"),
    ):
        with pytest.raises(ValueError, match=error):
            build()
    assert builder.add_node(a).get_participants() == [a]


def test_a_builder_shows_its_nodes_and_edges():
    a, b = Talker("a"), Talker("b")
    builder = DiGraphBuilder().add_node(a).add_node(b, activation="any")
    builder.add_edge(a, b, "yes").add_edge(a, b, "no")
    assert {name: node.activation for name, node in builder.nodes.items()} == {
        "a": "all",
        "b": "any",
    }
    assert [edge.condition for edge in builder.edges["a"]] == ["yes", "no"]
    assert builder.edges["b"] == []
    assert builder.agents == {"a": a, "b": b}
    builder.nodes["a"].edges[0].condition = "maybe"
    assert builder.build().nodes["a"].edges[0].condition == "maybe"


def test_a_built_graph_does_not_change_with_its_builder():
    a, b = Talker("a"), Talker("b")
    builder = DiGraphBuilder().add_node(a).add_node(b)
    graph = builder.build()
    builder.add_edge(a, b)
    assert graph.get_start_nodes() == {"a", "b"}


@settings(max_examples=60, derandomize=True, database=None)
@given(st.sets(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=12))
def test_cycles_are_found_wherever_they_are(pairs: set[tuple[str, str]]):
    reached = {name: {to for source, to in pairs if source == name} for name in "abcde"}
    graph = DiGraph(nodes=nodes(**{name: sorted(targets) for name, targets in reached.items()}))
    for _ in range(5):
        for name in reached:
            reached[name] |= set().union(*(reached[to] for to in reached[name]))
    assert graph.get_has_cycles() == any(name in reached[name] for name in reached)


# Making one


def test_conditions_that_are_functions_are_left_out_of_a_dump_with_a_warning():
    left, right = UserProxyAgent("left"), UserProxyAgent("right")
    builder = DiGraphBuilder().add_node(left).add_node(right)
    builder.add_edge(left, right, condition=lambda message: True)
    flow = GraphFlow([left, right], builder.build())
    with pytest.warns(UserWarning, match="always taken: left -> right"):
        dumped = flow.dump_component()
    assert "condition_function" not in dumped.config["graph"]["nodes"]["left"]["edges"][0]
