"""Teams written in TOML, made of their participants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never, cast

from gateway.base.imports import ImportPathError, Imports
from gateway.config.teams import (
    AnyGroup,
    GraphTeam,
    MagenticOneTeam,
    RoundRobinTeam,
    SelectorTeam,
    SwarmTeam,
)
from gateway.factory.conditions import build_condition
from gateway.factory.graph import make_graph
from gateway.factory.models import ModelClients
from gateway.factory.parts import PartFactory
from teams import (
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.base import ChatAgent, Team
from teams.messages import BaseAgentEvent, BaseChatMessage

_SELECTOR = (
    "emit_team_events",
    "allow_repeated_speaker",
    "max_selector_attempts",
    "model_client_streaming",
)


class GroupFactory:
    """Makes teams; each call makes everything anew but the model clients."""

    def __init__(self, models: ModelClients, imports: Imports, parts: PartFactory) -> None:
        self._models = models
        self._imports = imports
        self._parts = parts

    def team(self, name: str, config: AnyGroup, participants: Sequence[ChatAgent | Team]) -> Team:
        """A new team of the participants.

        Raises ImportPathError, and what the class raises.
        """
        given = self._common(name, config)
        # What the type takes is checked by its class, too.
        agents = cast("list[ChatAgent]", list(participants))
        match config:
            case RoundRobinTeam():
                return RoundRobinGroupChat(
                    participants, emit_team_events=config.emit_team_events, **given
                )
            case SwarmTeam():
                return Swarm(agents, emit_team_events=config.emit_team_events, **given)
            case SelectorTeam():
                return self._selector(config, participants, given)
            case GraphTeam():
                return GraphFlow(agents, make_graph(config, self._imports.load_callable), **given)
            case MagenticOneTeam():
                if config.final_answer_prompt is not None:
                    given["final_answer_prompt"] = config.final_answer_prompt
                return MagenticOneGroupChat(
                    agents,
                    self._models.client(config.model),
                    max_stalls=config.max_stalls,
                    emit_team_events=config.emit_team_events,
                    **given,
                )
            case _:
                assert_never(config)

    def _common(self, name: str, config: AnyGroup) -> dict[str, Any]:
        given: dict[str, Any] = {"name": name, "max_turns": config.max_turns}
        if config.description:
            given["description"] = config.description
        if config.termination is not None:
            given["termination_condition"] = build_condition(
                config.termination, self._imports.load_callable
            )
        if config.custom_message_types:
            given["custom_message_types"] = [
                message_type(path, self._imports) for path in config.custom_message_types
            ]
        return given

    def _selector(
        self, config: SelectorTeam, participants: Sequence[ChatAgent | Team], given: dict[str, Any]
    ) -> SelectorGroupChat:
        given |= {key: getattr(config, key) for key in _SELECTOR}
        if config.selector_prompt is not None:
            given["selector_prompt"] = config.selector_prompt
        for key in ("selector_func", "candidate_func"):
            if path := getattr(config, key):
                given[key] = self._imports.load_callable(path)
        return SelectorGroupChat(
            participants,
            self._models.client(config.model),
            model_context=self._parts.context(config.model_context),
            **given,
        )


def message_type(path: str, imports: Imports) -> type[BaseAgentEvent | BaseChatMessage]:
    """A message type of somebody's. Raises ImportPathError, also for what is none."""
    found = imports.load(path)
    if not (isinstance(found, type) and issubclass(found, BaseAgentEvent | BaseChatMessage)):
        raise ImportPathError(f"{path!r} is no message type, expected one")
    return found
