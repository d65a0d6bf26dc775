"""Functions of a ConversableAgent, and replies to calls of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from teams._base.tool_call import InputRequired
from teams._base.workers import is_async
from teams._contract.turn_record import LEFT_OUT
from teams._run.run import largest_result
from teams._tools.result_size import fit_text
from teams._tools.signature import function_name, unwrap
from teams.conversable._facade import run_to_end, run_unsuspended
from teams.conversable._gate import check_ungated, run_calls
from teams.conversable._mode import ASYNC, SYNC, Mode, forms
from teams.conversable._printing import say
from teams.conversable._protocols import Agent, Function, Message
from teams.conversable._signatures import SignaturesMixin, check_name, remembered, warn_overridden
from teams.conversable._tool_values import for_execution, read_arguments

Messages = list[Message] | None
F = TypeVar("F", bound=Function)


class ToolsMixin(SignaturesMixin):
    """Functions and tools of a ConversableAgent."""

    _function_map: dict[str, Function]

    def _begin_tools(self, function_map: Mapping[str, Function] | None) -> None:
        """Take the constructor's argument."""
        for name in function_map or ():
            check_name(name)
        self._function_map = {**(function_map or {})}

    @property
    def function_map(self) -> dict[str, Function]:
        """The functions that the agent executes, by name."""
        return self._function_map

    def can_execute_function(self, name: list[str] | str) -> bool:
        """True if the agent has the function, or all of them."""
        names = [name] if isinstance(name, str) else name
        return all(each in self._function_map for each in names)

    def register_function(self, function_map: dict[str, Function | None]) -> None:
        """Add functions, or remove those whose value is None."""
        for name in function_map:
            check_name(name)
        for name, function in function_map.items():
            if name in self._function_map:
                warn_overridden(name)
            elif function is None:
                warnings.warn(
                    f"Function '{name}' can't be removed: it is not registered.",
                    UserWarning,
                    stacklevel=2,
                )
            if function is None:
                self._function_map.pop(name, None)
            else:
                self._function_map[name] = function

    def register_for_execution(self, name: str | None = None) -> Callable[[F], F]:
        """Decorator: let the agent execute the function, which itself stays unchanged.

        In calls, dicts become the pydantic models of its annotations, and its result becomes text.
        """

        def register(function: F) -> F:
            known = remembered(function, name=name)
            self.register_function({known["name"]: for_execution(function)})
            return function

        return register

    def execute_function(self, func_call: Message, verbose: bool = False) -> tuple[bool, Message]:
        """Execute a call; return success and the result message.

        A coroutine function is called, but not awaited: see `a_execute_function`.
        """
        return run_unsuspended(self._execute_function(SYNC, func_call, verbose))

    async def a_execute_function(self, func_call: Message) -> tuple[bool, Message]:
        """Execute a call of a coroutine function, or of a plain one."""
        return await self._execute_function(ASYNC, func_call)

    async def _execute_function(
        self, mode: Mode, func_call: Message, verbose: bool = False
    ) -> tuple[bool, Message]:
        name = func_call.get("name", "")
        function = self._function_map.get(name)
        if function is None:
            return False, _result(func_call, f"Error: Function {name} not found.")
        try:
            arguments = read_arguments(func_call.get("arguments"))
        except ValueError as error:
            told = f"Error: {error}\n The argument must be in JSON format."
            return False, _result(func_call, told)
        say(f"\n>>>>>>>> EXECUTING {'ASYNC ' if mode.is_async else ''}FUNCTION {name}...")
        try:
            outcome = True, _result(func_call, await mode.settle(function(**arguments)))
        except InputRequired:
            raise
        except Exception as error:
            outcome = False, _result(func_call, f"Error: {error}")
        if verbose:
            say(f"\nArguments: {arguments}\nResult:\n{outcome[1]['content']}")
        return outcome

    def _run_calls(self, asked: Sequence[Message]) -> list[Message]:
        """Results of the calls of a message, one after the other."""
        check_ungated(self)
        return [self._run_call(each.get("function") or {})[1] for each in asked]

    def _run_call(self, call: Message) -> tuple[bool, Message]:
        function = self._function_map.get(call.get("name", ""))
        if function is not None and is_async(unwrap(function)):
            return run_to_end(self.a_execute_function(call))
        return self.execute_function(call)

    async def _a_run_calls(self, asked: Sequence[Message]) -> list[Message]:
        """Results of the calls of a message, which run concurrently."""
        return await run_calls(self, asked)

    async def _generate_function_call_reply(
        self,
        mode: Mode,
        messages: Messages = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> tuple[bool, Message | None]:
        """The result of the last message's `function_call`."""
        if not (asked := self._asked("function_call", messages, sender)):
            return False, None
        left_out = self._given(messages, sender)[-1].get("left_out") or 0
        (result,) = await mode.call(self._run_calls, self._a_run_calls, asked)
        return True, {**result, "content": _told(_text(result), left_out, calls=1)}

    generate_function_call_reply, a_generate_function_call_reply = forms(
        _generate_function_call_reply
    )

    async def _generate_tool_calls_reply(
        self,
        mode: Mode,
        messages: Messages = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> tuple[bool, Message | None]:
        """The results of the last message's `tool_calls`."""
        if not (asked := self._asked("tool_calls", messages, sender)):
            return False, None
        left_out = self._given(messages, sender)[-1].get("left_out") or 0
        results = await mode.call(self._run_calls, self._a_run_calls, asked)
        return True, _tool_reply(asked, results, left_out)

    generate_tool_calls_reply, a_generate_tool_calls_reply = forms(_generate_tool_calls_reply)

    def _asked(self, key: str, messages: Messages, sender: Agent | None) -> list[Message]:
        """Calls of the last message, in the shape of `tool_calls`."""
        given = self._given(messages, sender)
        asked = given[-1].get(key) if given else None
        if not asked:
            return []
        return asked if key == "tool_calls" else [{"function": asked}]


def register_function(
    f: Function,
    *,
    caller: ToolsMixin,
    executor: ToolsMixin,
    name: str | None = None,
    description: str,
) -> None:
    """Let one agent's model call a function, and another agent execute it."""
    name = name or function_name(f)
    caller.register_for_llm(name=name, description=description)(f)
    executor.register_for_execution(name=name)(f)


def _result(func_call: Message, content: object) -> Message:
    return {"name": func_call.get("name", ""), "role": "function", "content": content}


def _tool_reply(asked: Sequence[Message], results: Sequence[Message], left_out: int) -> Message:
    responses = [
        {
            **({"tool_call_id": call["id"]} if call.get("id") is not None else {}),
            "role": "tool",
            "content": _text(result),
        }
        for call, result in zip(asked, results, strict=True)
    ]
    responses[-1]["content"] = _told(responses[-1]["content"], left_out, calls=len(asked))
    content = "\n\n".join(str(each["content"]) for each in responses)
    return {"role": "tool", "tool_responses": responses, "content": content}


def _told(content: Any, left_out: int, *, calls: int) -> Any:
    """The content, and that other calls of the answer were not made."""
    said = LEFT_OUT.format(left_out=left_out, calls=calls)
    return f"{content}\n\n{said}" if left_out else content


def _text(result: Message) -> Any:
    """The content of a result: a message without content can't be sent."""
    content = result.get("content")
    return fit_text(content, largest_result()) if isinstance(content, str) else content or ""
