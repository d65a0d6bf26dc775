"""Parley and its peers: their commands, configs and environments."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.autogen import environment
from benchmarks.trace_mention import CONFIG

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VENVS = HERE.parent / ".peers-venv"
KEPT = "kept"
"""A file that goes when a tool runs which a person has to approve."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a process works: its folder, Slack and model."""

    folder: Path
    bot_token: str
    app_token: str
    signing_secret: str
    api_url: str
    model_url: str
    port: int

    @property
    def addresses(self) -> dict[str, str]:
        """Values of a config, by name."""
        names = ("bot_token", "app_token", "api_url", "model_url")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Side:
    """Parley, or a package with its version.

    `prepare` writes its config and returns its command's arguments. `removes` is the model's call
    of a tool that removes `KEPT`, "" without a tool that people approve.
    """

    name: str
    lock: str
    prepare: Callable[[Place], list[str]]
    removes: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    over_http: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def programs(self) -> Path:
        """The folder of its environment's programs."""
        return VENVS / self.lock / "bin" if self.lock else Path(sys.executable).parent

    def python(self) -> Path:
        """The interpreter of its environment, made when needed."""
        if not self.lock:
            return Path(sys.executable)
        return environment.make(self.name, VENVS / self.lock, HERE / f"{self.lock}.txt")

    def command(self, place: Place) -> list[str]:
        """Its command; its config is written."""
        return [str(self.python()), *self.prepare(place)]

    def variables(self, place: Place) -> dict[str, str]:
        """The environment variables of its process."""
        return {
            "HOME": str(place.folder),
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONPYCACHEPREFIX": str(VENVS / "compiled"),
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": place.model_url,
            "SLACK_BOT_TOKEN": place.bot_token,
            "SLACK_APP_TOKEN": place.app_token,
            "SLACK_TOKEN": place.bot_token,
            "SLACK_SIGNING_SECRET": place.signing_secret,
            "PYTHONPATH": "" if self.lock else str(ROOT),
            **self.environment,
        }


def _pointed(place: Place, program: str | Path, *arguments: str) -> list[str]:
    return [str(HERE / "pointed.py"), place.api_url, str(program), *arguments]


def _parley(place: Place) -> list[str]:
    config = CONFIG.format(**place.addresses).replace(
        'system_message = "You help."', 'system_message = "You help.", tools = ["deed:remove"]'
    )
    rule = '[policies.tools]\nremove = { action = "ask", approvers = ["asker"] }\n'
    (place.folder / "config.toml").write_text(f"{config}\n{rule}")
    (place.folder / "deed.py").write_text(
        "from pathlib import Path\n\n\ndef remove(name: str) -> str:\n"
        '    """Remove a file."""\n'
        "    (Path(__file__).parent / name).unlink()\n"
        '    return "removed"\n'
    )
    return ["-m", "gateway.cli", "serve", "--config", str(place.folder / "config.toml")]


def _bolt(place: Place) -> list[str]:
    config = place.folder / "config.json"
    config.write_text(json.dumps(place.addresses))
    return [str(ROOT / "benchmarks" / "platforms" / "bolt_script.py"), str(config)]


def _chat_sdk(place: Place) -> list[str]:
    return _pointed(place, HERE / "chat_sdk_bot.py")


def _agno(place: Place) -> list[str]:
    return _pointed(place, HERE / "agno_bot.py", str(place.port))


def _nanobot(place: Place) -> list[str]:
    folder = place.folder / ".nanobot"
    folder.mkdir(exist_ok=True)
    slack: dict[str, Any] = {
        "enabled": True,
        "botToken": place.bot_token,
        "appToken": place.app_token,
        "allowFrom": ["*"],
        "groupPolicy": "mention",
    }
    config = {
        "agents": {"defaults": {"model": "gpt-4o", "provider": "custom"}},
        "providers": {"custom": {"apiKey": "sk-none", "apiBase": place.model_url}},
        "channels": {"slack": slack, "websocket": {"enabled": False}},
        "gateway": {"port": place.port},
    }
    (folder / "config.json").write_text(json.dumps(config))
    return _pointed(place, VENVS / "nanobot" / "bin" / "nanobot", "gateway")


def _hermes(place: Place) -> list[str]:
    folder = place.folder / ".hermes"
    folder.mkdir(exist_ok=True)
    config = {
        "model": {
            "provider": "custom",
            "default": "gpt-4o",
            "base_url": place.model_url,
            "api_key": "sk-none",
            "context_length": 128_000,
        },
        "streaming": {"enabled": True},
        "approvals": {"mode": "manual"},
        "terminal": {"backend": "local", "cwd": str(place.folder)},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    return _pointed(place, VENVS / "hermes" / "bin" / "hermes", "gateway", "run")


PARLEY = Side(name="Parley", lock="", prepare=_parley, removes="remove", arguments={"name": KEPT})
SIDES = (
    PARLEY,
    Side(name="slack-bolt 1.30", lock="bolt", prepare=_bolt),
    Side(name="chat-sdk 0.4", lock="chat-sdk", prepare=_chat_sdk),
    Side(
        name="agno 3.1",
        lock="agno",
        prepare=_agno,
        removes="remove",
        arguments={"name": KEPT},
        over_http=True,
    ),
    Side(name="nanobot-ai 0.3", lock="nanobot", prepare=_nanobot),
    Side(
        name="hermes-agent 0.19",
        lock="hermes",
        prepare=_hermes,
        removes="terminal",
        arguments={"command": f"rm -rf ./{KEPT}"},
        environment={"SLACK_ALLOW_ALL_USERS": "true", "SLACK_HOME_CHANNEL": "C0RANDOM"},
    ),
)
