"""An agent or team that learns."""

import secrets

from typing_extensions import TypedDict

from teams._group_chats.magentic_one import MagenticOneGroupChat
from teams.agents._assistant import AssistantAgent
from teams.experimental.task_centric_memory import _controller
from teams.experimental.task_centric_memory._asking import PageLogger
from teams.models._client import ChatCompletionClient

KINDS = ("AssistantAgent", "MagenticOneGroupChat")
_PROMPT = "Solve the task step by step, check each of its conditions, and end with the answer."


class ApprenticeConfig(TypedDict, total=False):
    """Settings of an apprentice."""

    name_of_agent_or_team: str
    disable_prefix_caching: bool
    MemoryController: _controller.MemoryControllerConfig


class Apprentice(_controller.MemoryController):
    """A memory with a fresh agent or team for each task."""

    def __init__(
        self,
        client: ChatCompletionClient,
        config: ApprenticeConfig | None = None,
        logger: PageLogger | None = None,
    ) -> None:
        settings: ApprenticeConfig = config or {}
        self._kind = settings.get("name_of_agent_or_team", "AssistantAgent")
        if self._kind not in KINDS:
            raise ValueError(f"An apprentice is one of {', '.join(KINDS)}, not {self._kind!r}.")
        self._varies = settings.get("disable_prefix_caching", False)
        work = self.assign_task_to_agent_or_team
        super().__init__(False, client, work, settings.get("MemoryController"), logger)

    async def assign_task_to_agent_or_team(self, task: str) -> tuple[str, str]:
        """The response to the task alone, and all that was said."""
        prompt = f"[{secrets.token_hex(4)}] {_PROMPT}" if self._varies else _PROMPT
        agent = AssistantAgent("apprentice", self._client, system_message=prompt)
        team = self._kind == "MagenticOneGroupChat"
        worker = MagenticOneGroupChat([agent], self._client) if team else agent
        messages = (await worker.run(task=task)).messages
        work = "\n\n".join(f"{message.source}: {message.to_text()}" for message in messages)
        return messages[-1].to_text(), work
