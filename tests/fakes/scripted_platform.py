"""A chat platform of a test's own, with scripted people.

As an adapter it is `adapters.scripted`; `installed` puts it there for the length of a test.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from pydantic import Field, SecretStr

import adapters
from gateway.adapter import AdapterHost, AuthError
from gateway.config.table import AdapterSection

Script = Callable[[AdapterHost], Awaitable[None]]

SERVED = """
[health]
port = 0
[[routes]]
adapter = "scripted"
channels = "C1"
users = "members"
[adapters.scripted]
bot_token = "xoxb-1234567890"
"""
"""Tables of a config with which the platform is served."""


class Config(AdapterSection):
    """The settings in `[adapters.scripted]`."""

    bot_token: SecretStr
    """Its token."""

    workspaces: list[str] = Field(default_factory=list)
    """Where it is installed."""


@dataclass
class Platform:
    """Runs `script` once it is connected; then stays until it is cancelled."""

    script: Script | None = None
    refuses: bool = False
    configs: list[Config] = field(default_factory=list)
    connected: int = 0
    name: str = "scripted"

    def build(self, config: Config) -> Platform:
        self.configs.append(config)
        return self

    async def run(self, host: AdapterHost) -> None:
        if self.refuses:
            raise AuthError("the platform refused bot_token")
        self.connected += 1
        if self.script is not None:
            await self.script(host)
        await asyncio.Event().wait()


@contextmanager
def installed(platform: Platform, name: str = "scripted", **more: Any) -> Generator[Platform]:
    """The platform as module `adapters.NAME`.

    `more` are other names of the module.
    """
    module = ModuleType(f"adapters.{name}")
    vars(module).update({"Config": Config, "build": platform.build, **more})
    sys.modules[module.__name__] = module
    setattr(adapters, name, module)
    try:
        yield platform
    finally:
        del sys.modules[module.__name__]
        delattr(adapters, name)
