"""Code that a ConversableAgent executes for its partners."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock
from teams._base.workers import in_daemon_worker
from teams._run.run import largest_result
from teams._tools.result_size import fit_text
from teams.code_executors._base import CodeExecutor
from teams.code_executors._command_line import CommandLineCodeExecutor
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable._code_blocks import (
    code_blocks_of,
    language_of,
    newest_code,
    recent_messages,
)
from teams.conversable._executors import Executor, executor_of, run_script
from teams.conversable._facade import run_to_end
from teams.conversable._gate import check_ungated, run_code
from teams.conversable._mode import Mode, forms
from teams.conversable._printing import say
from teams.conversable._protocols import Agent, Message, Settings
from teams.conversable._state import AgentState

logger = logging.getLogger("teams")

_FILENAME = "# filename:"
_LEGACY = ("use_docker", "work_dir", "timeout")
"""Keys of a config without executor."""

_LOCAL = (
    "Code is executed on this machine, with your rights, not in a container: "
    "use_docker in code_execution_config says which you want."
)

_END_SECONDS = 0.8
"""Seconds that a cancelled chat waits for its code to be killed."""

_TOKEN: ContextVar[CancellationToken | None] = ContextVar("teams_conversable_code", default=None)
"""Cancels the code of the chat that calls `run_code`."""


@dataclass(frozen=True, slots=True)
class FoundCode:
    """Blocks of a message, and their executor; None for `run_code`."""

    blocks: list[Any]
    executor: Executor | None


class CodeMixin(AgentState):
    """Code execution of a ConversableAgent."""

    _code_execution_config: Settings | Literal[False]
    _code_executor: Executor | None
    _code_folder: LocalCommandLineCodeExecutor | None
    """Holder of the temporary folder of this agent's code, which goes when the agent does."""

    def _begin_code(self, code_execution_config: Settings | bool | None) -> None:
        """Take the constructor's argument."""
        self._code_executor = self._code_folder = None
        match code_execution_config:
            case None:
                warnings.warn(
                    "code_execution_config=None lets the agent execute code: use False or {}.",
                    UserWarning,
                    stacklevel=3,
                )
                self._code_execution_config = {}
            case dict():
                self._code_execution_config = {**code_execution_config}
            case False:
                self._code_execution_config = False
            case _:
                raise ValueError("code_execution_config must be a dict or False.")
        self._begin_executor(self._code_execution_config or {})

    def _begin_executor(self, config: Settings) -> None:
        if config.get("executor") is None:
            return
        if refused := [key for key in _LEGACY if key in config]:
            raise ValueError(
                f"code_execution_config has an executor and {', '.join(refused)}: "
                "these are options of the executor."
            )
        self._code_executor = executor_of(config)

    @property
    def code_executor(self) -> Executor | None:
        """The executor; None for `run_code`, or if code is off."""
        return self._code_executor

    @property
    def use_docker(self) -> bool | str | None:
        """The value in the config; None if code is off."""
        config = self._code_execution_config
        return None if config is False else config.get("use_docker", False)

    def run_code(self, code: str, **kwargs: Any) -> tuple[int, str, str | None]:
        """Run code; return its exit code, output and container image.

        Keywords: lang, filename, work_dir, timeout (seconds), use_docker.
        """
        options = self._script_options() | kwargs
        seconds = options.pop("timeout", None)
        if options.get("use_docker") is None and self._code_folder is None:
            logger.warning(_LOCAL)
        self._code_folder = self._code_folder or LocalCommandLineCodeExecutor()
        token = _TOKEN.get() or CancellationToken()
        return run_to_end(
            run_script(
                code, fresh=self._code_folder.work_dir, token=token, seconds=seconds, **options
            )
        )

    def _script_options(self) -> Settings:
        config = self._code_execution_config or {}
        return {key: config[key] for key in _LEGACY if key in config}

    def execute_code_blocks(self, code_blocks: Sequence[tuple[str, str]]) -> tuple[int, str]:
        """Run blocks (language, code) in order, up to the first that fails."""
        exit_code, logs = 0, ""
        for number, (given, code) in enumerate(code_blocks):
            language = language_of(given, code)
            say(f"\n>>>>>>>> EXECUTING CODE BLOCK {number} (inferred language is {language})...")
            exit_code, output = self._run_block(language.lower(), code, language)
            logs += f"\n{output}"
            if exit_code != 0:
                break
        return exit_code, logs

    def _run_block(self, language: str, code: str, written: str) -> tuple[int, str]:
        if language not in CommandLineCodeExecutor.SUPPORTED_LANGUAGES:
            return 1, f"unknown language {written}"
        options = self._script_options()
        first = code.partition("\n")[0].strip()
        if first.startswith(_FILENAME):
            options["filename"] = first.removeprefix(_FILENAME).strip()
        exit_code, output, _ = self.run_code(code, lang=language, **options)
        return exit_code, output

    async def _generate_code_execution_reply(
        self,
        mode: Mode,
        messages: list[Message] | None = None,
        sender: Agent | None = None,
        config: Settings | Literal[False] | None = None,
    ) -> tuple[bool, str | None]:
        """The result of the newest code in the last messages.

        Cancelling the async form ends the code.
        """
        found = self._find_code(messages, sender, config)
        if found is None:
            return False, None
        if not mode.is_async:
            check_ungated(self)
        given = self._given(messages, sender)
        gated = partial(run_code, self, found.blocks, given, partial(self._a_run_found, found))
        return True, _reply(*await mode.call(partial(self._run_found, found), gated))

    generate_code_execution_reply, a_generate_code_execution_reply = forms(
        _generate_code_execution_reply
    )

    def _find_code(
        self,
        messages: list[Message] | None,
        sender: Agent | None,
        config: Settings | Literal[False] | None,
    ) -> FoundCode | None:
        own = self._code_execution_config
        config = own if config is None else config
        if config is False:
            return None
        given = self._given(messages, sender)
        executor = None
        if (wanted := config.get("executor")) is not None:
            is_own = own is not False and own.get("executor") is wanted
            executor = self._code_executor if is_own else executor_of(config)
        blocks = newest_code(
            recent_messages(given, config.get("last_n_messages", "auto")), _extractor(executor)
        )
        return FoundCode([*blocks], executor) if blocks else None

    def _run_found(self, found: FoundCode) -> tuple[int, str]:
        match found.executor:
            case None:
                return self.execute_code_blocks(
                    [(each.language, each.code) for each in found.blocks]
                )
            case CodeExecutor():
                return run_to_end(_run_in(found.executor, found.blocks))
            case executor:
                _say_executing(found.blocks)
                result = executor.execute_code_blocks(found.blocks)
                return result.exit_code, result.output

    async def _a_run_found(self, found: FoundCode, blocks: Sequence[Any]) -> tuple[int, str]:
        found = replace(found, blocks=[*blocks])
        if isinstance(found.executor, CodeExecutor):
            return await _run_in(found.executor, found.blocks)
        token, ended, loop = CancellationToken(), asyncio.Event(), asyncio.get_running_loop()

        def work() -> tuple[int, str]:
            _TOKEN.set(token)
            try:
                return self._run_found(found)
            finally:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(ended.set)

        try:
            return await in_daemon_worker(work, name="code of a chat")
        except asyncio.CancelledError:
            token.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await ended.wait()
            raise


async def _run_in(executor: CodeExecutor, blocks: list[CodeBlock]) -> tuple[int, str]:
    _say_executing(blocks)
    known = [CodeBlock(each.code, language_of(each.language, each.code)) for each in blocks]
    result = await executor.execute_code_blocks(known, CancellationToken())
    return result.exit_code, result.output


def _extractor(executor: Executor | None) -> Any:
    if executor is None or isinstance(executor, CodeExecutor):
        return code_blocks_of
    return executor.code_extractor.extract_code_blocks


def _reply(exit_code: int, output: str) -> str:
    outcome = "succeeded" if exit_code == 0 else "failed"
    output = fit_text(output, largest_result())
    return f"exitcode: {exit_code} (execution {outcome})\nCode output: {output}"


def _say_executing(blocks: Sequence[Any]) -> None:
    languages = ", ".join(language_of(each.language, each.code) for each in blocks)
    if len(blocks) == 1:
        what = f"CODE BLOCK (inferred language is {languages})"
    else:
        what = f"{len(blocks)} CODE BLOCKS (inferred languages are [{languages}])"
    say(f"\n>>>>>>>> EXECUTING {what}...")
