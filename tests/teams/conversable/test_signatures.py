"""Signatures of functions and tools, by hand or by decorators."""

from __future__ import annotations

from typing import Any

import pytest

from teams.conversable import register_function
from tests.fakes.bare_agent import Bare

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "description": "d", "parameters": {}},
}
OTHER: dict[str, Any] = {
    "type": "function",
    "function": {"name": "other", "description": "d", "parameters": {}},
}


class TestSignatures:
    @pytest.mark.parametrize("kind", ["tool", "function"])
    def test_without_llm_config(self, kind: str):
        with pytest.raises(
            AssertionError,
            match=f"^To update a {kind} signature, agent must have an llm_config$",
        ):
            getattr(Bare(), f"update_{kind}_signature")(TOOL, False)

    def test_a_signature_must_be_a_dict(self):
        agent = Bare(llm_config={"model": "m"})
        with pytest.raises(ValueError, match="must be a dict"):
            agent.update_tool_signature("add", is_remove=False)
        with pytest.raises(ValueError, match="must be a dict"):
            agent.update_function_signature("add", is_remove=None)

    def test_the_same_name_is_replaced_at_the_end(self):
        agent = Bare(llm_config={"model": "m", "tools": [TOOL, OTHER]})
        new = {**TOOL, "function": {**TOOL["function"], "description": "new"}}

        with pytest.warns(UserWarning, match=r"^Function 'add' is being overridden\.$"):
            agent.update_tool_signature(new, is_remove=False)

        assert agent.llm_config == {"model": "m", "tools": [OTHER, new]}

    def test_removal_is_by_name_and_an_emptied_list_goes(self):
        agent = Bare(llm_config={"model": "m"})
        agent.update_function_signature(TOOL["function"], None)
        agent.update_tool_signature(TOOL, is_remove=False)
        agent.update_tool_signature(OTHER, is_remove=False)

        agent.update_tool_signature("add", is_remove=True)
        assert agent.llm_config == {
            "model": "m",
            "tools": [OTHER],
            "functions": [TOOL["function"]],
        }
        agent.update_tool_signature("other", is_remove=True)
        agent.update_function_signature("add", True)
        assert agent.llm_config == {"model": "m"}

    def test_removing_from_a_list_that_is_not_there(self):
        agent = Bare(llm_config={"model": "m"})
        with pytest.raises(AssertionError):
            agent.update_tool_signature("add", is_remove=True)

    def test_the_client_follows(self):
        seen: list[Any] = []

        class Following(Bare):
            def _update_client(self) -> None:
                seen.append(self.llm_config)

        agent = Following(llm_config={"model": "m"})
        agent.update_tool_signature(TOOL, is_remove=False)

        assert seen == [{"model": "m", "tools": [TOOL]}]

    def test_a_config_that_agents_share_is_not_changed(self):
        shared = {"model": "m"}
        agent = Bare(llm_config=shared)
        agent.update_tool_signature(TOOL, is_remove=False)

        assert shared == {"model": "m"}


def names(agent: Bare) -> list[tuple[str, str]]:
    tools = agent.llm_config["tools"]
    return [(each["function"]["name"], each["function"]["description"]) for each in tools]


class TestDecorators:
    def test_outer_decorators_take_over_name_and_description(self):
        first, second, runner = (Bare(llm_config={"model": "m"}) for _ in range(3))

        @runner.register_for_execution()
        @second.register_for_llm()
        @first.register_for_llm(name="sum", description="Adds numbers")
        def plus(a: int, b: int) -> int:
            return a + b

        assert names(first) == names(second) == [("sum", "Adds numbers")]
        assert runner.can_execute_function("sum")
        assert plus(1, 2) == 3

    def test_an_outer_name_and_description_win(self):
        first, second = Bare(llm_config={"model": "m"}), Bare(llm_config={"model": "m"})

        @second.register_for_llm(name="plus", description="More")
        @first.register_for_llm(name="sum", description="Adds numbers")
        def _(a: int) -> int:
            return a

        assert names(second) == [("plus", "More")]

    def test_the_first_must_have_a_description(self):
        agent = Bare(llm_config={"model": "m"})
        with pytest.raises(ValueError, match="needs a description"):
            agent.register_for_llm()(lambda: None)

    def test_the_style_function(self):
        agent = Bare(llm_config={"model": "m"})

        @agent.register_for_llm(description="d", api_style="function")
        def one() -> int:
            return 1

        assert agent.llm_config == {
            "model": "m",
            "functions": [
                {
                    "description": "d",
                    "name": "one",
                    "parameters": {"type": "object", "properties": {}, "required": []},
                }
            ],
        }
        assert one() == 1

    def test_another_style(self):
        with pytest.raises(ValueError, match="api_style"):
            Bare(llm_config={"model": "m"}).register_for_llm(description="d", api_style="x")  # pyright: ignore[reportArgumentType]

    def test_without_llm_config(self):
        with pytest.raises(AssertionError, match="must have an llm_config"):
            Bare().register_for_llm(description="d")(print)

    def test_methods_can_be_registered(self):
        class Counter:
            def count(self, by: int) -> int:
                return by + 1

        agent, counter = Bare(llm_config={"model": "m"}), Counter()
        register_function(counter.count, caller=agent, executor=agent, description="Counts")

        assert names(agent) == [("count", "Counts")]
        assert (
            agent.execute_function({"name": "count", "arguments": '{"by": 1}'})[1]["content"] == "2"
        )


def test_register_function_for_caller_and_executor():
    def more(a: int) -> int:
        return a + 1

    caller, executor = Bare(llm_config={"model": "m"}), Bare()

    register_function(more, caller=caller, executor=executor, name="plus", description="Adds")

    assert names(caller) == [("plus", "Adds")]
    assert list(executor.function_map) == ["plus"]
    assert not caller.can_execute_function("plus")
