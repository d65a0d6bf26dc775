"""MagenticOne: the orchestrator with agents for files, web and code."""

from __future__ import annotations

import warnings
from contextlib import AsyncExitStack
from typing import ClassVar, Self

from teams._base.extras import require_packages
from teams._group_chats.magentic_one import MagenticOneGroupChat
from teams._run.run import ApprovalFuncType
from teams.agents._base import BaseChatAgent
from teams.agents._code_executor import CodeExecutorAgent
from teams.agents._user_proxy import InputFuncType, UserProxyAgent
from teams.agents.file_surfer._agent import FileSurfer
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.code_executors._base import CodeExecutor
from teams.code_executors._default import create_default_code_executor
from teams.models._client import ChatCompletionClient


class MagenticOne(MagenticOneGroupChat):
    """An orchestrator with the agents FileSurfer, WebSurfer, Coder and ComputerTerminal.

    With `hil_mode` a human is the agent User, and `input_func` asks for the answers. The
    ComputerTerminal runs code in the `code_executor` once `approval_func` approved it; without an
    executor (DeprecationWarning) it is that of `create_default_code_executor`. `close()`, or the
    end of `async with`, closes the browser and stops the executor; the client is the caller's.

    It dumps as a MagenticOneGroupChat, unless it has an `approval_func`. Warns (UserWarning) of a
    client without vision, tools or JSON. Raises ImportError if the extra `magentic-one` is missing.
    """

    component_provider_override: ClassVar[str | None] = "teams.MagenticOneGroupChat"

    def __init__(
        self,
        client: ChatCompletionClient,
        hil_mode: bool = False,
        input_func: InputFuncType | None = None,
        code_executor: CodeExecutor | None = None,
        approval_func: ApprovalFuncType | None = None,
    ) -> None:
        require_packages("MagenticOne needs", "magentic-one", "markitdown", "playwright")
        # Here for start-up: few need a browser.
        from teams.agents.web_surfer._agent import MultimodalWebSurfer

        needed = ("vision", "function_calling", "json_output")
        if missing := [name for name in needed if not client.model_info.get(name)]:
            text = f"MagenticOne needs a model with {' and '.join(missing)}."
            warnings.warn(text, UserWarning, stacklevel=2)
        if code_executor is None:
            text = "Give MagenticOne a code_executor: you decide where code runs."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            code_executor = create_default_code_executor()
        self._agents: list[BaseChatAgent] = [
            FileSurfer("FileSurfer", client),
            MultimodalWebSurfer("WebSurfer", client),
            MagenticOneCoderAgent("Coder", client),
            CodeExecutorAgent("ComputerTerminal", code_executor, approval_func=approval_func),
        ]
        if hil_mode:
            self._agents.append(UserProxyAgent("User", input_func=input_func))
        super().__init__(self._agents, client)

    async def close(self) -> None:
        """Close the browser, and stop the code executor."""
        async with AsyncExitStack() as stack:
            for agent in self._agents:
                stack.push_async_callback(agent.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
