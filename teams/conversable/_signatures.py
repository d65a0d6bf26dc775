"""Signatures of functions and tools, which an agent's model is told of."""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Callable
from typing import Literal, TypeVar

from teams._tools.signature import function_name
from teams.conversable._protocols import Function, Message
from teams.conversable._state import AgentState
from teams.conversable._tool_schema import tool_schema

F = TypeVar("F", bound=Function)

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_registered: weakref.WeakKeyDictionary[Function, Message] = weakref.WeakKeyDictionary()
"""Name and description that decorators gave a function, for those around them."""


class SignaturesMixin(AgentState):
    """The calls that the model of a ConversableAgent is told of."""

    def _update_client(self) -> None:
        """Let the model client, where there is one, follow a changed `llm_config`."""

    def update_function_signature(self, func_sig: str | Message, is_remove: bool | None) -> None:
        """Add or replace a function's signature, or remove it by its name."""
        self._update_signature("function", func_sig, remove=bool(is_remove))

    def update_tool_signature(self, tool_sig: str | Message, is_remove: bool) -> None:
        """Add or replace a tool's signature, or remove it by its name."""
        self._update_signature("tool", tool_sig, remove=is_remove)

    def _update_signature(
        self, kind: Literal["function", "tool"], signature: str | Message, *, remove: bool
    ) -> None:
        if not self.llm_config:
            raise AssertionError(f"To update a {kind} signature, agent must have an llm_config")
        key = f"{kind}s"
        known: list[Message] | None = self.llm_config.get(key)
        if remove:
            if known is None:
                raise AssertionError(f"No {kind} can be removed: the llm_config has no {key!r}.")
            kept = [each for each in known if _signature_name(each) != signature]
        elif isinstance(signature, dict):
            kept = [*_others(known or [], signature), signature]
        else:
            raise ValueError(f"The {kind} signature must be a dict, not {signature!r}.")
        others = {name: value for name, value in self.llm_config.items() if name != key}
        self.llm_config = {**others, key: kept} if kept else others
        self._update_client()

    def register_for_llm(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        api_style: Literal["function", "tool"] = "tool",
    ) -> Callable[[F], F]:
        """Decorator: let the agent's model call the function.

        Name and description may be left to the decorators nearer to the function; by default the
        name is the function's.
        """
        if api_style not in ("function", "tool"):
            raise ValueError(f"api_style must be 'function' or 'tool', not {api_style!r}.")

        def register(function: F) -> F:
            known = remembered(function, name=name, description=description)
            if not known.get("description"):
                raise ValueError(
                    f"The function {known['name']!r} needs a description: the decorator nearest to "
                    "it must give one."
                )
            schema = tool_schema(function, name=known["name"], description=known["description"])
            if api_style == "tool":
                self.update_tool_signature(schema, is_remove=False)
            else:
                self.update_function_signature(schema["function"], is_remove=False)
            return function

        return register


def remembered(function: Function, *, name: str | None, description: str | None = None) -> Message:
    """Name and description, also those of decorators nearer to the function."""
    known = _registered.setdefault(function, {"name": function_name(function)})
    known |= {"name": name} if name else {}
    known |= {"description": description} if description else {}
    return known


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"Invalid name: {name}. Only letters, numbers, '_' and '-' are allowed.")
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"Invalid name: {name}. It has more than {_LONGEST_NAME} characters.")


def _signature_name(signature: Message) -> str:
    """The name in an entry of `functions` or `tools`."""
    return signature.get("function", signature).get("name", "")


def _others(known: list[Message], signature: Message) -> list[Message]:
    """The entries of other names; replacing one warns."""
    name = _signature_name(signature)
    check_name(name)
    others = [each for each in known if _signature_name(each) != name]
    if len(others) < len(known):
        warn_overridden(name)
    return others


def warn_overridden(name: str) -> None:
    warnings.warn(f"Function '{name}' is being overridden.", UserWarning, stacklevel=3)
