"""Two-agent chats and queues, made from their tables in config.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from typing_extensions import override

from gateway.config.conversable import AnyPreset, ConversableTeam
from gateway.factory.parts import Means, PartFactory
from teams.base import Team
from teams.conversable import (
    ChatCompletionModel,
    ConversableAgent,
    ConversableChat,
    ConversableQueue,
    UserProxyAgent,
)
from teams.core import CancellationToken
from teams.kinds import Tool, is_import_path
from teams.tools import BaseTool


class ToolFunction:
    """A tool as a function that an agent executes."""

    def __init__(self, tool: BaseTool[Any, Any]) -> None:
        self.tool = tool
        self.traits = tool.traits
        self.__name__ = tool.name

    async def __call__(self, **arguments: Any) -> str:
        """The tool's result as text."""
        result = await self.tool.run_json(arguments, CancellationToken())
        return self.tool.return_value_as_string(result)


class ConversableFactory(PartFactory):
    """Maker of a chat's team, and of its agents."""

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._agents: dict[str, ConversableAgent] = {}

    @override
    async def agent(self, name: str) -> ConversableAgent:
        """The agent, which both chats and nested ones have."""
        return self._agents[name]

    async def chat(self, name: str, config: ConversableTeam) -> Team:
        """A new team. Raises ImportPathError, and what the class raises."""
        agents = self._agents
        for each in config.members:
            agents[each] = await self._agent(each, config.agents.get(each))
        for caller, agent in config.agents.items():
            partners = [b if a == caller else a for a, b in config.pairs() if caller in (a, b)]
            names = [agent.executor] if agent.executor else dict.fromkeys(partners)
            for tool in agent.tools:
                await self._register(tool, agents[caller], [agents[each] for each in names])
            for nested in agent.nested:
                queue = [await each.build(self) for each in nested.chats]
                agents[caller].register_nested_chats(
                    queue, list(nested.trigger), position=nested.position
                )
        if config.chats:
            queue = [await each.build(self) for each in config.chats]
            told: dict[str, Any] = {"description": config.description} if config.description else {}
            return ConversableQueue(queue, name=name, **told)
        return ConversableChat(**await config.build(self, name=name))

    async def _agent(self, name: str, config: AnyPreset | None) -> ConversableAgent:
        if config is None:
            return UserProxyAgent(name, code_execution_config=False)
        executor = config.code_executor
        agent: ConversableAgent = await config.build(
            self,
            name=name,
            is_termination_msg=self._termination(config.termination),
            code_execution_config={"executor": await executor.build(self)} if executor else False,
            llm_config=self._model(config.model),
        )
        if config.model is not None:
            agent.register_model_client(ChatCompletionModel, client=self.client(config.model))
        return agent

    def _model(self, name: str | None) -> Any:
        if name is None:
            return False
        client = ChatCompletionModel.__name__
        return {
            "config_list": [{"model": self._means.models.label(name), "model_client_cls": client}]
        }

    def _termination(self, text: str | None) -> Callable[[Mapping[str, Any]], Any] | None:
        if text is None:
            return None
        if is_import_path(text):
            return self.function(text)
        return lambda message: text in _text(message.get("content"))

    async def _register(
        self,
        config: Tool,
        caller: ConversableAgent,
        executors: list[ConversableAgent],
    ) -> None:
        tool = await config.build(self)
        caller.update_tool_signature({"type": "function", "function": tool.schema}, is_remove=False)
        for executor in executors:
            if not executor.can_execute_function(tool.name):
                executor.register_function({tool.name: ToolFunction(tool)})


def _text(content: Any) -> str:
    """The text of a message's content."""
    if not isinstance(content, list):
        return content or ""
    parts = cast("list[dict[str, Any]]", content)
    return "\n".join(str(part.get("text", "")) for part in parts)
