"""Threads of other configs: nothing is sent anywhere until a person agrees."""

from __future__ import annotations

from gateway.base.suggest import no_such
from gateway.errors import NotFound, OtherConfig
from gateway.inbound.commands import parse_command
from gateway.registry import TeamSource
from gateway.store.records import Thread
from gateway.values import begun_with, config_name

ASKS = frozenset({"retry", "continue", "aside", "compact", "again", "approve", "deny", "queue"})
"""Commands after which a model may be asked."""


def check_own(thread: Thread, teams: TeamSource, text: str = "") -> None:
    """Check that the text may reach the thread's team here.

    Raises OtherConfig, or NotFound where this config has no such team.
    """
    command = parse_command(text)
    if not thread.is_foreign(teams.origin) or (command and command.name not in ASKS):
        return
    check_team(thread, teams)
    model = thread.model if thread.model in teams.models() else ""
    readers = " and ".join(teams.readers(thread.team, model=model)) or "no model"
    raise OtherConfig(
        f"{begun_with(thread.config)} If it goes on with {config_name(teams.origin.path)}, all of"
        f" it is sent to {readers}."
    )


def check_team(thread: Thread, teams: TeamSource) -> None:
    """Check that this config has the thread's team. Raises NotFound."""
    if thread.team not in teams.names():
        missing = no_such("team", thread.team, teams.names())
        raise NotFound(f"{begun_with(thread.config)} {missing} /new begins a thread.")
