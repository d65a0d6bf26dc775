"""Placeholder of the model's part."""

from typing import Any


class ModelMixin:
    """Placeholder."""

    def _begin_models(self, llm_config: Any) -> None:
        self.llm_config = llm_config
        self.client = None

    def generate_oai_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None

    async def a_generate_oai_reply(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        """Placeholder."""
        return False, None
