"""Agents of the usual two kinds: an assistant, a user's proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from teams.conversable._agent import ConversableAgent
from teams.conversable._human_input import HumanInputMode
from teams.conversable._messages import Message
from teams.conversable._protocols import Function, Settings


class AssistantAgent(ConversableAgent):
    """An agent that solves tasks with a model and writes code."""

    component_provider_override: ClassVar[str | None] = "teams.conversable.AssistantAgent"
    DEFAULT_SYSTEM_MESSAGE = """You are a helpful assistant who solves tasks by reasoning and, where it helps, by code that the user runs for you.
First lay out a short plan. Then take it step by step, and say of each step whether it needs code or only thought.
When you need a fact, a file, or a result, write code that prints it, read what comes back, and go on from there.
Put code into a block marked `python` or `sh`. One answer has at most one block, and the block is complete: the user runs it as it stands, cannot change it, and will not fill gaps. Never ask the user to copy, paste or edit.
Print results with `print`. To have the code kept in a file, make `# filename: NAME` the first line of the block.
When the result shows an error, find its cause and answer with the whole corrected code, not with a part or a change. When the code runs but the task is not solved, look again at what you assumed, collect what is missing, and try another way.
When you have the answer, check it with care and, where possible, show what it rests on.
When everything is done, reply with the word TERMINATE at the end."""  # noqa: E501 (paragraphs)
    DEFAULT_DESCRIPTION = (
        "An assistant that plans, reasons, and writes Python or shell code for others to run."
    )

    def __init__(
        self,
        name: str,
        system_message: str | list[Any] | None = DEFAULT_SYSTEM_MESSAGE,
        llm_config: Settings | Literal[False] | None = None,
        is_termination_msg: Callable[[Message], object] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: HumanInputMode = "NEVER",
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        if description is None and system_message == self.DEFAULT_SYSTEM_MESSAGE:
            description = self.DEFAULT_DESCRIPTION
        super().__init__(
            name,
            system_message,
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            llm_config=llm_config,
            description=description,
            **kwargs,
        )


class UserProxyAgent(ConversableAgent):
    """An agent that asks a person and runs code and tools."""

    component_provider_override: ClassVar[str | None] = "teams.conversable.UserProxyAgent"
    DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS = {  # noqa: RUF012 (AG2's name, a table)
        "ALWAYS": "A person who answers questions, gives tasks, and can run code.",
        "TERMINATE": (
            "A user who runs code and answers questions, and is asked when a task seems done."
        ),
        "NEVER": "A machine that runs Python and shell code and reports what it printed.",
    }

    def __init__(
        self,
        name: str,
        is_termination_msg: Callable[[Message], object] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: HumanInputMode = "ALWAYS",
        function_map: dict[str, Function] | None = None,
        code_execution_config: Settings | bool = {},  # noqa: B006 (the documented default)
        default_auto_reply: str | Message | None = "",
        llm_config: Settings | Literal[False] | None = False,
        system_message: str | list[Any] | None = "",
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        if description is None:
            description = self.DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS.get(human_input_mode)
        super().__init__(
            name,
            system_message,
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            function_map,
            code_execution_config,
            llm_config,
            default_auto_reply,
            description,
            **kwargs,
        )
