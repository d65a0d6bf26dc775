"""Elicitors that ask by lines or by way of the run."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Self, TextIO, cast

from pydantic import BaseModel
from typing_extensions import override

from teams._base.whole_text import whole_json
from teams._base.workers import in_daemon_worker
from teams._components.component import Component
from teams.tools.mcp._host import Elicitor
from teams.tools.mcp._sdk import message, wire

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams, ElicitResult

CHOICES = {"a": "accept", "accept": "accept", "d": "decline", "decline": "decline"}
"""Answers, and what they mean; any other cancels."""


class StreamElicitor(Elicitor):
    """Asks by lines: accept, decline or cancel, then content as JSON.

    No answer within `timeout` seconds cancels, and so does the end of the stream.
    """

    def __init__(
        self, read_stream: TextIO, write_stream: TextIO, timeout: float | None = None
    ) -> None:
        self._read_stream = read_stream
        self._write_stream = write_stream
        self._timeout = timeout

    @override
    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        try:
            async with asyncio.timeout(self._timeout):
                return message("ElicitResult", await self._asked(wire(params)))
        except TimeoutError:
            self._say("No answer came in time.")
            return message("ElicitResult", {"action": "cancel"})

    async def _asked(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._say(asked["message"])
        if "url" in asked:
            self._say(asked["url"])
        self._say("[a]ccept, [d]ecline or [c]ancel?")
        action = CHOICES.get((await self._line()).strip().lower(), "cancel")
        schema = asked.get("requestedSchema")
        if action != "accept" or schema is None:
            return {"action": action}
        self._say(f"Content as JSON, of this schema: {json.dumps(schema, ensure_ascii=False)}")
        while text := await self._line():
            try:
                content: object = whole_json(text)
            except ValueError as error:
                self._say(f"That is not JSON: {error}. Try again:")
                continue
            if isinstance(content, dict):
                return {"action": "accept", "content": cast("dict[str, Any]", content)}
            self._say("That is not a JSON object. Try again:")
        return {"action": "cancel"}

    def _say(self, text: str) -> None:
        self._write_stream.write(f"{text}\n")
        self._write_stream.flush()

    async def _line(self) -> str:
        return await in_daemon_worker(self._read_stream.readline, name="elicitor")


class RunElicitorConfig(BaseModel):
    """Nothing: the run knows its people."""


class RunElicitor(Elicitor, Component[RunElicitorConfig]):
    """Leaves a server's questions to the run's people, or cancels them."""

    component_config_schema = RunElicitorConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.RunElicitor"

    @override
    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        return message("ElicitResult", {"action": "cancel"})

    def _to_config(self) -> RunElicitorConfig:
        return RunElicitorConfig()


class StdioElicitorConfig(BaseModel, defer_build=True):
    """Seconds that a person may take."""

    timeout: float | None = None


class StdioElicitor(StreamElicitor, Component[StdioElicitorConfig]):
    """Asks whoever sits at the terminal."""

    component_config_schema = StdioElicitorConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.StdioElicitor"

    def __init__(self, timeout: float | None = None) -> None:
        super().__init__(sys.stdin, sys.stdout, timeout)

    def _to_config(self) -> StdioElicitorConfig:
        return StdioElicitorConfig(timeout=self._timeout)

    @classmethod
    def _from_config(cls, config: StdioElicitorConfig) -> Self:
        return cls(config.timeout)
