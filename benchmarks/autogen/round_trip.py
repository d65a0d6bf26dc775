"""Load components with AutoGen 0.7.5 and dump them again.

Reads a JSON object of components from standard input. Writes one with, for each, `component` (what
AutoGen dumped) or `error`, and `fields` of AutoGen's configs. AutoGen does not dump a tool that it
made from source code: there, `tools` are the schemas of the tools that it loaded.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

from autogen_core import ComponentLoader, ComponentModel

os.environ |= dict.fromkeys(
    ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "sk-none"
)
warnings.simplefilter("ignore")


class Anything(ComponentLoader):
    pass


def fields(form: Any) -> dict[str, list[str]]:
    """The config fields of each provider in the component."""
    found = {}
    if isinstance(form, list):
        for each in form:
            found |= fields(each)
    elif isinstance(form, dict):
        for each in form.values():
            found |= fields(each)
        if isinstance(provider := form.get("provider"), str) and "config" in form:
            module, _, name = provider.rpartition(".")
            cls = getattr(__import__(module, fromlist=[name]), name)
            found[provider] = sorted(cls.component_config_schema.model_fields)
    return found


def tools_of(loaded: Any) -> list[Any]:
    """The schemas of a tool, or of those inside."""
    if hasattr(loaded, "schema"):
        return [loaded.schema]
    parts = [*getattr(loaded, "_tools", ()), *(getattr(loaded, "_workbench", None) or ())]
    return [schema for part in parts for schema in tools_of(part)]


def again(form: dict[str, Any]) -> dict[str, Any]:
    try:
        loaded = Anything.load_component(ComponentModel(**form), object)
        if "source_code" in json.dumps(form):
            return {"tools": tools_of(loaded)}
        return {"component": loaded.dump_component().model_dump(mode="json")}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


given = json.load(sys.stdin)
json.dump(
    {name: {**again(form), "fields": fields(form)} for name, form in given.items()}, sys.stdout
)
