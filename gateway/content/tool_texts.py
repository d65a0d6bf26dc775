"""Texts of servers' tools, for their digests and for people."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import cast

from gateway.render.sanitize import visible
from gateway.store.records import MetTool

LONGEST = 100_000
"""Characters of a text that are kept; its digest is that of the whole."""
LONGEST_NAME = 1_000


def tool_digest(name: str, schema: Mapping[str, object]) -> str:
    """The digest of a tool's name, description and schema."""
    try:
        arguments = json.dumps(_parameters(schema), indent=2, sort_keys=True)
    except RecursionError:  # it can't be compared: each time it is another
        arguments = os.urandom(16).hex()
    whole = json.dumps([name, _description(schema), arguments])
    return hashlib.sha256(whole.encode()).hexdigest()


def met_tool(server: str, name: str, schema: Mapping[str, object]) -> MetTool:
    """A tool with its name, description and schema, under its server's name."""
    try:
        shown = json.dumps(_parameters(schema), indent=2, sort_keys=True, ensure_ascii=False)
    except RecursionError:
        shown = "(nested too deep)"
    text = f"{name}\n\n{_description(schema)}\n\n{shown}\n"[:LONGEST]
    return MetTool(
        server=server,
        tool=visible(name[:LONGEST_NAME]),
        digest=tool_digest(name, schema),
        text=visible(text)[:LONGEST],
    )


def _description(schema: Mapping[str, object]) -> str:
    return str(schema.get("description") or "")


def _parameters(schema: Mapping[str, object]) -> Mapping[str, object]:
    parameters = cast("Mapping[str, object]", schema.get("parameters") or {})
    if isinstance(required := parameters.get("required"), list):
        # The order means nothing, and some servers have another at each start.
        parameters = {**parameters, "required": sorted(cast("list[object]", required), key=str)}
    return parameters
