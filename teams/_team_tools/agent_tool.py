"""AgentTool: an agent that other agents call like a tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, ClassVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.tool_call import AGENT_PATH, InputRequired, PendingInput
from teams._components.component import Component, ComponentModel
from teams._contract.agent import ChatAgent, Response, SupportsChatAgent
from teams._contract.turn_record import Suspension
from teams._engine.participant import as_member
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._team_tools.task_runner import RunnerCall, TaskRunnerTool
from teams.agents._base import BaseChatAgent, custom_types


class AgentToolConfig(BaseModel, defer_build=True):
    """See `AgentTool` for what the fields mean."""

    agent: Annotated[ComponentModel, ChatAgent]
    return_value_as_last_message: bool = False


class AgentTool(TaskRunnerTool, Component[AgentToolConfig]):
    """A tool that gives its task to an agent.

    Its name and description are the agent's. What the agent says is streamed into the calling
    agent's turn. The agent remembers earlier calls, and is saved, loaded and reset with the calling
    agent.

    Calls side by side are safe: they run one after the other, in the order of the model's calls.

    Args:
        agent: does the task.
        return_value_as_last_message: the calling model is given the last message alone, instead of
            all messages, each after its source and a colon.
    """

    component_config_schema = AgentToolConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.AgentTool"

    def __init__(
        self, agent: BaseChatAgent | SupportsChatAgent, return_value_as_last_message: bool = False
    ) -> None:
        member: BaseChatAgent = as_member(agent)
        super().__init__(member, member.name, member.description, return_value_as_last_message)
        self._agent = member

    @override
    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        return custom_types(self._agent)

    @override
    async def run_call(
        self, call: RunnerCall, token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage, None]:
        agent = self._agent
        if agent.absorbed_ids is None:  # it has no turn record, and starts its turn again
            call.items = [call.task]
        waiting: Sequence[PendingInput] = ()
        try:
            # An agent with a turn record does not take the task twice.
            messages = await agent.begin_anew([call.task])
            turn = agent.noting_breaks(agent.on_messages_stream(messages, token))
            async with aclosing(turn) as stream:
                async for item in stream:
                    match item:
                        case Response(chat_message=message):
                            call.record(message)
                            call.done = True
                            yield message
                            return
                        case Suspension():
                            waiting = item.requests
                        case _:
                            call.record(item)
                            yield item
        except InputRequired as required:
            waiting = required.pending(
                agent=(*AGENT_PATH.get(), agent.name), request_id=f"{agent.name}:{call.task.id}"
            )
        if not waiting:
            raise RuntimeError(f"Agent {agent.name!r} ended its turn without a response.")
        raise InputRequired(requests=waiting)

    @override
    async def give_up(self) -> None:
        await self._agent.abandon_turn()

    @override
    async def reset_runner(self) -> None:
        await self._agent.on_reset(CancellationToken())
