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


def met_tool(server: str, name: str, schema: Mapping[str, object]) -> MetTool:
    """A tool with its name, description and schema, under its server's name."""
    parameters = cast("Mapping[str, object]", schema.get("parameters") or {})
    if isinstance(required := parameters.get("required"), list):
        # The order means nothing, and some servers have another at each start.
        parameters = {**parameters, "required": sorted(cast("list[object]", required), key=str)}
    description = str(schema.get("description") or "")
    try:
        arguments = json.dumps(parameters, indent=2, sort_keys=True)
        shown = json.dumps(parameters, indent=2, sort_keys=True, ensure_ascii=False)
    except RecursionError:  # it can't be compared: each time it is another
        arguments, shown = os.urandom(16).hex(), "(nested too deep)"
    whole = json.dumps([name, description, arguments])
    return MetTool(
        server=server,
        tool=visible(name),
        digest=hashlib.sha256(whole.encode()).hexdigest(),
        text=visible(f"{name}\n\n{description}\n\n{shown}\n")[:LONGEST],
    )
