"""Calls of the Web API, and the table of its methods."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from adapters.slack.simulator.errors import ApiError, invalid_arguments
from adapters.slack.simulator.state import Json, Workspace
from adapters.slack.simulator.world import Grant, World

TokenKind: TypeAlias = Literal["bot", "app", "none"]


@dataclass(kw_only=True)
class Call:
    """A call with its answer; `error` is "" if it succeeded.

    `broken`: its arguments are no JSON. `fault` names the fault that it met, `applied` says whether
    it took effect, `answer` is what was sent, None where that was no JSON.
    """

    world: World = field(repr=False)
    method: str
    arguments: Json
    broken: bool = False
    token: str = field(repr=False, default="")
    at: float = 0.0
    workspace_id: str = ""
    error: str = ""
    status: int = 200
    fault: str = ""
    applied: bool = False
    answer: Json | None = field(default=None, repr=False)
    _grant: Grant | None = field(default=None, repr=False)

    @property
    def grant(self) -> Grant:
        """The installation whose token it carries."""
        if self._grant is None:
            raise ApiError("not_authed")
        return self._grant

    @grant.setter
    def grant(self, grant: Grant) -> None:
        self._grant = grant

    @property
    def workspace(self) -> Workspace:
        """The workspace that it is about."""
        return self.world.workspaces[self.workspace_id]

    @property
    def bot(self) -> str:
        """The user id of the app's bot in that workspace."""
        return self.world.bot(self.workspace_id).id

    def text(self, name: str, default: str = "") -> str:
        """An argument as text."""
        value = self.arguments.get(name)
        if value is None:
            return default
        return value if isinstance(value, str) else json.dumps(value)

    def need(self, name: str) -> str:
        """An argument that must be there."""
        if not (value := self.text(name)):
            raise invalid_arguments(f"missing required field: {name}")
        return value

    def flag(self, name: str) -> bool:
        """An argument that is true or false."""
        return self.text(name).lower() in ("true", "1")

    def number(self, name: str, default: int) -> int:
        """An argument that is a number."""
        try:
            return int(self.text(name) or default)
        except ValueError:
            raise invalid_arguments(f"must be a number [json-pointer:/{name}]") from None

    def value(self, name: str, refusal: str = "invalid_arguments") -> Any:
        """A JSON argument, decoded if sent as text; None if missing."""
        value = self.arguments.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            raise ApiError(refusal) from None

    def items(self, name: str, refusal: str) -> list[Json]:
        """An argument that is a list of objects; [] if missing."""
        value = self.value(name, refusal)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise ApiError(refusal)
        return cast("list[Json]", value)


Handler: TypeAlias = Callable[[Call], Json]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the Web API.

    `scopes`: one of them is needed; `per_minute` is its rate tier.
    """

    name: str
    handler: Handler
    scopes: tuple[str, ...]
    per_minute: int
    token: TokenKind

    def rate(self, *, outside_marketplace: bool) -> int:
        """Calls per minute, for an app that Slack has reviewed or not."""
        reading = self.name in ("conversations.history", "conversations.replies")
        return 1 if outside_marketplace and reading else self.per_minute


METHODS: dict[str, Method] = {}
"""Filled by reading `methods`."""


def method(
    name: str, *scopes: str, per_minute: int = 50, token: TokenKind = "bot"
) -> Callable[[Handler], Handler]:
    """Register a method under its name. Raises ValueError for another one."""

    def register(handler: Handler) -> Handler:
        if name in METHODS:
            raise ValueError(f"there is a method {name} in {METHODS[name].handler.__module__}")
        METHODS[name] = Method(
            name=name, handler=handler, scopes=scopes, per_minute=per_minute, token=token
        )
        return handler

    return register
