"""The JSON Schema of config.toml, with the tables of all platforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import create_model

from gateway.app.find_adapters import find_adapter, platform_names
from gateway.config.root import Config
from gateway.config.schema import left_out, schema_of
from gateway.config.table import AdapterSection
from teams.kinds import Section

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def config_schema(tell: Callable[[str], object]) -> dict[str, Any]:
    """The schema of the file; what fails is told, and left out."""
    tables = {name: found for name in platform_names() if (found := _table(name, tell)) is not None}
    fields: dict[str, Any] = {name: (table, None) for name, table in tables.items()}
    adapters = create_model("Adapters", __base__=Section, **fields)
    adapters.__doc__ = "The accounts on chat platforms."
    whole = create_model("Config", __base__=Config, adapters=(adapters, None))
    whole.__doc__ = "Parley's configuration."
    made = schema_of(whole, tell)
    accounts = made["$defs"]["Adapters"]
    # An account of another name says its platform.
    others = [{"required": ["platform"], **each} for each in accounts["properties"].values()]
    accounts["additionalProperties"] = {"anyOf": others}
    return {"$schema": DRAFT, **made}


def _table(platform: str, tell: Callable[[str], object]) -> type[AdapterSection] | None:
    try:
        found: Any = getattr(find_adapter(platform), "Config", None)
        if isinstance(found, type) and issubclass(found, AdapterSection):
            schema_of(found, tell)
            return found
    except Exception as error:  # it may be somebody else's
        tell(left_out(f"the platform {platform}", error))
    return None
