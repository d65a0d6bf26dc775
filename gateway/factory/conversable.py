"""Two-agent chats and queues, made from their tables in config.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never, cast

from gateway.base.imports import Imports
from gateway.config.conversable import (
    PERSON,
    AssistantPreset,
    ChatConfig,
    ConversableConfig,
    ConversableTeam,
    NestedChatsConfig,
    PlainPreset,
    QueuedChatConfig,
    UserProxyPreset,
    is_function,
)
from gateway.factory.model_clients import ModelClients
from gateway.factory.parts import PartFactory
from teams.base import Team
from teams.conversable import (
    AssistantAgent,
    ChatCompletionModel,
    ConversableAgent,
    ConversableChat,
    ConversableQueue,
    UserProxyAgent,
)
from teams.core import CancellationToken
from teams.kinds import Tool
from teams.tools import BaseTool

_GIVEN = ("system_message", "description", "max_consecutive_auto_reply")


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


class ConversableFactory:
    """Makes teams; each call makes everything anew but the model clients."""

    def __init__(self, models: ModelClients, imports: Imports, parts: PartFactory) -> None:
        self._models = models
        self._imports = imports
        self._parts = parts

    async def team(self, name: str, config: ConversableTeam) -> Team:
        """A new team. Raises ImportPathError, and what the class raises."""
        tables = config.agents
        agents = {each: await self._agent(each, tables.get(each)) for each in config.members}
        pairs = list(config.pairs())
        for caller, agent in tables.items():
            partners = [b if a == caller else a for a, b in pairs if caller in (a, b)]
            names = [agent.executor] if agent.executor else dict.fromkeys(partners)
            for tool in agent.tools:
                await self._register(tool, agents[caller], [agents[each] for each in names])
            for nested in agent.nested:
                self._nest(nested, agents[caller], agents)
        given: dict[str, Any] = {"name": name}
        if config.description:
            given["description"] = config.description
        if config.chats:
            queue = [self._queued(each, agents) for each in config.chats]
            return ConversableQueue(queue, **given)
        return ConversableChat(
            agents[config.starter],
            agents[config.recipient],
            max_turns=config.max_turns,
            summary_method=self._loaded(config.summary_method),
            summary_args=dict(config.summary_args),
            **given,
        )

    async def _agent(self, name: str, config: ConversableConfig | None) -> ConversableAgent:
        match config:
            case None:
                return UserProxyAgent(name, code_execution_config=False)
            case AssistantPreset():
                kind: type[ConversableAgent] = AssistantAgent
            case UserProxyPreset():
                kind = UserProxyAgent
            case PlainPreset():
                kind = ConversableAgent
            case _:
                assert_never(config)
        values = {key: getattr(config, key) for key in _GIVEN}
        agent = kind(
            name,
            human_input_mode=config.human_input_mode,
            default_auto_reply=config.default_auto_reply,
            is_termination_msg=self._termination(config.termination),
            code_execution_config=await self._code(config),
            context_variables=dict(config.context_variables),
            llm_config=self._model(config.model),
            **{key: value for key, value in values.items() if value is not None},
        )
        if config.model is not None:
            client = self._models.client(config.model)
            agent.register_model_client(ChatCompletionModel, client=client)
        return agent

    def _model(self, name: str | None) -> Any:
        if name is None:
            return False
        entry = {
            "model": self._models.label(name),
            "model_client_cls": ChatCompletionModel.__name__,
        }
        return {"config_list": [entry]}

    async def _code(self, config: ConversableConfig) -> Any:
        if config.code_executor is None:
            return False
        return {"executor": await config.code_executor.build(self._parts)}

    def _termination(self, text: str | None) -> Callable[[Mapping[str, Any]], Any] | None:
        if text is None or is_function(text):
            return self._loaded(text)
        return lambda message: text in _text(message.get("content"))

    async def _register(
        self,
        config: Tool,
        caller: ConversableAgent,
        executors: list[ConversableAgent],
    ) -> None:
        tool = await config.build(self._parts)
        caller.update_tool_signature({"type": "function", "function": tool.schema}, is_remove=False)
        for executor in executors:
            if not executor.can_execute_function(tool.name):
                executor.register_function({tool.name: ToolFunction(tool)})

    def _nest(
        self,
        config: NestedChatsConfig,
        agent: ConversableAgent,
        agents: Mapping[str, ConversableAgent],
    ) -> None:
        queue = [self._chat(each, agents) for each in config.chats]
        agent.register_nested_chats(queue, list(config.trigger), position=config.position)

    def _queued(
        self, config: QueuedChatConfig, agents: Mapping[str, ConversableAgent]
    ) -> dict[str, Any]:
        chat = {"sender": agents[config.sender or PERSON], **self._chat(config, agents)}
        if config.chat_id is not None:
            chat |= {"chat_id": config.chat_id, "prerequisites": list(config.prerequisites)}
        return chat

    def _chat(self, config: ChatConfig, agents: Mapping[str, ConversableAgent]) -> dict[str, Any]:
        """The chat as an item of a queue."""
        sender = {"sender": agents[config.sender]} if config.sender else {}
        message = {} if config.message is None else {"message": self._loaded(config.message)}
        return {
            **sender,
            **message,
            "recipient": agents[config.recipient],
            "carryover": list(config.carryover),
            "summary_method": self._loaded(config.summary_method),
            "summary_args": dict(config.summary_args),
            "max_turns": config.max_turns,
            "clear_history": config.clear_history,
        }

    def _loaded(self, text: str | None) -> Any:
        """The function of an import path; any other text as it is."""
        return self._imports.load_callable(text) if text and is_function(text) else text


def _text(content: Any) -> str:
    """The text of a message's content."""
    if not isinstance(content, list):
        return content or ""
    parts = cast("list[dict[str, Any]]", content)
    return "\n".join(str(part.get("text", "")) for part in parts)
