"""Placeholder of the tools' part."""

from typing import Any


class ToolsMixin:
    """Placeholder."""

    def _begin_tools(self, function_map: Any) -> None:
        self._function_map = function_map

    def generate_function_call_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None

    async def a_generate_function_call_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None

    def generate_tool_calls_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None

    async def a_generate_tool_calls_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None


def register_function(*args: Any, **kwargs: Any) -> None:
    """Placeholder."""
