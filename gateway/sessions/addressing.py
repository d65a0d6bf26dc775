"""Tasks for one agent, which is to speak first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.content.addressee import addressee_of
from gateway.sessions.live_team import LiveTeam
from gateway.store.turn_records import QueuedMessage
from gateway.values import value
from teams import BaseGroupChat

NOT_FIRST = (
    "@{name} can't be called first: {chooser} decides who speaks. The message goes to the whole "
    "team."
)


@value
class Call:
    """Effect of a named agent: a hand-off to give, or a notice."""

    handoff_to: str = ""
    notice: str = ""


async def call_addressee(
    live: LiveTeam, messages: Sequence[QueuedMessage], names: Collection[str]
) -> Call:
    """Let the agent that the messages name speak first, if possible.

    Of several messages the first that names an agent counts. What an earlier, failed run left
    unfinished is given up: its agent would otherwise speak first.
    """
    texts = [message.text for message in messages if message.text.startswith("@")]
    if not texts:
        return Call()
    team = live.team if isinstance(live.team, BaseGroupChat) else None
    known = [*names, *(team.all_names if team is not None else ())]
    found = (addressee_of(text, known) for text in texts)
    if (addressee := next(filter(None, found), None)) is None:
        return Call()
    name = addressee.name
    if team is None:
        return Call(notice=NOT_FIRST.format(name=name, chooser=BaseGroupChat.chooser))
    if live.hands_off and name in team.participant_names:
        await team.abandon_turn()
        return Call(handoff_to=name)
    if not team.can_call_on(name):
        return Call(notice=NOT_FIRST.format(name=name, chooser=team.chooser))
    await team.call_on(name)
    return Call()
