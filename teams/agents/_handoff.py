"""Hand-offs: tools by which an agent's model passes the conversation on."""

from __future__ import annotations

from pydantic import BaseModel, model_validator

from teams._tools.base import BaseTool


class Handoff(BaseModel, defer_build=True):
    """A hand-over of the conversation: a tool that the model may call.

    Raises ValueError if the tool's name is no identifier.
    """

    target: str
    """The name of the agent that goes on."""

    description: str = ""
    """When to hand over, as the model is told."""

    name: str = ""
    """The tool's name, `transfer_to_<target>` if not given."""

    message: str = ""
    """The tool's result and the text of the HandoffMessage."""

    @model_validator(mode="after")
    def _fill_in(self) -> Handoff:
        self.name = self.name or f"transfer_to_{self.target}".lower()
        if not self.name.isidentifier():
            raise ValueError(f"The name of a handoff must be an identifier, not {self.name!r}")
        self.description = self.description or f"Handoff to {self.target}."
        self.message = self.message or (
            f"Transferred to {self.target}, adopting the role of {self.target} immediately."
        )
        return self

    @property
    def handoff_tool(self) -> BaseTool[BaseModel, BaseModel]:
        """The tool the model calls."""
        # Here for start-up: an agent without hand-offs needs no functions as tools.
        from teams._tools.function import FunctionTool

        return FunctionTool(
            self._hand_over, name=self.name, description=self.description, strict=True
        )

    def _hand_over(self) -> str:
        return self.message
