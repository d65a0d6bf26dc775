"""MagenticOneCoderAgent: the programmer of a Magentic-One team."""

from __future__ import annotations

from typing import Any, ClassVar

from teams.agents._assistant import AssistantAgent
from teams.model_context._auto import AutoChatCompletionContext
from teams.models._client import ChatCompletionClient

_DESCRIPTION = (
    "A programmer who writes and corrects Python and shell scripts, and reasons about what others "
    "found. It runs nothing itself: others run what it writes."
)
_INSTRUCTIONS = (
    "You are the programmer of a team. A computer terminal runs the code that you write and shows "
    "you its output. Write one complete script in an answer, in a ```python or ```sh block: nobody "
    "edits it, fills in a gap or answers a prompt. Print whatever you need to see. Begin with the "
    "line `# filename: NAME` if a later script needs the file. If a task has parts, say briefly "
    "which one you do now. If a script failed, find the cause in its output, and write the whole "
    "script anew. Check a result before you give it, and name the evidence. If no code is needed, "
    "answer in words."
)


class MagenticOneCoderAgent(AssistantAgent):
    """An assistant that writes code for others to run.

    All further arguments but `model_client_stream`, and a `model_context` that summarises, are
    ignored.
    """

    component_provider_override: ClassVar[str | None] = f"{__name__}.MagenticOneCoderAgent"

    def __init__(self, name: str, model_client: ChatCompletionClient, **ignored: Any) -> None:
        context = ignored.get("model_context")
        super().__init__(
            name,
            model_client,
            description=_DESCRIPTION,
            system_message=_INSTRUCTIONS,
            model_client_stream=bool(ignored.get("model_client_stream")),
            model_context=context if isinstance(context, AutoChatCompletionContext) else None,
        )


__all__ = ["MagenticOneCoderAgent"]
