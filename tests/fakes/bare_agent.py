"""An agent with tools and code alone."""

from __future__ import annotations

from typing import Any

from teams.conversable._code import CodeMixin
from teams.conversable._tools import ToolsMixin


class Bare(ToolsMixin, CodeMixin):
    """Has no model, no person and no partner."""

    def __init__(
        self,
        function_map: dict[str, Any] | None = None,
        *,
        code: Any = False,
        llm_config: Any = False,
    ) -> None:
        self._name = "bare"
        self.llm_config = llm_config
        self._oai_messages: Any = {}
        self._unmet = {}
        self._begin_tools(function_map)
        self._begin_code(code)


def calling(*calls: tuple[str | None, str, str]) -> dict[str, Any]:
    """A message with tool calls: id, name and arguments of each."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                **({} if id is None else {"id": id}),
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for id, name, arguments in calls
        ],
    }
