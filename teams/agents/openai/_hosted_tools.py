"""Tools that run at OpenAI: their names and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from teams._tools.base import BaseTool
from teams.agents._assistant_tools import ToolFunction

HostedTool: TypeAlias = str | dict[str, Any]

_NEEDED: Mapping[str, Sequence[str]] = {
    "web_search": (),
    "web_search_preview": (),
    "image_generation": (),
    "local_shell": (),
    "file_search": ("vector_store_ids",),
    "code_interpreter": ("container",),
    "computer_use_preview": ("display_width", "display_height", "environment"),
    "mcp": ("server_label", "server_url"),
}
"""Each tool and the settings without which it can't be had."""
_SHELL_MODEL = "codex-mini-latest"
_SECRET = ("authorization", "headers")


def hosted_tool(tool: HostedTool, model: str) -> dict[str, Any]:
    """The tool on the wire; ValueError for an impossible one."""
    settings: dict[str, Any] = {"type": tool} if isinstance(tool, str) else tool
    kind: Any = settings.get("type")
    if kind not in _NEEDED:
        raise ValueError(f"OpenAI has no tool {kind!r}; it has {', '.join(sorted(_NEEDED))}.")
    if missing := [name for name in _NEEDED[kind] if not settings.get(name)]:
        wanted = ", ".join(_NEEDED[kind])
        raise ValueError(
            f"The tool {kind!r} needs {', '.join(missing)}: give a dict with type, {wanted}."
        )
    if kind == "local_shell" and model != _SHELL_MODEL:
        raise ValueError(f"The tool 'local_shell' is for the model {_SHELL_MODEL!r} alone.")
    return dict(settings)


def split_tools(
    tools: Sequence[HostedTool | BaseTool[Any, Any] | ToolFunction], model: str
) -> tuple[list[dict[str, Any]], list[BaseTool[Any, Any] | ToolFunction]]:
    """The tools that run at the provider, and those that run here."""
    there = [cast("HostedTool", tool) for tool in tools if isinstance(tool, str | dict)]
    return [hosted_tool(tool, model) for tool in there], [
        tool for tool in tools if not isinstance(tool, str | dict)
    ]


def without_secrets(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool without what it tells a server to be let in."""
    return {name: value for name, value in tool.items() if name not in _SECRET}
