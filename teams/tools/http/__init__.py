"""Requests to HTTP servers as tools."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.tools.http._tool import HttpTool, HttpToolConfig

__all__ = ["HttpTool", "HttpToolConfig"]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
