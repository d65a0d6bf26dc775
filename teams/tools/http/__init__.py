"""Requests to HTTP servers as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.tools.http._tool import HttpTool, HttpToolConfig

__all__ = ["HttpTool", "HttpToolConfig"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__, {"teams.tools.http._tool": ("HttpTool", "HttpToolConfig")}
    )
