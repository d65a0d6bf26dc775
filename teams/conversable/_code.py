"""Placeholder of the code's part."""

from typing import Any


class CodeMixin:
    """Placeholder."""

    def _begin_code(self, code_execution_config: Any) -> None:
        self._code_execution_config = code_execution_config

    def generate_code_execution_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None

    async def a_generate_code_execution_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None
