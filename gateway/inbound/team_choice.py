"""`/team NAME`: a new conversation in the same place, with another team."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.base.suggest import no_such
from gateway.inbound.commands import Command
from gateway.store.decisions import CommandReply, NewConversation

TEAM = "team"
"""Name of the command."""

NONE = "There is no other team to choose here."
LISTED = "The team here is {team!r}. /team NAME begins a new thread with one of: {names}."
BEGUN = "A new thread has started with the team {team!r}. It does not remember the old one."


def named_team(command: Command | None, offered: Sequence[str]) -> str:
    """The team that a command names; "" for none that is offered."""
    word = command.words.casefold() if command is not None and command.name == TEAM else ""
    return next((name for name in offered if name.casefold() == word), "")


def choose_team(word: str, offered: Sequence[str], current: str) -> NewConversation | CommandReply:
    """Decide about `/team` with this word, or none."""
    if not offered:
        return CommandReply(reply=NONE)
    if not word:
        return CommandReply(
            reply=LISTED.format(team=current, names=", ".join(offered)),
            choices=tuple((f"/{TEAM} {name}", name) for name in offered),
        )
    if team := named_team(Command(name=TEAM, words=word), offered):
        return NewConversation(reply=BEGUN.format(team=team))
    return CommandReply(reply=no_such("team", word[:40], offered))
