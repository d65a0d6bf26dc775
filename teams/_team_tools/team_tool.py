"""TeamTool: a team that agents call like a tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, ClassVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.tool_call import InputRequired
from teams._components.component import Component, ComponentModel
from teams._contract.team import TaskResult, Team
from teams._engine.group_chat import BaseGroupChat
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._team_tools.task_runner import RunnerCall, TaskRunnerTool


class TeamToolConfig(BaseModel, defer_build=True):
    """See `TeamTool` for what the fields mean."""

    name: str
    description: str
    team: Annotated[ComponentModel, Team]
    return_value_as_last_message: bool = False


class TeamTool(TaskRunnerTool, Component[TeamToolConfig]):
    """A tool that gives its task to a team.

    What the team's members say is streamed into the calling agent's turn. The team remembers
    earlier calls, and is saved, loaded and reset with the calling agent.

    Calls side by side are safe: they run one after the other, in the order of the model's calls.

    Args:
        team: does the task. It needs a condition under which its run ends.
        name: the name the model calls.
        description: when and how to use it, for the model.
        return_value_as_last_message: the calling model is given the last message alone, instead of
            all messages, each after its source and a colon.
    """

    component_config_schema = TeamToolConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.TeamTool"

    def __init__(
        self,
        team: BaseGroupChat,
        name: str,
        description: str,
        return_value_as_last_message: bool = False,
    ) -> None:
        super().__init__(team, name, description, return_value_as_last_message)
        self._team = team

    @override
    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        return self._team.message_types()

    @override
    def begin_run(self, call: RunnerCall) -> None:
        self._team.begin([call.task])

    @override
    async def run_call(
        self, call: RunnerCall, token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage, None]:
        try:
            async with aclosing(self._drive(call, token)) as items:
                async for item in items:
                    yield item
        except InputRequired:
            raise
        except Exception:
            await self._team.break_off()  # who was speaking knows in the next call how far it came
            raise

    async def _drive(
        self, call: RunnerCall, token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage, None]:
        async with aclosing(self._team.drive(token)) as stream:
            async for item in stream:
                match item:
                    case TaskResult(pending=pending) if pending:
                        raise InputRequired(requests=pending)
                    case TaskResult():
                        call.done, call.stop_reason = True, item.stop_reason
                    case _:
                        call.record(item)
                        yield item

    @override
    async def give_up(self) -> None:
        await self._team.abandon_turn()

    @override
    async def reset_runner(self) -> None:
        await self._team.reset()
