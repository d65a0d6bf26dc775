"""Tools of a ConversableAgent: registering them, calls, and replies to calls."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from teams._base.tool_call import InputRequired
from teams.conversable._bridge import TheTeam
from tests.fakes.bare_agent import Bare, calling


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


async def double(a: int) -> int:
    return 2 * a


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def result(name: str, content: Any) -> dict[str, Any]:
    return {"name": name, "role": "function", "content": content}


class TestFunctionMap:
    def test_it_is_live_and_not_the_dict_that_was_given(self):
        given = {"add": add}
        agent = Bare(given)
        agent.function_map["more"] = add

        assert given == {"add": add}
        assert agent.can_execute_function("more")

    def test_an_agent_can_execute_a_list_if_it_has_all_of_them(self):
        agent = Bare({"add": add})

        assert agent.can_execute_function(["add"])
        assert not agent.can_execute_function(["add", "more"])
        assert agent.can_execute_function([])

    @pytest.mark.parametrize("name", ["a b", "", "ä", "a" * 65])
    def test_names_that_models_refuse_are_refused(self, name: str):
        with pytest.raises(ValueError, match="Invalid name"):
            Bare({name: add})
        with pytest.raises(ValueError, match="Invalid name"):
            Bare().register_function({name: add})

    def test_the_text_about_a_bad_name(self):
        with pytest.raises(
            ValueError,
            match=r"^Invalid name: a b\. Only letters, numbers, '_' and '-' are allowed\.$",
        ):
            Bare({"a b": add})

    def test_none_removes_with_the_warning_of_an_override(self):
        agent = Bare({"add": add})

        with pytest.warns(UserWarning, match=r"^Function 'add' is being overridden\.$"):
            agent.register_function({"add": None})

        assert agent.function_map == {}

    def test_removing_an_unknown_function_warns(self):
        with pytest.warns(UserWarning, match="'add' can't be removed"):
            Bare().register_function({"add": None})

    def test_replacing_warns(self):
        agent = Bare({"add": add})

        with pytest.warns(UserWarning, match=r"^Function 'add' is being overridden\.$"):
            agent.register_function({"add": double})

        assert agent.function_map == {"add": double}


class TestExecuteFunction:
    def test_the_value_is_passed_on_as_it_is(self):
        agent = Bare({"add": add})

        assert agent.execute_function(call("add", '{"a": 1}')) == (True, result("add", 3))

    def test_a_function_that_the_agent_does_not_have(self):
        assert Bare().execute_function(call("add", "{}")) == (
            False,
            result("add", "Error: Function add not found."),
        )

    def test_arguments_that_are_no_json_with_the_position(self):
        assert Bare({"add": add}).execute_function(call("add", '{"a": }')) == (
            False,
            result(
                "add",
                "Error: Expecting value: line 1 column 7 (char 6)\n"
                " The argument must be in JSON format.",
            ),
        )

    def test_arguments_that_are_no_object(self):
        ok, message = Bare({"add": add}).execute_function(call("add", "[1]"))

        assert not ok
        assert "must be in JSON format" in message["content"]

    def test_a_function_that_raises(self):
        def fail() -> None:
            raise LookupError("not here")

        assert Bare({"fail": fail}).execute_function(call("fail", "{}")) == (
            False,
            result("fail", "Error: not here"),
        )

    def test_a_function_that_needs_an_answer_suspends(self):
        def ask() -> None:
            raise InputRequired("May I?")

        with pytest.raises(InputRequired):
            Bare({"ask": ask}).execute_function(call("ask", "{}"))

    async def test_a_coroutine_function_is_not_awaited(self):
        _, message = Bare({"double": double}).execute_function(call("double", '{"a": 2}'))

        assert await message["content"] == 4

    async def test_the_async_form_takes_both_kinds(self):
        agent = Bare({"add": add, "double": double})

        assert await agent.a_execute_function(call("add", '{"a": 1}')) == (True, result("add", 3))
        assert await agent.a_execute_function(call("double", '{"a": 2}')) == (
            True,
            result("double", 4),
        )
        ok, message = await agent.a_execute_function(call("double", "{}"))
        assert not ok
        assert message["content"].startswith("Error: ")

    async def test_banners(self, capsys: pytest.CaptureFixture[str]):
        agent = Bare({"add": add})
        agent.execute_function(call("add", '{"a": 1}'))
        await agent.a_execute_function(call("add", '{"a": 1}'))
        agent.execute_function(call("add", "{"))
        agent.execute_function(call("more", "{}"))

        assert capsys.readouterr().out == (
            "\n>>>>>>>> EXECUTING FUNCTION add...\n\n>>>>>>>> EXECUTING ASYNC FUNCTION add...\n"
        )

    def test_verbose_prints_arguments_and_result(self, capsys: pytest.CaptureFixture[str]):
        Bare({"add": add}).execute_function(call("add", '{"a": 1}'), verbose=True)

        assert capsys.readouterr().out.endswith("\nArguments: {'a': 1}\nResult:\n3\n")


class TestFunctionCallReply:
    def test_it_is_the_result(self):
        message = {"role": "assistant", "function_call": call("add", '{"a": 1}')}

        assert Bare({"add": add}).generate_function_call_reply([message]) == (
            True,
            result("add", 3),
        )

    def test_the_conversation_with_the_sender_is_read_where_no_messages_are_given(self):
        agent, sender = Bare({"add": add}), TheTeam()
        agent._oai_messages[sender] = [{"function_call": call("add", '{"a": 1}')}]

        assert agent.generate_function_call_reply(sender=sender) == (True, result("add", 3))

    async def test_a_message_without_call_is_left_to_others(self):
        agent = Bare({"add": add})
        for message in (
            {"content": "text"},
            {"content": "text", "function_call": None},
            calling(("1", "add", '{"a": 1}')),
        ):
            assert agent.generate_function_call_reply([message]) == (False, None)
            assert await agent.a_generate_function_call_reply([message]) == (False, None)
        assert agent.generate_function_call_reply([]) == (False, None)

    def test_a_coroutine_function_runs_to_its_end(self):
        message = {"function_call": call("double", '{"a": 2}')}

        assert Bare({"double": double}).generate_function_call_reply([message]) == (
            True,
            result("double", 4),
        )

    async def test_inside_of_a_running_loop_too(self):
        message = {"function_call": call("double", '{"a": 2}')}

        assert Bare({"double": double}).generate_function_call_reply([message]) == (
            True,
            result("double", 4),
        )

    async def test_the_async_form_awaits(self):
        message = {"function_call": call("double", '{"a": 2}')}

        assert await Bare({"double": double}).a_generate_function_call_reply([message]) == (
            True,
            result("double", 4),
        )

    def test_a_function_without_result_gives_an_empty_content(self):
        def nothing() -> None: ...

        assert Bare({"nothing": nothing}).generate_function_call_reply(
            [{"function_call": call("nothing", "")}]
        ) == (True, result("nothing", ""))


class TestToolCallsReply:
    MESSAGE = calling(("1", "add", '{"a": 1}'), (None, "double", '{"a": 2}'), ("3", "more", "{}"))
    REPLY = (
        True,
        {
            "role": "tool",
            "tool_responses": [
                {"tool_call_id": "1", "role": "tool", "content": 3},
                {"role": "tool", "content": 4},
                {"tool_call_id": "3", "role": "tool", "content": "Error: Function more not found."},
            ],
            "content": "3\n\n4\n\nError: Function more not found.",
        },
    )

    def test_results_in_the_order_of_calls(self):
        agent = Bare({"add": add, "double": double})

        assert agent.generate_tool_calls_reply([self.MESSAGE]) == self.REPLY

    async def test_the_async_form(self):
        agent = Bare({"add": add, "double": double})

        assert await agent.a_generate_tool_calls_reply([self.MESSAGE]) == self.REPLY

    async def test_a_message_without_calls_is_left_to_others(self):
        for message in ({"content": "text"}, {"function_call": call("add", "{}")}, calling()):
            assert Bare().generate_tool_calls_reply([message]) == (False, None)
            assert await Bare().a_generate_tool_calls_reply([message]) == (False, None)

    async def test_the_async_calls_of_a_message_run_at_the_same_time(self):
        met = asyncio.Barrier(2)

        async def meet(who: str) -> str:
            await met.wait()
            return who

        _, reply = await Bare({"meet": meet}).a_generate_tool_calls_reply(
            [calling(("1", "meet", '{"who": "a"}'), ("2", "meet", '{"who": "b"}'))]
        )

        assert reply is not None
        assert reply["content"] == "a\n\nb"

    async def test_an_error_is_raised_once_the_other_calls_have_ended(self):
        ended: list[str] = []

        async def ask() -> None:
            raise InputRequired("May I?")

        async def work() -> None:
            await asyncio.sleep(0)
            ended.append("work")

        agent = Bare({"ask": ask, "work": work})
        with pytest.raises(InputRequired):
            await agent.a_generate_tool_calls_reply(
                [calling(("1", "ask", "{}"), ("2", "work", "{}"))]
            )
        assert ended == ["work"]

    async def test_cancelling_leaves_no_call_running(self):
        begun, ended = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        agent = Bare({"wait": wait})
        async with asyncio.TaskGroup() as group:
            task = group.create_task(
                agent.a_generate_tool_calls_reply([calling(("1", "wait", "{}"))])
            )
            await begun.wait()
            task.cancel()
        assert task.cancelled()
        assert ended.is_set()

    async def test_subclasses_and_instances_replace_how_calls_are_executed(self):
        class Polite(Bare):
            def execute_function(
                self, func_call: dict[str, Any], verbose: bool = False
            ) -> tuple[bool, dict[str, Any]]:
                ok, message = super().execute_function(func_call, verbose)
                return ok, {**message, "content": f"{message['content']}, please"}

        async def refuse(func_call: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
            return False, result(func_call["name"], "no")

        agent = Polite({"add": add})
        agent.a_execute_function = refuse
        message = calling(("1", "add", '{"a": 1}'))

        assert agent.generate_tool_calls_reply([message])[1]["content"] == "3, please"  # pyright: ignore[reportOptionalSubscript]
        assert (await agent.a_generate_tool_calls_reply([message]))[1]["content"] == "no"  # pyright: ignore[reportOptionalSubscript]

    def test_plain_functions_run_in_the_callers_thread_and_context(self):
        seen: list[Any] = []
        variable = contextvars.ContextVar[str]("variable", default="unset")
        variable.set("set")

        def look() -> None:
            seen.append((threading.current_thread(), variable.get()))

        Bare({"look": look}).generate_tool_calls_reply([calling(("1", "look", "{}"))])

        assert seen == [(threading.current_thread(), "set")]


async def test_what_is_executed_gives_text():
    agent = Bare()
    agent.register_for_execution("add")(add)
    agent.register_for_execution("twice")(double)

    assert agent.execute_function(call("add", '{"a": 1}')) == (True, result("add", "3"))
    assert await agent.a_execute_function(call("twice", '{"a": 1}')) == (
        True,
        result("twice", "2"),
    )
